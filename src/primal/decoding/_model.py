"""The linear model behind a plan: wrapped phases of a Gaussian x, and which rows to resolve.

    phase = A x + noise - whole turns,    x = mean + F xi,    G = A F

A is sigma * W. Whole-number inputs add one phase each, x_j / step, which is known to be whole
without noise; nothing else distinguishes them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from primal._lazy import cached_property
from primal.decoding._lattice import Lattice, log_success, triangular_factor
from primal.decoding._linalg import orthonormal_rows, products
from primal.decoding._priors import PriorModel
from primal.errors import DataError
from primal.exact import FrequencyTable, HadamardTable

# Ratio of neighboring deviations after a reduction with deep insertions, as measured; LLL
# alone leaves 1.04. It predicts how many rows are enough before any reduction is made.
_PROFILE_RATIO = 1.03
_MOST_EXTRA_ROWS = 96
# Log of a promise that no reduction makes true.
_HOPELESS = -25.0
# Deviations of the noise by which a phase must vary, given others, to show a new direction of x.
_LEAST_NEW_DEVIATION = 4.0
_FACTOR_BITS = 60


@dataclass(frozen=True, eq=False)
class PhaseModel:
    """Frequencies (k rows of d, in turns per unit of x), prior and noise of one plan."""

    table: FrequencyTable | HadamardTable
    prior: PriorModel
    noise_turns: float

    def __post_init__(self) -> None:
        least = least_noise_turns(self.table, self.prior)
        if self.noise_turns < least:
            raise DataError(
                f"float64 holds phases this long to {least:.2g} turns, and the stated noise is "
                f"{self.noise_turns:.2g} turns: state a larger noise, a narrower prior or a "
                "smaller sigma."
            )

    @cached_property
    def factor(self) -> np.ndarray:
        """F of shape (d, r); r <= k unless inputs are whole, as more columns add nothing."""
        factor = self.prior.factor
        if not self.prior.is_whole and factor.shape[1] > self.table.shape[0]:
            seen, directions = orthonormal_rows(products(self.table.values, factor))
            return products(factor, directions[np.diag(seen) > 0.0].T)
        return factor

    @cached_property
    def unseen_variance(self) -> np.ndarray:
        """Variance of each input in directions that no phase sees, shape (d,)."""
        full, kept = (np.square(f).sum(axis=1) for f in (self.prior.factor, self.factor))
        unseen = np.maximum(0.0, full - kept) if self.factor is not self.prior.factor else 0.0
        return unseen + np.square(self.prior.rounding)

    @cached_property
    def spread(self) -> np.ndarray:
        """G = A F, shape (k, r), in turns."""
        return products(self.table.values, self.factor)

    @cached_property
    def order(self) -> np.ndarray:
        """Rows from the least varying phase on: they have the fewest whole turns to find.

        A row that is a combination of those before it, up to the noise, waits until they span all
        of x: frequencies of the basis ``hadamard`` have few bits, and do happen to be that.
        """
        lengths = np.sqrt(np.square(self.spread).sum(axis=1))
        lengths[lengths == 0.0] = np.inf  # a phase that no x moves tells nothing: last
        # Equal lengths must not be ordered by the rounding of this machine.
        order = np.argsort(np.rint(np.log2(lengths) * 1024.0), kind="stable")
        r = self.spread.shape[1]
        directions = np.zeros((0, r))
        first = np.zeros(len(order), dtype=bool)
        for place, row in enumerate(order):
            rest = self.spread[row]
            for _ in range(2):  # the second time removes the rounding of the first
                rest = rest - (directions @ rest) @ directions
            size = math.sqrt(float(rest @ rest))
            first[place] = size > _LEAST_NEW_DEVIATION * self.noise_turns
            if first[place]:
                directions = np.concatenate([directions, rest[None] / size])
            if len(directions) == r:
                break
        return np.concatenate([order[first], order[~first]])

    @property
    def n_whole(self) -> int:
        """Number of whole-number phases that come before those of the code."""
        return len(self.prior.step) if self.prior.is_whole else 0

    def lattice(self, n_rows: int) -> Lattice:
        """Return the lattice of the whole-number phases and the first `n_rows` of the code."""
        factor, log2_factor = as_integers(self.factor)
        rows = self.order[:n_rows]
        exponents = self.table.exponents[rows]
        least = int(exponents.min())
        mantissas = self.table.mantissas[rows].astype(object)
        shifts = np.array([int(e) - least for e in exponents], dtype=object)
        numerators = (mantissas @ factor) << shifts[:, None]
        log2_unit = least - self.table.bits + log2_factor
        noise = np.full(n_rows, self.noise_turns)
        if self.prior.is_whole:
            whole, log2_whole = as_integers(self.factor / self.prior.step[:, None])
            shift = log2_whole - log2_unit  # positive: frequencies have 62 bits more
            numerators = np.concatenate([whole << max(shift, 0), numerators])
            noise = np.concatenate([np.zeros(self.n_whole), noise])
        return Lattice(noise, numerators, log2_unit)

    def deviations(self) -> np.ndarray:
        """Return conditional deviations in turns, in order, before any reduction."""
        n_rows = min(len(self.order), self.factor.shape[1] + _MOST_EXTRA_ROWS)
        spread = self.spread[self.order[:n_rows]]
        rows = np.concatenate([self.noise_turns * np.eye(n_rows), spread], axis=1)
        if self.prior.is_whole:
            whole = self.factor / self.prior.step[:, None]
            top = np.concatenate([np.zeros((self.n_whole, n_rows)), whole], axis=1)
            rows = np.concatenate([top, rows])
        return np.diag(triangular_factor(rows))


def least_noise_turns(table: FrequencyTable | HadamardTable, prior: PriorModel) -> float:
    """Return the noise that phases have by the rounding of their sums, and of the prior."""
    sizes = np.abs(table.values)
    peak = (sizes @ np.abs(prior.factor)).sum(axis=1).max() + (sizes @ np.abs(prior.mean)).max()
    return math.hypot(float(peak) * 2.0**-51, prior_noise_turns(table, prior))


def prior_noise_turns(table: FrequencyTable | HadamardTable, prior: PriorModel) -> float:
    """Return the noise of phases that the rounding of a covariance of low rank stands for."""
    return math.sqrt(float((np.square(table.values) @ np.square(prior.rounding)).max()))


def row_counts(model: PhaseModel) -> Iterator[int]:
    """Yield numbers of rows worth reducing, the most promising first.

    The product of the deviations does not depend on the reduction, and a reduced lattice has
    nearly geometric ones; so the chance of success is known before reducing. The first
    number is the smallest that promises 0.99999, or the best there is; larger ones follow, unless
    that is hopeless.
    """
    promised, n_whole = promises(model), model.n_whole
    # Data in whole numbers are seldom normal, so more room is left for them.
    good = [n for n, log_chance in promised.items() if log_chance > (-1e-12 if n_whole else -1e-5)]
    first = good[0] if good else max(promised, key=lambda n: promised[n])
    most = max(promised)
    yield first
    if promised[first] < _HOPELESS:
        return
    yield from (first + extra for extra in (2, 6, 14, 30, 62) if first + extra < most)
    if most > first:
        yield most


def promises(model: PhaseModel) -> dict[int, float]:
    """Return the log of the chance of success to expect from numbers of rows, by number."""
    deviations, n_whole = np.log(np.maximum(model.deviations(), 1e-300)), model.n_whole
    most = len(deviations) - n_whole
    least = 1 if n_whole else min(most, model.factor.shape[1])
    return {n: promised_success(deviations[: n_whole + n]) for n in range(least, most + 1)}


def promised_success(log_deviations: np.ndarray) -> float:
    """Return the log of the chance of success that a reduction can be expected to reach."""
    m = len(log_deviations)
    slope = np.log(_PROFILE_RATIO) * ((m - 1) / 2.0 - np.arange(m))
    return log_success(np.exp(log_deviations.mean() + slope))


def as_integers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return Python ints and the power of two that they are multiples of, about 60 bits wide."""
    log2_unit = int(np.frexp(np.abs(values).max())[1]) - _FACTOR_BITS
    scaled = np.ldexp(values, -log2_unit)
    return np.array([[int(v) for v in row] for row in scaled.tolist()], dtype=object), log2_unit
