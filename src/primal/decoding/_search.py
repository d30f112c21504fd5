"""The part of decoding that sees codes: solve, compare with the noise and the prior, judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from primal._parallel import over_rows
from primal.decoding._bounds import chi_squared_limit
from primal.decoding._certificate import (
    LARGEST_LOG2_SPURIOUS,
    DecodingCertificate,
    WholeNumberCount,
    log2_fit,
    residual_limit,
)
from primal.decoding._model import PhaseModel
from primal.decoding._phases import wrapped
from primal.decoding._rivals import find_rivals
from primal.decoding._setup import SetUp
from primal.decoding._solve import Solver

__all__ = ["Search"]

# Candidates looked for when the answer cannot be unique anyway.
_AMBIGUOUS_BEAM = 16
# Multiplications that are worth a thread of their own.
_LEAST_WORK = 1 << 18

Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Search:
    """Phases to (x, status, residual, candidates), for one set-up.

    `beam` partial solutions are kept while rounding.
    """

    def __init__(self, model: PhaseModel, setup: SetUp, beam: int) -> None:
        self._model, self._solver = model, Solver(model, setup)
        self._mean_phases = model.table.values @ model.prior.mean
        self._count = None if model.prior.step is None else WholeNumberCount.of(model.prior)
        self._limit = residual_limit(setup.certificate.freedom)
        self._rivals = find_rivals(self._solver, setup.certificate)
        worst = max(setup.certificate.log2_spurious, self._rivals.log2_expected)
        self.certificate: DecodingCertificate = replace(setup.certificate, log2_spurious=worst)
        self.n_kept = max(beam, _AMBIGUOUS_BEAM) if worst >= LARGEST_LOG2_SPURIOUS else beam

    def __call__(self, phases: np.ndarray) -> Found:
        """Decode phases in turns, float64 of shape (n, k); rows of NaN have none and fail."""
        n, m = len(phases), self._solver.n_resolved
        d, c = self._model.table.shape[1], self.n_kept
        x, status = np.empty((n, d)), np.empty(n, dtype="<U9")
        residual, candidates = np.empty(n), np.empty((n, c, d))

        def work(first: int, last: int) -> None:
            part = slice(first, last)
            x[part], status[part], residual[part], candidates[part] = self._decode(phases[part])

        over_rows(n, max(1, _LEAST_WORK // (m * m * c)), work)
        return x, status, residual, candidates

    def _decode(self, phases: np.ndarray) -> Found:
        n, c = len(phases), self.n_kept
        read = ~np.isnan(phases[:, 0])
        if not read.all():
            phases = np.where(read[:, None], phases, 0.0)
        centered = wrapped(phases - self._mean_phases)
        whole, found = self._solver.whole_turns(centered, c)
        found = found.reshape(-1)
        repeated = centered if c == 1 else np.repeat(centered, c, axis=0)
        solved = self._solver.solutions(repeated, whole.reshape(n * c, -1))
        squares = np.square(solved.residuals).sum(axis=1)
        chi = squares / self._model.noise_turns**2
        x_std = self.certificate.x_std
        fits = self._model.prior.contains(solved.x, solved.xi, x_std)
        fits &= (chi <= self._limit) & found & np.repeat(read, c)
        prior_cost = np.square(solved.xi).sum(axis=1)
        cost = np.where(found, chi + prior_cost, np.inf)
        # Candidates that agree first, the most probable of them leading.
        order = np.lexsort((cost.reshape(n, c), ~fits.reshape(n, c)), axis=-1)

        def in_order(values: np.ndarray) -> np.ndarray:
            shaped = values.reshape(n, c, *values.shape[1:])
            index = order.reshape(n, c, *(1,) * (values.ndim - 1))
            return np.take_along_axis(shaped, index, axis=1)

        agree, candidates, xi = (in_order(v) for v in (fits, solved.x, solved.xi))
        first_chi, first_cost = in_order(chi)[:, 0], in_order(prior_cost)[:, 0]
        certain = self._spurious(first_chi, first_cost) < LARGEST_LOG2_SPURIOUS
        certain &= ~self._rivals.within(self._model.prior, candidates[:, 0], xi[:, 0], x_std)
        if c > 1:
            others = _other_solutions(in_order(solved.whole), agree)
            certain &= ~others.any(axis=1)
            candidates = _listed(candidates, others)
        candidates[~read] = np.nan
        best = np.where(agree[:, :1], candidates[:, 0], np.nan)
        status = np.where(agree[:, 0], np.where(certain, "unique", "ambiguous"), "failed")
        rms = np.sqrt(in_order(squares)[:, 0] / solved.residuals.shape[1])
        return best, status, np.where(read, rms, np.nan), candidates

    def _spurious(self, chi: np.ndarray, prior_cost: np.ndarray) -> np.ndarray:
        """Return log2 of the expected number of wrong solutions as good as these, by row."""
        log2_number = self.certificate.log2_spurious
        if self._count is not None:
            fit = log2_fit(len(self._model.order), self._model.noise_turns)
            log2_number = self._count.log2_at_most(prior_cost) + fit
        # The volume of a ball of residuals, in the directions that no x reaches.
        usual = chi_squared_limit(max(1.0, self.certificate.freedom))
        n_open = max(0, self.certificate.rows - self._solver.n_directions)
        log2_number = log2_number + 0.5 * n_open * np.log2(np.maximum(chi / usual, 1.0))
        return np.maximum(log2_number, self._rivals.log2_expected)


def _other_solutions(whole: np.ndarray, agree: np.ndarray) -> np.ndarray:
    """Return which candidates agree (n, c) and are neither the first nor a repetition.

    `whole` (n, c, w) is equal for equal solutions; these have equal costs and so follow each other.
    """
    others = np.zeros_like(agree)
    others[:, 1:] = agree[:, 1:] & (whole[:, 1:] != whole[:, :-1]).any(axis=2)
    others[:, 1:] &= (whole[:, 1:] != whole[:, :1]).any(axis=2)
    return others


def _listed(candidates: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return candidates (n, c, d) with the first and the others leading, and then NaN."""
    kept = others.copy()
    kept[:, 0] = True
    order = np.argsort(~kept, axis=1, kind="stable")
    listed = np.take_along_axis(candidates, order[:, :, None], axis=1)
    listed[~np.take_along_axis(kept, order, axis=1)] = np.nan
    return listed
