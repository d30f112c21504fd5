"""``PrimePositions``: positions for transformers, as absolute codes or as rotations."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from primal._checks import even_dimension, one_of
from primal._errors import DataError
from primal.torch import functional as F
from primal.torch._rotary import PAIRINGS, code_layout, rotary
from primal.torch._spacing import spaced_increments

__all__ = ["PrimePositions"]


class PrimePositions(nn.Module):
    """Positions from square roots of primes: :func:`functional.static_prime` and :func:`rotary`.

    Phases are 64-bit integers, so they are exact to t * 2**-64 turn at every position t, in
    models of every type. There is nothing to learn or to store, and ``state_dict()`` is empty.

    Parameters
    ----------
    D : int
        Number of columns, even: of the model for absolute codes, of a head for rotations.
    spacing : {"log", "raw", "kronecker"}, default="log"
        How frequencies are spread; see :func:`spaced_increments`. Only ``"log"`` makes near
        positions similar at sigma = 1; ``"raw"`` are the codes of ``StaticPrime``.
    sigma : float, default=1.0
        Scale of the frequencies; 0.25 stretches positions four times.
    start : int, default=0
        Index of the first prime, for ``"raw"`` and ``"kronecker"``.
    base : float, default=10000.0
        Ratio of the highest to the lowest frequency, for ``"log"``.
    pairing : {"half", "interleaved"}, default="half"
        Which columns are a pair: j and j + D/2, or 2 j and 2 j + 1.
    device : torch.device or str, optional
    dtype : torch.dtype, default=torch.float32
        Of absolute codes; rotations have the type of what is rotated.

    Raises
    ------
    DimensionError, SigmaError, OptionError
        If an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimePositions
    >>> positions = PrimePositions(64)
    >>> positions(torch.arange(10)).shape
    torch.Size([10, 64])
    >>> q = k = torch.ones(2, 8, 10, 64, dtype=torch.bfloat16)  # batch, heads, positions, D
    >>> q, k = positions.rotary(q, k)
    >>> q.shape, q.dtype
    (torch.Size([2, 8, 10, 64]), torch.bfloat16)
    """

    def __init__(
        self,
        D: int,
        *,
        spacing: str = "log",
        sigma: float = 1.0,
        start: int = 0,
        base: float = 10000.0,
        pairing: str = "half",
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.D = even_dimension(D)
        self.spacing, self.sigma, self.start, self.base = spacing, sigma, start, base
        self.pairing = one_of("pairing", pairing, PAIRINGS)
        # Follows .half() and .to(dtype), so that codes do.
        like_output = torch.empty(0, dtype=F.output_dtype(dtype), device=device)
        self.register_buffer("like_output", like_output, persistent=False)
        self.register_buffer("increments", None, persistent=False)
        self.reset_buffers()

    @property
    def dtype(self) -> torch.dtype:
        """Type of absolute codes."""
        return self.like_output.dtype

    def forward(self, t: Tensor) -> Tensor:
        """Return the absolute codes of integer positions t, shape (*t.shape, D).

        Cosines and sines lie where the pairing puts them: turning the code of s by t gives the
        code of s + t.
        """
        layout = code_layout(self.pairing)
        return F.static_prime(t, self.increments, layout=layout, dtype=self.dtype)

    def rotary(
        self,
        q: Tensor,
        k: Tensor,
        positions: Tensor | None = None,
        *,
        offset: int | Tensor = 0,
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys (..., n, D) turned by their positions.

        Parameters
        ----------
        q, k : tensors of shape (..., n, D)
        positions : integer tensor, optional
            Shape (n,), or any that broadcasts to (..., n). Without them: 0, ..., n - 1.
        offset : int or integer tensor, default=0
            Added to all positions: the length of a key-value cache, whose keys are turned
            already. A tensor spares compiled models a compilation for each length.
        """
        if positions is None:
            if q.shape[-2] != k.shape[-2]:
                raise DataError(
                    f"q has {q.shape[-2]} positions and k has {k.shape[-2]}: rotate new keys "
                    "before they join the cache, with offset = its length."
                )
            positions = torch.arange(q.shape[-2], device=q.device)
        return rotary(q, k, positions + offset, self.increments, pairing=self.pairing)

    def turns(self, t: Tensor) -> Tensor:
        """Return the phases behind codes and rotations, int64 of shape (*t.shape, D / 2).

        Units of 2**-64 turn, with the bits of NumPy's unsigned ``t * increments``.
        """
        return t.long()[..., None] * self.increments

    def frequencies(self) -> Tensor:
        """Return radians for each position, float64 of shape (D / 2,), for other libraries.

        They lie in [-pi, pi): whole turns are left out, as integer positions cannot see them.
        """
        return self.increments.double() * (2.0 * math.pi * 2.0**-64)

    def reset_buffers(self) -> None:
        """Rebuild the increments on the device of the module, as after ``to_empty``."""
        values = spaced_increments(
            self.D // 2, self.spacing, sigma=self.sigma, start=self.start, base=self.base
        )
        self.increments = F.increment_tensor(values, self.like_output.device)

    def extra_repr(self) -> str:
        scale = f"base={self.base}" if self.spacing == "log" else f"start={self.start}"
        return (
            f"{self.D}, spacing={self.spacing!r}, sigma={self.sigma}, {scale}, "
            f"pairing={self.pairing!r}, dtype={self.dtype}"
        )
