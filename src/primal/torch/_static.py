"""``StaticPrime``: a layer that gives every integer position its code."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor

import primal.maps
from primal._checks import require_memory, whole_number
from primal.errors import DataError
from primal.torch import _operators
from primal.torch._inputs import checked_positions, checked_waves
from primal.torch._layer import PrimeLayer


class StaticPrime(PrimeLayer):
    """Codes of integer positions.

    There is nothing to learn or to store, and casts change the type of the output only. The layer
    is the map :class:`primal.StaticPrime`: `spec` and `fingerprint` are the map's.

    Parameters
    ----------
    D, sigma, start, layout
        As in :class:`primal.StaticPrime`.
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        Of the output: float32, bfloat16, float16 or float64; by default PyTorch's default type.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import StaticPrime
    >>> layer = StaticPrime(64)
    >>> layer(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 64])
    >>> torch.equal(layer.waves(100, offset=10**12)[7], layer(torch.tensor(10**12 + 7)))
    True
    >>> layer.decode(layer(torch.tensor([5, 77])), n=100)
    tensor([ 5, 77])
    """

    map_type = primal.maps.StaticPrime

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
        m = primal.maps.StaticPrime(D, sigma=sigma, start=start, layout=layout)
        self._from_map(m, device=device, dtype=dtype)

    def _from_map(self, m: primal.maps.StaticPrime, **options: Any) -> None:
        self._begin(m, m.D, m.layout, **options)
        self._key = json.dumps(m.spec, sort_keys=True)

    @property
    def increments(self) -> Tensor:
        """Phase moved in one step, int64 of shape (D / 2,), units of 2**-64 turn."""
        return _operators.increments(self._key, device=self._device)

    @property
    def frequencies(self) -> Tensor:
        """Turns per position, float64 of shape (D / 2,), in [-1/2, 1/2) without whole turns."""
        return self.increments.double() * 2.0**-64

    def forward(self, t: Tensor) -> Tensor:
        """Return the codes of integer positions t, shape (*t.shape, D)."""
        increments = _operators.increments(self._key, device=checked_positions(t).device)
        interleaved = self.layout == "interleaved"
        return _operators.static_codes(t.long(), increments, interleaved, self.dtype)

    def waves(self, N: int, *, offset: int = 0) -> Tensor:
        """Return the codes of positions offset, ..., offset + N - 1 (the paper's GenerateWaves)."""
        N = whole_number("N", N)
        if isinstance(offset, bool) or not isinstance(offset, int):  # a compiler's symbol is an int
            offset = whole_number("offset", offset, least=-(2**63))
        increments = self.increments
        require_memory(8 * N * len(increments), f"the codes of N = {N} positions")
        if not (-(2**63) <= offset < 2**63 and offset + N <= 2**63):
            last = offset + N - 1
            raise DataError(f"positions must lie in [-2**63, 2**63), got {offset} to {last}.")
        t = torch.arange(N, device=increments.device) + offset
        return _operators.static_codes(t, increments, self.layout == "interleaved", self.dtype)

    def turns(self, t: Tensor) -> Tensor:
        """Return the phases behind codes, int64 (*t.shape, D / 2), units of 2**-64 turn."""
        t = checked_positions(t)
        return t.long()[..., None] * _operators.increments(self._key, device=t.device)

    def decode(self, z: Tensor, *, n: int) -> Tensor:
        """Return the position in [0, n) with the code most similar to each of z (..., D).

        See :meth:`primal.StaticPrime.decode`, which does it, on the CPU.
        """
        if checked_waves(z, self.D).is_meta:
            raise DataError("z must have values, got a tensor on the meta device.")
        codes = z.detach().double().cpu().numpy()
        return torch.as_tensor(self.map.decode(codes, n=n)).to(z.device)
