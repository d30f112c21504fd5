"""From phases to whole turns, from these to x, and what can be promised of it.

Once some rows are resolved, x is known well enough to predict others within a tenth of a turn;
these are resolved by rounding and sharpen x again, until no more can be added. Then least squares
with the prior.
"""

import math
from dataclasses import dataclass

import numpy as np

from primal.decoding._bounds import chi_squared_limit
from primal.decoding._certificate import (
    DecodingCertificate,
    WholeNumberCount,
    log2_fit,
    log2_spurious,
    residual_freedom,
)
from primal.decoding._lattice import Reduced, log_success
from primal.decoding._linalg import orthonormal_rows, products, solve_lower
from primal.decoding._model import PhaseModel
from primal.decoding._phases import wrapped

# Whole numbers tried at each level of a wide search.
_CHILDREN = 5
# A direction of x in which this much of the prior's deviation is left is not determined.
_LARGEST_SHARE_OPEN = 0.5
# Rounding a phase that is predicted with this deviation fails once in two million times.
_LARGEST_PREDICTION_TURNS = 0.1
# Where x adds less than this share to the noise of a phase, it is the noise alone that may reach
# half a turn; such a phase is off by a turn at times, and says as much about x as one that is not.
_LARGEST_SHARE_OF_NOISE = 0.5


@dataclass(frozen=True, eq=False)
class Stage:
    """One least-squares step: xi + residuals @ gain - xi @ covariance.

    `rows` (h,) are the phases that are resolved at this stage, `spread` (r, h) is G of these,
    transposed, `gain` (h, r) leads from residuals to xi, and `root` (r, r) is a root of the
    posterior covariance of xi. `predictions_turns` are the deviations with which the rows added
    after this stage are predicted, without their noise where that alone decides.
    """

    rows: np.ndarray
    spread: np.ndarray
    gain: np.ndarray
    root: np.ndarray
    covariance: np.ndarray
    predictions_turns: np.ndarray


@dataclass(frozen=True, eq=False)
class Solutions:
    """Inputs that belong to whole turns: `x` (n, d), and `xi` (n, r) in units of the prior.

    `residuals` (n, h) are what x leaves of the phases that take part, in turns, and `whole` (n, w)
    the whole turns of these phases, or steps of x where x is whole. Solutions that agree in them
    are the same one, whichever turns of the first rows they were found from.
    """

    x: np.ndarray
    xi: np.ndarray
    residuals: np.ndarray
    whole: np.ndarray


