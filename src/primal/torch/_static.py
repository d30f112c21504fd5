"""``StaticPrime``: a layer that gives every integer position its code."""

from __future__ import annotations

import torch
from torch import Tensor

import primal.maps
from primal.errors import ParameterError
from primal.torch import _operators
from primal.torch import functional as F
from primal.torch._increments import increments_key
from primal.torch._layer import PrimeLayer

__all__ = ["StaticPrime"]


class StaticPrime(PrimeLayer):
    """Codes of integer positions: :func:`functional.static_prime` with its increments.

    There is nothing to learn or to store: the increments follow from the arguments and are made
    where positions are, and ``state_dict()`` is empty. ``.half()`` and ``.to(torch.bfloat16)``
    change the type of the output and nothing else.

    Parameters
    ----------
    D : int
        Number of outputs, even.
    sigma : float, default=1.0
        Scale of the frequencies.
    start : int, default=0
        Index of the first prime.
    layout : {"block", "interleaved"}, default="block"
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        Of the output: float32, bfloat16, float16 or float64; by default PyTorch's default type.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import StaticPrime
    >>> layer = StaticPrime(64)
    >>> layer(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 64])
    >>> torch.equal(layer.waves(100, offset=10**12)[7], layer(torch.tensor(10**12 + 7)))
    True
    """

    def __init__(
        self,
        D: int,
        *,
        sigma: float = 1.0,
        start: int = 0,
        layout: str = "block",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device, dtype)
        self.map = primal.maps.StaticPrime(D, sigma=sigma, start=start, layout=layout)
        self.keep_frequencies(0, self.map.D // 2)

    @property
    def increments(self) -> Tensor:
        """Phase moved in one step, int64 of shape (D / 2,), units of 2**-64 turn."""
        return self._increments_on(self._device)

    def forward(self, t: Tensor) -> Tensor:
        """Return the codes of integer positions t, shape (*t.shape, D)."""
        increments = self._increments_on(F.checked_positions(t).device)
        return F.static_prime(t, increments, layout=self.map.layout, dtype=self.dtype)

    def waves(self, N: int, *, offset: int = 0) -> Tensor:
        """Return the codes of positions offset, ..., offset + N - 1 (the paper's GenerateWaves)."""
        return F.static_prime_range(
            N, self.increments, offset=offset, layout=self.map.layout, dtype=self.dtype
        )

    def grow(self, D: int) -> StaticPrime:
        """Return the same layer with more primes appended."""
        if self.frequency_range != (0, self.map.D // 2):
            raise ParameterError("a part of a layer cannot grow: grow it before it is split.")
        grown = self.map.grow(D)
        return StaticPrime(
            grown.D,
            sigma=grown.sigma,
            start=grown.start,
            layout=grown.layout,
            device=self._device,
            dtype=self.dtype,
        )

    def keep_frequencies(self, first: int, last: int) -> None:
        """Keep frequencies first..last-1 only, for one rank of several."""
        self.frequency_range = (first, last)
        self._key = increments_key(
            last - first, "raw", sigma=self.map.sigma, start=self.map.start + first
        )

    def extra_repr(self) -> str:
        m = self.map
        return f"{m.D}, sigma={m.sigma}, start={m.start}, layout={m.layout!r}, dtype={self.dtype}"

    def _increments_on(self, device: torch.device) -> Tensor:
        return _operators.increments(self._key, device=device)
