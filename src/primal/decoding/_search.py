"""The part of decoding that sees codes: round, unwrap, refine, judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from primal.decoding._bounds import chi_squared_limit, log2_shifted_within
from primal.decoding._certificate import (
    LARGEST_LOG2_SPURIOUS,
    Certificate,
    WholeNumberCount,
    log2_fit,
    residual_freedom,
)
from primal.decoding._model import PhaseModel
from primal.decoding._noise import wrapped
from primal.decoding._setup import SetUp
from primal.decoding._stages import refine
from primal.engines._threads import over_rows, single_threaded_blas

__all__ = ["Search"]

# Inputs nearly as good as zero for the code of zero: how many are looked for.
_COLLISION_BEAM = 64
# Candidates looked for when the answer cannot be unique anyway.
_AMBIGUOUS_BEAM = 16
# Whole numbers tried at each level of a wide search.
_CHILDREN = 5
# Multiplications that are worth a thread of their own.
_LEAST_WORK = 1 << 18

Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Search:
    """Phases to (x, status, residual, candidates), for one set-up.

    Parameters
    ----------
    model : PhaseModel
    setup : SetUp
    beam : int
        Partial solutions kept while rounding.
    """

    def __init__(self, model: PhaseModel, setup: SetUp, beam: int) -> None:
        self._model, self._setup = model, setup
        self.certificate: Certificate = setup.certificate
        self._rows = model.order[: len(setup.reduced.u) - model.n_whole]
        self._mean_phases = model.table.values @ model.prior.mean
        self._u_float = setup.reduced.u.T.astype(np.float64)
        if model.prior.step is None:
            used = setup.stages[-1].rows
            self._freedom = residual_freedom(model.spread[used], model.noise_turns)
            self._count = None
        else:
            self._freedom = float(len(model.order))
            self._count = WholeNumberCount.of(model.prior)
        self._limit = chi_squared_limit(self._freedom)
        self._log2_collisions = self._measure_collisions()
        worst = max(self.certificate.log2_spurious, self._log2_collisions)
        self.certificate = replace(self.certificate, log2_spurious=worst)
        self.n_kept = max(beam, _AMBIGUOUS_BEAM) if worst >= LARGEST_LOG2_SPURIOUS else beam

    def __call__(self, phases: np.ndarray) -> Found:
        """Decode phases in turns, float64 of shape (n, k)."""
        n, m = len(phases), len(self._setup.reduced.u)
        d, c = self._model.table.shape[1], self.n_kept
        x, status = np.empty((n, d)), np.empty(n, dtype="<U9")
        residual, candidates = np.empty(n), np.empty((n, c, d))

        def work(first: int, last: int) -> None:
            part = slice(first, last)
            x[part], status[part], residual[part], candidates[part] = self._decode(phases[part])

        with single_threaded_blas():
            over_rows(n, max(1, _LEAST_WORK // (m * m * c)), work)
        return x, status, residual, candidates

    def _decode(self, phases: np.ndarray) -> Found:
        n, c = len(phases), self.n_kept
        centred = wrapped(phases - self._mean_phases)
        whole, found = self._whole_turns(centred, c)
        repeated = centred if c == 1 else np.repeat(centred, c, axis=0)
        x, xi, left, fits = self._inputs(repeated, whole.reshape(n * c, -1))
        squares = np.square(left).sum(axis=1)
        chi = squares / self._model.noise_turns**2
        fits &= (chi <= self._limit) & found.reshape(-1)
        prior_cost = np.square(xi).sum(axis=1)
        cost = np.where(found.reshape(-1), chi + prior_cost, np.inf)
        # Candidates that agree first, the most probable of them leading.
        order = np.lexsort((cost.reshape(n, c), ~fits.reshape(n, c)), axis=-1)

        def sorted_by_cost(values: np.ndarray) -> np.ndarray:
            shaped = values.reshape(n, c, *values.shape[1:])
            index = order.reshape(n, c, *(1,) * (values.ndim - 1))
            return np.take_along_axis(shaped, index, axis=1)

        agree = sorted_by_cost(fits)
        candidates = sorted_by_cost(x)
        candidates[:, 1:][~agree[:, 1:]] = np.nan
        best = np.where(agree[:, :1], candidates[:, 0], np.nan)
        certain = self._spurious(sorted_by_cost(prior_cost)[:, 0]) < LARGEST_LOG2_SPURIOUS
        certain &= ~agree[:, 1:].any(axis=1)
        verdict = np.where(certain, "unique", "ambiguous")
        status = np.where(agree[:, 0], verdict, "failed")
        rms = np.sqrt(sorted_by_cost(squares)[:, 0] / left.shape[1])
        return best, status, rms, candidates

    def _whole_turns(self, centred: np.ndarray, n_kept: int) -> tuple[np.ndarray, np.ndarray]:
        """Return whole turns of the first rows, (n, c, m), and which of them were found."""
        from primal.decoding._kernels import nearest_plane

        n, c, m = len(centred), n_kept, len(self._u_float)
        first = centred[:, self._rows]
        # Whole-number phases are observed as exactly 0.
        target = first @ self._u_float[self._model.n_whole :]
        whole, costs = np.empty((n, c, m), dtype=np.int64), np.empty((n, c))
        children = 1 if c == 1 else _CHILDREN
        nearest_plane(self._setup.reduced.factor, target, children, whole, costs)
        found = np.isfinite(costs)
        whole[~found] = 0
        # Exact: V is the inverse transpose modulo 2**64 and the result is small.
        return whole @ self._setup.reduced.v, found

    def _inputs(
        self, centred: np.ndarray, whole: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return x, xi, the residuals of all phases used, and which x lie within the prior."""
        model, prior = self._model, self._model.prior
        if prior.step is not None:
            steps = whole[:, : model.n_whole].astype(np.float64)
            x = prior.step * (np.rint(prior.mean / prior.step) + steps)
            xi = steps * prior.step / np.diag(model.factor)
            left = wrapped(centred - (prior.step * steps) @ model.table.transposed)
        else:
            stages = self._setup.stages
            first = stages[0]
            # The stage keeps its rows sorted, the lattice in order of variation.
            total = (centred[:, self._rows] + whole)[:, np.argsort(self._rows)]
            xi, left = refine(model.spread, stages, centred, total @ first.gain.T)
            x = prior.mean + xi @ model.factor.T
        return x, xi, left, prior.contains(x, xi, self.certificate.x_std)

    def _spurious(self, prior_cost: np.ndarray) -> np.ndarray:
        if self._count is None:
            return np.full(len(prior_cost), self.certificate.log2_spurious)
        fit = log2_fit(len(self._model.order), self._model.noise_turns)
        return np.maximum(self._count.log2_at_most(prior_cost) + fit, self._log2_collisions)

    def _measure_collisions(self) -> float:
        """Return log2 of the expected number of accepted shifts, among the likeliest ones.

        The volume behind `log2_spurious` is right on average over lattices; the lattice of a
        nearly singular basis can have shorter vectors than average. What x can be mistaken
        for does not depend on x, so the shifts are searched once, as rivals of zero.
        """
        zero = np.zeros((1, self._model.table.shape[0]))
        whole, found = self._whole_turns(zero, _COLLISION_BEAM)
        shifts = whole[found & whole.any(axis=2)]
        if len(shifts) == 0:
            return -np.inf
        x, xi, left, _ = self._inputs(np.repeat(zero, len(shifts), axis=0), shifts)
        chi = np.square(left / self._model.noise_turns).sum(axis=1)
        log2_chances = log2_shifted_within(self._freedom, self._limit, chi)
        log2_chances = log2_chances + self._model.prior.log2_overlap(x - self._model.prior.mean, xi)
        return float(np.logaddexp2.reduce(log2_chances))
