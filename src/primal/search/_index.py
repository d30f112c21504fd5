"""``Index``: nearest neighbours of raw vectors among stored codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from primal._checks import one_of, whole_number
from primal._errors import DataError, DimensionError
from primal.search import _files
from primal.search._encoder import Encoder
from primal.search._engines import chosen_engine, nearest
from primal.search._faiss import FaissRows
from primal.search._kinds import KINDS, checked_codes, columns_of
from primal.search._parquet import read_parquet
from primal.search._rows import Rows
from primal.search._scan import best_of, scorer

__all__ = ["Index"]


class Index:
    """Rows of codes that can be searched with raw vectors.

    Every search looks at every row and is exact for the codes: what is lost is lost in the
    codes (see :func:`expected_similarity`). A code is no secret: whoever has the spec can
    turn phases back into vectors.

    Parameters
    ----------
    m : DynamicPrime, StaticPrime, fitted PrimeFeatures or spec of a map
        What encodes vectors. It is rebuilt from its spec, never stored.
    codes : {"bits", "uint8-phase", "uint16-phase", "float16", "float32"}, default="bits"
        What a row holds, in bytes for k = D / 2 frequencies: k / 4, k, 2 k, 4 k or 8 k.

    Raises
    ------
    OptionError, SpecError
        If m or codes is none of these.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.search import Index
    >>> x = np.arange(300.0).reshape(100, 3)
    >>> m = primal.DynamicPrime(3, 256, 0.01, basis="auto")
    >>> index = Index(m, codes="uint8-phase")
    >>> index.add(x)
    >>> indices, similarities = index.search(x[[7]] + 0.1, 3)
    >>> indices, similarities.round(3)
    (array([[7, 8, 6]]), array([[1.   , 0.951, 0.944]]))
    >>> len(index), index.bytes_per_row
    (100, 128)
    """

    def __init__(self, m: object, *, codes: str = "bits") -> None:
        self._kind = one_of("codes", codes, KINDS)
        self._encoder = Encoder.of(m)
        self._rows = Rows()
        self._faiss: FaissRows | None = None

    @classmethod
    def from_vectors(cls, x: object, m: object, *, codes: str = "bits") -> Index:
        """Return an index of raw vectors, shape (n, d), or (n,) integers for a StaticPrime."""
        index = cls(m, codes=codes)
        index.add(x)
        return index

    @classmethod
    def from_parquet(cls, path: str | Path, *, column: str = "features") -> Index:
        """Return an index of a column of codes in a Parquet file.

        The file's schema has the metadata key ``primal``: JSON with the fields ``spec`` (of
        the map) and ``dtype`` (the kind of code), or ``recipe`` with these two in it, as the
        pipeline writes it.

        Raises
        ------
        MissingPackageError
            If pyarrow is not installed.
        DataError
            If the file has no such column or metadata, or they do not fit each other.
        """
        encoder, kind, parts = read_parquet(Path(path), column)
        index = cls(encoder, codes=kind)
        for part in parts:
            index.add_codes(part)
        return index

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = False) -> Index:
        """Return the index saved in a folder; its codes stay on disk, mapped into memory.

        Parameters
        ----------
        folder : path
        verify : bool, default=False
            Read all codes once and compare their digest with the one saved.

        Raises
        ------
        DataError
            If the folder holds no index, or a damaged one.
        """
        encoder, kind, codes = _files.load(Path(folder), verify=verify)
        index = cls(encoder, codes=kind)
        index._rows.append(codes)
        return index

    def save(self, folder: str | Path) -> None:
        """Write the spec and the codes into a folder, made if need be.

        An index that is already there is replaced at one moment: a reader finds the old one
        or the new one, also when writing is cut short. Other files in the folder are left alone.

        Raises
        ------
        DataError
            If another program's ``index.json`` is in the folder.
        """
        _files.save(Path(folder), self._encoder, self._kind, self._rows.parts)

    @property
    def codes(self) -> str:
        """What a row holds."""
        return self._kind

    @property
    def bytes_per_row(self) -> int:
        """Bytes of one row."""
        columns = columns_of(self._kind, self._encoder.n_frequencies)
        return columns * KINDS[self._kind].itemsize

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values that, with the codes, are the index."""
        return {"codes": self._kind, **self._encoder.spec}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, x: object) -> None:
        """Append raw vectors; their indices follow those already there."""
        self._rows.append(self.encode(x))

    def add_codes(self, codes: np.ndarray) -> None:
        """Append codes made elsewhere by the same map, shape (n, columns)."""
        checked = checked_codes("codes", codes, self._kind, self._encoder.n_frequencies)
        self._rows.append(checked.copy())

    def encode(self, x: object) -> np.ndarray:
        """Return the codes of raw vectors as this index stores them."""
        return self._encoder.codes(x, self._kind)

    def search(
        self, x: object, n_neighbours: int = 10, *, engine: str = "auto"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest rows of raw vectors.

        Parameters
        ----------
        x : array_like of shape (n_queries, d), or (n_queries,) integers for a StaticPrime
        n_neighbours : int, default=10
            At most the number of rows.
        engine : {"auto", "numpy", "numba", "faiss"}, default="auto"
            Numba counts bits; FAISS takes bits and waves and keeps its own copy of the rows;
            NumPy takes all. Results are the same. ``"auto"`` is Numba for bits where it is
            installed, else NumPy.

        Returns
        -------
        indices : ndarray of shape (n_queries, n_neighbours), dtype=int64
            Most similar first; among equals the lower index.
        similarities : ndarray of the same shape, dtype=float64
            Estimates of the cosine similarity of the waves (see :func:`similarity`).

        Raises
        ------
        DimensionError
            If more neighbours are asked for than there are rows.
        EngineError, MissingPackageError
            If the engine cannot search these codes, or is not installed.
        """
        return self.search_codes(self.encode(x), n_neighbours, engine=engine)

    def search_codes(
        self, codes: np.ndarray, n_neighbours: int = 10, *, engine: str = "auto"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest rows of queries that are codes already; see :meth:`search`."""
        k = self._encoder.n_frequencies
        queries = checked_codes("codes", codes, self._kind, k)
        n = whole_number("n_neighbours", n_neighbours, least=1)
        if n > len(self):
            raise DimensionError(
                f"n_neighbours = {n} is more than the {len(self)} rows of the index: ask for fewer."
            )
        name = chosen_engine(engine, self._kind, queries.size // 8 * len(self))
        by = self._in_faiss() if name == "faiss" else name
        return nearest(self._rows, queries, self._kind, k, n, by)

    def rerank(
        self, x: object, candidates: np.ndarray, n_neighbours: int = 10
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest among given rows: the second look after a coarser index.

        Parameters
        ----------
        x : array_like of shape (n_queries, d)
        candidates : ndarray of integers, shape (n_queries, n_candidates)
            Indices of rows, without repetition in a row; for instance what `search` of an
            index of the same vectors as bits returned.
        n_neighbours : int, default=10

        Returns
        -------
        indices, similarities
            As `search` returns them.

        Examples
        --------
        >>> import numpy as np, primal
        >>> from primal.search import Index
        >>> x = np.arange(300.0).reshape(100, 3)
        >>> m = primal.DynamicPrime(3, 256, 0.01, basis="auto")
        >>> bits, phases = (Index.from_vectors(x, m, codes=c) for c in ("bits", "uint8-phase"))
        >>> candidates, _ = bits.search(x[:1], 20)
        >>> phases.rerank(x[:1], candidates, 3)[0]
        array([[0, 1, 2]])
        """
        queries = self.encode(x)
        rows = self._checked_candidates(candidates, len(queries))
        n = whole_number("n_neighbours", n_neighbours, least=1)
        if n > rows.shape[1]:
            raise DimensionError(
                f"n_neighbours = {n} is more than the {rows.shape[1]} candidates of a query."
            )
        found_by = scorer(queries, self._kind, self._encoder.n_frequencies)
        indices, scores = best_of(
            found_by, np.arange(len(rows)), rows, n, self._rows.at, queries.shape[1]
        )
        return indices, found_by.similarity(scores)

    def __repr__(self) -> str:
        return f"Index({self._encoder.map!r}, codes={self._kind!r}, n_rows={len(self)})"

    def _in_faiss(self) -> FaissRows:
        """Return the rows inside FAISS, with those added since the last search."""
        if self._faiss is None:
            columns = columns_of(self._kind, self._encoder.n_frequencies)
            self._faiss = FaissRows(self._kind, columns)
        for part in self._rows.since(len(self._faiss)):
            self._faiss.add(part)
        return self._faiss

    def _checked_candidates(self, candidates: object, n_queries: int) -> np.ndarray:
        array = np.asarray(candidates)
        if array.dtype.kind not in "iu" or array.ndim != 2 or len(array) != n_queries:
            raise DataError(
                f"candidates must be integers of shape ({n_queries}, n), "
                f"got {array.dtype} {array.shape}."
            )
        if array.size and (array.min() < 0 or array.max() >= len(self)):
            raise DataError(
                f"candidates must be rows of the index, 0 to {len(self) - 1}, "
                f"got {array.min()} to {array.max()}."
            )
        return array.astype(np.int64)
