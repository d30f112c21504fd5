"""From the first resolved rows to all of them, then least squares with the prior.

Once some rows are resolved, x is known well enough to predict others within a tenth of a turn;
these are resolved by rounding and sharpen x again, until no more can be added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from primal._forks import load_compiled

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
        stages.append(Stage(rows, columns, gain, root, root @ root.T, predicted[near]))
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
    products = load_compiled("primal.decoding._kernels").row_products

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
    q, upper = np.linalg.qr(np.concatenate([spread / noise_turns, np.eye(r)]))
    root = np.linalg.solve(upper, np.eye(r))
    gain = np.linalg.solve(upper, q[:n_rows].T) / noise_turns
    return np.ascontiguousarray(gain.T), root
