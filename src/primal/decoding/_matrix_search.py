"""The nearest points of a lattice, searched to the end: few rows, noise of any kind.

Where wrong solutions are to be expected, "unique" is a proof: one solution passes the checks on
residual and prior, and no other does. Where fewer than 2**-30 are, the first that passes is the
answer.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from primal._parallel import over_rows
from primal.decoding import _kernels
from primal.decoding._bounds import (
    RARELY,
    chi_squared_limit,
    chi_squared_tail,
    log2_ball,
    log2_shifted_within,
)
from primal.decoding._certificate import LARGEST_LOG2_SPURIOUS, DecodingCertificate
from primal.decoding._lattice import reduce_best, triangular_factor
from primal.decoding._matrix_law import MatrixLaw

# Steps of a search; one that takes more than the first number starts again from a beam.
_QUICK_NODES, _MOST_NODES = 4_000, 400_000
# Draws that measure how often the first solution is right; fewer where a search takes long.
_DRAWS, _MOST_QUICK = 8_000, 24
# Solutions searched beside zero, and beside every y where limits of the prior may reject some.
_RIVALS, _LEAST_SEARCHED = 64, 8
# Partial solutions kept, and whole numbers tried for each, where a search takes long.
_BEAM, _CHILDREN = 64, 5
# A chance of rounding that needs no measurement.
_NEAR_CERTAIN = 0.9999
# Parts that a long measurement is reported in.
_REPORTS = 8


class NearestPoints:
    """Rows of y to (x, whole, residual, status, probability) of the nearest solutions."""

    def __init__(self, law: MatrixLaw, n_candidates: int, report: Callable[[float], None]) -> None:
        self.law, self._n_candidates = law, n_candidates
        self._reduced = reduced = reduce_best(law.lattice, report=lambda share: report(share / 2.0))
        m = len(law.noise)
        self.limit = chi_squared_limit(m, RARELY)
        rows = law.lattice.rows(reduced.u)
        q, upper = np.linalg.qr(rows.T)
        q_inputs = q[np.count_nonzero(law.noise) :]
        self._gain = np.ascontiguousarray((q_inputs @ np.linalg.solve(upper.T, reduced.u)).T)
        self._left = np.eye(len(q_inputs)) - q_inputs @ q_inputs.T
        factor = law.prior.factor
        r = factor.shape[1]
        covariance = factor @ self._left[:r, :r] @ factor.T
        x_std = np.sqrt(np.maximum(0.0, np.diag(covariance)))
        x_std[law.whole_inputs] = 0.0
        freedom = float(np.square(q[: np.count_nonzero(law.noise)]).sum())
        # Conditional deviations of the unknown whole numbers, given what is known.
        first = triangular_factor(law.lattice.rows(np.eye(m, dtype=np.int64)))
        n_known = len(law.known)
        self._deviations = np.diag(first)[n_known:]
        self._from_known = np.linalg.inv(first[:n_known, :n_known]).T
        spurious = max(self._log2_volume(), self._log2_rivals())
        rounding = reduced.success_probability
        self.certificate = DecodingCertificate(
            rounding, spurious, x_std, len(law.matrix), m, reduced.adop_turns, freedom
        )
        if rounding <= _NEAR_CERTAIN:
            success = self._success(first, lambda share: report(0.5 + share / 2.0))
            self.certificate = replace(self.certificate, success_probability=success)

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        return self._solved(*self.law.phases(y), np.full(len(y), self.limit))

    def _solved(
        self, phases: np.ndarray, taken: np.ndarray, radius: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return the same for phases (n, m), of solutions within squared distances `radius`."""
        law, prior = self.law, self.law.prior
        turns, costs, finished = self._search(phases, radius)
        n, c, m = turns.shape
        finished &= ~np.isfinite(costs).all(axis=1) | (c == 1)
        none = np.flatnonzero(~np.isfinite(costs).any(axis=1))
        if len(none):  # nothing fits: what rounding gives, all the same
            turns[none, :1], costs[none, :1] = self._rounded(phases[none])
        row, place = np.nonzero(np.isfinite(costs))
        turns = turns[row, place]
        products = _kernels.row_products
        unwrapped = phases[row] + turns
        xi = products(unwrapped, self._gain)
        # The second time removes the rounding of the first.
        rest = unwrapped - products(xi, law.spread_t)
        xi = xi + products(rest, self._gain) - products(xi, self._left)
        rest = unwrapped - products(xi, law.spread_t)
        noisy = law.noise > 0
        cost = np.square(rest[:, noisy] / law.noise[noisy]).sum(axis=1) + np.square(xi).sum(axis=1)
        x = prior.mean + products(xi[:, : prior.factor.shape[1]], prior.factor.T)
        x[:, law.whole_inputs] = law.whole_values(turns)
        fits = prior.within_limits(x, self.certificate.x_std) & (cost <= self.limit)
        whole = np.zeros((len(row), len(law.matrix)), dtype=np.int64)
        whole[:, law.open_rows] = turns[:, m - len(law.open_rows) :] - taken[row]
        # Within each row those that fit first, and the nearest of them leading.
        order = np.lexsort((cost, ~fits, row))
        place = np.arange(len(row)) - np.searchsorted(row, row)
        c = max(c, self._n_candidates)
        listed = np.full((n, c, x.shape[1]), np.nan), np.zeros((n, c, whole.shape[1]), np.int64)
        residual, agree = np.full((n, c), np.inf), np.zeros((n, c), dtype=bool)
        for values, sorted_values in zip(
            (*listed, residual, agree), (x, whole, cost, fits), strict=True
        ):
            values[row, place] = sorted_values[order]
        certain = finished & ~agree[:, 1:].any(axis=1)
        status = np.where(agree[:, 0], np.where(certain, "unique", "ambiguous"), "failed")
        kept = (v[:, : self._n_candidates] for v in (*listed, residual))
        known_cost = np.square(products(phases[:, : len(law.known)], self._from_known)).sum(axis=1)
        return (
            *kept,
            status,
            self._probability(np.maximum(0.0, residual - known_cost[:, None]), agree),
        )

    def _probability(self, cost: np.ndarray, fits: np.ndarray) -> np.ndarray:
        """Return the chance of the first candidate, by the weights exp(-cost / 2) of all of them.

        `cost` (n, c) is without what the known rows have in common. Those beyond the list are
        counted by volume: a chi-squared tail of all that there are.
        """
        m = len(self._deviations)
        weights = np.exp(0.5 * (cost[:, :1] - np.where(fits, cost, np.inf))).sum(axis=1)
        log_all = 0.5 * m * math.log(2.0 * math.pi) + float(np.log(self._deviations).sum())
        tail = np.full(len(cost), chi_squared_tail(m, self.limit))
        full = np.flatnonzero(np.isfinite(cost[:, -1]))
        tail[full] = [chi_squared_tail(m, float(c)) for c in cost[full, -1]]
        weights += np.exp(np.minimum(700.0, log_all + 0.5 * cost[:, 0])) * tail
        return np.where(fits[:, 0], 1.0 / np.maximum(1.0, weights), 0.0)

    def _search(
        self, phases: np.ndarray, radius: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return turns (n, c, m) of solutions, their costs, and which rows hold all that fit.

        Where no wrong solution is expected to fit, the first that does is the answer.
        """
        if self.certificate.log2_spurious < LARGEST_LOG2_SPURIOUS:
            turns, costs = self._rounded(phases)
            finished = np.ones(len(phases), dtype=bool)
            left = np.flatnonzero(costs[:, 0] > self.limit)
            turns[left], costs[left], finished[left] = self._nearest(phases[left], radius[left], 1)
            return turns, costs, finished
        least = _LEAST_SEARCHED if self.law.prior.is_bounded else 0
        return self._nearest(phases, radius, max(least, self._n_candidates))

    def _rounded(self, phases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return turns (n, 1, m) by rounding one combination after the other, and their costs."""
        whole, costs = self._reduced.nearest(phases, 1, 1)
        products = _kernels.row_products
        return products(whole[:, 0], self._reduced.v)[:, None], costs

    def _nearest(
        self, phases: np.ndarray, radius: np.ndarray, c: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return turns (n, c, m) and costs of the nearest solutions, and which searches ended.

        Most end soon. For the others a beam finds what is near, so that less has to be searched;
        where that takes too long all the same, a search for the nearest alone ends sooner.
        """
        (n, m), reduced = phases.shape, self._reduced
        factor, target = reduced.factor, reduced.combined(phases)
        whole, costs = np.zeros((n, c, m), dtype=np.int64), np.full((n, c), np.inf)
        finished = _kernels.closest_points(factor, target, radius, _QUICK_NODES, whole, costs)
        left = np.flatnonzero(~finished)
        if len(left):
            target, radius = target[left], radius[left]
            near, least = reduced.nearest(phases[left], max(_BEAM, c), _CHILDREN)
            least[least >= radius[:, None]] = np.inf
            near, least = near[:, :c].copy(), least[:, :c].copy()
            ended = _kernels.closest_points(factor, target, radius, _MOST_NODES, near, least)
            late = np.flatnonzero(~ended)
            one, cost = near[late, :1].copy(), least[late, :1].copy()
            _kernels.closest_points(factor, target[late], radius[late], _MOST_NODES, one, cost)
            nearer = cost[:, 0] < least[late, 0]
            near[late[nearer], -1], least[late[nearer], -1] = one[nearer, 0], cost[nearer, 0]
            whole[left], costs[left], finished[left] = near, least, ended
        found = np.isfinite(costs)
        turns = np.zeros((n, c, m), dtype=np.int64)
        turns[found] = _kernels.row_products(whole[found], reduced.v)
        return turns, costs, finished

    def _log2_volume(self) -> float:
        """Return log2 of the expected number of wrong solutions, by volume."""
        limit = chi_squared_limit(len(self.law.noise))
        return log2_ball(len(self._deviations), limit) + float(np.log2(self._deviations).sum())

    def _log2_rivals(self) -> float:
        """Return log2 of the expected number of accepted shifts, among the closest to zero."""
        m = len(self.law.noise)
        turns, costs, _ = self._nearest(np.zeros((1, m)), np.full(1, np.inf), _RIVALS)
        shifts = costs[0][turns[0].any(axis=1) & np.isfinite(costs[0])]
        return float(np.logaddexp2.reduce(log2_shifted_within(m, self.limit, shifts)))

    def _success(self, rows_factor: np.ndarray, report: Callable[[float], None]) -> float:
        """Return how often the first solution is right, of phases drawn from the law.

        What is further away than the truth cannot be preferred to it, and is not searched.
        """
        law, m = self.law, len(self.law.noise)
        n = _DRAWS if m <= _MOST_QUICK else _DRAWS // 4
        drawn = law.draw(n)
        turns = np.rint(drawn)
        radius = np.square(np.linalg.solve(rows_factor, drawn.T)).sum(axis=0) * (1.0 + 1e-9)
        taken = turns[:, m - len(law.open_rows) :].astype(np.int64)
        inputs, right = law.whole_values(turns), np.empty(n, dtype=bool)

        def work(first: int, last: int, start: int) -> None:
            rows = slice(start + first, start + last)
            x, whole, *_ = self._solved((drawn - turns)[rows], taken[rows], radius[rows])
            same = x[:, 0, law.whole_inputs] == inputs[rows]
            right[rows] = same.all(axis=1) & ~whole[:, 0].any(axis=1)

        for part in range(_REPORTS):
            report(part / _REPORTS)
            start, end = n * part // _REPORTS, n * (part + 1) // _REPORTS
            over_rows(end - start, 16, lambda a, b, start=start: work(a, b, start))
        return float(right.mean())
