"""``PrimePositions``: positions for transformers, as absolute codes or as rotations."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from primal._checks import even_dimension, one_of, whole_number
from primal.errors import DataError, ParameterError
from primal.torch import _operators
from primal.torch import functional as F
from primal.torch._increments import increments_key, shared_increments
from primal.torch._layer import PrimeLayer
from primal.torch._rotary import PAIRINGS, code_layout, rotary, sequence_axis, turned

__all__ = ["PrimePositions"]


class PrimePositions(PrimeLayer):
    """Positions from square roots of primes: :func:`functional.static_prime` and :func:`rotary`.

    Phases are 64-bit integers, so they are exact to t * 2**-64 turn at every position t, in
    models of every type. There is nothing to learn or to store, and ``state_dict()`` is empty.

    Parameters
    ----------
    D : int
        Number of columns, even: of the model for absolute codes, of a head for rotations.
    spacing : {"log", "rotary", "raw", "kronecker"}, default="log"
        How frequencies are spread; see :func:`spaced_increments`. ``"log"`` and ``"rotary"``
        make near positions similar at sigma = 1. ``"rotary"`` has the frequencies
        base**(-2 j / D) of standard rotary embeddings: take it for weights that were trained
        with those. ``"raw"`` are the codes of ``StaticPrime``.
    sigma : float, default=1.0
        Scale of the frequencies; 0.25 stretches positions four times.
    start : int, default=0
        Index of the first prime, for ``"raw"`` and ``"kronecker"``.
    base : float, default=10000.0
        Ratio of the highest to the lowest frequency, for ``"log"`` and ``"rotary"``.
    pairing : {"half", "interleaved"}, default="half"
        Which columns are a pair: j and j + D/2, or 2 j and 2 j + 1.
    head_dim : int, optional
        Columns of what is rotated, if more than D: the first D turn and the others stay
        (partial rotary embedding).
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        Of absolute codes, by default PyTorch's default type; rotations have the type of what
        is rotated.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimePositions
    >>> positions = PrimePositions(64)
    >>> positions(torch.arange(10)).shape
    torch.Size([10, 64])
    >>> q = k = torch.ones(2, 8, 10, 64, dtype=torch.bfloat16)  # batch, heads, positions, D
    >>> q, k = positions.rotary(q, k, seq_dim=-2)
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
        head_dim: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device, dtype)
        self.D = even_dimension(D)
        self.spacing, self.sigma, self.start, self.base = spacing, sigma, start, base
        self.pairing = one_of("pairing", pairing, PAIRINGS)
        self.head_dim = self.D if head_dim is None else whole_number("head_dim", head_dim)
        if self.head_dim < self.D:
            raise ParameterError(f"head_dim must be at least D = {self.D}, got {self.head_dim}.")
        options = {"sigma": sigma, "start": start, "base": base}
        self._key = increments_key(self.D // 2, spacing, **options)
        shared_increments(self._key, torch.device("cpu"))  # checks the arguments

    @property
    def increments(self) -> Tensor:
        """Phase moved in one position, int64 of shape (D / 2,), units of 2**-64 turn."""
        return self._increments_on(self._device)

    def forward(self, t: Tensor) -> Tensor:
        """Return the absolute codes of integer positions t, shape (*t.shape, D).

        Cosines and sines lie where the pairing puts them: turning the code of s by t gives the
        code of s + t.
        """
        increments = self._increments_on(F.checked_positions(t).device)
        return F.static_prime(t, increments, layout=code_layout(self.pairing), dtype=self.dtype)

    def rotary(
        self,
        q: Tensor,
        k: Tensor,
        positions: Tensor | None = None,
        *,
        seq_dim: int | None = None,
        offset: int | Tensor = 0,
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys of the same positions, turned.

        Parameters
        ----------
        q, k : tensors of shape (..., head_dim)
        positions : integer tensor, optional
            Shape (n,), (batch, n), or one axis for each axis of q and k but the last; see
            :func:`primal.torch.rotary`. Without them: 0, ..., n - 1.
        seq_dim : int, optional
            Axis of the positions: -2 for (..., heads, n, D), -3 for (..., n, heads, D). Needed
            when there are more axes than two.
        offset : int or integer tensor, default=0
            Added to all positions: the length of a key-value cache, whose keys are turned
            already. A tensor spares compiled models a compilation for each length.
        """
        axis, axis_of_k = sequence_axis(q, seq_dim), sequence_axis(k, seq_dim)
        if q.shape[axis] != k.shape[axis_of_k]:
            raise DataError(
                f"q has {q.shape[axis]} positions and k has {k.shape[axis_of_k]}, in shapes "
                f"{tuple(q.shape)} and {tuple(k.shape)}: turn each by itself with rotate, which "
                "takes its own positions or offset."
            )
        places = _places(positions, q, axis, offset)
        (q, q_rest), (k, k_rest) = self._split(q), self._split(k)
        increments = self._increments_on(q.device)
        q, k = rotary(q, k, places, increments, pairing=self.pairing, seq_dim=seq_dim)
        return _joined(q, q_rest), _joined(k, k_rest)

    def rotate(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        *,
        seq_dim: int | None = None,
        offset: int | Tensor = 0,
    ) -> Tensor:
        """Return one tensor turned by its positions; for the rest see :meth:`rotary`.

        Examples
        --------
        Queries that come after 90 of the 100 keys:

        >>> import torch
        >>> from primal.torch import PrimePositions
        >>> positions = PrimePositions(64)
        >>> q, k = torch.ones(2, 8, 10, 64), torch.ones(2, 8, 100, 64)
        >>> q, k = positions.rotate(q, seq_dim=-2, offset=90), positions.rotate(k, seq_dim=-2)
        >>> torch.equal(q[..., -1, :], k[..., -1, :])
        True
        """
        places = _places(positions, x, sequence_axis(x, seq_dim), offset)
        x, rest = self._split(x)
        increments = self._increments_on(x.device)
        x = turned(x, places, increments, pairing=self.pairing, seq_dim=seq_dim)
        return _joined(x, rest)

    def turns(self, t: Tensor) -> Tensor:
        """Return the phases behind codes and rotations, int64 of shape (*t.shape, D / 2).

        Units of 2**-64 turn, with the bits of NumPy's unsigned ``t * increments``.
        """
        t = F.checked_positions(t)
        return t.long()[..., None] * self._increments_on(t.device)

    def frequencies(self) -> Tensor:
        """Return radians for each position, float64 of shape (D / 2,), for other libraries.

        They lie in [-pi, pi): whole turns are left out, as integer positions cannot see them.
        """
        return self.increments.double() * (2.0 * math.pi * 2.0**-64)

    def extra_repr(self) -> str:
        on_a_grid = self.spacing in ("log", "rotary")
        scale = f"base={self.base}" if on_a_grid else f"start={self.start}"
        return (
            f"{self.D}, spacing={self.spacing!r}, sigma={self.sigma}, {scale}, "
            f"pairing={self.pairing!r}, dtype={self.dtype}"
        )

    def _increments_on(self, device: torch.device) -> Tensor:
        return _operators.increments(self._key, device=device)

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the columns that turn, and those that stay."""
        if x.shape[-1] != self.head_dim:
            raise ParameterError(
                f"what is rotated must have {self.head_dim} columns, got shape {tuple(x.shape)}: "
                "to leave some of them as they are, make the layer with head_dim."
            )
        return (x, None) if self.head_dim == self.D else (x[..., : self.D], x[..., self.D :])


def _joined(turned: Tensor, rest: Tensor | None) -> Tensor:
    return turned if rest is None else torch.cat((turned, rest), dim=-1)


def _places(positions: Tensor | None, x: Tensor, axis: int, offset: int | Tensor) -> Tensor:
    if positions is None:
        positions = torch.arange(x.shape[axis], device=x.device)
    return F.checked_positions(positions) + offset
