"""Shifts of x that leave its phases nearly as they are: what an answer can be mistaken for.

They do not depend on x. All short vectors of the plan's own lattice are enumerated once, as far as
bounded work allows (U. Fincke and M. Pohst, Math. Comp. 44 (1985) 463-471). Beyond these the
expected number, an average over lattices, has to do.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primal.decoding import _kernels
from primal.decoding._bounds import log2_ball
from primal.decoding._lattice import Reduced
from primal.decoding._linalg import products, squared_lengths
from primal.decoding._priors import PriorModel

# Shifts that a beam looks for, and the most that an enumeration lists, in at most so many steps.
_BEAM, _WIDE_BEAM, _CHILDREN = 64, 1024, 5
_MOST_LISTED, _MOST_NODES = 4096, 100_000
# More rivals than this are not compared with every answer: those plans call nothing unique.
_MOST_RIVALS = 256
# What is neglected may be this much more probable than estimated: natural logarithm.
_MARGIN = 14.0
_LOG2_E = math.log2(math.e)


@dataclass(frozen=True, eq=False)
class Shifts:
    """Changes of a solution, for changes of its whole turns.

    `x` (s, d), `off` (s, q) its distances from phases and prior in standard deviations, the first
    `n_phases` columns those of phases, and `key` (s, w), equal for equal solutions.
    """

    x: np.ndarray
    off: np.ndarray
    key: np.ndarray


class Rivals:
    """Rivals of every answer, and bounds on the probability of those that are not listed.

    Parameters
    ----------
    reduced : Reduced
    shifts : callable
        From whole turns (s, m) to their Shifts.
    accepted : callable
        From Shifts to log2 of the chances that the checks on noise and prior accept them.
    prior, x_std : PriorModel and deviations of x
    n_phases : int
        Columns of `off` that are phases.
    noise_turns : float
        Deviation of a phase that wraps.
    typical : float
        Squared distance of right answers, exceeded almost never.
    log2_risk, average : float
        `average` is log2 of the expected number of wrong solutions by volume.
    """

    def __init__(
        self,
        reduced: Reduced,
        shifts: Callable[[np.ndarray], Shifts],
        accepted: Callable[[Shifts], tuple[np.ndarray, np.ndarray]],
        *,
        prior: PriorModel,
        x_std: np.ndarray,
        n_phases: int,
        noise_turns: float,
        typical: float,
        log2_risk: float,
        average: float,
    ) -> None:
        self._prior, self._n_phases, self._noise_turns = prior, n_phases, noise_turns
        self._open = average == math.inf
        self._extra = prior.largest_cost
        m = len(reduced.u)
        self._log2_dense = float(np.log2(np.diag(reduced.factor)).sum())
        self._m = m
        # Squared differences that matter.
        self._horizon = 2.0 * (_MARGIN - log2_risk / _LOG2_E)
        turns = _beam(reduced, _BEAM)
        self._reach = 0.0
        while True:
            found = _distinct(shifts(turns))
            by_noise, overlap = accepted(found)
            self.log2_expected = _log2_sum(by_noise + overlap)
            matter = (by_noise > log2_risk - _MARGIN) & prior.reaches(
                found.x, found.off[:, n_phases:], x_std
            )
            endless = self._reach == 0.0 and len(matter) > 0 and bool(matter.all())
            if len(turns) > 2 * _BEAM or self._reach > 0.0 or self._open:
                break
            if not endless and max(average, self.log2_expected) < log2_risk:
                break
            wanted = (math.sqrt(typical) + math.sqrt(typical + self._extra + self._horizon)) ** 2
            listed, self._reach = _enumerated(reduced, wanted)
            if self._reach == 0.0:
                if not endless:
                    break
                listed = _beam(reduced, _WIDE_BEAM)
            turns = np.concatenate([turns, listed])
        chosen = np.flatnonzero(matter)
        if len(chosen) > _MOST_RIVALS or endless:
            self._reach, self.log2_expected = 0.0, max(0.0, self.log2_expected)
            chosen = chosen[np.argsort(squared_lengths(found.off[chosen]))[:_MOST_RIVALS]]
        self._x, self._off = found.x[chosen], found.off[chosen]
        tail = float(self._log2_tail(np.array([typical]))[0])
        by_list = float(np.logaddexp2(self.log2_expected, tail))
        self.log2_spurious = min(max(average, self.log2_expected), by_list)

    def log2_wrong(
        self, x: np.ndarray, off: np.ndarray, x_std: np.ndarray, average: np.ndarray
    ) -> np.ndarray:
        """Return log2 of the probability of all rivals relative to answers x (n, d), off (n, q).

        `average` (n,) is log2 of the expected number of wrong solutions as good as each.
        """
        listed = np.zeros(len(x))
        for x_shift, shift in zip(self._x, self._off, strict=True):
            moved = x + x_shift
            rows = np.flatnonzero(self._prior.within_limits(moved, x_std))
            if len(rows):
                listed[rows] += np.exp(-0.5 * self._differences(off[rows], shift))
        with np.errstate(divide="ignore"):
            log2_listed = np.log2(listed)
        unlisted = np.maximum(average, self.log2_expected)
        unlisted = np.minimum(unlisted, self._log2_tail(squared_lengths(off)))
        return np.logaddexp2(log2_listed, unlisted)

    def _differences(self, off: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Return a lower bound on the additional squared distance of shifted answers."""
        k, moved = self._n_phases, off + shift
        moved[:, :k] -= np.rint(moved[:, :k] * self._noise_turns) / self._noise_turns
        phases = squared_lengths(moved[:, :k]) - squared_lengths(off[:, :k])
        if self._extra:
            both = phases + squared_lengths(moved[:, k:]) - squared_lengths(off[:, k:])
            return np.clip(np.minimum(phases, both), -80.0, None)
        return np.clip(
            phases + squared_lengths(moved[:, k:]) - squared_lengths(off[:, k:]), -80.0, None
        )

    def _log2_tail(self, cost: np.ndarray) -> np.ndarray:
        """Return log2 of the probability of what was not enumerated, for answers of some cost (n,).

        A lattice vector v beyond the squared length S leads from an answer at a distance r to one
        of which the squared distance is larger by |v|**2 - 2 |v| r or more.
        """
        reach = self._reach
        if self._open or reach <= 0.0:
            return np.full(len(cost), np.inf)
        gap = reach - 2.0 * np.sqrt(reach * cost) - self._extra
        count = max(0.0, log2_ball(self._m, reach) + self._log2_dense) + 0.5 * _MARGIN * _LOG2_E
        return np.where(cost < reach, count - 0.5 * gap * _LOG2_E, np.inf)


