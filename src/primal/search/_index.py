"""``Index``: nearest neighbors of raw vectors among stored codes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from primal._checks import file_path, flag, one_of, raised_as, whole_number
from primal._files import FolderFormat
from primal._specs import make_spec, spec_fields
from primal.errors import DataError, MissingPackageError
from primal.search._codes import STORED, checked_codes, checked_map, encoded, n_columns
from primal.search._rows import Ids, Rows
from primal.search._scan import best_of, nearest, scorer

# A small JSON file that names the arrays beside it.
_FORMAT = FolderFormat("index.json", "primal index", 3)


class Neighbors(NamedTuple):
    """What a search found, in the order of FAISS and scikit-learn: ``similarities, ids``.

    Parameters
    ----------
    similarities : ndarray of shape (n_queries, n), or (n,) for one query, dtype=float64
        Estimates of the cosine similarity of the waves, largest first (see :func:`similarity`).
    ids : ndarray of the same shape, dtype=int64
        Those of the rows; among equally similar ones those that were added first.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.search import Index
    >>> m = primal.DynamicPrime(1, 64, 0.1, basis="auto")
    >>> index = Index.from_vectors(np.arange(10.0)[:, None], m, stored="float32")
    >>> index.search([4.2], 2).ids
    array([4, 5])
    """

    similarities: np.ndarray
    ids: np.ndarray


class Index:
    """Rows of codes that can be searched with raw vectors.

    Every search looks at every row and is exact for the codes: what is lost is lost in the codes
    (see :func:`expected_similarity`). A code is no secret: whoever has the spec can turn phases
    back into vectors.

    Parameters
    ----------
    m : DynamicPrime, KernelPrime, StaticPrime, their spec, or fitted PrimeFeatures
        Encodes vectors; it is rebuilt from its spec, never stored.
    stored : str, default="bits"
        A row of "float32", "float16", "uint8-phase", "uint16-phase" or "bits" takes 8 k, 4 k, k,
        2 k or k / 4 bytes for k = D / 2 frequencies.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.search import Index
    >>> x = np.arange(300.0).reshape(100, 3)
    >>> m = primal.DynamicPrime(3, 256, 0.01, basis="auto")
    >>> index = Index(m, stored="uint8-phase")
    >>> index.add(x)
    >>> similarities, ids = index.search(x[7] + 0.1, 3)
    >>> similarities.round(3), ids
    (array([1.   , 0.951, 0.944]), array([7, 8, 6]))
    >>> len(index), index.bytes_per_row
    (100, 128)
    """

    def __init__(self, m: object, *, stored: str = "bits") -> None:
        self._stored = one_of("stored", stored, STORED)
        self._map = checked_map(m)
        self._k = self._map.D // 2
        self._rows = Rows()
        self._ids = Ids()

    @classmethod
    def from_vectors(
        cls, x: object, m: object, *, stored: str = "bits", ids: object = None
    ) -> Index:
        """Return an index of raw vectors; see :meth:`add`."""
        index = cls(m, stored=stored)
        index.add(x, ids)
        return index

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = False) -> Index:
        """Return the index saved in a folder; its codes stay on disk, mapped into memory.

        `verify` reads all codes once and compares their digest with the one saved.
        """
        path = file_path("folder", folder)
        fields, arrays = _FORMAT.load(path, mapped_from=0, verify=flag("verify", verify))
        kept = (DataError, MissingPackageError)
        with raised_as(DataError, f"the index in {path} is damaged", keep=kept):
            index, codes = cls(fields["map"], stored=fields["stored"]), arrays["codes"]
            dtype, shape = STORED[index.stored], (len(codes), n_columns(index.stored, index._k))
            if codes.shape != shape or codes.dtype != dtype:
                raise DataError(
                    f"{path} holds {codes.dtype} {codes.shape} where its index has {dtype} "
                    f"{shape}: save the index again."
                )
            index._ids = Ids.restored(arrays.get("ids"), fields["next_id"], len(codes))
        index._rows.append(codes)
        return index

    def save(self, folder: str | Path) -> None:
        """Write the spec, the codes and the ids into a folder, made if need be.

        An index that is already there is replaced at one moment, also when writing is cut short.
        Other files are left alone; an ``index.json`` of another program raises DataError.
        """
        none = np.empty((0, n_columns(self._stored, self._k)), dtype=STORED[self._stored])
        arrays = {"codes": self._rows.parts or [none]}
        if self._ids.stored is not None:
            arrays["ids"] = [self._ids.stored]
        fields = {"map": self._map.spec, "stored": self._stored, "next_id": self._ids.next}
        _FORMAT.save(file_path("folder", folder), fields, arrays)

    @property
    def stored(self) -> str:
        """What a row holds."""
        return self._stored

    @property
    def bytes_per_row(self) -> int:
        """Bytes of one row."""
        return n_columns(self._stored, self._k) * STORED[self._stored].itemsize

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` makes this index without its rows."""
        return make_spec("Index", map=self._map.spec, stored=self._stored)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Index:
        fields = spec_fields("Index", fields, ("map", "stored"))
        return cls(fields["map"], stored=fields["stored"])

    @property
    def ids(self) -> np.ndarray:
        """The ids of all rows in the order in which they were added, int64 of shape (n,)."""
        return self._ids.values

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, x: object, ids: object = None) -> None:
        """Append raw vectors (n, d) or (d,), or for a StaticPrime integers of shape (n,) or ().

        `ids` are whole numbers from 0 on by which a search names the rows, each once in the index.
        By default they count on: 0, 1, 2, ..., or from the largest there has been.
        """
        self._append(np.atleast_2d(self.encode(x)), ids)

    def add_codes(self, codes: np.ndarray, ids: object = None) -> None:
        """Append codes made elsewhere by the same map, shape (n, columns) or (columns,)."""
        self._append(self._checked(codes)[0].copy(), ids)

    def remove(self, ids: object) -> None:
        """Remove rows; the ids of the others stay, and theirs are not given again.

        It copies up to all rows: remove many at once. An id that no row has raises DataError, and
        then nothing is removed.
        """
        kept = np.ones(len(self), dtype=bool)
        kept[self._ids.rows_of(ids)] = False
        rows = self._rows.only(kept)
        self._ids.remove(kept)
        self._rows = rows

    def encode(self, x: object) -> np.ndarray:
        """Return the codes of raw vectors as this index stores them."""
        return encoded(self._map, x, self._stored)

    def search(self, x: object, n_neighbors: int = 10) -> Neighbors:
        """Return the nearest rows of raw vectors, of the shapes that :meth:`add` takes.

        An index of fewer than `n_neighbors` rows returns them all.
        """
        return self.search_codes(self.encode(x), n_neighbors)

    def search_codes(self, codes: np.ndarray, n_neighbors: int = 10) -> Neighbors:
        """Return the nearest rows of queries that are codes already; see :meth:`search`."""
        queries, single = self._checked(codes)
        n = min(whole_number("n_neighbors", n_neighbors, least=1), len(self))
        found = nearest(self._rows, queries, self._stored, self._k, n)
        return self._neighbors(*found, single)

    def rerank(self, x: object, candidates: object, n_neighbors: int = 10) -> Neighbors:
        """Return the nearest among given rows: the second look after a coarser index.

        `candidates` (n_queries, n_candidates), or (n_candidates,) for one query, are ids of rows,
        without repetition in a row: for instance what `search` of an index of the same vectors as
        bits returned. Fewer than `n_neighbors` are all returned.

        Examples
        --------
        >>> import numpy as np, primal
        >>> from primal.search import Index
        >>> x = np.arange(300.0).reshape(100, 3)
        >>> m = primal.DynamicPrime(3, 256, 0.01, basis="auto")
        >>> bits, phases = (Index.from_vectors(x, m, stored=s) for s in ("bits", "uint8-phase"))
        >>> candidates = bits.search(x[0], 20).ids
        >>> phases.rerank(x[0], candidates, 3).ids
        array([0, 1, 2])
        """
        queries, single = self._checked(self.encode(x))
        rows = self._ids.rows_of(candidates, "candidates")
        rows = rows[None] if single else rows
        if rows.ndim != 2 or len(rows) != len(queries):
            raise DataError(
                f"candidates must be the ids of some rows for each of the {len(queries)} rows of "
                f"x, got an array of shape {np.shape(candidates)}."  # type: ignore[arg-type]
            )
        n = min(whole_number("n_neighbors", n_neighbors, least=1), rows.shape[1])
        found = best_of(scorer(queries, self._stored, self._k), rows, n, self._rows)
        return self._neighbors(*found, single)

    def __repr__(self) -> str:
        return f"Index({self._map!r}, stored={self._stored!r}, n_rows={len(self)})"

    def _append(self, codes: np.ndarray, ids: object) -> None:
        self._ids.append(len(codes), ids)  # rejects wrong ids before anything has changed
        self._rows.append(codes)

    def _checked(self, codes: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return codes in rows, and whether there was one alone."""
        single = isinstance(codes, np.ndarray) and codes.ndim == 1
        rows = codes[None] if single else codes
        return checked_codes("codes", rows, self._stored, self._k), single

    def _neighbors(self, rows: np.ndarray, similarities: np.ndarray, single: bool) -> Neighbors:
        ids = self._ids.at(rows)
        return Neighbors(similarities[0], ids[0]) if single else Neighbors(similarities, ids)
