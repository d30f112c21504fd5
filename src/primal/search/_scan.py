"""The nearest rows of every query, in blocks: a quick screen first, exact scores for the rest.

A screen may be off by a proven bound. Rows that could still be among the nearest by it get
their exact score, and only those decide, so the answer does not depend on how the screen
was computed. Among equal scores the lower index wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from primal._forks import load_compiled
from primal._parallel import over_rows
from primal.engines import engine, row_blocks
from primal.search._codes import (
    TABLE_UNIT,
    cosine_table,
    hamming_distances,
    is_phases,
    similarity_of_distances,
    words,
)
from primal.search._rows import Rows

# Queries at once: bounds the memory of a search whatever their number.
_QUERIES_AT_ONCE = 256
# Scores in one block: 8 MB of float32.
_BLOCK_SCORES = 1 << 21
# Entries of codes gathered at once for exact scores.
_EXACT_ENTRIES = 1 << 20
# Waves are off by at most 1.3e-7 (see primal.turns.waves).
_WAVE_ERROR = 1.3e-7


def nearest(
    rows: Rows, queries: np.ndarray, stored: str, n_frequencies: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices and similarities of the n nearest rows, of n or more, of every query.

    Numba counts bits only; NumPy searches all codes, with the same results.
    """
    n_words = queries.size // 8 * len(rows)
    by_numba = stored == "bits" and engine(n_phases=n_words).name == "numba"
    indices = np.empty((len(queries), n), dtype=np.int64)
    similarities = np.empty((len(queries), n))
    for first in range(0, len(queries), _QUERIES_AT_ONCE):
        some = slice(first, first + _QUERIES_AT_ONCE)
        if by_numba:
            found = _by_numba(rows, queries[some], n_frequencies, n)
        else:
            found = _nearest_rows(scorer(queries[some], stored, n_frequencies), rows, n)
        indices[some], similarities[some] = found
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


class Scorer(NamedTuple):
    """Scores of rows against a few queries; larger is more similar.

    `screen` gives scores of all rows, shape (n_queries, n_rows), within `screen_error` of the
    exact ones; `exact` those of pairs of a query's number and a row, float64; `similarity` what
    exact scores stand for.
    """

    queries: np.ndarray
    screen: Callable[[np.ndarray], np.ndarray]
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray]
    similarity: Callable[[np.ndarray], np.ndarray] = np.asarray
    screen_error: float = 0.0

    def exact_at(
        self, numbers: np.ndarray, places: np.ndarray, rows_at: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Return the exact scores of pairs of a query and a row, a few MB of rows at a time."""
        scores = np.empty(len(places))
        for piece in row_blocks(len(places), self.queries.shape[1], _EXACT_ENTRIES):
            scores[piece] = self.exact(numbers[piece], rows_at(places[piece]))
        return scores


def scorer(queries: np.ndarray, stored: str, n_frequencies: int) -> Scorer:
    if stored == "bits":
        return _bit_scorer(words(queries), n_frequencies)
    return _phase_scorer(queries) if is_phases(stored) else _wave_scorer(queries)


def best_of(
    found_by: Scorer, candidates: np.ndarray, n: int, rows: Rows
) -> tuple[np.ndarray, np.ndarray]:
    """Return the n best of the candidates (n_queries, n_candidates), and their similarities."""
    numbers = np.repeat(np.arange(len(candidates)), candidates.shape[1])
    exact = found_by.exact_at(numbers, candidates.ravel(), rows.at).reshape(candidates.shape)
    order = np.lexsort((candidates, -exact), axis=1)[:, :n]
    best = np.take_along_axis(candidates, order, 1)
    return best, found_by.similarity(np.take_along_axis(exact, order, 1))


def _nearest_rows(found_by: Scorer, all_rows: Rows, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices and similarities of the n best rows, of n or more, of every query."""
    n_queries, margin = len(found_by.queries), 2.0 * found_by.screen_error
    indices = np.full((n_queries, n), -1, dtype=np.int64)
    scores = np.full((n_queries, n), -np.inf)
    first = 0
    for part in all_rows.parts:
        for some in row_blocks(len(part), n_queries, _BLOCK_SCORES):
            rows = np.ascontiguousarray(part[some])
            screened = found_by.screen(rows)
            least = scores[:, -1] - margin
            if np.isinf(least).any() and len(rows) > n:
                # Nothing known yet: the block's own n-th best is a bound just as good.
                own = np.partition(screened, len(rows) - n, axis=1)[:, len(rows) - n]
                least = np.maximum(least, own - margin)
            numbers, places = np.nonzero(screened >= least[:, None])
            exact = found_by.exact_at(numbers, places, rows.__getitem__)
            # The best n of each query after these candidates, ordered by score, then index.
            query = np.concatenate([np.repeat(np.arange(n_queries), n), numbers])
            index = np.concatenate([indices.ravel(), first + some.start + places])
            score = np.concatenate([scores.ravel(), exact])
            order = np.lexsort((index, -score, query))
            starts = np.searchsorted(query[order], np.arange(n_queries))
            best = order[starts[:, None] + np.arange(n)]
            indices, scores = index[best], score[best]
        first += len(part)
    return indices, found_by.similarity(scores)


def _bit_scorer(queries: np.ndarray, n_frequencies: int) -> Scorer:
    """Minus the number of differing bits."""
    similarities = similarity_of_distances(n_frequencies)

    def exact(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        differing = np.bitwise_count(queries[numbers] ^ words(rows))
        return -differing.sum(axis=1, dtype=np.float64)

    return Scorer(
        queries,
        lambda rows: -hamming_distances(queries, words(rows)),
        exact,
        lambda scores: similarities[(-scores).astype(np.int64)],
    )


def _phase_scorer(queries: np.ndarray) -> Scorer:
    """Sums of looked-up cosines, screened by a float32 matrix product of waves.

    Looking up costs a step for every query, row and frequency; waves one for every row.
    """
    k, table = queries.shape[1], cosine_table(queries.dtype)
    all_waves = np.exp(1j * (np.arange(len(table)) * (2.0 * np.pi / len(table))))
    all_waves = all_waves.astype(np.complex64)
    query_waves = all_waves.take(queries).view(np.float32) / np.float32(k)

    def exact(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return table[queries[numbers] - rows].sum(axis=1, dtype=np.int64) * (TABLE_UNIT / k)

    return Scorer(
        queries,
        lambda rows: query_waves @ all_waves.take(rows).view(np.float32).T,
        exact,
        screen_error=_product_error(2 * k) + 4.0 * _WAVE_ERROR,
    )


def _wave_scorer(queries: np.ndarray) -> Scorer:
    """Inner products of waves over k, screened in float32 and decided in float64."""
    wide, k = queries.astype(np.float64), queries.shape[1] / 2
    narrow = queries.astype(np.float32) / np.float32(k)
    return Scorer(
        queries,
        lambda rows: narrow @ rows.astype(np.float32, copy=False).T,
        # Products of float32 are exact in float64, and NumPy adds a contiguous row in an
        # order that depends on its length only: equal rows have equal scores.
        lambda numbers, rows: (wide[numbers] * rows).sum(axis=1) / k,
        screen_error=_product_error(queries.shape[1]),
    )


def _product_error(n_terms: int) -> float:
    """Bound the error of a float32 inner product, over k, of two rows of length sqrt(k).

    Summing n terms in any order errs by at most n units in the last place of the sum of their
    sizes, which is at most k (Cauchy and Schwarz); two more for the division and the bound.
    """
    return (n_terms + 2) * 2.0**-24 * 1.02
