"""Kind ``weighted``: amplitudes that are optimal for given primes, by linear programming."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primal._checks import require_memory
from primal._extras import require
from primal.codebooks._certificate import Evidence
from primal.codebooks._prime_codes import PrimeCodes, n_primes
from primal.codebooks._toeplitz import lag_cosines
from primal.errors import PrimalError
from primal.turns import prime_slice, waves

__all__ = ["WeightedCodes", "weighted_codes"]

_GAP = 1e-6
_LARGEST_ROUNDS = 60


class WeightedCodes(PrimeCodes):
    """Prime codes whose weights no other weights of the same primes beat by more than 1e-6.

    `lower_bound` is what linear programming duality leaves possible for these primes.
    """

    def __init__(
        self,
        N: int,
        D: int,
        primes: Sequence[int] | np.ndarray,
        weights: Sequence[float] | np.ndarray,
        lower_bound: float,
    ) -> None:
        super().__init__("weighted", N, D, primes, weights=weights)
        self.lower_bound = lower_bound

    def options(self) -> dict[str, object]:
        return super().options() | {"lower_bound": self.lower_bound}

    def evidence(self) -> Evidence:
        found = super().evidence()
        proof = f"{found.proof}; by duality no weights of these primes go below "
        proof += f"{self.lower_bound:.6f}"
        return Evidence(found.mu, found.pair, found.lag, found.rms, True, proof)


def weighted_codes(
    N: int,
    D: int,
    *,
    primes: Sequence[int] | np.ndarray | None = None,
    steps: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WeightedCodes:
    """Return the first k primes, or given ones, with optimal weights.

    Parameters
    ----------
    N, D : int
        Number of codes and of dimensions; D even.
    primes : sequence of int, optional
        D / 2 distinct primes.
    steps : int, optional
        Largest number of linear programmes, 60 by default.
    progress : callable, optional
        Told (programmes solved, largest number).

    Raises
    ------
    MissingPackageError
        If SciPy is not installed.

    Notes
    -----
    Minimise t subject to |sum_m w_m cos(2 pi l f_m)| <= t for 1 <= l < N, w >= 0, sum w = 1. Only
    the worst lags matter: solve with some of them, add those that are violated most, repeat
    until the optimum of the small programme (a lower bound) meets the coherence over all lags.
    """
    k = n_primes(D, "real")
    require_memory(32 * N + 256 * k * k, f"a linear programme of {k} weights for {N} codes")
    chosen = prime_slice(0, k) if primes is None else np.asarray(primes, dtype=np.uint64)
    plain = PrimeCodes("weighted", N, D, chosen)
    if N < 2:
        return WeightedCodes(N, D, chosen, np.full(k, 1.0 / k), 0.0)
    rounds = _LARGEST_ROUNDS if steps is None else steps
    weights, lower = _optimal_weights(plain.increments, N, rounds, progress)
    return WeightedCodes(N, D, chosen, weights, lower)


def _optimal_weights(
    increments: np.ndarray,
    N: int,
    rounds: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[np.ndarray, float]:
    solve = _linear_programme()
    k = len(increments)
    weights = best = np.full(k, 1.0 / k)
    g = np.abs(lag_cosines(increments, N))
    upper, lower = float(g[1:].max()), 0.0
    lags = _worst(g, 4 * k)
    for number in range(rounds):
        rows = waves(lags.astype(np.uint64)[:, None] * increments)[0]
        weights, bound = solve(rows)
        lower = max(lower, bound)
        g = np.abs(lag_cosines(increments, N, weights))
        if g[1:].max() < upper:
            upper, best = float(g[1:].max()), weights
        if progress is not None:
            progress(number + 1, rounds)
        if upper - lower < _GAP:
            break
        lags = np.union1d(lags, _worst(g, 2 * k))
    return best, lower


def _worst(g: np.ndarray, n: int) -> np.ndarray:
    """Return the n lags with the largest |g|, lag 0 left out."""
    n = min(n, len(g) - 1)
    return np.sort(1 + np.argpartition(-g[1:], n - 1)[:n])


def _linear_programme() -> Callable[[np.ndarray], tuple[np.ndarray, float]]:
    """Return a function from rows of cosines to (weights, a lower bound on the optimum)."""
    linprog = require("scipy.optimize", "kind 'weighted'").linprog

    def solve(rows: np.ndarray) -> tuple[np.ndarray, float]:
        n, k = rows.shape
        ones = np.ones((n, 1))
        result: Any = linprog(
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

    return solve
