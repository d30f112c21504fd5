"""``Index``: the nearest rows among codes, by a scan of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from primal._checks import (
    callback,
    file_path,
    flag,
    raised_as,
    real_array,
    reject_masked,
    require_memory,
    whole_number,
)
from primal._files import read_object, write_object
from primal._parallel import over_rows
from primal._specs import from_spec, make_spec, spec_fields
from primal.errors import DataError, ParameterError
from primal.vectors._codes import Rows, VectorCodes
from primal.vectors._compute import Query, best, nearest

_PART_ROWS = 1 << 16
_MOST_QUERIES = 256  # searched at once
_PIECE_BYTES = 1 << 21  # of codes times queries that one thread scans at least
_GATHERED_BYTES = 1 << 24  # of rows that are copied together before they are scanned
_LARGEST_ID = 2**63 - 2

Arrays = tuple[np.ndarray, ...]
Progress = Callable[[int, int], object]


class Neighbors(NamedTuple):
    """The nearest rows, best first, in the order of faiss and scikit-learn: ``scores, ids``.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, k), or (k,) for one query, dtype=float64
        Estimates: cosine similarities or inner products, largest first, or for "l2" squared
        distances, smallest first.
    ids : ndarray of the same shape, dtype=int64
        Among rows with equal scores, the row that was added first comes first.
    """

    scores: np.ndarray
    ids: np.ndarray


class Index:
    """Codes of rows, and their ids, that can be searched with raw rows.

    A search reads every code. Its scores and ids are the same on every machine and in every
    implementation of the format.

    Parameters
    ----------
    codes : VectorCodes
        Fitted or without a center; the index keeps a copy.
    rescore : VectorCodes, optional
        A second, more accurate code of every row, usually of 8 bits, that orders the best
        ``oversample * k`` candidates again.
    oversample : int, default=4
        Candidates for each of k neighbors; only with `rescore`.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.vectors import Index, VectorCodes
    >>> x = np.sin(np.arange(1200.0)).reshape(100, 12)
    >>> index = Index(VectorCodes(12, bits=4, metric="l2").fit(x))
    >>> index.add(x)
    >>> index.search(x[7], 3).ids
    array([ 7, 51, 95])
    """

    def __init__(
        self, codes: VectorCodes, *, rescore: VectorCodes | None = None, oversample: int = 4
    ) -> None:
        stages = [codes] if rescore is None else [codes, rescore]
        for stage in stages:
            if not isinstance(stage, VectorCodes):
                raise ParameterError(f"an index needs VectorCodes, got {stage!r:.60}.")
            if (stage.d, stage.metric) != (codes.d, codes.metric):
                raise ParameterError(
                    f"rescore must have the columns and the metric of {codes!r}, got {stage!r}."
                )
        self._stages = [copy(stage) for stage in stages]
        self._oversample = whole_number("oversample", oversample, least=1)
        self._parts: list[Arrays] = []  # codes, factors, offsets, those of rescore, ids
        self._next_id = 0
        self._has_ids = False  # while False, ids are the numbers of the rows
        self._sorted: Arrays | None = None

    def __len__(self) -> int:
        return sum(len(part[0]) for part in self._parts)

    @property
    def codes(self) -> VectorCodes:
        """A copy of the codes of the first stage."""
        return copy(self._stages[0])

    @property
    def ids(self) -> np.ndarray:
        """The ids of all rows in the order in which they were added, int64 of shape (n,)."""
        if not self._has_ids:
            return np.arange(len(self))
        return np.concatenate([np.empty(0, dtype=np.int64), *(part[-1] for part in self._parts)])

    def add(self, x: object, ids: object = None, *, progress: Progress | None = None) -> None:
        """Append rows; if any of them is wrong, none is added.

        Parameters
        ----------
        x : array-like of shape (n, d)
            Finite real numbers.
        ids : array-like of shape (n,), optional
            Integers from 0 on, each once in the index. By default the numbers after the largest
            id that there has been: 0, 1, 2, ...
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of rows.
        """
        rows, report = self._stages[0]._matrix("x", x), callback("progress", progress)
        new = self._new_ids(ids, len(rows))
        parts: list[Arrays] = []
        for first in range(0, len(rows), _PART_ROWS):
            block = rows[first : first + _PART_ROWS]
            stages = (stage._encode(block, first) for stage in self._stages)
            parts.append(
                (*(array for stage in stages for array in stage), new[first:][: len(block)])
            )
            if report:
                report(first + len(block), len(rows))
        self._sorted = None
        if ids is not None and not self._has_ids and len(rows):
            self._set_ids(np.arange(len(self)))
        for part in parts:
            self._parts.append(part if self._has_ids else part[:-1])
            # Every row is copied at most once for each doubling of a part.
            while len(self._parts) > 1 and _together(*self._parts[-2:]):
                self._parts[-2:] = [
                    tuple(np.concatenate(pair) for pair in zip(*self._parts[-2:], strict=True))
                ]
        self._next_id = max(self._next_id, int(new.max(initial=-1)) + 1)

    def remove(self, ids: object) -> None:
        """Remove the rows with these ids, which are not given again; all have to be there."""
        kept = np.ones(len(self), dtype=bool)
        kept[self._rows_of(ids, "ids")] = False
        if not self._has_ids:
            self._set_ids(np.arange(len(self)))
        parts = []
        for part in self._parts:
            own, kept = kept[: len(part[0])], kept[len(part[0]) :]
            parts.append(part if own.all() else tuple(array[own] for array in part))
        self._parts, self._sorted = [part for part in parts if len(part[0])], None

    def search(
        self, q: object, k: int = 10, *, among: object = None, progress: Progress | None = None
    ) -> Neighbors:
        """Return the k nearest rows of each query, or all rows if there are fewer.

        Parameters
        ----------
        q : array-like of shape (n_queries, d) or (d,)
            Finite real numbers.
        k : int, default=10
            Number of neighbors.
        among : array-like, optional
            Only these rows: their ids, or bool of shape (n,) in the order of the rows.
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of queries.

        Returns
        -------
        neighbors : Neighbors
            Arrays ``scores`` and ``ids`` with ``min(k, n)`` columns.
        """
        first, report = self._stages[0], callback("progress", progress)
        array = real_array("q", q, last=first.d)
        queries = first._matrix("q", array[None] if array.ndim == 1 else array)
        rows = None if among is None else self._among(among)
        n = len(self) if rows is None else len(rows)
        k = min(whole_number("k", k, least=1), n)
        n_found = min(n, k * self._oversample) if len(self._stages) > 1 else k
        require_memory(32 * len(queries) * k, f"{k} neighbors of {len(queries)} queries")
        scores, ids = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        row_bytes = n_found * self._stages[-1].bytes_per_row
        step = max(1, min(_MOST_QUERIES, _GATHERED_BYTES // max(1, row_bytes)))
        for start in range(0, len(queries) if k else 0, step):
            block = slice(start, start + step)
            query = first._query(queries[block])
            found = self._nearest(query, n_found, rows)
            if len(self._stages) > 1:
                query = self._stages[1]._query(queries[block])
                found = self._rescored(query, np.sort(found[1], axis=1), k)
            scores[block] = _values(found[0] + query.offsets[:, None], first.metric)
            ids[block] = self._ids_at(found[1])
            if report:
                report(min(start + step, len(queries)), len(queries))
        return Neighbors(scores[0], ids[0]) if array.ndim == 1 else Neighbors(scores, ids)

    def save(self, path: Any) -> None:
        """Write the index atomically into one file in the format of safetensors.

        The folder of the file must exist. A file that was not saved by Primal is never replaced.
        """
        codes, *more = (stage.spec for stage in self._stages)
        fields = {"codes": codes, "rescore": more[0] if more else None}
        fields |= {"oversample": self._oversample, "next_id": self._next_id}
        columns = zip(*self._parts, strict=True) if self._parts else ([a] for a in self._empty())
        arrays = dict(zip(self._names(), map(list, columns), strict=True))
        write_object(file_path("path", path), make_spec("Index", **fields), arrays)

    @classmethod
    def load(cls, path: Any, *, mapped: bool = False, verify: bool = False) -> Index:
        """Return the index in a file.

        A damaged file, which its digest shows, or one of another object raises DataError. With
        `mapped` arrays stay on the disk until they are used, and their digest is compared with
        `verify` only, which reads all of them once. Do not truncate or overwrite a mapped file in
        place: the system ends a process that reads missing pages. (`save` replaces files.)
        """
        target, mapped = file_path("path", path), flag("mapped", mapped)
        fields, arrays = read_object(target, "Index", mapped=mapped, verify=flag("verify", verify))
        with raised_as(DataError, f"{target} contains no Index", keep=(DataError,)):
            names = ("codes", "rescore", "oversample", "next_id")
            fields = spec_fields("Index", fields, names)
            rescore = None if fields["rescore"] is None else from_spec(fields["rescore"])
            index = cls(
                from_spec(fields["codes"]), rescore=rescore, oversample=fields["oversample"]
            )
            index._has_ids = "ids" in arrays
            found = [arrays.pop(name) for name in index._names()]
            for array, empty in zip(found, index._empty(), strict=True):
                shape = (len(found[0]), *empty.shape[1:])
                if arrays or array.shape != shape or array.dtype != empty.dtype:
                    raise DataError(
                        f"{target} contains {array.dtype} {array.shape} where its spec implies "
                        f"{empty.dtype} {shape}."
                    )
            starts = range(0, len(found[0]), _PART_ROWS)
            index._parts = [tuple(a[first : first + _PART_ROWS] for a in found) for first in starts]
            most = len(index) if not index._has_ids else _LARGEST_ID + 1
            index._next_id = whole_number("next_id", fields["next_id"], most=most)
        return index

    def __repr__(self) -> str:
        more = f", rescore={self._stages[1]!r}" if len(self._stages) > 1 else ""
        return f"Index({self._stages[0]!r}{more}, n_rows={len(self)})"

    def _names(self) -> list[str]:
        suffixes = ["", "2"][: len(self._stages)]
        names = [name + suffix for suffix in suffixes for name in Rows._fields]
        return [*names, "ids"] if self._has_ids else names

    def _empty(self) -> list[np.ndarray]:
        stages = [stage._encode(np.empty((0, stage.d))) for stage in self._stages]
        arrays = [array for stage in stages for array in stage]
        return [*arrays, np.empty(0, dtype=np.int64)] if self._has_ids else arrays

    def _nearest(self, query: Query, k: int, rows: np.ndarray | None) -> Arrays:
        """Return scores and row numbers of the first stage, the k nearest in order."""
        bits, found = self._stages[0].bits, []

        def work(first: int, last: int) -> None:
            for numbers, arrays in self._slices(first, last, rows):
                scores, places = nearest(query, arrays, bits, k)
                found.append((scores, numbers[places]))

        n = len(self) if rows is None else len(rows)
        piece = _PIECE_BYTES // (len(query.words) * self._stages[0].bytes_per_row)
        over_rows(n, max(1, piece), work)
        return best(found, k)

    def _slices(
        self, first: int, last: int, rows: np.ndarray | None
    ) -> Iterator[tuple[np.ndarray, Arrays]]:
        """Yield numbers and first-stage arrays of rows first to last - 1 of all, or of `rows`."""
        if rows is not None:
            step = max(1, _GATHERED_BYTES // self._stages[0].bytes_per_row)
            for i in range(first, last, step):
                some = rows[i : min(i + step, last)]
                yield some, self._taken(some, slice(0, 3))
            return
        start = 0
        for part in self._parts:
            low, high = max(first - start, 0), min(last - start, len(part[0]))
            if low < high:
                yield np.arange(start + low, start + high), tuple(a[low:high] for a in part[:3])
            start += len(part[0])

    def _rescored(self, query: Query, rows: np.ndarray, k: int) -> Arrays:
        """Return the k nearest of some rows (n_queries, n) of each query by the second stage."""
        arrays = self._taken(rows.ravel(), slice(3, 6))
        n, found = rows.shape[1], []
        for i in range(len(rows)):
            one = Query(*(part[i : i + 1] for part in query))
            own = tuple(array[i * n : (i + 1) * n] for array in arrays)
            scores, places = nearest(one, own, self._stages[1].bits, k)
            found.append(best([(scores, rows[i][places])], k))
        scores, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return scores, rows

    def _taken(self, rows: np.ndarray, columns: slice) -> Arrays:
        """Return some arrays at row numbers."""
        ends = np.cumsum([len(part[0]) for part in self._parts])
        owners = np.searchsorted(ends, rows, side="right")
        found = tuple(
            np.empty((len(rows), *array.shape[1:]), array.dtype)
            for array in self._parts[0][columns]
        )
        for number in np.unique(owners):
            own, part = owners == number, self._parts[number]
            places = rows[own] - (ends[number] - len(part[0]))
            for out, array in zip(found, part[columns], strict=True):
                out[own] = array[places]
        return found

    def _ids_at(self, rows: np.ndarray) -> np.ndarray:
        if not self._has_ids:
            return rows
        return self._taken(rows.ravel(), slice(-1, None))[0].reshape(rows.shape)

    def _set_ids(self, ids: np.ndarray) -> None:
        ends = np.cumsum([len(part[0]) for part in self._parts])
        own = np.split(ids, ends[:-1])
        self._parts = [(*part, ids) for part, ids in zip(self._parts, own, strict=False)]
        self._has_ids = True

    def _new_ids(self, ids: object, n: int) -> np.ndarray:
        if ids is None:
            return np.arange(self._next_id, self._next_id + n)
        new = _integers("ids", ids)
        if new.shape != (n,) or (n and not 0 <= new.min() <= new.max() <= _LARGEST_ID):
            raise DataError(
                f"ids must be {n} integers from 0 to 2**63 - 2, one for each row, got {ids!r:.60}."
            )
        unique, counts = np.unique(new, return_counts=True)
        taken = unique[counts > 1]
        if n and unique[0] < self._next_id:
            taken = np.concatenate([taken, unique[np.isin(unique, self.ids)]])
        if len(taken):
            raise DataError(f"each row needs an id of its own, got {taken[0]} again.")
        return new

    def _rows_of(self, ids: object, name: str) -> np.ndarray:
        """Return the numbers of the rows with these ids."""
        wanted = np.unique(_integers(name, ids))
        if self._sorted is None:
            order = np.argsort(self.ids)
            self._sorted = self.ids[order], order
        known, order = self._sorted
        places = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
        missing = wanted[known[places] != wanted] if len(known) else wanted
        if len(missing):
            raise DataError(f"{name} must be ids of the index, got {missing[0]}.")
        return order[places]

    def _among(self, among: object) -> np.ndarray:
        mask = np.asarray(among) if not isinstance(among, np.ndarray) else among
        if mask.dtype != bool:
            return np.sort(self._rows_of(among, "among"))
        if mask.shape != (len(self),):
            raise DataError(
                f"a mask must have one entry for each of {len(self)} rows, got shape {mask.shape}."
            )
        return np.flatnonzero(mask)


def _together(a: Arrays, b: Arrays) -> bool:
    """Whether two parts become one."""
    return len(a[0]) <= len(b[0]) and len(a[0]) + len(b[0]) <= _PART_ROWS


def _values(squares: np.ndarray, metric: str) -> np.ndarray:
    """Return the scores of a metric from squared distances, or minus twice inner products."""
    return squares if metric == "l2" else (1 if metric == "cosine" else 0) - squares / 2


def _integers(name: str, values: object) -> np.ndarray:
    reject_masked(name, values)
    with raised_as(DataError, f"{name} must be integers"):
        array = np.asarray(values)
        if array.size == 0:
            return np.empty(0, dtype=np.int64)
        if array.ndim > 1 or array.dtype.kind not in "iu" or array.max() > _LARGEST_ID:
            raise DataError(f"{name} must be integers below 2**63 - 1, got {values!r:.60}.")
    return np.atleast_1d(array).astype(np.int64)
