"""Search by FAISS, with the ties and the last digits settled here.

FAISS promises neither the order of equal distances nor one rounding of inner products. So it is
asked for a few rows more than wanted. Where those do not settle the boundary, its range search
gives every row that could matter. Exact scores decide, as in ``_scan``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from primal._extras import require
from primal.search._kinds import is_waves
from primal.search._scan import Scorer, best_of

__all__ = ["FaissRows", "faiss_installed"]

# Rows asked for beyond those wanted.
_MORE_ROWS = 8


def faiss_installed() -> bool:
    """Whether the package faiss can be imported."""
    return importlib.util.find_spec("faiss") is not None


class FaissRows:
    """The rows of an index inside FAISS; it takes new ones as they are added.

    Parameters
    ----------
    kind : {"bits", "float32", "float16"}
    n_columns : int
    """

    def __init__(self, kind: str, n_columns: int) -> None:
        faiss = require("faiss", "engine='faiss'")
        self._waves = is_waves(kind)
        make = faiss.IndexFlatIP if self._waves else faiss.IndexBinaryFlat
        self._index: Any = make(n_columns if self._waves else 8 * n_columns)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, rows: np.ndarray) -> None:
        """Append rows of codes."""
        self._index.add(self._as_faiss(rows))

    def nearest(
        self,
        found_by: Scorer,
        queries: np.ndarray,
        n: int,
        rows_at: Callable[[np.ndarray], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices and exact scores of the n best rows of every query, best first."""
        given = self._as_faiss(queries)
        asked = min(n + _MORE_ROWS, len(self))
        values, candidates = self._index.search(given, asked)
        # Inner products to similarities; distances to scores, of which larger is better.
        values = values / (queries.shape[1] / 2) if self._waves else -values
        margin = 2.0 * found_by.screen_error
        every = np.arange(len(queries))
        indices, scores = best_of(found_by, every, candidates, n, rows_at, queries.shape[1])
        # Rows that were not returned score at most the last value.
        settled = (values[:, -1] < values[:, n - 1] - margin) | (asked == len(self))
        for number in np.flatnonzero(~settled):
            one = slice(number, number + 1)
            more = self._at_least(given[one], values[number, n - 1] - margin)
            indices[one], scores[one] = best_of(
                found_by, every[one], more, n, rows_at, queries.shape[1]
            )
        return indices, scores

    def _at_least(self, query: np.ndarray, least: float) -> np.ndarray:
        """Return the indices of all rows that score `least` or more, shape (1, n)."""
        if self._waves:
            # The range is open: go one step below.
            inner = np.float32(least * (query.shape[1] / 2))
            radius = float(np.nextafter(inner, np.float32(-np.inf)))
        else:
            radius = int(-least) + 1
        _, _, found = self._index.range_search(query, radius)
        return found[None, :]

    def _as_faiss(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(rows, dtype=np.float32 if self._waves else np.uint8)
