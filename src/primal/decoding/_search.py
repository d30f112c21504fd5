"""The part of decoding that sees codes: solve, compare with the noise and the prior, judge.

Rivals are what an answer can be mistaken for: shifts of x that leave its phases nearly as they
are. They do not depend on x, so they are searched once, as rivals of zero.
"""

from dataclasses import dataclass, replace

import numpy as np

from primal._lazy import cached_property
from primal._parallel import over_rows
from primal.decoding._bounds import chi_squared_limit, log2_shifted_within
from primal.decoding._certificate import (
    LARGEST_LOG2_SPURIOUS,
    DecodingCertificate,
    WholeNumberCount,
    log2_fit,
    residual_limit,
)
from primal.decoding._phases import wrapped
from primal.decoding._priors import PriorModel
from primal.decoding._solve import Solver
from primal.engines import row_blocks

# How many shifts are looked for; the second number when the first shows nothing but rivals.
_RIVAL_BEAM, _WIDE_RIVAL_BEAM = 64, 1024
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

Found = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Search:
    """Phases to (x, status, residual, candidates), with one solver.

    `beam` partial solutions are kept while rounding, at most; None leaves the number to the plan.
    """

    def __init__(self, solver: Solver, beam: int | None) -> None:
        self._solver, certificate = solver, solver.certificate
        self._model = model = solver.model
        self._mean_phases = model.table.values @ model.prior.mean
        self._count = WholeNumberCount(model.prior) if model.prior.is_whole else None
        self._limit = residual_limit(certificate.freedom)
        self._rivals = find_rivals(solver)
        worst = max(certificate.log2_spurious, self._rivals.log2_expected)
        chance = certificate.success_probability
        most = beam or (_WIDE_BEAM if chance < 1.0 - _LARGEST_CHANCE_OF_FAILURE else 1)
        if worst >= LARGEST_LOG2_SPURIOUS:
            self._widths = [max(most, _AMBIGUOUS_BEAM)]
        else:
            self._widths = [*(w for w in (1, _WIDENING) if w < most), most]
        self.n_kept = self._widths[-1]
        self.n_listed = min(self.n_kept, max(beam or 1, _AMBIGUOUS_BEAM))
        # With the chance of rounding alone, where a beam may do better.
        self.formula: DecodingCertificate = replace(certificate, log2_spurious=worst)

    @cached_property
    def certificate(self) -> DecodingCertificate:
        """What to expect; measured when it is asked for, which may take seconds near the limit."""
        certain = self.formula.success_probability >= 1.0 - _LARGEST_CHANCE_OF_FAILURE
        if self.n_kept == 1 or certain:
            return self.formula
        return replace(self.formula, success_probability=self._success())

    def __call__(self, phases: np.ndarray) -> Found:
        """Decode phases in turns, float64 of shape (n, k); rows of NaN have none and fail."""
        n, m = len(phases), len(self._solver.reduced.u)
        d, c = self._model.table.shape[1], self.n_listed
        x, status = np.empty((n, d)), np.full(n, "failed", dtype="<U9")
        residual, candidates = np.empty(n), np.full((n, c, d), np.nan)
        for width in self._widths:
            # An answer that is unique stays what it is, however wide the search.
            left = np.flatnonzero(status != "unique")

            def work(first: int, last: int, left: np.ndarray = left, width: int = width) -> None:
                for block in row_blocks(last - first, phases.shape[1] * width, _BLOCK_PHASES):
                    rows = left[first:last][block]
                    found = self._decode(phases[rows], width)
                    x[rows], status[rows], residual[rows], listed = found
                    candidates[rows, :width] = listed[:, :c]

            over_rows(len(left), max(1, _LEAST_WORK // (m * m * width)), work)
        return x, status, residual, candidates

    def _decode(self, phases: np.ndarray, c: int) -> Found:
        n = len(phases)
        read = ~np.isnan(phases[:, 0])
        if not read.all():
            phases = np.where(read[:, None], phases, 0.0)
        centered = wrapped(phases - self._mean_phases)
        whole, found = self._solver.whole_turns(centered, c)
        found = found.reshape(-1)
        repeated = centered if c == 1 else np.repeat(centered, c, axis=0)
        solved = self._solver.solutions(repeated, whole.reshape(n * c, whole.shape[2]))
        squares = np.square(solved.residuals).sum(axis=1)
        chi = squares / self._model.noise_turns**2
        x_std = self.formula.x_std
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

    def _success(self) -> float:
        """Return how often the first solution is right, of codes drawn from the model."""
        prior, frequencies = self._model.prior, self._model.table.values
        rng = np.random.default_rng(0)  # always the same codes
        x = prior.mean + prior.draw(_DRAWS, rng) @ prior.factor.T
        noise = self._model.noise_turns * rng.standard_normal((_DRAWS, len(frequencies)))
        off = self(wrapped(x @ frequencies.T + noise))[3][:, 0] - x
        same = np.abs(off @ frequencies.T).max(axis=1) < 0.5
        if prior.is_whole:
            same &= (np.abs(off) < 0.5 * prior.step).all(axis=1)
        return float(same.mean())

    def _spurious(self, chi: np.ndarray, prior_cost: np.ndarray) -> np.ndarray:
        """Return log2 of the expected number of wrong solutions as good as these, by row."""
        log2_number = self.formula.log2_spurious
        if self._count is not None:
            fit = log2_fit(len(self._model.order), self._model.noise_turns)
            log2_number = self._count.log2_at_most(prior_cost) + fit
        # The volume of a ball of residuals, in the directions that no x reaches.
        usual = chi_squared_limit(max(1.0, self.formula.freedom))
        n_open = max(0, self.formula.rows - self._solver.n_directions)
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


@dataclass(frozen=True, eq=False)
class Rivals:
    """Shifts of x that noise as stated can hide, (s, d), and the same in units of the prior.

    `log2_expected` is log2 of the expected number of shifts that keep x within the prior and are
    accepted, for x drawn from the prior. The volume behind `log2_spurious` is right on average over
    lattices; that of a nearly singular basis can have shorter vectors than average.
    """

    x_shifts: np.ndarray
    xi_shifts: np.ndarray
    log2_expected: float

    def within(
        self, prior: PriorModel, x: np.ndarray, xi: np.ndarray, x_std: np.ndarray
    ) -> np.ndarray:
        """Return which rows of x (n, d) have a rival within the prior, bool of shape (n,).

        On average over x that can be rarer than any number, and still be true of one: with
        frequencies that are whole numbers, x = 1/2 and x = -1/2 have the same phases.
        """
        rivalled = np.zeros(len(x), dtype=bool)
        for x_shift, xi_shift in zip(self.x_shifts, self.xi_shifts, strict=True):
            for sign in (1.0, -1.0):
                rivalled |= prior.contains(x + sign * x_shift, xi + sign * xi_shift, x_std)
        return rivalled


def find_rivals(solver: Solver) -> Rivals:
    """Return the rivals of every x; at least one is expected where there is no end of them."""
    model, prior = solver.model, solver.model.prior
    freedom = max(1.0, solver.certificate.freedom)
    zero = np.zeros((1, model.table.shape[0]))
    for beam in (_RIVAL_BEAM, _WIDE_RIVAL_BEAM):
        whole, found = solver.whole_turns(zero, beam)
        shifts = solver.solutions(np.repeat(zero, found.sum(), axis=0), whole[found])
        # Different turns of the first rows may lead to the same solution, also to zero itself.
        _, first = np.unique(shifts.whole, axis=0, return_index=True)
        other = np.sort(first[shifts.whole[first].any(axis=1)])
        x, xi = shifts.x[other] - prior.mean, shifts.xi[other]
        chi = np.square(shifts.residuals[other] / model.noise_turns).sum(axis=1)
        log2_accepted = log2_shifted_within(freedom, residual_limit(freedom), chi)
        expected = float(np.logaddexp2.reduce(log2_accepted + prior.log2_overlap(x, xi)))
        hidden = log2_accepted >= LARGEST_LOG2_SPURIOUS
        hidden &= prior.reaches(x, xi, solver.certificate.x_std)
        if not hidden.all() or not len(x):
            return Rivals(x[hidden], xi[hidden], expected)
    return Rivals(x, xi, max(0.0, expected))
