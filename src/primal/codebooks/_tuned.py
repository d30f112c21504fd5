"""Kinds ``tuned`` and ``weighted``: k primes out of a pool, and amplitudes of the first k, for N.

A pool is searched greedily by an exponential penalty on all lags, then by exchanges at rising
sharpness. The greedy part is the method of conditional expectations: it derandomises the union
bound. Amplitudes are optimal, by linear programming.
"""

import math
from typing import Any, Self

import numpy as np

from primal._checks import real_number, require_memory
from primal._extras import require
from primal._parallel import single_threaded_blas
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._phase_codes import PrimeCodes, n_primes
from primal.codebooks._toeplitz import lag_cosines
from primal.errors import PrimalError, SpecError
from primal.turns import floor_roots, prime_slice, round_turns, waves

_DEFAULT_STEPS = 4000
_POOL = 1200
# Sharpness of the penalty relative to the first one, as the exchanges proceed.
_SHARPNESS = (1.0, 1.5, 2.2, 3.2, 4.5, 6.0)
# Between the bound of linear programming and what was reached; programmes solved for it.
_GAP = 1e-6
_LARGEST_ROUNDS = 60


class Tuned(PrimeCodes):
    """Real codes from k of the first 1200 primes (more when k is large).

    A step places or exchanges one prime: 1200 N multiply-adds in float32, at least k of them. The
    spec lists the primes, so a design stays what it is even if another machine's rounding would
    choose otherwise.
    """

    kind, _fields, _options = "tuned", ("real",), ("primes",)

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Self:
        k = n_primes(D, "real")
        pool = prime_slice(0, max(_POOL, 3 * k))
        require_memory(12 * len(pool) * N, f"the cosines of {len(pool)} primes at {N} lags")
        with single_threaded_blas():  # bound by memory: a second thread only waits
            best = _tuned_choice(pool, k, N, budget)
        return cls(N, D, field, sorted(pool[best].tolist()))


def _tuned_choice(pool: np.ndarray, k: int, N: int, budget: SearchBudget) -> list[int]:
    """Return k places in the pool, filled one after the other and then exchanged."""
    steps = _DEFAULT_STEPS if budget.steps is None else budget.steps
    lags = np.arange(1, max(N, 2), dtype=np.uint64)
    cosines = np.empty((len(pool), len(lags)), dtype=np.float32)
    for row, increment in enumerate(floor_roots(pool, 1.0, 64)):
        cosines[row] = waves(round_turns(lags * increment))[0]
    chosen, sums = [-1] * k, np.zeros(len(lags))
    best, lowest, done = chosen, math.inf, 0
    # The first round fills all places, whatever the number of steps.
    for number, sharpness in enumerate((1.0, *_SHARPNESS)):
        if number:
            if done >= steps:
                break
            chosen = list(best)
            sums = cosines[chosen].sum(axis=0, dtype=np.float64)
        beta = sharpness * math.sqrt(4.0 * math.log(2.0 * N) / k)
        rising = np.exp(np.float32(beta) * cosines)
        falling = np.reciprocal(rising)
        for _ in range(50 if number else 1):
            before = list(chosen)
            for place in range(k):
                if number:
                    if done >= steps:
                        return best
                    sums -= cosines[chosen[place]]
                    chosen[place] = -1
                # The unused prime with the smallest sum of cosh(beta g) takes the place.
                shift = float(np.abs(sums).max())
                up = np.exp(beta * (sums - shift)).astype(np.float32)
                down = np.exp(-beta * (sums + shift)).astype(np.float32)
                cost = rising @ up + falling @ down
                cost[[i for i in chosen if i >= 0]] = np.inf
                chosen[place] = int(cost.argmin())
                sums += cosines[chosen[place]]
                done += 1
                budget.progress(min(done, steps), steps)
                reached = float(np.abs(sums).max())
                if -1 not in chosen and reached < lowest - 1e-6:
                    lowest, best = reached, list(chosen)
            if chosen == before:
                break
    return best


