"""The engines that search, and the choice between them; all return the same rows."""

from __future__ import annotations

import numpy as np

from primal._checks import one_of
from primal._forks import load_compiled
from primal._parallel import over_rows
from primal.engines import engine as phase_engine
from primal.errors import EngineError
from primal.search._faiss import FaissRows
from primal.search._kinds import is_phases, words
from primal.search._rows import Rows
from primal.search._scan import nearest_rows, scorer
from primal.search._similarity import similarity_of_distances

__all__ = ["chosen_engine", "nearest"]

_ENGINES = ("numpy", "numba", "faiss")
# Queries at once: bounds the memory of a search whatever their number.
_QUERIES_AT_ONCE = 256


def chosen_engine(name: str, kind: str, n_words: int) -> str:
    """Return the engine to search codes of a kind with, or refuse it.

    Parameters
    ----------
    name : {"auto", "numpy", "numba", "faiss"}
    kind : str
    n_words : int
        Size of the work: loading Numba is not worth it for a little.
    """
    one_of("engine", name, ("auto", *_ENGINES))
    if name == "auto":
        return phase_engine(n_phases=n_words).name if kind == "bits" else "numpy"
    able = {"numpy": True, "numba": kind == "bits", "faiss": not is_phases(kind)}
    if not able[name]:
        listed = ", ".join(repr(other) for other in _ENGINES if able[other])
        raise EngineError(f"engine {name!r} cannot search codes of kind {kind!r}: use {listed}.")
    return name if name == "faiss" else phase_engine(name).name


def nearest(
    rows: Rows, queries: np.ndarray, kind: str, n_frequencies: int, n: int, by: str | FaissRows
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices and similarities of the n nearest rows of every query.

    Parameters
    ----------
    rows : Rows
        At least n, and one.
    queries : ndarray
        Codes of that kind.
    by : "numpy", "numba" or the FaissRows that hold the same rows
    """
    indices = np.empty((len(queries), n), dtype=np.int64)
    similarities = np.empty((len(queries), n))
    for first in range(0, len(queries), _QUERIES_AT_ONCE):
        some = slice(first, first + _QUERIES_AT_ONCE)
        if by == "numba":
            indices[some], similarities[some] = _by_numba(rows, queries[some], n_frequencies, n)
            continue
        found_by = scorer(queries[some], kind, n_frequencies)
        if isinstance(by, FaissRows):
            indices[some], scores = by.nearest(found_by, queries[some], n, rows.at)
        else:
            indices[some], scores = nearest_rows(found_by, rows.parts, n, len(queries[some]))
        similarities[some] = found_by.similarity(scores)
    return indices, similarities


def _by_numba(
    rows: Rows, queries: np.ndarray, n_frequencies: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count the differing bits of every pair, several queries at a time."""
    kernels = load_compiled("primal.search._numba_kernels")

    farther_than_any = 8 * queries.shape[1] + 1
    distances = np.full((len(queries), n), farther_than_any, dtype=np.int64)
    indices = np.full((len(queries), n), -1, dtype=np.int64)
    query_words = words(queries)

    def work(start: int, stop: int) -> None:
        some, first = slice(start, stop), 0
        for part in rows.parts:
            kernels.nearest_bits(
                query_words[some], words(part), first, distances[some], indices[some]
            )
            first += len(part)

    over_rows(len(queries), 1, work)
    return indices, similarity_of_distances(n_frequencies)[distances]
