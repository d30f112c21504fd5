"""Rows of codes that grow batch by batch, in few pieces."""

from __future__ import annotations

import numpy as np

__all__ = ["Rows"]

# Parts below this many rows are joined when more rows come, so that there are never many.
_PART_ROWS = 1 << 16


class Rows:
    """Rows in the order in which they were appended; a part may be mapped from a file.

    Attributes
    ----------
    parts : list of ndarray
        None of them empty. A part is never changed, only joined with the next.
    """

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def append(self, codes: np.ndarray) -> None:
        """Append rows, which must not be changed afterwards."""
        if not len(codes):
            return
        parts = self.parts
        parts.append(codes)
        # As in a binary counter: every row is copied at most once for each doubling.
        while len(parts) > 1 and len(parts[-2]) <= min(len(parts[-1]), _PART_ROWS):
            last = parts.pop()
            parts[-1] = np.concatenate([parts[-1], last])

    def at(self, indices: np.ndarray) -> np.ndarray:
        """Return the rows with these indices, in their order."""
        ends = np.cumsum([len(part) for part in self.parts])
        owners = np.searchsorted(ends, indices, side="right")
        out = np.empty((len(indices), self.parts[0].shape[1]), dtype=self.parts[0].dtype)
        for number, part in enumerate(self.parts):
            mine = owners == number
            out[mine] = part[indices[mine] - (ends[number] - len(part))]
        return out

    def remove(self, kept: np.ndarray) -> None:
        """Keep the rows where `kept`, an array of bool, is True; parts that keep all stay."""
        parts, first = self.parts, 0
        self.parts = []
        for part in parts:
            mine = kept[first : first + len(part)]
            first += len(part)
            self.append(part if mine.all() else part[mine])

    def since(self, first: int) -> list[np.ndarray]:
        """Return all rows from an index on, without copies."""
        rest, start = [], 0
        for part in self.parts:
            if start + len(part) > first:
                rest.append(part[max(0, first - start) :])
            start += len(part)
        return rest
