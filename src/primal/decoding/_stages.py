"""From the first resolved rows to all of them, then least squares with the prior.

Once some rows are resolved, x is known well enough to predict others within a tenth of a turn;
these are resolved by rounding and sharpen x again, until no more can be added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from primal.decoding._noise import wrapped

__all__ = ["Stage", "make_stages", "refine"]

# Rounding a phase that is predicted with this deviation fails once in two million times.
_LARGEST_PREDICTION_TURNS = 0.1


@dataclass(frozen=True, eq=False)
class Stage:
    """One least-squares step: xi + gain @ residual - shrink @ xi.

    Attributes
    ----------
    rows : ndarray of shape (h,), dtype=int64
        Phases that are resolved at this stage.
    gain : ndarray of shape (r, h)
        From residuals in turns to xi.
    root : ndarray of shape (r, r)
        The posterior covariance of xi is root @ root.T.
    predictions_turns : ndarray
        Deviations with which the rows added after this stage are predicted.
    """

    rows: np.ndarray
    gain: np.ndarray
    root: np.ndarray
    predictions_turns: np.ndarray


def make_stages(spread: np.ndarray, noise_turns: float, first_rows: np.ndarray) -> list[Stage]:
    """Return the stages that start from resolved rows of G (k, r), until none can be added."""
    rows = np.sort(first_rows)
    stages = []
    while True:
        gain, root = _least_squares(spread[rows], noise_turns)
        others = np.setdiff1d(np.arange(len(spread)), rows)
        predicted = np.sqrt(np.square(spread[others] @ root).sum(axis=1) + noise_turns**2)
        near = predicted < _LARGEST_PREDICTION_TURNS
        stages.append(Stage(rows, gain, root, predicted[near]))
        if not near.any():
            return stages
        rows = np.sort(np.concatenate([rows, others[near]]))


def refine(
    spread: np.ndarray, stages: list[Stage], phases: np.ndarray, xi: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return xi from all rows, and what is left of their phases.

    Parameters
    ----------
    spread : ndarray of shape (k, r)
    phases : ndarray of shape (n, k)
        In turns, any number of whole turns off.
    xi : ndarray of shape (n, r)
        Good enough to predict the rows of the first stage within half a turn.

    Returns
    -------
    xi : ndarray of shape (n, r)
    residuals : ndarray of shape (n, h)
        In turns, of the rows of the last stage.
    """
    # The last stage goes twice: the second time removes the rounding of the first.
    for stage in (*stages, stages[-1]):
        residuals = wrapped(phases[:, stage.rows] - xi @ spread[stage.rows].T)
        xi = xi + residuals @ stage.gain.T - (xi @ stage.root) @ stage.root.T
    last = stages[-1].rows
    return xi, wrapped(phases[:, last] - xi @ spread[last].T)


def _least_squares(spread: np.ndarray, noise_turns: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (gain, root) of the posterior of a standard normal xi, by QR."""
    n_rows, r = spread.shape
    q, upper = np.linalg.qr(np.concatenate([spread / noise_turns, np.eye(r)]))
    root = np.linalg.solve(upper, np.eye(r))
    return np.linalg.solve(upper, q[:n_rows].T) / noise_turns, root
