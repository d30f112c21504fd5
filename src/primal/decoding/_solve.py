"""From phases to whole turns, and from these to x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from primal._forks import load_compiled
from primal.decoding._model import PhaseModel
from primal.decoding._phases import wrapped
from primal.decoding._setup import SetUp, refine

# Whole numbers tried at each level of a wide search.
_CHILDREN = 5


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
    """Solutions for phases, of one set-up."""

    def __init__(self, model: PhaseModel, setup: SetUp) -> None:
        self.model, self._setup = model, setup
        self._rows = model.order[: len(setup.reduced.u) - model.n_whole]
        # The first stage keeps its rows sorted, the lattice in order of variation.
        self._sorted = np.argsort(self._rows)
        # Whole-number phases are observed as exactly 0.
        self._to_reduced = setup.reduced.u.T[model.n_whole :].astype(np.float64)

    @property
    def n_resolved(self) -> int:
        """Number of phases in the lattice."""
        return len(self._setup.reduced.u)

    @property
    def n_directions(self) -> int:
        """Number of directions in which x moves the phases; none if it is whole."""
        return 0 if self.model.prior.is_whole else self.model.factor.shape[1]

    def whole_turns(self, centered: np.ndarray, n_kept: int) -> tuple[np.ndarray, np.ndarray]:
        """Return whole turns of the first rows, (n, n_kept, m), and which of them were found.

        `centered` (n, k) are phases less those of the prior's mean, in turns.
        """
        kernels = load_compiled("primal.decoding._kernels")
        n, c, m = len(centered), n_kept, self.n_resolved
        reduced = self._setup.reduced
        target = kernels.row_products(centered[:, self._rows], self._to_reduced)
        whole, costs = np.empty((n, c, m), dtype=np.int64), np.empty((n, c))
        kernels.nearest_plane(reduced.factor, target, 1 if c == 1 else _CHILDREN, whole, costs)
        found = np.isfinite(costs)
        whole[~found] = 0
        # Exact: V is the inverse transpose modulo 2**64 and the result is small.
        return kernels.row_products(whole.reshape(n * c, m), reduced.v).reshape(n, c, m), found

    def solutions(self, centered: np.ndarray, whole: np.ndarray) -> Solutions:
        """Return the inputs of phases (n, k) with whole turns (n, m)."""
        kernels = load_compiled("primal.decoding._kernels")
        model, prior = self.model, self.model.prior
        if prior.is_whole:
            steps = whole[:, : model.n_whole].astype(np.float64)
            x = prior.step * (np.rint(prior.mean / prior.step) + steps)
            xi = steps * prior.step / np.diag(model.factor)
            phases = kernels.row_products(prior.step * steps, model.table.transposed)
            return Solutions(x, xi, wrapped(centered - phases), steps)
        total = (centered[:, self._rows] + whole)[:, self._sorted]
        xi = kernels.row_products(total, self._setup.stages[0].gain)
        xi, residuals, turns = refine(self._setup.stages, centered, xi)
        x = prior.mean + kernels.row_products(xi, model.factor.T)
        return Solutions(x, xi, residuals, turns)