class Solver:
    """Solutions for phases, with a reduced lattice of the first rows in the model's order.

    Whole-number phases, if any, come before these rows, and then there are no further stages.
    """

    def __init__(self, model: PhaseModel, reduced: Reduced) -> None:
        self.model, self.reduced = model, reduced
        self._rows = model.order[: len(reduced.u) - model.n_whole]
        # The first stage keeps its rows sorted, the lattice in order of variation.
        self._sorted = np.argsort(self._rows)
        if model.prior.is_whole:
            self.certificate = self._whole_number_certificate()
        else:
            self._stages = make_stages(model.spread, model.noise_turns, self._rows)
            self.certificate = self._certificate()

    @property
    def n_directions(self) -> int:
        """Number of directions in which x moves the phases; none if it is whole."""
        return 0 if self.model.prior.is_whole else self.model.factor.shape[1]

    def whole_turns(self, centered: np.ndarray, n_kept: int) -> tuple[np.ndarray, np.ndarray]:
        """Return whole turns of the first rows, (n, n_kept, m), and which of them were found.

        `centered` (n, k) are phases less those of the prior's mean, in turns.
        """
        # Whole-number phases are observed as exactly 0.
        n_children = 1 if n_kept == 1 else _CHILDREN
        whole, costs = self.reduced.nearest(centered[:, self._rows], n_kept, n_children)
        turns = products(whole.reshape(-1, whole.shape[2]), self.reduced.v)
        return turns.reshape(whole.shape), np.isfinite(costs)

    def solutions(self, centered: np.ndarray, whole: np.ndarray) -> Solutions:
        """Return the inputs of phases (n, k) with whole turns (n, m)."""
        model, prior = self.model, self.model.prior
        if prior.is_whole:
            steps = whole[:, : model.n_whole].astype(np.float64)
            x = prior.step * (np.rint(prior.mean / prior.step) + steps)
            xi = steps * prior.step / np.diag(model.factor)
            phases = products(prior.step * steps, model.table.transposed)
            return Solutions(x, xi, wrapped(centered - phases), steps)
        total = (centered[:, self._rows] + whole)[:, self._sorted]
        xi = products(total, self._stages[0].gain)
        xi, residuals, turns = refine(self._stages, centered, xi)
        x = prior.mean + products(xi, model.factor.T)
        return Solutions(x, xi, residuals, turns)

    def _certificate(self) -> DecodingCertificate:
        model, last = self.model, self._stages[-1]
        predictions = np.concatenate([stage.predictions_turns for stage in self._stages])
        log_chance = log_success(np.diag(self.reduced.factor)) + log_success(predictions)
        # Whether the phases hardly narrow the prior in some direction of x.
        leaves_open = model.factor.shape[1] < model.prior.factor.shape[1]
        leaves_open |= float(np.linalg.norm(last.root, 2)) > _LARGEST_SHARE_OPEN
        spread = model.spread[last.rows]
        spurious = log2_spurious(spread, model.noise_turns, model.prior)
        return DecodingCertificate(
            math.exp(log_chance),
            math.inf if leaves_open else spurious,
            np.sqrt(np.square(model.factor @ last.root).sum(axis=1) + model.unseen_variance),
            len(last.rows),
            len(self._rows),
            self.reduced.adop_turns,
            residual_freedom(spread, model.noise_turns),
        )

    def _whole_number_certificate(self) -> DecodingCertificate:
        k, d = self.model.table.shape
        # A cost that the prior hardly ever exceeds; results are judged by their own cost.
        count, cost = WholeNumberCount(self.model.prior), np.array(chi_squared_limit(d))
        return DecodingCertificate(
            self.reduced.success_probability,
            float(count.log2_at_most(cost)) + log2_fit(k, self.model.noise_turns),
            np.zeros(d),
            k,
            len(self._rows),
            self.reduced.adop_turns,
            float(k),
        )


def make_stages(spread: np.ndarray, noise_turns: float, first_rows: np.ndarray) -> list[Stage]:
    """Return the stages that start from resolved rows of G (k, r), until none can be added."""
    rows = np.sort(first_rows)
    stages = []
    while True:
        gain, root = _least_squares(spread[rows], noise_turns)
        others = np.setdiff1d(np.arange(len(spread)), rows)
        of_x = np.sqrt(np.square(spread[others] @ root).sum(axis=1))
        noisy = of_x < _LARGEST_SHARE_OF_NOISE * noise_turns
        predicted = np.where(noisy, of_x, np.hypot(of_x, noise_turns))
        near = noisy | (predicted < _LARGEST_PREDICTION_TURNS)
        columns = np.ascontiguousarray(spread[rows].T)
        stages.append(Stage(rows, columns, gain, root, products(root, root.T), predicted[near]))
        if not near.any():
            return stages
        rows = np.sort(np.concatenate([rows, others[near]]))


def refine(
    stages: list[Stage], phases: np.ndarray, xi: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return xi (n, r) from all rows, what is left of their phases (n, h), and their whole turns.

    `phases` (n, k) may be any number of whole turns off; `xi` has to predict the rows of the first
    stage within half a turn. The whole turns between the phases and those of x tell solutions
    apart.
    """

    def residuals(stage: Stage) -> tuple[np.ndarray, np.ndarray]:
        every = len(stage.rows) == phases.shape[1]
        left = (phases if every else phases[:, stage.rows]) - products(xi, stage.spread)
        whole = np.rint(left)
        left -= whole
        return left, whole

    # The last stage goes twice: the second time removes the rounding of the first.
    for stage in (*stages, stages[-1]):
        xi = xi + products(residuals(stage)[0], stage.gain) - products(xi, stage.covariance)
    return xi, *residuals(stages[-1])


def _least_squares(spread: np.ndarray, noise_turns: float) -> tuple[np.ndarray, np.ndarray]:
    """Return gain (h, r) and root of the posterior of a standard normal xi, by QR."""
    n_rows, r = spread.shape
    lower, q = orthonormal_rows(np.concatenate([spread.T / noise_turns, np.eye(r)], axis=1))
    inverse = solve_lower(lower, np.eye(r))
    return products(q[:, :n_rows].T, inverse) / noise_turns, inverse.T
