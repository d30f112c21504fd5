"""What encoding knows of its rows and decoding needs: their range, and whether a phase wrapped.

Features alone cannot prove that no phase wrapped, since a wrapped one looks like any other. So
the fact is recorded while x is at hand, and with it the range of x, a prior that is true of every
row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal.decoding import Box

__all__ = ["UNKNOWN", "Extent"]

# The first rows that are looked at; where phases wrap, these nearly always show it.
_FIRST_ROWS = 16
# Phases looked at together after that: 1 MB, which stays in a processor's cache.
_BLOCK_PHASES = 1 << 18
# The box is this much wider than the range, so that no row lies on its edge.
_WIDER = 2.0**-20


@dataclass(frozen=True)
class Extent:
    """Of the rows x that were encoded."""

    low: tuple[float, ...]  # range of each input; empty where it is not known
    high: tuple[float, ...]
    wraps: bool  # whether the phase of some row reaches half a turn, or may do so

    @classmethod
    def of(cls, x: np.ndarray, frequencies: np.ndarray | None) -> Extent | None:
        """Return the extent of finite rows of shape (n, d); None if there are none.

        Without the frequencies of the phases, in turns per unit of x, nothing is known.
        """
        if not len(x) or frequencies is None:
            return UNKNOWN if len(x) else None
        low, high = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
        wraps = _wraps(x, frequencies, np.maximum(-low, high))
        return cls(tuple(low.tolist()), tuple(high.tolist()), wraps)

    @classmethod
    def joined(cls, parts: Iterable[Extent | None]) -> Extent | None:
        """Return the extent of the rows of all parts, whatever their order."""
        filled = [part for part in parts if part is not None]
        if not filled:
            return None
        if not all(part.low for part in filled):
            return UNKNOWN
        low = np.min([part.low for part in filled], axis=0)
        high = np.max([part.high for part in filled], axis=0)
        wraps = any(part.wraps for part in filled)
        return cls(tuple(low.tolist()), tuple(high.tolist()), wraps)

    @property
    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest x, infinite where they are not known."""
        if not self.low:
            return np.array(-np.inf), np.array(np.inf)
        return np.array(self.low), np.array(self.high)

    @property
    def box(self) -> Box | None:
        """A box that holds every row well inside; None where the range is not known."""
        if not self.low:
            return None
        low, high = self.range
        center, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
        # A constant column has no width, and a box needs one.
        least = np.maximum(np.abs(center), half.max()) * _WIDER
        return Box(np.maximum(half * (1.0 + _WIDER), np.where(least > 0.0, least, _WIDER)), center)

    @classmethod
    def from_json(cls, values: Any) -> Extent | None:
        """Return the extent of a list of its fields, None for None."""
        if values is None:
            return None
        low, high, wraps = values
        return cls(tuple(map(float, low)), tuple(map(float, high)), bool(wraps))


UNKNOWN = Extent((), (), True)


def _wraps(x: np.ndarray, frequencies: np.ndarray, largest_x: np.ndarray) -> bool:
    """Return whether a phase of some row reaches half a turn; True also where rounding hides it."""
    largest = float((np.abs(frequencies) @ largest_x).max())
    if largest < 0.5 * (1.0 - 2.0**-40):  # no x in this range wraps
        return False
    # In float32, which takes half the time, on inputs scaled to at most 1. Two factors and d
    # terms are rounded, by less than this in all.
    limit = 0.5 - (frequencies.shape[1] + 4) * 2.0**-23 * largest
    if not limit > 0.0:
        return True
    scale = np.where(largest_x > 0.0, largest_x, 1.0)
    turns = (frequencies * scale).T.astype(np.float32)
    step = max(1, _BLOCK_PHASES // len(frequencies))
    for first in (0, *range(_FIRST_ROWS, len(x), step)):
        rows = x[first : first + (step if first else _FIRST_ROWS)]
        scaled = (rows / scale).astype(np.float32)
        # A few rows without BLAS: its threads, once started, would take turns with the engine's.
        phases = scaled @ turns if first else np.einsum("ij,jk->ik", scaled, turns)
        if max(phases.max(), -phases.min()) >= limit:
            return True
    return False
