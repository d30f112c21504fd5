"""What an answer can be mistaken for: shifts of x that leave its phases nearly as they are.

They do not depend on x, so they are searched once, as rivals of zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from primal.decoding._bounds import log2_shifted_within
from primal.decoding._certificate import LARGEST_LOG2_SPURIOUS, DecodingCertificate, residual_limit
from primal.decoding._priors import PriorModel
from primal.decoding._solve import Solver

__all__ = ["Rivals", "find_rivals"]

# How many shifts are looked for; the second number when the first shows nothing but rivals.
_BEAM, _WIDE_BEAM = 64, 1024


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


def find_rivals(solver: Solver, certificate: DecodingCertificate) -> Rivals:
    """Return the rivals of every x; at least one is expected where there is no end of them."""
    rivals, unending = _rivals_among(solver, certificate, _BEAM)
    if unending:
        rivals, unending = _rivals_among(solver, certificate, _WIDE_BEAM)
    return replace(rivals, log2_expected=max(0.0, rivals.log2_expected)) if unending else rivals


def _rivals_among(
    solver: Solver, certificate: DecodingCertificate, beam: int
) -> tuple[Rivals, bool]:
    """Return the rivals among the `beam` likeliest shifts, and whether all of these are some."""
    model = solver.model
    prior, freedom = model.prior, max(1.0, certificate.freedom)
    zero = np.zeros((1, model.table.shape[0]))
    whole, found = solver.whole_turns(zero, beam)
    shifts = solver.solutions(np.repeat(zero, found.sum(), axis=0), whole[found])
    # Different turns of the first rows may lead to the same solution, also to zero itself.
    _, first = np.unique(shifts.whole, axis=0, return_index=True)
    other = np.sort(first[shifts.whole[first].any(axis=1)])
    x, xi = shifts.x[other] - prior.mean, shifts.xi[other]
    chi = np.square(shifts.residuals[other] / model.noise_turns).sum(axis=1)
    log2_accepted = log2_shifted_within(freedom, residual_limit(freedom), chi)
    log2_expected = np.logaddexp2.reduce(log2_accepted + prior.log2_overlap(x, xi))
    hidden = log2_accepted >= LARGEST_LOG2_SPURIOUS
    hidden &= prior.reaches(x, xi, certificate.x_std)
    return Rivals(x[hidden], xi[hidden], float(log2_expected)), bool(len(x) and hidden.all())
