"""The part of decoding that sees codes: solve, compare with the noise and the prior, judge."""

import math
from dataclasses import replace

import numpy as np

from primal._arithmetic import normal_quantile
from primal._lazy import cached_property
from primal._parallel import over_rows, row_blocks
from primal.decoding._bounds import chi_squared_limit, log2_shifted_within
from primal.decoding._certificate import (
    DecodingCertificate,
    WholeNumberCount,
    log2_fit,
    residual_limit,
)
from primal.decoding._draws import fractions
from primal.decoding._linalg import products, squared_lengths
from primal.decoding._phases import wrapped
from primal.decoding._result import DecodeResult, empty_result, log2_alternatives, statuses
from primal.decoding._rivals import Rivals, Shifts
from primal.decoding._solve import Solutions, Solver

# Candidates looked for when the answer cannot be unique anyway.
_AMBIGUOUS_BEAM = 16
# A plan that rounding fails more often than this keeps more partial solutions, unless asked how
# many; they are for the rows that need them, each time _WIDENING times as many.
_LARGEST_CHANCE_OF_FAILURE = 1e-3
_WIDE_BEAM, _WIDENING = 64, 8
# Multiplications that are worth a thread of their own.
_LEAST_WORK = 1 << 18
# Phases worked on at once, counting every candidate: a few arrays of 8 MB.
_BLOCK_PHASES = 1 << 20
# Draws that a chance is measured with.
_DRAWS = 2_000


