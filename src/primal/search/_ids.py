"""Ids: the whole numbers by which the rows of an index are known."""

from __future__ import annotations

import numpy as np

from primal._checks import raised_as
from primal._errors import DataError
from primal.search._rows import Rows

__all__ = ["Ids", "whole_ids"]

_LARGEST = 2**63 - 2  # one more must fit, for the next row


class Ids:
    """Whole numbers of rows, each once, in the order of the rows.

    A row that is given none gets the number after the largest that there has ever been, so the
    number of a row that was removed is not used again. As long as nobody gives or removes any,
    they are the numbers of the rows, and nothing is stored.

    Attributes
    ----------
    next : int
        What the next row gets that is given none.
    """

    def __init__(self) -> None:
        self.next = 0
        self._stored: Rows | None = None
        self._sorted: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def restored(cls, values: np.ndarray | None, next_id: object, n_rows: int) -> Ids:
        """Return the ids with these `values`, as `stored` returned them, and this `next`.

        Raises
        ------
        DataError
            If they cannot be the ids of n rows.
        """
        ids = cls()
        if values is not None:
            if values.shape != (n_rows, 8) or values.dtype != np.uint8:
                raise DataError(f"{values.dtype} {values.shape} are not the ids of {n_rows} rows.")
            ids.append(n_rows, np.ascontiguousarray(values).view("<i8")[:, 0])
        else:
            ids.append(n_rows)
        if type(next_id) is not int or not ids.next <= next_id <= _LARGEST + 1:
            raise DataError(f"the next id must be a whole number from {ids.next}, got {next_id!r}.")
        if values is None and next_id != n_rows:
            raise DataError(f"the next id of {n_rows} rows without ids is {n_rows}, got {next_id}.")
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
        """Add n rows, with given ids or the next ones.

        Raises
        ------
        DataError
            If they are not n different whole numbers from 0 on that no row has yet.
        """
        if ids is None and self._stored is None:
            self.next += n
            self._sorted = None
            return
        new = np.arange(self.next, self.next + n) if ids is None else self._checked(ids, n)
        if self._stored is None:
            self._store(self.values)
        assert self._stored is not None
        self._stored.append(new[:, None])
        self.next = max(self.next, int(new.max(initial=-1)) + 1)
        self._sorted = None

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the ids of rows, in an array of the same shape."""
        if self._stored is None or not rows.size:
            return rows
        return self._stored.at(rows.ravel())[:, 0].reshape(rows.shape)

    def rows_of(self, ids: object, name: str = "ids") -> np.ndarray:
        """Return the rows that have these ids, in an array of the same shape.

        Raises
        ------
        DataError
            For an id that no row has.
        """
        wanted = whole_ids(ids, name)
        if self._sorted is None:
            values = self.values
            order = np.argsort(values)
            self._sorted = values[order], order
        known, order = self._sorted
        places = np.searchsorted(known, wanted.ravel())
        # Past the end where all are smaller: compare with the last one instead.
        near = np.minimum(places, max(0, len(known) - 1))
        missing = known[near] != wanted.ravel() if len(known) else np.ones(wanted.size, dtype=bool)
        if missing.any():
            raise DataError(f"no row of the index has the id {wanted.ravel()[missing][0]}.")
        return order[near].reshape(wanted.shape)

    def remove(self, kept: np.ndarray) -> None:
        """Keep the rows where `kept`, an array of bool, is True."""
        self._store(self.values[kept])
        self._sorted = None

    def _store(self, values: np.ndarray) -> None:
        self._stored = Rows()
        self._stored.append(values[:, None])

    def _checked(self, ids: object, n: int) -> np.ndarray:
        new = whole_ids(ids)
        if new.shape != (n,):
            raise DataError(f"ids must be one for each of {n} rows, got shape {new.shape}.")
        if n and (new.min() < 0 or new.max() > _LARGEST):
            raise DataError(f"ids must be from 0 to 2**63 - 2, got {new.min()} to {new.max()}.")
        unique, counts = np.unique(new, return_counts=True)
        if len(unique) < n:
            raise DataError(f"every row needs an id of its own, got {unique[counts > 1][0]} twice.")
        if n and unique[0] < self.next:
            taken = unique[np.isin(unique, self.values)]
            if len(taken):
                raise DataError(f"a row with the id {taken[0]} is there already: remove it first.")
        return new


def whole_ids(ids: object, name: str = "ids") -> np.ndarray:
    """Return ids as an array of whole numbers."""
    with raised_as(DataError, f"{name} must be whole numbers"):
        array = np.asarray(ids)
    if array.size and (
        array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max() > _LARGEST)
    ):
        raise DataError(
            f"{name} must be whole numbers below 2**63 - 1, got {array.dtype}: {ids!r:.60}"
        )
    return array.astype(np.int64)