class Weighted(PrimeCodes):
    """The first k primes with weights that no others beat by more than 1e-6.

    `lower_bound` is what linear programming duality leaves possible for these primes. Minimise t
    subject to |sum_m w_m cos(2 pi l f_m)| <= t for 1 <= l < N, w >= 0, sum w = 1. Only the worst
    lags matter: solve with some of them, add those that are violated most, repeat until the optimum
    of the small programme (a lower bound) meets the coherence over all lags. A step is one
    programme.
    """

    kind, _fields = "weighted", ("real",)
    _options = ("primes", "weights", "lower_bound")

    def __init__(
        self, N: int, D: int, field: str, primes: object, weights: object, lower_bound: float
    ) -> None:
        super().__init__(N, D, field, primes)
        self.weights = np.asarray(weights, dtype=np.float64)
        fit = self.weights.shape == self.primes.shape and self.weights.min() >= 0
        if not fit or not abs(self.weights.sum() - 1) <= 1e-9:
            raise SpecError(
                "the weights of a codebook must be one number for each prime, none of them "
                "negative, with sum 1."
            )
        self.lower_bound = real_number("lower_bound", lower_bound, above=-1e-9, below=1.0 + 1e-9)

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Self:
        k = n_primes(D, "real")
        require_memory(32 * N + 256 * k * k, f"a linear programme of {k} weights for {N} codes")
        primes = prime_slice(0, k)
        if N < 2:
            return cls(N, D, field, primes, np.full(k, 1.0 / k), 0.0)
        return cls(N, D, field, primes, *_optimal_weights(floor_roots(primes, 1.0, 64), N, budget))

    def _evidence(self) -> Evidence:
        found = super()._evidence()
        no_less = f"; by duality no weights of these primes go below {self.lower_bound:.6f}"
        return found._replace(proof=found.proof + no_less)


def _optimal_weights(
    increments: np.ndarray, N: int, budget: SearchBudget
) -> tuple[np.ndarray, float]:
    rounds = _LARGEST_ROUNDS if budget.steps is None else budget.steps
    k = len(increments)
    best = np.full(k, 1.0 / k)
    g = np.abs(lag_cosines(increments, N))
    upper, lower = float(g[1:].max()), 0.0
    lags = _worst(g, 4 * k)
    for number in range(rounds):
        rows = waves(lags.astype(np.uint64)[:, None] * increments)[0]
        weights, bound = _solved(rows)
        lower = max(lower, bound)
        g = np.abs(lag_cosines(increments, N, weights))
        if g[1:].max() < upper:
            upper, best = float(g[1:].max()), weights
        budget.progress(number + 1, rounds)
        if upper - lower < _GAP:
            break
        lags = np.union1d(lags, _worst(g, 2 * k))
    return best, lower


def _worst(g: np.ndarray, n: int) -> np.ndarray:
    """Return the n lags with the largest |g|, lag 0 left out."""
    n = min(n, len(g) - 1)
    return np.sort(1 + np.argpartition(-g[1:], n - 1)[:n])


def _solved(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights of rows of cosines that are best, and a lower bound on the optimum."""
    n, k = rows.shape
    ones = np.ones((n, 1))
    result: Any = require("scipy.optimize", "kind 'weighted'").linprog(
        np.r_[np.zeros(k), 1.0],
        A_ub=np.block([[rows, -ones], [-rows, -ones]]),
        b_ub=np.zeros(2 * n),
        A_eq=np.r_[np.ones(k), 0.0][None, :],
        b_eq=[1.0],
        bounds=(0.0, None),
        method="highs",
    )
    if result.x is None:
        raise PrimalError(f"the linear programme failed: {result.message}.")
    weights = np.maximum(result.x[:k], 0.0)
    # Any signed measure on the lags proves a bound, whatever the solver says.
    marginals = np.asarray(result.ineqlin.marginals)
    measure = marginals[n:] - marginals[:n]
    size = np.abs(measure).sum()
    bound = float((measure @ rows).min() / size) if size > 0 else 0.0
    return weights / weights.sum(), max(bound, 0.0)