def _beam(reduced: Reduced, n_kept: int) -> np.ndarray:
    """Return whole turns (s, m) of short vectors, with their negatives."""
    whole, costs = reduced.nearest(np.zeros((1, len(reduced.u))), n_kept, _CHILDREN)
    turns = products(whole[0][np.isfinite(costs[0])], reduced.v)
    return np.concatenate([turns, -turns])


def _enumerated(reduced: Reduced, radius: float) -> tuple[np.ndarray, float]:
    """Return whole turns (s, m) of all vectors of a squared length below a radius, and that.

    None and 0 if there are too many, or finding them takes too long.
    """
    m = len(reduced.u)
    listed = np.zeros((_MOST_LISTED, m), dtype=np.int64)
    search = _kernels.short_vectors
    found = search(reduced.factor, radius, _MOST_NODES, listed)
    return (products(listed[:found], reduced.v), radius) if found >= 0 else (listed[:0], 0.0)


def _distinct(shifts: Shifts) -> Shifts:
    """Return the shifts that lead elsewhere, each once: other turns may lead to the same x."""
    _, first = np.unique(shifts.key, axis=0, return_index=True)
    kept = np.sort(first[shifts.key[first].any(axis=1)])
    return Shifts(shifts.x[kept], shifts.off[kept], shifts.key[kept])


def _log2_sum(values: np.ndarray) -> float:
    return float(np.logaddexp2.reduce(values)) if len(values) else -math.inf
