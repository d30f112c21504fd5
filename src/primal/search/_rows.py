"""Rows of codes that grow batch by batch, and their ids."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from primal._checks import raised_as
from primal.errors import DataError

# Parts below this many rows are joined when more rows come, so that there are never many.
_PART_ROWS = 1 << 16
_LARGEST_ID = 2**63 - 2  # one more must fit, for the next row


class Rows:
    """Rows in the order in which they were appended, in parts, which are only ever joined."""

    def __init__(self, *parts: np.ndarray) -> None:
        self.parts: list[np.ndarray] = []
        for part in parts:
            self.append(part)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def append(self, codes: np.ndarray) -> None:
        """Append rows, which must not be changed afterwards."""
        if not len(codes):
            return
        parts = self.parts
        parts.append(codes)
        # As in a binary counter: every row is copied at most once for each doubling. Where there
        # is no memory for a copy, two parts will do.
        with suppress(MemoryError):
            while len(parts) > 1 and len(parts[-2]) <= min(len(parts[-1]), _PART_ROWS):
                parts[-2:] = [np.concatenate(parts[-2:])]

    def at(self, indices: np.ndarray) -> np.ndarray:
        ends = np.cumsum([len(part) for part in self.parts])
        owners = np.searchsorted(ends, indices, side="right")
        out = np.empty((len(indices), self.parts[0].shape[1]), dtype=self.parts[0].dtype)
        for number, part in enumerate(self.parts):
            mine = owners == number
            out[mine] = part[indices[mine] - (ends[number] - len(part))]
        return out

    def only(self, kept: np.ndarray) -> Rows:
        """Return the rows that are kept; these stay as they are."""
        found = Rows()
        for part in self.parts:
            mine, kept = kept[: len(part)], kept[len(part) :]
            found.append(part if mine.all() else part[mine])
        return found


class Ids:
    """Whole numbers of rows, each once, in the order of the rows; `next` is what the next row gets.

    It is the number after the largest that there has ever been: that of a removed row is not used
    again. As long as nobody gives or removes any, they are the numbers of rows, and not stored.
    """

    def __init__(self) -> None:
        self.next = 0
        self._stored: Rows | None = None
        self._sorted: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def restored(cls, values: np.ndarray | None, next_id: object, n_rows: int) -> Ids:
        """Return ids from what `stored` returned, and `next`; reject what cannot be some."""
        ids, given, most = cls(), None, n_rows
        if values is not None:
            if values.shape != (n_rows, 8) or values.dtype != np.uint8:
                raise DataError(f"{values.dtype} {values.shape} are not the ids of {n_rows} rows.")
            given, most = np.ascontiguousarray(values).view("<i8")[:, 0], _LARGEST_ID + 1
        ids.append(n_rows, given)
        if type(next_id) is not int or not ids.next <= next_id <= most:
            raise DataError(f"the next id must be from {ids.next} to {most}, got {next_id!r}.")
        ids.next = next_id
        return ids

    @property
    def stored(self) -> np.ndarray | None:
        """The ids as bytes, uint8 of shape (n, 8), lowest first; None for the numbers of rows."""
        if self._stored is None:
            return None
        return self.values.astype("<i8").view(np.uint8).reshape(-1, 8)

    @property
    def values(self) -> np.ndarray:
        """All ids in the order of the rows, int64."""
        if self._stored is None:
            return np.arange(self.next)
        return np.concatenate([np.empty((0, 1), dtype=np.int64), *self._stored.parts])[:, 0]

    def append(self, n: int, ids: object = None) -> None:
        """Add n rows, with given ids, which no row may have yet, or the next ones."""
        self._sorted = None
        if ids is None and self._stored is None:
            self.next += n
            return
        if ids is None and self.next + n > _LARGEST_ID + 1:
            raise DataError(
                f"ids after {self.next - 1} would be beyond 2**63 - 2: give those of the {n} new "
                "rows yourself."
            )
        new = np.arange(self.next, self.next + n) if ids is None else self._checked(ids, n)
        if self._stored is None:
            self._stored = Rows(self.values[:, None])
        self._stored.append(new[:, None])
        self.next = max(self.next, int(new.max(initial=-1)) + 1)

    def at(self, rows: np.ndarray) -> np.ndarray:
        if self._stored is None or not rows.size:
            return rows
        return self._stored.at(rows.ravel())[:, 0].reshape(rows.shape)

    def rows_of(self, ids: object, name: str = "ids") -> np.ndarray:
        """Return the rows that have these ids, of which all must be there, in the same shape."""
        wanted = _whole_numbers(ids, name)
        if self._sorted is None:
            order = np.argsort(self.values)
            self._sorted = self.values[order], order
        known, order = self._sorted
        flat = wanted.ravel()
        # Past the end where all are smaller: compare with the last one instead.
        near = np.minimum(np.searchsorted(known, flat), max(0, len(known) - 1))
        missing = flat[known[near] != flat] if len(known) else flat
        if len(missing):
            raise DataError(f"no row of the index has the id {missing[0]}.")
        return order[near].reshape(wanted.shape)

    def remove(self, kept: np.ndarray) -> None:
        self._stored = Rows(self.values[kept][:, None])
        self._sorted = None

    def _checked(self, ids: object, n: int) -> np.ndarray:
        new = np.atleast_1d(_whole_numbers(ids))
        if new.shape != (n,):
            raise DataError(f"ids must be one for each of {n} rows, got shape {new.shape}.")
        if n and (new.min() < 0 or new.max() > _LARGEST_ID):
            raise DataError(f"ids must be from 0 to 2**63 - 2, got {new.min()} to {new.max()}.")
        unique, counts = np.unique(new, return_counts=True)
        if len(unique) < n:
            raise DataError(f"every row needs an id of its own, got {unique[counts > 1][0]} twice.")
        if n and unique[0] < self.next:
            taken = unique[np.isin(unique, self.values)]
            if len(taken):
                raise DataError(f"a row with the id {taken[0]} is there already: remove it first.")
        return new


def _whole_numbers(ids: object, name: str = "ids") -> np.ndarray:
    with raised_as(DataError, f"{name} must be whole numbers, got {type(ids).__name__}"):
        array = np.asarray(ids)
    if array.size and (
        array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max() > _LARGEST_ID)
    ):
        raise DataError(
            f"{name} must be whole numbers below 2**63 - 1, got {array.dtype}: {ids!r:.60}"
        )
    return array.astype(np.int64)
