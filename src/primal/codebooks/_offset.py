"""Kind ``offset``: consecutive primes that do not start at 2, from the best of many starts."""

from __future__ import annotations

import numpy as np

from primal._checks import require_work
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._prime_codes import Static, n_primes
from primal.engines import row_blocks
from primal.turns import floor_roots, prime_slice, waves

__all__ = ["Offset"]

_DEFAULT_OFFSETS = 1000
_BLOCK_ENTRIES = 1 << 20


class Offset(Static):
    """The start in 0, ..., steps - 1 with the smallest coherence at N.

    A start is chosen for N codes; with many more its advantage is gone. Late starts are bad:
    roots of neighboring primes far out are almost equal.
    """

    kind = "offset"

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Offset:
        n_offsets = _DEFAULT_OFFSETS if budget.steps is None else budget.steps
        k = n_primes(D, field)
        require_work(10 * N * (n_offsets + k), f"a search of {n_offsets} starts for {N} codes")
        return cls(N, D, field, _best_offset(N, k, field, n_offsets, budget))


def _best_offset(N: int, k: int, field: str, n_offsets: int, budget: SearchBudget) -> int:
    """Return the first s < n_offsets with the smallest coherence of k primes from number s.

    The sums of all starts come from running sums over the primes, so that a thousand starts
    cost little more than one list of n_offsets + k primes.
    """
    increments = floor_roots(prime_slice(0, n_offsets + k - 1), 1.0, 64)
    worst = np.zeros(n_offsets)
    for rows in row_blocks(N - 1, len(increments), _BLOCK_ENTRIES):
        lags = np.arange(1 + rows.start, 1 + rows.stop, dtype=np.uint64)
        cos, sin = waves(lags[:, None] * increments)
        sums = _window_sums(cos, k)
        values = np.hypot(sums, _window_sums(sin, k)) if field == "complex" else np.abs(sums)
        np.maximum(worst, values.max(axis=0), out=worst)
        budget.progress(1 + rows.stop, N)
    return int(worst.argmin())


def _window_sums(values: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of k neighbors along the last axis."""
    running = np.cumsum(values, axis=1)
    sums = running[:, k - 1 :].copy()
    sums[:, 1:] -= running[:, :-k]
    return sums
