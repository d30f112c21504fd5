"""The engines that search, and the choice between them; both return the same rows."""

from __future__ import annotations

import numpy as np

from primal._checks import one_of
from primal._forks import load_compiled
from primal._parallel import over_rows
from primal.engines import ENGINES
from primal.engines import engine as phase_engine
from primal.errors import EngineError
from primal.search._rows import Rows
from primal.search._scan import nearest_rows, scorer
from primal.search._similarity import similarity_of_distances
from primal.search._stored import words

__all__ = ["chosen_engine", "nearest"]

# Queries at once: bounds the memory of a search whatever their number.
_QUERIES_AT_ONCE = 256


def chosen_engine(name: str, stored: str, n_words: int) -> str:
    """Return the engine to search codes with; loading Numba is not worth it for a few words."""
    one_of("engine", name, ("auto", *ENGINES))
    if name == "auto":
        return phase_engine(n_phases=n_words).name if stored == "bits" else "numpy"
    if name == "numba" and stored != "bits":
        raise EngineError(f"engine 'numba' searches bits only, got {stored!r}: use 'numpy'.")
    return phase_engine(name).name


def nearest(
    rows: Rows, queries: np.ndarray, stored: str, n_frequencies: int, n: int, engine: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices and similarities of the n nearest rows, of n or more, of every query."""
    indices = np.empty((len(queries), n), dtype=np.int64)
    similarities = np.empty((len(queries), n))
    for first in range(0, len(queries), _QUERIES_AT_ONCE):
        some = slice(first, first + _QUERIES_AT_ONCE)
        if engine == "numba":
            indices[some], similarities[some] = _by_numba(rows, queries[some], n_frequencies, n)
            continue
        found_by = scorer(queries[some], stored, n_frequencies)
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
