"""``Index``: the nearest rows among codes, by a scan of all of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from primal._checks import callback, file_path, flag, positions, raised_as, real_array, whole_number
from primal._files import read_object, write_object
from primal._parallel import over_rows
from primal._specs import from_spec, make_spec, spec_fields
from primal.errors import DataError, ParameterError
from primal.vectors._codes import Rows, VectorCodes
from primal.vectors._compute import Arrays, Query, best, nearest

_PART_ROWS = 1 << 16
_MOST_QUERIES = 256  # searched at once
_PIECE_BYTES = 1 << 21  # of codes times queries that one thread scans at least
_LARGEST_ID = 2**63 - 2

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

    Examples
    --------
    >>> from primal.vectors import Index, VectorCodes
    >>> index = Index(VectorCodes(2, 8, "l2"))
    >>> index.add([[0.0, 0.0], [3.0, 4.0]])
    >>> scores, ids = index.search([3.0, 4.0], 2)
    >>> scores.round(1), ids
    (array([ 0., 25.]), array([1, 0]))
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
    array([ 7, 18, 29])
    """

    def __init__(
        self, codes: VectorCodes, *, rescore: VectorCodes | None = None, oversample: int = 4
    ) -> None:
        stages = [codes] if rescore is None else [codes, rescore]
        kinds = {(s.d, s.metric) if isinstance(s, VectorCodes) else None for s in stages}
        if len(kinds) > 1 or None in kinds:
            raise ParameterError(
                "codes and rescore must be VectorCodes with the same d and metric, got "
                f"{codes!r:.60} and {rescore!r:.60}."
            )
        self._stages = [copy(stage) for stage in stages]
        self._oversample = whole_number("oversample", oversample, least=1)
        # Codes, factors and offsets of all stages; the first part may be empty.
        self._parts: list[Arrays] = [self._encoded(np.empty((0, codes.d)))]
        self._ids: np.ndarray | None = None  # None: the numbers of the rows
        self._next_id = 0

    def __len__(self) -> int:
        return sum(len(part[0]) for part in self._parts)

    @property
    def codes(self) -> VectorCodes:
        """A copy of the codes of the first stage."""
        return copy(self._stages[0])

    @property
    def ids(self) -> np.ndarray:
        """The ids of all rows in the order in which they were added, int64 of shape (n,)."""
        return np.arange(len(self)) if self._ids is None else np.array(self._ids)

    def add(self, x: object, ids: object = None, *, progress: Progress | None = None) -> None:
        """Append rows; if any of them is wrong, none is added.

        Parameters
        ----------
        x : array-like of shape (n, d)
            Finite real numbers.
        ids : array-like of shape (n,), optional
            Non-negative integers, each once in the index. By default the numbers after the largest
            id that there has been: 0, 1, 2, ...
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of rows.
        """
        rows, report = self._stages[0]._matrix("x", x), callback("progress", progress)
        new, parts = self._new_ids(ids, len(rows)), [*self._parts]
        for first in range(0, len(rows), _PART_ROWS):
            block = rows[first : first + _PART_ROWS]
            parts.append(self._encoded(block, first))
            # Small parts are joined: every row is copied once for each doubling at most.
            while len(parts) > 1 and len(parts[-2][0]) <= len(parts[-1][0]) <= (
                _PART_ROWS - len(parts[-2][0])
            ):
                parts[-2:] = [tuple(map(np.concatenate, zip(*parts[-2:], strict=True)))]
            if report:
                report(first + len(block), len(rows))
        if ids is not None or self._ids is not None:
            self._ids = np.concatenate([self.ids, new])
        self._parts, self._next_id = parts, max(self._next_id, int(new.max(initial=-1)) + 1)

    def remove(self, ids: object) -> None:
        """Remove the rows with these ids, which are not given again; all have to be there."""
        kept = ~self._mask("ids", ids)
        parts = [
            part if own.all() else tuple(array[own] for array in part)
            for part, own in zip(self._parts, self._split(kept), strict=True)
        ]
        self._ids = self.ids[kept]
        self._parts = [part for part in parts if len(part[0])] or parts[:1]

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
        first, last, report = self._stages[0], self._stages[-1], callback("progress", progress)
        array = real_array("q", q, last=first.d)
        queries = first._matrix("q", array[None] if array.ndim == 1 else array)
        mask = None if among is None else self._mask("among", among)
        n = len(self) if mask is None else int(np.count_nonzero(mask))
        k = min(whole_number("k", k, least=1), n)
        scores, ids = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        for start in range(0, len(queries) if k else 0, _MOST_QUERIES):
            block = slice(start, start + _MOST_QUERIES)
            query = first._query(queries[block])
            if last is first:
                squares, rows = self._nearest(query, k, mask)
            else:
                _, rows = self._nearest(query, min(n, k * self._oversample), mask)
                query = last._query(queries[block])
                squares, rows = self._rescored(query, np.sort(rows, axis=1), k)
            squares = squares + query.offsets[:, None]
            same = 1 if first.metric == "cosine" else 0
            scores[block] = squares if first.metric == "l2" else same - squares / 2
            ids[block] = rows if self._ids is None else self._ids[rows]
            if report:
                report(min(start + _MOST_QUERIES, len(queries)), len(queries))
        return Neighbors(scores[0], ids[0]) if array.ndim == 1 else Neighbors(scores, ids)

    def save(self, path: Any) -> None:
        """Write the index atomically into one file in the format of safetensors.

        The folder of the file must exist. A file that was not saved by Primal is never replaced.
        """
        codes, rescore = (self._stages[0].spec, self._stages[-1].spec)
        fields = {"codes": codes, "rescore": rescore if len(self._stages) > 1 else None}
        fields |= {"oversample": self._oversample, "next_id": self._next_id}
        arrays = dict(zip(self._names(), zip(*self._parts, strict=True), strict=True))
        arrays |= {} if self._ids is None else {"ids": (self._ids,)}
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
            fields = spec_fields("Index", fields, ("codes", "rescore", "oversample", "next_id"))
            rescore = None if fields["rescore"] is None else from_spec(fields["rescore"])
            index = cls(
                from_spec(fields["codes"]), rescore=rescore, oversample=fields["oversample"]
            )
            n, index._ids = len(arrays["codes"]), arrays.pop("ids", None)
            given = np.arange(n) if index._ids is None else index._ids
            kinds = {name: (array.dtype, array.shape) for name, array in arrays.items()}
            named = zip(index._names(), index._parts[0], strict=True)
            expected = {name: (array.dtype, (n, *array.shape[1:])) for name, array in named}
            if kinds != expected or given.shape != (n,) or given.dtype != np.int64:
                raise DataError(f"{target} contains {kinds}, its spec implies {expected}.")
            rows = [arrays[name] for name in index._names()]
            starts = range(0, max(n, 1), _PART_ROWS)
            index._parts = [tuple(a[first : first + _PART_ROWS] for a in rows) for first in starts]
            most = n if index._ids is None else _LARGEST_ID + 1
            index._next_id = whole_number("next_id", fields["next_id"], most=most)
        return index

    def __repr__(self) -> str:
        more = f", rescore={self._stages[1]!r}" if len(self._stages) > 1 else ""
        return f"Index({self._stages[0]!r}{more}, n_rows={len(self)})"

    def _names(self) -> list[str]:
        """Return the names of the arrays of a part in a file."""
        return [name + suffix for suffix in ("", "2")[: len(self._stages)] for name in Rows._fields]

    def _encoded(self, x: np.ndarray, start: int = 0) -> Arrays:
        return tuple(array for stage in self._stages for array in stage._encode(x, start))

    def _split(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the entries of each part, of an array with an entry for every row."""
        return np.split(array, np.cumsum([len(part[0]) for part in self._parts])[:-1])

    def _nearest(self, query: Query, k: int, mask: np.ndarray | None) -> Arrays:
        """Return scores and row numbers of the first stage, the k nearest in order."""
        found, rows = [], self._split(np.arange(len(self)))
        masks = [None] * len(rows) if mask is None else self._split(mask)

        def work(first: int, last: int) -> None:
            for part, numbers, own in zip(self._parts, rows, masks, strict=True):
                low, high = np.searchsorted(numbers, [first, last])
                if low == high:
                    continue
                arrays = numbers[low:high], *(array[low:high] for array in part[:3])
                if own is not None:
                    arrays = tuple(array[own[low:high]] for array in arrays)
                scores, places = nearest(query, arrays[1:], self._stages[0].bits, k)
                found.append((scores, arrays[0][places]))

        piece = _PIECE_BYTES // (len(query.words) * self._stages[0].bytes_per_row)
        over_rows(len(self), max(1, piece), work)
        return best(found, k)

    def _rescored(self, query: Query, rows: np.ndarray, k: int) -> Arrays:
        """Return the k nearest of some rows (n_queries, n) of each query by the second stage."""
        starts, found = np.cumsum([0, *(len(part[0]) for part in self._parts)]), []
        for i, own in enumerate(rows):  # ascending
            pieces = np.split(own, np.searchsorted(own, starts[1:-1]))
            taken = [
                [array[piece - start] for array in part[3:]]
                for part, piece, start in zip(self._parts, pieces, starts, strict=False)
                if len(piece)
            ]
            arrays = tuple(map(np.concatenate, zip(*taken, strict=True)))
            one = Query(*(array[i : i + 1] for array in query))
            scores, places = nearest(one, arrays, self._stages[1].bits, k)
            found.append(best([(scores, own[places])], k))
        return tuple(map(np.concatenate, zip(*found, strict=True)))

    def _new_ids(self, ids: object, n: int) -> np.ndarray:
        if ids is None:
            return np.arange(self._next_id, self._next_id + n)
        new = positions(ids, "ids")
        if new.shape != (n,) or (n and not 0 <= new.min() <= new.max() <= _LARGEST_ID):
            raise DataError(
                f"ids must be {n} integers from 0 to 2**63 - 2, one for each row, got {ids!r:.60}."
            )
        known = self.ids if n and new.min() < self._next_id else new[:0]
        unique, counts = np.unique(np.concatenate([known, new]), return_counts=True)
        if (counts > 1).any():
            raise DataError(f"each row needs an id of its own, got {unique[counts > 1][0]} again.")
        return new.astype(np.int64)

    def _mask(self, name: str, chosen: object) -> np.ndarray:
        """Return which rows are chosen by their ids, or by a mask."""
        if isinstance(chosen, np.ndarray) and chosen.dtype.kind == "b":
            if chosen.shape != (len(self),):
                raise DataError(f"a mask needs {len(self)} entries, got shape {chosen.shape}.")
            return chosen
        wanted, known = np.ravel(positions(chosen, name)), self.ids
        missing = wanted[~np.isin(wanted, known)]
        if len(missing):
            raise DataError(f"{name} must be ids of the index, got {missing[0]}.")
        return np.isin(known, wanted)
