"""Mixed-integer least squares: real and whole x and whole n behind y = A x - n + noise.

Where wrong solutions are to be expected, the nearest points of the lattice (`_matrix_law`) are
searched to the end, and "unique" is a proof: one solution passes the checks on residual and prior,
and no other does. Where fewer than 2**-30 are expected, the first that passes is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from primal._checks import real_array, require_memory, whole_number
from primal._forks import load_compiled
from primal._parallel import over_rows
from primal.bases import FrequencyTable
from primal.decoding._bounds import (
    RARELY,
    chi_squared_limit,
    chi_squared_tail,
    log2_ball,
    log2_shifted_within,
)
from primal.decoding._certificate import LARGEST_LOG2_SPURIOUS, DecodingCertificate
from primal.decoding._lattice import log_success, reduce_best, triangular_factor
from primal.decoding._matrix_law import MatrixLaw, joined_prior, noise_covariance
from primal.decoding._model import PhaseModel
from primal.decoding._phases import wrapped
from primal.decoding._priors import Box, Gaussian, Integers, Prior
from primal.decoding._search import Search
from primal.decoding._setup import set_up
from primal.errors import DataError

# Steps of one search, and of one that only measures how often the nearest point is the right one.
_MOST_NODES, _MOST_TRIAL_NODES = 400_000, 100_000
# Draws that measure it; a quarter of them where a search takes milliseconds.
_DRAWS, _MOST_QUICK = 8_000, 24
# Solutions searched beside zero, and beside every y where there may be more than one.
_RIVALS, _LEAST_SEARCHED = 64, 8
_BLOCK_ROWS = 1 << 12
# More rows of equal, independent noise go the way of codes.
_MOST_SEARCHED = 40
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class MatrixResult:
    """What became of each row of y.

    Attributes
    ----------
    x : ndarray of shape (..., d), dtype=float64
        Mean of x given the whole numbers; NaN where nothing fits.
    whole : ndarray of shape (..., k), dtype=int64
        n, such that A x - y - n is noise; 0 where it was known.
    status : ndarray of shape (...), dtype=str
        ``"unique"``: this solution agrees with the noise and the prior, and either fewer than
        2**-30 wrong ones are expected to, or the search went through all others and found none.
        ``"ambiguous"``: others agree, or may. ``"failed"``: none does; `whole` is then the nearest.
    probability : ndarray of shape (...), dtype=float64
        Chance that the whole numbers are right, among the candidates and by the stated laws.
    residual : ndarray of shape (..., c), dtype=float64
        Squared distance of each candidate in standard deviations, noise and prior together; it is
        chi-squared with as many degrees of freedom as there are rows in y, plus whole inputs.
        Infinite where there are fewer candidates.
    candidates : ndarray of shape (..., c, d), dtype=float64
    candidate_whole : ndarray of shape (..., c, k), dtype=int64
        The nearest solutions, best first, filled up with NaN and 0.
    """

    x: np.ndarray
    whole: np.ndarray
    status: np.ndarray
    probability: np.ndarray
    residual: np.ndarray
    candidates: np.ndarray
    candidate_whole: np.ndarray


class MatrixPlan:
    """All of the work that does not depend on y; made by :func:`plan_matrix`.

    Attributes
    ----------
    certificate : DecodingCertificate
    """

    def __init__(self, law: MatrixLaw, n_candidates: int) -> None:
        self._law, self._matrix, self._n_candidates = law, law.matrix, n_candidates
        self._reduced = reduced = reduce_best(law.lattice)
        m = len(law.noise)
        self._limit = chi_squared_limit(m, RARELY)
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
        first = law.lattice.rows(np.eye(m, dtype=np.int64))
        self._deviations = np.diag(triangular_factor(first))[len(law.known) :]
        spurious = max(self._log2_volume(), self._log2_rivals())
        self.certificate = DecodingCertificate(
            self._success(), spurious, x_std, len(law.matrix), m, reduced.adop_turns, freedom
        )

    def solve(self, y: object) -> MatrixResult:
        """Return x and n behind rows of y.

        Parameters
        ----------
        y : array_like of shape (..., k)
            Measured values, whole numbers off or not.
        """
        k, d = self._matrix.shape
        values = real_array("y", y, last=k)
        rows, c = np.ascontiguousarray(values.reshape(-1, k)), self._n_candidates
        n = len(rows)
        require_memory(16 * n * c * (k + d), f"{c} candidates for each of {n} rows")
        x, whole = np.empty((n, c, d)), np.empty((n, c, k), dtype=np.int64)
        residual, status, probability = np.empty((n, c)), np.empty(n, dtype="<U9"), np.empty(n)

        def work(first: int, last: int) -> None:
            for start in range(first, last, _BLOCK_ROWS):
                part = slice(start, min(last, start + _BLOCK_ROWS))
                found = self._solve(rows[part])
                x[part], whole[part], residual[part], status[part], probability[part] = found

        over_rows(n, 16, work)
        best = np.where((status == "failed")[:, None], np.nan, x[:, 0])
        shape = values.shape[:-1]
        return MatrixResult(
            best.reshape(*shape, d),
            whole[:, 0].reshape(values.shape),
            status.reshape(shape),
            probability.reshape(shape),
            residual.reshape(*shape, c),
            x.reshape(*shape, c, d),
            whole.reshape(*shape, c, k),
        )

    def _solve(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return x, n and squared distances of candidates, status and probability."""
        law, c = self._law, max(_LEAST_SEARCHED, self._n_candidates)
        prior = law.prior
        n, m = len(y), len(law.noise)
        k, d = law.matrix.shape
        phases, taken = law.phases(y)
        turns, costs, finished = self._search(phases, c)
        finished &= ~np.isfinite(costs[:, -1])
        none = np.flatnonzero(~np.isfinite(costs[:, 0]))
        if len(none):  # nothing fits: what rounding gives, all the same
            turns[none, :1], costs[none, :1] = self._rounded(phases[none])
        found = np.isfinite(costs)
        turns[~found] = 0
        products = load_compiled("primal.decoding._kernels").row_products
        unwrapped = (phases[:, None] + turns).reshape(n * c, m)
        xi = products(unwrapped, self._gain)
        # The second time removes the rounding of the first.
        rest = unwrapped - products(xi, law.spread_t)
        xi = xi + products(rest, self._gain) - products(xi, self._left)
        rest = unwrapped - products(xi, law.spread_t)
        noisy = law.noise > 0
        cost = np.square(rest[:, noisy] / law.noise[noisy]).sum(axis=1) + np.square(xi).sum(axis=1)
        x = prior.mean + products(xi[:, : prior.factor.shape[1]], prior.factor.T)
        x[:, law.whole_inputs] = law.whole_values(turns.reshape(n * c, m))
        fits = prior.contains(x, xi, self.certificate.x_std) & (cost <= self._limit)
        whole = np.zeros((n, c, k), dtype=np.int64)
        whole[:, :, law.open_rows] = turns[:, :, m - len(law.open_rows) :] - taken[:, None]
        x, cost, fits = x.reshape(n, c, d), cost.reshape(n, c), fits.reshape(n, c) & found
        x[~found], cost[~found], whole[~found] = np.nan, np.inf, 0
        order = np.lexsort((cost, ~fits), axis=-1)
        x, whole = (np.take_along_axis(v, order[:, :, None], axis=1) for v in (x, whole))
        cost, fits = (np.take_along_axis(v, order, axis=1) for v in (cost, fits))
        certain = finished & ~fits[:, 1:].any(axis=1)
        status = np.where(fits[:, 0], np.where(certain, "unique", "ambiguous"), "failed")
        kept = self._n_candidates
        return x[:, :kept], whole[:, :kept], cost[:, :kept], status, self._probability(cost, fits)

    def _probability(self, cost: np.ndarray, fits: np.ndarray) -> np.ndarray:
        """Return the chance of the first candidate, by the weights exp(-cost / 2) of all of them.

        Those beyond the list are counted by volume: a chi-squared tail of all that there are.
        """
        m = len(self._law.noise)
        weights = np.exp(0.5 * (cost[:, :1] - np.where(fits, cost, np.inf))).sum(axis=1)
        last = np.where(np.isfinite(cost[:, -1]), cost[:, -1], self._limit)
        log_all = 0.5 * m * math.log(2.0 * math.pi) + float(np.log(self._deviations).sum())
        tail = np.array([chi_squared_tail(m, float(c)) for c in last])
        weights += np.exp(np.minimum(700.0, log_all + 0.5 * cost[:, 0])) * tail
        return np.where(fits[:, 0], 1.0 / np.maximum(1.0, weights), 0.0)

    def _search(self, phases: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the turns of up to c solutions that fit, their costs, and which rows are certain.

        Where no wrong solution is expected to fit, the first that does is the answer.
        """
        n, m = phases.shape
        turns, costs = np.zeros((n, c, m), dtype=np.int64), np.full((n, c), np.inf)
        finished, left = np.ones(n, dtype=bool), np.arange(n)
        if self.certificate.log2_spurious < LARGEST_LOG2_SPURIOUS:
            turns[:, :1], costs[:, :1] = self._rounded(phases)
            left = np.flatnonzero(costs[:, 0] > self._limit)
            c = 1
        found = self._nearest(phases[left], self._limit, c)
        turns[left, :c], costs[left, :c], finished[left] = found
        return turns, costs, finished

    def _rounded(self, phases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kernels = load_compiled("primal.decoding._kernels")
        whole, costs = (
            np.zeros((len(phases), 1, phases.shape[1]), dtype=np.int64),
            np.empty((len(phases), 1)),
        )
        kernels.nearest_plane(self._reduced.factor, self._target(phases), 1, whole, costs)
        return kernels.row_products(whole[:, 0], self._reduced.v)[:, None], costs

    def _nearest(
        self, phases: np.ndarray, radius: float, c: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        kernels = load_compiled("primal.decoding._kernels")
        n, m = phases.shape
        whole, costs = np.zeros((n, c, m), dtype=np.int64), np.empty((n, c))
        target = self._target(phases)
        finished = kernels.closest_points(
            self._reduced.factor, target, radius, _MOST_NODES, whole, costs
        )
        turns = kernels.row_products(whole.reshape(n * c, m), self._reduced.v)
        return turns.reshape(n, c, m), costs, finished

    def _target(self, phases: np.ndarray) -> np.ndarray:
        products = load_compiled("primal.decoding._kernels").row_products
        return products(phases, self._reduced.u.T.astype(np.float64))

    def _log2_volume(self) -> float:
        """Return log2 of the expected number of wrong solutions, by volume."""
        limit = chi_squared_limit(len(self._law.noise))
        return log2_ball(len(self._deviations), limit) + float(np.log2(self._deviations).sum())

    def _log2_rivals(self) -> float:
        """Return log2 of the expected number of accepted shifts, among the closest to zero."""
        m = len(self._law.noise)
        zero = np.zeros((1, m))
        turns, costs, _ = self._nearest(zero, np.inf, _RIVALS)
        shifts = costs[0][turns[0].any(axis=1) & np.isfinite(costs[0])]
        return float(np.logaddexp2.reduce(log2_shifted_within(m, self._limit, shifts)))

    def _success(self) -> float:
        """Return the chance that the nearest solution is right: by formula where that is near 1."""
        kernels = load_compiled("primal.decoding._kernels")
        factor = self._reduced.factor
        m = len(factor)
        chance = math.exp(log_success(np.diag(factor)))
        if chance > 0.9999:
            return chance
        n = _DRAWS if m <= _MOST_QUICK else _DRAWS // 4
        drawn = np.random.default_rng(0).standard_normal((n, m)) @ factor.T
        whole, costs = np.zeros((n, 1, m), dtype=np.int64), np.empty((n, 1))
        # The right solution is within the limit but once in two million times.
        kernels.closest_points(factor, drawn, self._limit, _MOST_TRIAL_NODES, whole, costs)
        return float((np.isfinite(costs[:, 0]) & ~whole[:, 0].any(axis=1)).mean())


class _TallPlan(MatrixPlan):
    """A plan for many rows of equal, independent noise: by the decoder of codes.

    That puts no more rows into the lattice than it needs and predicts the others. It keeps the
    likeliest partial solutions instead of searching all, so its "unique" rests on `log2_spurious`.
    """

    def __init__(self, matrix: np.ndarray, prior: Prior, noise: float, n_candidates: int) -> None:
        # Rows of equal length are taken as they come, and neighbors are often alike, as samples of
        # a signal are: every part of the matrix should have some among the first.
        self._rows = np.argsort(np.arange(len(matrix)) * _GOLDEN % 1.0)
        table = FrequencyTable.from_floats(matrix[self._rows])
        self._model = model = PhaseModel(table, prior.model(matrix.shape[1]), noise)
        self._by_code = Search(model, set_up(model, None), None)
        self._n_candidates, self._matrix = n_candidates, matrix
        self.certificate = self._by_code.certificate

    def _solve(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        c, d = self._n_candidates, self._matrix.shape[1]
        _, status, _, candidates = self._by_code(wrapped(y)[:, self._rows])
        x = np.full((len(y), c, d), np.nan)
        x[:, : candidates.shape[1]] = candidates[:, :c]
        found = ~np.isnan(x[:, :, 0])
        products = load_compiled("primal.decoding._kernels").row_products
        fitted = products(np.where(found[:, :, None], x, 0.0).reshape(-1, d), self._matrix.T)
        off = fitted.reshape(len(y), c, -1) - y[:, None]
        whole = np.where(found[:, :, None], np.rint(off), 0.0)
        law = self._model.prior
        xi = (x - law.mean) @ np.linalg.pinv(law.factor).T
        cost = np.square((off - whole) / self._model.noise_turns).sum(axis=2)
        cost = np.where(found, cost + np.square(xi).sum(axis=2), np.inf)
        weights = np.exp(0.5 * (cost[:, :1] - cost)).sum(axis=1)
        chance = np.where(status == "failed", 0.0, 1.0 / np.maximum(1.0, weights))
        return x, whole.astype(np.int64), cost, status, chance


def plan_matrix(
    A: object,
    *,
    prior: Prior | Sequence[Prior] | None = None,
    noise: object = None,
    covariance: object = None,
    known: object = None,
    candidates: int = 4,
) -> MatrixPlan:
    """Return a plan that finds real or whole x and whole n with A x - y - n as small as noise.

    This is mixed-integer least squares; with an empty A, a covariance and y the float ambiguities,
    it is what satellite positioning calls LAMBDA. The plan says beforehand how often the nearest
    solution is the right one, and of each solution afterwards whether it is the only one.

    Parameters
    ----------
    A : array_like of shape (k, d)
        d may be 0: then only n is sought.
    prior : Box, Gaussian, Integers, or sequence of d of them
        Where x lies: one for all inputs, or one for each; inputs with ``Integers`` are whole.
        None if d is 0.
    noise : float or array_like of shape (k,)
        Standard deviation of y, in units of n.
    covariance : array_like of shape (k, k)
        Of y, instead of `noise`: positive definite.
    known : array_like of shape (k,), dtype=bool, optional
        Rows without an unknown n, where A x - y itself is noise.
    candidates : int, default=4
        Solutions listed, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.decoding import Gaussian, plan_matrix
    >>> A = np.array([[5.2, 1.1], [4.1, -3.7], [-1.3, 6.1], [2.2, 2.9], [0.1, 0.0], [0.0, 0.1]])
    >>> plan = plan_matrix(A, prior=Gaussian(0.0, 9.0), noise=0.01, known=[0, 0, 0, 0, 1, 1])
    >>> y = A @ [1.25, -2.5] - [3, -7, 11, 2, 0, 0]
    >>> found = plan.solve(y)
    >>> str(found.status), found.whole, found.x.round(2)
    ('unique', array([ 3, -7, 11,  2,  0,  0]), array([ 1.25, -2.5 ]))
    """
    matrix = np.array(real_array("A", A), dtype=np.float64)
    if matrix.ndim != 2 or not len(matrix):
        raise DataError(f"A must be a matrix of at least one row, got shape {matrix.shape}.")
    k, d = matrix.shape
    candidates = whole_number("candidates", candidates, least=2)
    mask = np.zeros(k, dtype=bool)
    if known is not None:
        mask = np.asarray(known)
        if mask.shape != (k,) or not np.isin(mask, (0, 1)).all():
            raise DataError(f"known must hold a bool for each of the {k} rows, got {known!r}.")
        mask = mask.astype(bool)
    law = MatrixLaw.of(matrix, joined_prior(prior, d), noise_covariance(noise, covariance, k), mask)
    plain = not mask.any() and covariance is None and len(set(law.noise[law.noise > 0])) == 1
    if k > _MOST_SEARCHED and plain and isinstance(prior, (Box, Gaussian, Integers)):
        return _TallPlan(matrix, prior, float(law.noise[-1]), candidates)
    if len(law.noise) == len(law.known):
        raise DataError("nothing is whole: every row is known, and no input has Integers.")
    return MatrixPlan(law, candidates)
