"""``Embedding``: a vocabulary of hyperdimensional computing as a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from primal.errors import DataError
from primal.torch import _derivatives
from primal.torch._eager import waves
from primal.torch._inputs import check_tensor, checked_points, split_pairs
from primal.torch._tables import frequency_table

_KINDS = ("Symbols", "Numbers", "Reals", "Levels", "Circular")


class Embedding(nn.Module):
    """Phasors of what a vocabulary encodes, with the bits of its codes, where the input lies.

    There is nothing to learn, to store or to move: tables are made from the vocabulary on every
    device that inputs come from, and ``state_dict()`` is empty.

    Parameters
    ----------
    vocabulary : Symbols, Numbers, Reals, Levels or Circular of :mod:`primal.hdc`
    items : sequence, optional
        Values of the vocabulary: inputs are then places in this list, as in
        ``torch.nn.Embedding``. Needed for Symbols, since a tensor holds no names.

    Notes
    -----
    ``layer(x)`` takes a tensor of places in `items` or of whole numbers (Numbers); of real numbers
    (Levels, Circular); or of vectors of shape (..., d) (Reals, with gradients). It
    returns ``phasors(vocabulary.encode(x))``, complex64 of shape (..., k). Values that the
    vocabulary rejects are rejected, which on a GPU waits for the device.

    Examples
    --------
    >>> import torch
    >>> from primal import hdc
    >>> from primal.torch import Embedding
    >>> space = hdc.Space(512, roles=("pixel", "gray"))
    >>> pixels = Embedding(space.symbols("pixel"), items=range(64))
    >>> gray = Embedding(space.levels("gray", low=0, high=16, n=17))
    >>> pictures = torch.zeros(5, 64)
    >>> (pixels(torch.arange(64)) * gray(pictures)).sum(-2).shape
    torch.Size([5, 256])
    """

    def __init__(self, vocabulary: Any, items: Sequence[Any] | None = None) -> None:
        super().__init__()
        # What it is, its spec says: layers do not import vocabularies.
        self._kind = getattr(vocabulary, "spec", {}).get("type")
        if self._kind not in _KINDS:
            raise DataError(f"an embedding needs a vocabulary, got {type(vocabulary).__name__}.")
        if items is None and self._kind == "Symbols":
            raise DataError("tensors hold no names: pass items=[...] and embed their places.")
        zero_axes = isinstance(items, np.ndarray) and items.ndim == 0
        if items is not None and (zero_axes or not isinstance(items, (Sequence, np.ndarray))):
            raise DataError(f"items must be a sequence, got {type(items).__name__} {items!r}.")
        self.vocabulary = vocabulary
        self.items = None if items is None else list(items)
        self._integers = _integers(vocabulary, self._kind, self.items)
        self._made: dict[torch.device, dict[str, Any]] = {}  # on each device, once

    def forward(self, x: Tensor) -> Tensor:
        """Return the phasors of x, complex64 of shape (..., k)."""
        v = self.vocabulary
        check_tensor("x", x)
        tables = self._tables(x.device)
        if self.items is not None:
            return _chosen(tables["turns"], _checked(x, 0, len(self.items) - 1, whole=True))
        if self._kind == "Levels":
            values = _checked(x, *(() if v.clip else (v.low, v.high)))
            share = (values.clamp(v.low, v.high) - v.low) / (v.high - v.low)
            return _chosen(tables["turns"], torch.round(share * (v.n - 1)).long())
        if self._kind == "Numbers":
            exact = _checked(x, whole=True)[..., None] * tables["increments"]
            return _phasors(((exact + (1 << 31)) >> 32).int())
        if self._kind == "Circular":
            periods = _checked(x, -v.farthest, v.farthest) / v.period
            places = torch.round((periods - periods.floor()) * 2.0**32).long()
            turns = places[..., None] * tables["frequencies"]
            return _phasors((turns + tables["base"]).int())
        x = checked_points(x, tables["frequencies"].shape[1])
        x = x if x.is_floating_point() else x.double()
        pairs = _derivatives.features(x, tables["frequencies"].key, 1.0, False, torch.float32)
        z = torch.complex(*split_pairs(pairs, interleaved=False))
        return z[..., tables["order"]] if "order" in tables else z

    def extra_repr(self) -> str:
        """Return the vocabulary and the number of items, for ``repr``."""
        items = "" if self.items is None else f", {len(self.items)} items"
        return f"{self._kind}, k={self.vocabulary.space.k}{items}"

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_made": {}}  # type: ignore[missing-attribute]

    # A compiler would trace how tables are made, which is NumPy's work.
    @torch.compiler.disable
    def _tables(self, device: torch.device) -> dict[str, Any]:
        """Return what phases are made from, on a device."""
        if device not in self._made:
            arrays = self._integers.items()
            tables: dict[str, Any] = {
                name: torch.from_numpy(array.copy()).to(device) for name, array in arrays
            }
            if self._kind == "Reals":
                tables["frequencies"] = frequency_table(self.vocabulary.map.basis)
            self._made[device] = tables
        return self._made[device]


def _integers(v: Any, kind: str, items: list | None) -> dict[str, np.ndarray]:
    """Return the signed integers from which the phases of a vocabulary are made, by name."""
    if items is not None:
        turns = v.encode(items).turns
        if turns.ndim != 2 or not len(turns):
            raise DataError(
                f"items must be a list of values of {kind}, one or more, got {items!r:.60}, which "
                f"has codes of shape {turns.shape}."
            )
        return {"turns": turns.view(np.int32)}
    if kind == "Levels":
        return {"turns": v.codes.turns.view(np.int32)}
    if kind == "Numbers":
        return {"increments": v.space.increments(v.role).view(np.int64)}
    if kind == "Circular":
        names = zip(("frequencies", "base"), v.frequencies, strict=True)
        return {name: array.view(np.int32).astype(np.int64) for name, array in names}
    return {} if v.order is None else {"order": v.order}


def _chosen(turns: Tensor, places: Tensor) -> Tensor:
    """Return the phasors of rows of turns; whichever is less is turned into phasors."""
    if places.numel() < turns.shape[0]:
        return _phasors(turns[places])
    return _phasors(turns)[places]


def _phasors(turns: Tensor) -> Tensor:
    return torch.complex(*waves(turns))


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