class Search:
    """Phases to a DecodeResult, with one solver.

    `beam` partial solutions are kept while rounding, at most; None leaves the number to the plan.
    """

    def __init__(self, solver: Solver, beam: int | None, risk: float) -> None:
        self._solver, certificate = solver, solver.certificate
        self._model = model = solver.model
        self._log2_risk, self.noise_turns = math.log2(risk), model.noise_turns
        self._mean_phases = products(model.prior.mean[None], model.table.transposed)[0]
        self._count = WholeNumberCount(model.prior) if model.prior.is_whole else None
        self._limit = residual_limit(certificate.freedom)
        self._rivals = self._find_rivals()
        worst, chance = self._rivals.log2_spurious, certificate.success_probability
        most = beam or (_WIDE_BEAM if chance < 1.0 - _LARGEST_CHANCE_OF_FAILURE else 1)
        if worst >= self._log2_risk:
            most = max(most, _AMBIGUOUS_BEAM)
        self._widths = [*(w for w in (1, _WIDENING) if w < most), most]
        self.n_kept = self._widths[-1]
        self.n_listed = min(self.n_kept, max(beam or 1, _AMBIGUOUS_BEAM))
        # With the chance of rounding alone, where a beam may do better.
        self.formula: DecodingCertificate = replace(certificate, log2_spurious=worst, risk=risk)

    @cached_property
    def certificate(self) -> DecodingCertificate:
        """What to expect; measured when it is asked for, which may take seconds near the limit."""
        certain = self.formula.success_probability >= 1.0 - _LARGEST_CHANCE_OF_FAILURE
        if self.n_kept == 1 or certain:
            return self.formula
        return replace(self.formula, success_probability=self._success())

    def __call__(self, phases: np.ndarray) -> DecodeResult:
        """Decode phases in turns, float64 of shape (n, k); rows of NaN have none and fail."""
        n, m = len(phases), len(self._solver.reduced.u)
        c = self.n_listed
        result = empty_result(n, self._model.table.shape[1], c)
        for width in self._widths:
            # An answer that is unique stays what it is, however wide the search.
            left = np.flatnonzero(result.status != "unique")

            def work(first: int, last: int, left: np.ndarray = left, width: int = width) -> None:
                for block in row_blocks(last - first, phases.shape[1] * width, _BLOCK_PHASES):
                    rows = left[first:last][block]
                    found = self._decode(phases[rows], width)
                    for name in ("x", "status", "probability", "residual"):
                        getattr(result, name)[rows] = getattr(found, name)
                    result.candidates[rows, :width] = found.candidates[:, :c]
                    result.distances[rows, :width] = found.distances[:, :c]

            over_rows(len(left), max(1, _LEAST_WORK // (m * m * width)), work)
        return result

    def _decode(self, phases: np.ndarray, c: int) -> DecodeResult:
        n, prior = len(phases), self._model.prior
        read = ~np.isnan(phases[:, 0])
        if not read.all():
            phases = np.where(read[:, None], phases, 0.0)
        centered = wrapped(phases - self._mean_phases)
        whole, found = self._solver.whole_turns(centered, c)
        found = found.reshape(-1)
        repeated = centered if c == 1 else np.repeat(centered, c, axis=0)
        solved = self._solver.solutions(repeated, whole.reshape(n * c, whole.shape[2]))
        chi = squared_lengths(solved.residuals) / self._model.noise_turns**2
        x_std = self.formula.x_std
        fits = prior.contains(solved.x, solved.xi, x_std)
        fits &= (chi <= self._limit) & found & np.repeat(read, c)
        cost = np.where(found, chi + squared_lengths(solved.xi), np.inf)
        # Candidates that agree first, the most probable of them leading.
        order = np.lexsort((cost.reshape(n, c), ~fits.reshape(n, c)), axis=-1)

        def in_order(values: np.ndarray) -> np.ndarray:
            shaped = values.reshape(n, c, *values.shape[1:])
            index = order.reshape(n, c, *(1,) * (values.ndim - 1))
            return np.take_along_axis(shaped, index, axis=1)

        agree, candidates, cost = (in_order(v) for v in (fits, solved.x, cost))
        flat_cost = in_order(chi) if prior.is_bounded else cost
        first = np.arange(0, n * c, c) + order[:, 0]
        distances = np.where(read[:, None], cost, np.inf)
        others = np.zeros((n, c), dtype=bool)
        if c > 1:
            others = _other_solutions(in_order(solved.whole), agree)
            candidates, distances = _listed(others, candidates, distances)
        candidates[~read] = np.nan
        log2_others = log2_alternatives(cost, flat_cost, others)
        log2_wrong = np.logaddexp2(log2_others, self._log2_rivals(solved, first, chi[first]))
        status = statuses(agree[:, 0], log2_wrong, self._log2_risk)
        rms = np.sqrt(chi[first] / solved.residuals.shape[1]) * self._model.noise_turns
        weights = 1.0 + np.exp2(np.minimum(1000.0, log2_others))
        return replace(
            empty_result(n, 0, 0),
            x=np.where(agree[:, :1], candidates[:, 0], np.nan),
            status=status,
            probability=np.where(agree[:, 0], 1.0 / weights, 0.0),
            residual=np.where(read, rms, np.nan),
            candidates=candidates,
            distances=distances,
        )

    def _success(self) -> float:
        """Return how often the first solution is right, of codes drawn from the model."""
        prior, frequencies = self._model.prior, self._model.table.values
        r, k = prior.factor.shape[1], len(frequencies)
        drawn = fractions(_DRAWS, r + k)
        x = prior.mean + prior.draw(drawn[:, :r]) @ prior.factor.T
        noise = self._model.noise_turns * normal_quantile(drawn[:, r:])
        off = self(wrapped(x @ frequencies.T + noise)).candidates[:, 0] - x
        same = np.abs(off @ frequencies.T).max(axis=1) < 0.5
        if prior.is_whole:
            same &= (np.abs(off) < 0.5 * prior.step).all(axis=1)
        return float(same.mean())

    def _log2_rivals(self, solved: Solutions, first: np.ndarray, chi: np.ndarray) -> np.ndarray:
        """Return log2 of the probability of wrong solutions relative to the first ones, by row."""
        xi, formula = solved.xi[first], self.formula
        average = self._solver.certificate.log2_spurious
        if self._count is not None:
            fit = log2_fit(len(self._model.order), self._model.noise_turns)
            average = self._count.log2_at_most(squared_lengths(xi)) + fit
        # The volume of a ball of residuals, in the directions that no x reaches.
        usual = chi_squared_limit(max(1.0, formula.freedom))
        n_open = max(0, formula.n_phases - self._solver.n_directions)
        average = average + 0.5 * n_open * np.log2(np.maximum(chi / usual, 1.0))
        off = np.concatenate([solved.residuals[first] / self._model.noise_turns, xi], axis=1)
        return self._rivals.log2_wrong(solved.x[first], off, formula.x_std, average)

    def _find_rivals(self) -> Rivals:
        solver, model, prior = self._solver, self._model, self._model.prior
        freedom = max(1.0, solver.certificate.freedom)
        n_phases = solver.certificate.n_phases

        def shifts(turns: np.ndarray) -> Shifts:
            found = solver.solutions(np.zeros((len(turns), model.table.shape[0])), turns)
            off = np.concatenate([found.residuals / model.noise_turns, found.xi], axis=1)
            return Shifts(found.x - prior.mean, off, found.whole)

        def accepted(found: Shifts) -> tuple[np.ndarray, np.ndarray]:
            squares = squared_lengths(found.off[:, :n_phases])
            by_noise = log2_shifted_within(freedom, residual_limit(freedom), squares)
            return by_noise, prior.log2_overlap(found.x, found.off[:, n_phases:])

        cost = prior.largest_cost or chi_squared_limit(model.factor.shape[1])
        return Rivals(
            solver.reduced,
            shifts,
            accepted,
            prior=prior,
            x_std=solver.certificate.x_std,
            n_phases=n_phases,
            noise_turns=model.noise_turns,
            typical=residual_limit(freedom) + cost,
            log2_risk=self._log2_risk,
            average=solver.certificate.log2_spurious,
        )


def _other_solutions(whole: np.ndarray, agree: np.ndarray) -> np.ndarray:
    """Return which candidates agree (n, c) and are neither the first nor a repetition.

    `whole` (n, c, w) is equal for equal solutions; these have equal costs and so follow each other.
    """
    others = np.zeros_like(agree)
    others[:, 1:] = agree[:, 1:] & (whole[:, 1:] != whole[:, :-1]).any(axis=2)
    others[:, 1:] &= (whole[:, 1:] != whole[:, :1]).any(axis=2)
    return others


def _listed(
    others: np.ndarray, candidates: np.ndarray, distances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return candidates (n, c, d) and their distances, the first and the others leading."""
    kept = others.copy()
    kept[:, 0] = True
    order = np.argsort(~kept, axis=1, kind="stable")
    kept = np.take_along_axis(kept, order, axis=1)
    listed = np.take_along_axis(candidates, order[:, :, None], axis=1)
    listed[~kept] = np.nan
    return listed, np.where(kept, np.take_along_axis(distances, order, axis=1), np.inf)
