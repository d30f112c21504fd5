"""The nearest points of a lattice, searched to the end: few rows, noise of any kind.

The search is that of C. P. Schnorr and M. Euchner, Math. Programming 66 (1994) 181-199, as in
LAMBDA (P. J. G. Teunissen, J. Geodesy 70 (1995) 65-82) and MLAMBDA (X.-W. Chang, X. Yang, T. Zhou,
J. Geodesy 79 (2005) 552-565). An answer is unique if all others together are improbable enough,
given y: the optimal integer aperture test (P. J. G. Teunissen, Artificial Satellites 38 (2003)).
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
from primal.decoding._certificate import DecodingCertificate
from primal.decoding._lattice import reduce_lattice, triangular_factor
from primal.decoding._linalg import orthonormal_rows, products, solve_lower, squared_lengths
from primal.decoding._matrix_law import MatrixLaw
from primal.decoding._result import DecodeResult, log2_alternatives, statuses

# Steps of a search; one that takes more than the first number starts again from a beam.
_QUICK_NODES, _MOST_NODES = 4_000, 400_000
# Draws that measure how often the first solution is right; fewer where a search takes long.
_DRAWS, _MOST_QUICK = 8_000, 24
# Solutions searched near zero, and near every y.
_RIVALS, _LEAST_SEARCHED = 64, 8
# Solutions beyond the search may be this much more probable than estimated: natural logarithm.
_MARGIN = 14.0
# Partial solutions kept, and whole numbers tried for each, where a search takes long.
_BEAM, _CHILDREN = 64, 5
# A chance of rounding that needs no measurement.
_NEAR_CERTAIN = 0.9999
# Parts that a long measurement is reported in.
_REPORTS = 8


class NearestPoints:
    """Rows of y to the nearest solutions."""

    def __init__(
        self,
        law: MatrixLaw,
        n_candidates: int,
        risk: float,
        report: Callable[[float], None],
    ) -> None:
        self.law, self._n_candidates, self._log2_risk = law, n_candidates, math.log2(risk)
        self._reduced = reduced = reduce_lattice(
            law.lattice, report=lambda share: report(share / 2.0)
        )
        m = len(law.noise)
        self.limit = chi_squared_limit(m, RARELY)
        rows = law.lattice.rows(reduced.u)
        lower, q = orthonormal_rows(rows)
        inputs = q[:, np.count_nonzero(law.noise) :]
        self._gain = products(solve_lower(lower, reduced.u).T, inputs)
        self._left = np.eye(inputs.shape[1]) - products(inputs.T, inputs)
        factor = law.prior.factor
        r = factor.shape[1]
        variances = np.diag(factor @ self._left[:r, :r] @ factor.T)
        x_std = np.sqrt(np.maximum(0.0, variances) + np.square(law.prior.rounding))
        x_std[law.whole_inputs] = 0.0
        freedom = m - r + float(np.trace(self._left[:r, :r]))
        # Conditional deviations of the unknown whole numbers, given what is known.
        first = triangular_factor(law.lattice.rows(np.eye(m, dtype=np.int64)))
        n_known = len(law.known)
        self._deviations = np.diag(first)[n_known:]
        self._from_known = np.linalg.inv(first[:n_known, :n_known]).T
        self._average = max(self._log2_volume(), self._log2_rivals())
        self._is_easy = self._average < self._log2_risk
        # Limits of the prior may reject some.
        least = _LEAST_SEARCHED * (1 + law.prior.is_bounded)
        self._n_searched = max(least, n_candidates)
        # Solutions that are farther than the first by more than this are improbable enough.
        self._extra = law.prior.largest_cost
        self._horizon = 2.0 * (_MARGIN - self._log2_risk * math.log(2.0)) + self._extra
        rounding = reduced.success_probability
        self.certificate = DecodingCertificate(
            rounding, self._average, x_std, len(law.matrix), m, reduced.adop_turns, freedom, risk
        )
        if rounding <= _NEAR_CERTAIN:
            success = self._success(first, lambda share: report(0.5 + share / 2.0))
            self.certificate = replace(self.certificate, success_probability=success)

    def __call__(self, y: np.ndarray) -> DecodeResult:
        return self._solved(*self.law.phases(y), np.full(len(y), np.inf))

    def chi_squared(self, found: DecodeResult) -> tuple[np.ndarray, float, str]:
        """Return squared deviations of the first candidates, their freedom, the noise in words."""
        return found.distances[:, 0], float(len(self.law.noise)), "the stated noise"

    def _solved(self, phases: np.ndarray, taken: np.ndarray, radius: np.ndarray) -> DecodeResult:
        """Return the same for phases (n, m), of solutions within squared distances `radius`."""
        law, prior = self.law, self.law.prior
        turns, costs, searched = self._search(phases, radius)
        n, c, m = turns.shape
        row, place = np.nonzero(np.isfinite(costs))
        turns = turns[row, place]
        unwrapped = phases[row] + turns
        xi = products(unwrapped, self._gain)
        # The second time removes the rounding of the first.
        rest = unwrapped - products(xi, law.spread_t)
        xi = xi + products(rest, self._gain) - products(xi, self._left)
        rest = unwrapped - products(xi, law.spread_t)
        noisy, r = law.noise > 0, prior.factor.shape[1]
        limited = np.flatnonzero(np.isfinite(prior.high) @ (prior.factor != 0.0))
        cost = squared_lengths(rest[:, noisy] / law.noise[noisy]) + squared_lengths(xi)
        x = prior.mean + products(xi[:, :r], prior.factor.T)
        x[:, law.whole_inputs] = law.whole_values(turns)
        fits = prior.within_limits(x, self.certificate.x_std) & (cost <= self.limit)
        whole = np.zeros((len(row), len(law.matrix)), dtype=np.int64)
        whole[:, law.open_rows] = taken[row] - turns[:, m - len(law.open_rows) :]
        left = (rest[:, m - len(law.open_rows) :], rest[:, : len(law.known)] / law.scale)
        squares = sum(squared_lengths(part) for part in left) / max(1, len(law.matrix))
        # Within each row those that fit first, and the nearest of them leading.
        order = np.lexsort((cost, ~fits, row))
        place = np.arange(len(row)) - np.searchsorted(row, row)
        c = max(c, self._n_candidates)
        listed = np.full((n, c, x.shape[1]), np.nan), np.zeros((n, c, whole.shape[1]), np.int64)
        costs, agree = np.full((n, c), np.inf), np.zeros((n, c), dtype=bool)
        flat, residual = np.full((n, c), np.inf), np.zeros((n, c))
        flat_cost = cost - squared_lengths(xi[:, limited])
        for values, sorted_values in zip(
            (*listed, costs, agree, flat, residual),
            (x, whole, cost, fits, flat_cost, np.sqrt(squares)),
            strict=True,
        ):
            values[row, place] = sorted_values[order]
        inside = np.isfinite(costs) if not prior.is_bounded else agree
        log2_others = log2_alternatives(costs, flat, inside)
        log2_beyond = self._log2_beyond(phases, costs[:, 0], searched)
        status = statuses(agree[:, 0], np.logaddexp2(log2_others, log2_beyond), self._log2_risk)
        weights = 1.0 + np.exp2(np.minimum(1000.0, np.logaddexp2(log2_others, log2_beyond)))
        x, whole, costs = (v[:, : self._n_candidates] for v in (*listed, costs))
        return DecodeResult(
            np.where((status == "failed")[:, None], np.nan, x[:, 0]),
            status,
            np.where(agree[:, 0], 1.0 / weights, 0.0),
            residual[:, 0],
            x,
            costs,
            whole[:, 0],
            whole,
        )

    def _log2_beyond(
        self, phases: np.ndarray, cost: np.ndarray, searched: np.ndarray
    ) -> np.ndarray:
        """Return log2 of the probability of solutions beyond squared distances `searched`.

        It is relative to the nearest, of squared distance `cost`, and by volume: a chi-squared
        tail of all that there are. What the known rows have in common does not count.
        """
        m, n_known = len(self._deviations), len(self.law.known)
        common = squared_lengths(products(phases[:, :n_known], self._from_known))
        cost, searched = np.maximum(0.0, cost - common), np.maximum(0.0, searched - common)
        log_all = 0.5 * m * math.log(2.0 * math.pi) + float(np.log(self._deviations).sum())
        tails, some = np.ones(len(cost)), np.flatnonzero(searched)
        tails[some] = [chi_squared_tail(m, float(s)) for s in searched[some]]
        with np.errstate(divide="ignore"):
            return (log_all + 0.5 * (cost + self._extra) + np.log(tails)) * math.log2(math.e)

    def _search(
        self, phases: np.ndarray, radius: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return turns (n, c, m) of solutions, their costs, and up to which cost all are listed.

        Where no wrong solution is expected to fit, rounding one combination after the other finds
        the right one (L. Babai, Combinatorica 6 (1986) 1-13). A list that the search leaves short
        is filled up with solutions that are a short vector away from the first one.
        """
        (n, m), c, reduced = phases.shape, self._n_searched, self._reduced
        whole, costs = np.zeros((n, c, m), dtype=np.int64), np.full((n, c), np.inf)
        target, complete = reduced.combined(phases), np.zeros(n)
        whole[:, :1], costs[:, :1] = reduced.nearest(phases, 1, 1)
        if self._is_easy:
            sure = self._log2_beyond(phases, costs[:, 0], complete) <= self._log2_risk
            left = np.flatnonzero(~sure | (costs[:, 0] > self.limit))
        else:
            left = np.arange(n)
        if len(left):
            wanted = np.minimum(costs[left, 0], self.limit) + self._horizon
            if self._is_easy:  # hardly ever does another one fit where the first does not
                wanted[costs[left, 0] > self.limit] = self.limit
            wanted = np.minimum(wanted, radius[left])
            found = self._nearest(phases[left], target[left], wanted, c)
            some = np.isfinite(
                found[1][:, 0]
            )  # else nothing fits: what rounding gives, all the same
            whole[left[some]], costs[left[some]] = found[0][some], found[1][some]
            complete[left] = found[2]
        most = self._n_candidates
        short = np.flatnonzero(~np.isfinite(costs[:, most - 1]))
        if len(short) and len(self._near):
            start = products(target[short] + whole[short, 0], self._to_deviations)
            more = self._near_costs + 2.0 * products(start, self._near_steps.T)
            at = costs[short, :1] + more
            listed = np.where(np.isfinite(costs[short]), costs[short], -1.0).max(axis=1)
            at[at <= np.maximum(listed, complete[short])[:, None] * (1.0 + 1e-9)] = np.inf
            best = np.argsort(at, axis=1, kind="stable")[:, :most]
            at = np.take_along_axis(at, best, axis=1)
            row, place = np.nonzero(np.isfinite(at))
            to = np.isfinite(costs[short]).sum(axis=1)[row] + place
            row, place, to = row[to < most], place[to < most], to[to < most]
            whole[short[row], to] = whole[short[row], 0] + self._near[best[row, place]]
            costs[short[row], to] = at[row, place]
        found = np.isfinite(costs)
        turns = np.zeros((n, c, m), dtype=np.int64)
        turns[found] = products(whole[found], reduced.v)
        return turns, costs, complete

    def _nearest(
        self, phases: np.ndarray, target: np.ndarray, radius: np.ndarray, c: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return combinations (n, c, m) and costs of the nearest, and up to which all are listed.

        Most searches end soon. For the others a beam finds what is near, so that less has to be
        searched; where that takes too long all the same, one for the nearest alone ends sooner.
        """
        search = _kernels.closest_points
        (n, m), factor = phases.shape, self._reduced.factor
        whole, costs = np.zeros((n, c, m), dtype=np.int64), np.full((n, c), np.inf)
        finished = search(factor, target, radius, _QUICK_NODES, whole, costs)
        left = np.flatnonzero(~finished)
        if len(left):
            target, within = target[left], radius[left]
            near, least = self._reduced.nearest(phases[left], max(_BEAM, c), _CHILDREN)
            least[least >= within[:, None]] = np.inf
            near, least = near[:, :c].copy(), least[:, :c].copy()
            ended = search(factor, target, within, _MOST_NODES, near, least)
            late = np.flatnonzero(~ended)
            one, cost = near[late, :1].copy(), least[late, :1].copy()
            search(factor, target[late], within[late], _MOST_NODES, one, cost)
            nearer = cost[:, 0] < least[late, 0]
            near[late[nearer], -1], least[late[nearer], -1] = one[nearer, 0], cost[nearer, 0]
            whole[left], costs[left], finished[left] = near, least, ended
        return whole, costs, np.where(finished, np.minimum(radius, costs[:, -1]), 0.0)

    def _log2_volume(self) -> float:
        """Return log2 of the expected number of wrong solutions, by volume."""
        limit = chi_squared_limit(len(self.law.noise))
        return log2_ball(len(self._deviations), limit) + float(np.log2(self._deviations).sum())

    def _log2_rivals(self) -> float:
        """Return log2 of the expected number of accepted shifts, among the closest to zero."""
        m = len(self.law.noise)
        zero = np.zeros((1, m))
        whole, costs, _ = self._nearest(zero, zero, np.full(1, np.inf), _RIVALS)
        chosen = whole[0].any(axis=1) & np.isfinite(costs[0])
        self._near, self._near_costs = whole[0][chosen], costs[0][chosen]
        self._to_deviations = solve_lower(self._reduced.factor, np.eye(m)).T
        self._near_steps = products(self._near.astype(np.float64), self._to_deviations)
        shifts = log2_shifted_within(m, self.limit, self._near_costs)
        return float(np.logaddexp2.reduce(shifts)) if len(shifts) else -math.inf

    def _success(self, rows_factor: np.ndarray, report: Callable[[float], None]) -> float:
        """Return how often the first solution is right, of phases drawn from the law.

        What is further away than the truth cannot be preferred to it, and is not searched.
        """
        law, m = self.law, len(self.law.noise)
        n = _DRAWS if m <= _MOST_QUICK else _DRAWS // 4
        drawn = law.draw(n)
        turns = np.rint(drawn)
        radius = squared_lengths(solve_lower(rows_factor, drawn.T).T) * (1.0 + 1e-9)
        taken = turns[:, m - len(law.open_rows) :].astype(np.int64)
        inputs, right = law.whole_values(turns), np.empty(n, dtype=bool)

        def work(first: int, last: int, start: int) -> None:
            rows = slice(start + first, start + last)
            found = self._solved((drawn - turns)[rows], taken[rows], radius[rows])
            same = found.candidates[:, 0, law.whole_inputs] == inputs[rows]
            right[rows] = same.all(axis=1) & ~found.whole.any(axis=1)

        for part in range(_REPORTS):
            report(part / _REPORTS)
            start, end = n * part // _REPORTS, n * (part + 1) // _REPORTS
            over_rows(end - start, 16, lambda a, b, start=start: work(a, b, start))
        return float(right.mean())
