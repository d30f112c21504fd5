"""Kind ``offset``: consecutive primes that do not start at 2, from the best of many starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal._checks import require_work
from primal.codebooks._prime_codes import PrimeCodes, consecutive_primes, n_primes
from primal.turns import floor_roots, prime_slice, waves

__all__ = ["DEFAULT_OFFSETS", "best_offset", "offset_codes"]

DEFAULT_OFFSETS = 1000
_BLOCK_ENTRIES = 1 << 20


def offset_codes(
    N: int,
    D: int,
    field: str,
    *,
    steps: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PrimeCodes:
    """Return codes from the start in 0, ..., steps - 1 with the smallest coherence at N.

    A start is chosen for N codes; with many more its advantage is gone. Late starts are bad:
    roots of neighbouring primes far out are almost equal.
    """
    n_offsets, k = DEFAULT_OFFSETS if steps is None else steps, n_primes(D, field)
    require_work(10 * N * (n_offsets + k), f"a search of {n_offsets} starts for {N} codes")
    start = best_offset(N, k, field, n_offsets, progress)
    return consecutive_primes("offset", N, D, field, start=start)


def best_offset(
    N: int,
    k: int,
    field: str,
    n_offsets: int,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Return the first s < n_offsets with the smallest coherence of k primes from number s.

    The sums of all starts come from running sums over the primes, so that a thousand starts
    cost little more than one list of n_offsets + k primes.
    """
    increments = floor_roots(prime_slice(0, n_offsets + k - 1), 1.0, 64)
    worst = np.zeros(n_offsets)
    step = max(1, _BLOCK_ENTRIES // len(increments))
    for first in range(1, N, step):
        lags = np.arange(first, min(first + step, N), dtype=np.uint64)
        cos, sin = waves(lags[:, None] * increments)
        sums = _window_sums(cos, k)
        values = np.hypot(sums, _window_sums(sin, k)) if field == "complex" else np.abs(sums)
        np.maximum(worst, values.max(axis=0), out=worst)
        if progress is not None:
            progress(min(first + step, N), N)
    return int(worst.argmin())


def _window_sums(values: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of k neighbours along the last axis."""
    running = np.cumsum(values, axis=1)
    sums = running[:, k - 1 :].copy()
    sums[:, 1:] -= running[:, :-k]
    return sums
