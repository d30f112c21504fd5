"""Set-up of a plan: reduce, extend to all rows, certify; or read the reduction from the cache.

Once some rows are resolved, x is known well enough to predict others within a tenth of a turn;
these are resolved by rounding and sharpen x again, until no more can be added. Then least squares
with the prior.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primal._forks import load_compiled
from primal.decoding import _cache
from primal.decoding._bounds import chi_squared_limit
from primal.decoding._certificate import (
    LARGEST_LOG2_SPURIOUS,
    DecodingCertificate,
    WholeNumberCount,
    log2_fit,
    log2_spurious,
    residual_freedom,
)
from primal.decoding._lattice import Reduced, log_success, reduce_best, triangular_factor
from primal.decoding._model import PhaseModel, row_counts

_ENOUGH = 0.9999
# A direction of x in which this much of the prior's deviation is left is not determined.
_LARGEST_SHARE_OPEN = 0.5
# A reduction that is quicker than this is not worth a file.
_LEAST_STORED_SECONDS = 0.5
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
class SetUp:
    """Everything about a plan that does not depend on a code.

    `reduced` is the lattice of the whole-number phases, if any, and the first rows in the model's
    order; `stages` are empty for whole-number inputs, which need none.
    """

    reduced: Reduced
    stages: list[Stage]
    certificate: DecodingCertificate


def set_up(
    model: PhaseModel, key: str | None, progress: Callable[[int, int], None] | None = None
) -> SetUp:
    """Return the set-up of a model, from the cache when there is an entry under `key`."""

    def report(share: float) -> None:
        if progress is not None:
            progress(int(100 * share), 100)

    report(0.0)
    reduced = _stored(model, key) if key is not None else None
    if reduced is not None:
        result = _finish(model, reduced)
    else:
        start = time.perf_counter()
        result = _best_of_rows(model, report)
        if key is not None and time.perf_counter() - start >= _LEAST_STORED_SECONDS:
            _cache.store(key, result.reduced.u, result.reduced.v)
    report(1.0)
    return result


def _stored(model: PhaseModel, key: str) -> Reduced | None:
    """Return the reduction that the cache has under a key, if it is one."""
    least = 1 if model.n_whole else min(len(model.order), model.factor.shape[1])
    found = _cache.load(key, model.n_whole + least, model.n_whole + len(model.order))
    if found is None:
        return None
    u, v = found
    factor = triangular_factor(model.lattice(len(u) - model.n_whole).rows(u))
    return Reduced(u, v, factor) if _is_reduced(factor) else None


def _is_reduced(factor: np.ndarray) -> bool:
    """Whether rows are as short as every reduction leaves them; rounding is allowed for."""
    diagonal = np.diag(factor)
    if not (np.isfinite(factor).all() and (diagonal > 0).all()):
        return False
    ratios = np.abs(np.tril(factor, -1) / diagonal)
    lengths = np.square(diagonal[1:]) + np.square(np.diag(factor, -1))
    return bool((ratios < 0.6).all() and (lengths > 0.9 * np.square(diagonal[:-1])).all())


def _best_of_rows(model: PhaseModel, report: Callable[[float], None]) -> SetUp:
    """Reduce more and more rows until success is near certain and all phases take part."""
    best = None
    counts = list(row_counts(model))
    for number, n_rows in enumerate(counts):

        def part(share: float, number: int = number) -> None:
            report((number + share) / len(counts))

        result = _finish(model, reduce_best(model.lattice(n_rows), part))
        if best is None or _merit(result) > _merit(best):
            best = result
        if _merit(best) >= (_ENOUGH, len(model.order)):
            break
    if best is None:
        raise AssertionError("row_counts yields at least one number")
    return best


def _merit(result: SetUp) -> tuple[float, int, float]:
    chance = result.certificate.success_probability
    # Answers that are right as often and cannot be called unique are worth half.
    worth = 1.0 if result.certificate.log2_spurious < LARGEST_LOG2_SPURIOUS else 0.5
    return worth * min(chance, _ENOUGH), result.certificate.rows, chance


def _finish(model: PhaseModel, reduced: Reduced) -> SetUp:
    if model.prior.is_whole:
        return SetUp(reduced, [], _whole_number_certificate(model, reduced))
    first_rows = model.order[: len(reduced.u)]
    stages = make_stages(model.spread, model.noise_turns, first_rows)
    predictions = np.concatenate([stage.predictions_turns for stage in stages])
    log_chance = log_success(np.diag(reduced.factor)) + log_success(predictions)
    rows, root = stages[-1].rows, stages[-1].root
    # Whether the phases hardly narrow the prior in some direction of x.
    leaves_open = model.factor.shape[1] < model.prior.factor.shape[1]
    leaves_open |= float(np.linalg.norm(root, 2)) > _LARGEST_SHARE_OPEN
    spurious = log2_spurious(model.spread[rows], model.noise_turns, model.prior)
    return SetUp(
        reduced,
        stages,
        DecodingCertificate(
            math.exp(log_chance),
            math.inf if leaves_open else spurious,
            np.sqrt(np.square(model.factor @ root).sum(axis=1) + model.unseen_variance),
            len(rows),
            len(first_rows),
            reduced.adop_turns,
            residual_freedom(model.spread[rows], model.noise_turns),
        ),
    )


def _whole_number_certificate(model: PhaseModel, reduced: Reduced) -> DecodingCertificate:
    k, d = model.table.shape
    # A cost that the prior hardly ever exceeds; results are judged by their own cost.
    candidates = WholeNumberCount.of(model.prior).log2_at_most(np.array(chi_squared_limit(d)))
    return DecodingCertificate(
        reduced.success_probability,
        float(candidates) + log2_fit(k, model.noise_turns),
        np.zeros(d),
        k,
        len(reduced.u) - d,
        reduced.adop_turns,
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
