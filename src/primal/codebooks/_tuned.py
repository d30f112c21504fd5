"""Kind ``tuned``: k primes out of a pool, chosen so that no lag is bad.

Greedy choice by an exponential penalty on all lags, then exchanges at rising sharpness. The
greedy part is the method of conditional expectations: it derandomises the union bound.
"""

from __future__ import annotations

import math

import numpy as np

from primal._checks import require_memory
from primal._parallel import single_threaded_blas
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._prime_codes import PrimeCodes, n_primes
from primal.turns import floor_roots, prime_slice, round_turns, waves

__all__ = ["Tuned"]

_DEFAULT_STEPS = 4000
_POOL = 1200
# Sharpness of the penalty relative to the first one, as the exchanges go on.
_SHARPNESS = (1.0, 1.5, 2.2, 3.2, 4.5, 6.0)


class Tuned(PrimeCodes):
    """Real codes from k of the first 1200 primes (more when k is large).

    A step places or exchanges one prime: 1200 N multiply-adds in float32, at least k of them. The
    spec lists the primes, so a design stays what it is even if another machine's rounding would
    choose otherwise.
    """

    kind, _fields, _options = "tuned", ("real",), ("primes",)

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Tuned:
        k = n_primes(D, "real")
        pool = prime_slice(0, max(_POOL, 3 * k))
        require_memory(12 * len(pool) * N, f"the cosines of {len(pool)} primes at {N} lags")
        search = _PoolSearch(pool, k, N, budget)
        with single_threaded_blas():  # bound by memory: a second thread only waits
            search.fill()
            for sharpness in _SHARPNESS:
                search.exchange(sharpness)
        return cls(N, D, field, sorted(int(pool[i]) for i in search.best))


class _PoolSearch:
    """State of a search: cosines of the pool at all lags, the choice, and its sums."""

    def __init__(self, pool: np.ndarray, k: int, N: int, budget: SearchBudget) -> None:
        self.k, self.done, self._progress = k, 0, budget.progress
        self.steps = _DEFAULT_STEPS if budget.steps is None else budget.steps
        lags = np.arange(1, max(N, 2), dtype=np.uint64)
        increments = floor_roots(pool, 1.0, 64)
        self.cosines = np.empty((len(pool), len(lags)), dtype=np.float32)
        for row, increment in enumerate(increments):
            self.cosines[row] = waves(round_turns(lags * increment))[0]
        self.beta = math.sqrt(4.0 * math.log(2.0 * N) / k)
        self.chosen = [-1] * k
        self.sums = np.zeros(len(lags), dtype=np.float64)
        self.best: list[int] = []
        self.coherence = math.inf

    def fill(self) -> None:
        """Place k primes, each where it costs least."""
        rising, falling = self._penalties(self.beta)
        for place in range(self.k):
            self._place(place, rising, falling, self.beta)
        self._keep()

    def exchange(self, sharpness: float) -> None:
        """Remove and replace one prime after the other, until nothing changes."""
        if self.done >= self.steps:
            return
        beta = sharpness * self.beta
        rising, falling = self._penalties(beta)
        self.chosen = list(self.best)
        self.sums = self.cosines[self.chosen].sum(axis=0, dtype=np.float64)
        for _ in range(50):
            before = list(self.chosen)
            for place in range(self.k):
                if self.done >= self.steps:
                    return
                self.sums -= self.cosines[self.chosen[place]]
                self.chosen[place] = -1
                self._place(place, rising, falling, beta)
                self._keep()
            if self.chosen == before:
                return

    def _penalties(self, beta: float) -> tuple[np.ndarray, np.ndarray]:
        rising = np.exp(np.float32(beta) * self.cosines)
        return rising, np.reciprocal(rising)

    def _place(self, place: int, rising: np.ndarray, falling: np.ndarray, beta: float) -> None:
        """Put the unused prime with the smallest sum of cosh(beta g) at `place`."""
        shift = float(np.abs(self.sums).max())
        up = np.exp(beta * (self.sums - shift)).astype(np.float32)
        down = np.exp(-beta * (self.sums + shift)).astype(np.float32)
        cost = rising @ up + falling @ down
        cost[[i for i in self.chosen if i >= 0]] = np.inf
        winner = int(cost.argmin())
        self.chosen[place] = winner
        self.sums += self.cosines[winner]
        self.done += 1
        self._progress(min(self.done, self.steps), self.steps)

    def _keep(self) -> None:
        coherence = float(np.abs(self.sums).max())
        if coherence < self.coherence - 1e-6:
            self.coherence, self.best = coherence, list(self.chosen)
