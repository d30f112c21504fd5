"""Integer combinations of phases that hardly vary: lattice reduction with exact integers.

m phases with noise have, before wrapping, the covariance M M^T for M = [diag(noise) | G],
G = A F. A row of integers u gives the combination u M; reduction finds a unimodular U whose
rows are short, so that each combination varies by less than a turn given those before it.
Satellite positioning calls them wide lanes.

Two things keep double precision good enough. G is held in exact integers and U G is computed
anew, exactly, before each pass. And the noise starts large and shrinks by a factor of 2**22 a
time: each pass meets a matrix that the last one has nearly reduced.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primal.decoding import _kernels
from primal.decoding._linalg import orthonormal_rows, products
from primal.errors import DataError, EngineError

_DELTA = 0.999
_LEVEL_RATIO = 2.0**22
_MOST_PASSES = 60
_MOST_STEPS = 400_000
# Bits that the integers keep below the noise: their rounding is then negligible.
_GUARD_BITS = 10


class Lattice:
    """Rows [diag(noise) | G] in turns, G = numerators * 2**log2_unit, Python ints of shape (m, r).

    `noise_turns` (m,) is the standard deviation of each phase, 0 for one that is known exactly, and
    `scaled` (m, r), int64 or Python ints, is round(G * 2**log2_scale).
    """

    def __init__(self, noise_turns: np.ndarray, numerators: np.ndarray, log2_unit: int) -> None:
        finest = float(noise_turns[noise_turns > 0].min())
        self.noise_turns, self.log2_scale = noise_turns, _GUARD_BITS - math.frexp(finest)[1]
        shift = self.log2_scale + log2_unit
        half_unit = 1 << max(-shift - 1, 0)
        scaled = numerators << shift if shift >= 0 else (numerators + half_unit) >> -shift
        if not all(any(row) for row in scaled[noise_turns == 0]):
            raise DataError(
                "a whole-number input varies by less than a thousandth of the noise, so its prior "
                f"leaves nothing to find: state a larger std, or less noise than {finest:.2g}."
            )
        # 2**58 leaves room for the sums of a pass, which are shorter than the first rows.
        small = max((abs(v) for v in scaled.ravel()), default=0) < 2**58
        self.scaled = scaled.astype(np.int64) if small else scaled

    def rows(self, u: np.ndarray, noise_factor: float = 1.0) -> np.ndarray:
        """Return u M in float64, shape (m, m + r), with the noise taken `noise_factor` times."""
        noisy = self.noise_turns > 0  # exact phases have no column of their own
        noise = u[:, noisy].astype(np.float64) * (noise_factor * self.noise_turns[noisy])
        # int64 sums wrap, and are exact all the same because the result is short.
        whole = u if self.scaled.dtype == np.int64 else u.astype(object)
        return np.concatenate([noise, self._in_turns(whole @ self.scaled)], axis=1)

    def first_noise_factor(self) -> float:
        """Return the factor at which the noise is as large as the longest row of G."""
        lengths = np.sqrt(np.square(self._in_turns(self.scaled)).sum(axis=1))
        return max(1.0, float(lengths.max() / self.noise_turns[self.noise_turns > 0].min()))

    def _in_turns(self, scaled: np.ndarray) -> np.ndarray:
        if scaled.dtype == np.int64:
            return np.ldexp(scaled.astype(np.float64), -self.log2_scale)
        # Python divides long integers with one correct rounding.
        return (scaled / (1 << self.log2_scale)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced lattice: what decoding needs of it.

    `u` (m, m), int64, is the unimodular transform, `v` its inverse transpose modulo 2**64, so that
    u @ v.T is the identity, and `factor` the lower triangular factor of u M in turns, with a
    positive diagonal.
    """

    u: np.ndarray
    v: np.ndarray
    factor: np.ndarray

    def combined(self, phases: np.ndarray) -> np.ndarray:
        """Return the combinations (n, m) of phases (n, h) of the last h rows; others are 0."""
        columns = self.u.T[len(self.u) - phases.shape[1] :].astype(np.float64)
        return products(phases, columns)

    def nearest(
        self, phases: np.ndarray, n_kept: int, n_children: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Round phases (n, h) of the last h rows, one combination after the other.

        Returns whole turns of the combinations, int64 of shape (n, n_kept, m), the cheapest first,
        and their costs (n, n_kept); see `_kernels.nearest_plane`. Where fewer were found the turns
        are 0 and the costs infinite. Turns of the phases are the product with `v`, which is exact:
        sums wrap modulo 2**64 and the result is small.
        """
        shape = (len(phases), n_kept, len(self.u))
        whole, costs = np.empty(shape, dtype=np.int64), np.empty(shape[:2])
        _kernels.nearest_plane(self.factor, self.combined(phases), n_children, whole, costs)
        whole[~np.isfinite(costs)] = 0
        return whole, costs

    @property
    def success_probability(self) -> float:
        """Chance that rounding one combination after the other gets every integer right.

        Of integer bootstrapping: P. J. G. Teunissen, J. Geodesy 72 (1998) 606-612.
        """
        return math.exp(log_success(np.diag(self.factor)))

    @property
    def adop_turns(self) -> float:
        """Geometric mean of the conditional deviations; no reduction can change it.

        ADOP: P. J. G. Teunissen, D. Odijk, Proc. ION GPS-97, 891-899.
        """
        return float(np.exp(np.log(np.diag(self.factor)).mean()))


def log_success(deviations_turns: np.ndarray) -> float:
    """Return the log of the chance that independent normal errors all stay within half a turn."""
    tails = [math.erfc(0.5 / (math.sqrt(2.0) * s)) for s in deviations_turns.tolist() if s > 0.0]
    return sum(math.log1p(-t) if t < 1.0 else -math.inf for t in tails)


def triangular_factor(rows: np.ndarray) -> np.ndarray:
    """Return the lower triangular factor, of positive diagonal, of rows (m, n), m <= n."""
    return orthonormal_rows(rows)[0]


def reduce_lattice(
    lattice: Lattice, *, window: int = 16, report: Callable[[float], None] | None = None
) -> Reduced:
    """Return the lattice reduced by LLL, at the end with deep insertions of up to `window` places.

    By :func:`primal.decoding._kernels.reduce_rows`, where the papers are.

    `report` is called with the share done, in [0, 1], before each pass. Raises EngineError if the
    integers outgrow 64 bits or the passes do not settle.
    """
    m = len(lattice.noise_turns)
    u, v = np.eye(m, dtype=np.int64), np.eye(m, dtype=np.int64)
    first = lattice.first_noise_factor()
    n_levels = max(1, math.ceil(math.log(first) / math.log(_LEVEL_RATIO)))
    # From `first` down to 1, each at most 2**22 below the one before.
    factors = [first ** (1.0 - (level + 1) / n_levels) for level in range(n_levels)]
    unsettled = EngineError(
        f"the reduction of {m} phases did not settle in double precision: state a larger noise "
        "or a narrower prior."
    )
    # A quarter of the places first: half of the work of all places at once.
    passes = [(noise_factor, 1) for noise_factor in factors]
    passes += [(1.0, places) for places in (window // 4, window) if places > 1]
    for number, (noise_factor, places) in enumerate(passes):
        for _ in range(_MOST_PASSES):
            if report is not None:
                report(number / len(passes))
            factor = triangular_factor(lattice.rows(u, noise_factor))
            if _kernels.reduce_rows(factor, u, v, _DELTA, places, _MOST_STEPS) == 0:
                break
        else:
            raise unsettled
    if not np.array_equal(u @ v.T, np.eye(m, dtype=np.int64)):
        raise unsettled
    return Reduced(u, v, triangular_factor(lattice.rows(u)))
