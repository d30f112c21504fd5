"""``Embedding``: a vocabulary as a layer of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from primal.errors import DataError
from primal.hdc._arrays import listed, turn_phasors
from primal.hdc._circular import Circular
from primal.hdc._levels import Levels, Thermometer
from primal.hdc._reals import Reals
from primal.hdc._vocabulary import Integers, Symbols, Vocabulary
from primal.torch import DynamicPrime

__all__ = ["Embedding"]


class Embedding(nn.Module):
    """Phasors of what a vocabulary encodes, with the bits of its codes, where the input lies.

    There is nothing to learn, to store or to move: tables are made from the vocabulary on every
    device that inputs come from. The layer has no buffers, and ``state_dict()`` is empty.

    Parameters
    ----------
    vocabulary : Symbols, Integers, Reals, Levels, Thermometer or Circular
    items : sequence, optional
        Values of the vocabulary: inputs are then places in this list, as in
        ``torch.nn.Embedding``. Needed for Symbols, since a tensor holds no names.

    Notes
    -----
    ``layer(x)`` takes a tensor of places in `items` or of whole numbers (Integers), both integers
    of any shape; of real numbers of any shape (Levels, Thermometer, Circular); or of vectors of
    shape (..., d) (Reals, with gradients). It returns complex64 of shape (..., k), as
    ``phasors(vocabulary.encode(x))`` is. Values that the vocabulary refuses are refused, which on
    a GPU waits for the device.

    Examples
    --------
    >>> import torch
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("pixel", "gray"))
    >>> pixels = hdc.Embedding(space.symbols("pixel"), items=range(64))
    >>> gray = hdc.Embedding(space.levels("gray", low=0, high=16, n=17))
    >>> pictures = torch.zeros(5, 64)
    >>> (pixels(torch.arange(64)) * gray(pictures)).sum(-2).shape
    torch.Size([5, 256])
    """

    def __init__(self, vocabulary: Vocabulary, items: Sequence[Any] | None = None) -> None:
        super().__init__()
        if not isinstance(vocabulary, Vocabulary):
            raise DataError(f"an embedding needs a vocabulary, got {type(vocabulary).__name__}.")
        if items is None and isinstance(vocabulary, Symbols):
            raise DataError("tensors hold no names: pass items=[...] and embed their places.")
        self.vocabulary = vocabulary
        self.items = None if items is None else listed("items", items)
        self._integers = _integers(vocabulary, self.items)
        self._made: dict[tuple[str, torch.device], Any] = {}  # on each device, once

    def forward(self, x: Tensor) -> Tensor:
        """Return the phasors of x, complex64 of shape (..., k)."""
        v = self.vocabulary
        if not isinstance(x, Tensor):
            raise DataError(f"an embedding takes a tensor, got {type(x).__name__}.")
        if self.items is not None:
            return self._chosen(_checked(x, 0, len(self.items) - 1, whole=True))
        if isinstance(v, (Levels, Thermometer)):
            values = _checked(x, *(() if v.clip else (v.low, v.high)))
            share = (values.clamp(v.low, v.high) - v.low) / (v.high - v.low)
            return self._chosen(torch.round(share * (v.n - 1)).long())
        if isinstance(v, Integers):
            exact = _checked(x, whole=True)[..., None] * self._table("increments", x.device)
            return turn_phasors(((exact + (1 << 31)) >> 32).int())
        if isinstance(v, Circular):
            periods = _checked(x, -v.farthest, v.farthest) / v.period
            places = torch.round((periods - periods.floor()) * 2.0**32).long()
            turns = places[..., None] * self._table("frequencies", x.device)
            return turn_phasors((turns + self._table("base", x.device)).int())
        assert isinstance(v, Reals)
        pairs = self._features(x.device)(x)
        z = torch.complex(pairs[..., ::2], pairs[..., 1::2])
        return z[..., self._table("order", x.device)] if "order" in self._integers else z

    def extra_repr(self) -> str:
        items = "" if self.items is None else f", {len(self.items)} items"
        return f"{type(self.vocabulary).__name__}, k={self.vocabulary.space.k}{items}"

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_made": {}}  # type: ignore[missing-attribute]

    def _chosen(self, places: Tensor) -> Tensor:
        """Return rows of the codes; whichever is less is turned into phasors."""
        turns = self._table("turns", places.device)
        if places.numel() < turns.shape[0]:
            return turn_phasors(turns[places])
        return turn_phasors(turns)[places]

    # A compiler would trace how tables are made, which is NumPy's work.
    @torch.compiler.disable
    def _features(self, device: torch.device) -> DynamicPrime:
        """Return the layer of the map behind real vectors, which no cast of this one reaches."""
        if ("features", device) not in self._made:
            basis = self.vocabulary.map.basis  # type: ignore[missing-attribute]
            self._made["features", device] = DynamicPrime(
                basis.d,
                2 * basis.n_frequencies,
                basis.sigma,
                basis=basis.name,
                primes=basis.primes,
                layout="interleaved",
                device=device,
                dtype=torch.float32,
            )
        return self._made["features", device]

    @torch.compiler.disable
    def _table(self, name: str, device: torch.device) -> Tensor:
        """Return integers of the vocabulary on a device."""
        if (name, device) not in self._made:
            self._made[name, device] = torch.from_numpy(self._integers[name].copy()).to(device)
        return self._made[name, device]


def _integers(v: Vocabulary, items: list | None) -> dict[str, np.ndarray]:
    """Return the signed integers from which the phases of a vocabulary are made, by name."""
    if items is not None:
        return {"turns": v.encode(items).turns.view(np.int32)}
    if isinstance(v, (Levels, Thermometer)):
        return {"turns": v.codes.turns.view(np.int32)}
    if isinstance(v, Integers):
        return {"increments": v.space.increments(v.role).view(np.int64)}
    if isinstance(v, Circular):
        names = zip(("frequencies", "base"), v.frequencies, strict=True)
        return {name: array.view(np.int32).astype(np.int64) for name, array in names}
    order = v.order if isinstance(v, Reals) else None
    return {} if order is None else {"order": order}


def _checked(
    x: Tensor, low: float = -torch.inf, high: float = torch.inf, *, whole: bool = False
) -> Tensor:
    """Return x as int64 or float64, after a look at its type and its range."""
    is_whole = not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)
    if x.is_complex() or (whole and not is_whole):
        raise DataError(f"expected {'whole' if whole else 'real'} numbers, got {x.dtype}.")
    values = x.long() if whole else x.double()
    if x.is_meta or (whole and high == torch.inf):
        return values
    # Written so that NaN is outside.
    inside = (values >= low) & (values <= high) & (values.abs() < torch.inf)
    if not bool(inside.all()):
        raise DataError(
            f"values must lie within [{low}, {high}], got {values[~inside].flatten()[0]}."
        )
    return values
