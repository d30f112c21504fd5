"""The linear inverse (the paper's Reverse), its exact bound, and the regime certificate.

In turns the phase of row i is sigma * W_i . x, and it is read back correctly exactly when it
lies within half a turn of zero. Hence no x with max |x_j| < B wraps, and some x at B does, for

    B = 1 / (2 max_i sum_j |sigma W_ij|).

The paper prints pi / (d sigma max W), in which the 2 pi of its own phase is missing.
"""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from primal._parallel import row_blocks
from primal.decoding._phases import phases_of
from primal.errors import MisfitWarning, NotInvertibleError
from primal.exact import Basis, HadamardTable

_BLOCK_ENTRIES = 1 << 19


@dataclass(frozen=True, eq=False)
class Regime:
    """What the phases of given data do: certificate of `DynamicPrime.regime`.

    Attributes
    ----------
    kind : {"manifold", "hash"}
        ``"manifold"`` when no phase reaches half a turn, else ``"hash"``.
    wraps : ndarray of shape x.shape[:-1], dtype=int64
        How many phases of each row wrap.
    n_phases : int
        Phases of one row (D / 2).
    peak_turns : float
        Largest size of a phase, in turns.
    """

    kind: str
    wraps: np.ndarray
    n_phases: int
    peak_turns: float

    @property
    def margin_turns(self) -> float:
        """Half a turn less the largest phase; negative in the hash regime."""
        return 0.5 - self.peak_turns

    @property
    def rows(self) -> np.ndarray:
        """Flat indices of the rows in which some phase wraps."""
        return np.flatnonzero(self.wraps)

    @property
    def fraction_wrapped(self) -> float:
        """Share of all phases that wrap."""
        return float(self.wraps.sum()) / max(1, self.wraps.size * self.n_phases)

    def __str__(self) -> str:
        return (
            f"{self.kind} regime: {self.fraction_wrapped:.1%} of phases wrap, in "
            f"{len(self.rows)} of {self.wraps.size} rows; largest phase {self.peak_turns:.3g} "
            f"turns, margin {self.margin_turns:.3g}"
        )


def no_wrap_bound(basis: Basis) -> float:
    """Return the largest B such that no x with max |x_j| < B has a phase of half a turn."""
    # Rounded down a little, so that rounding in the sums cannot make the bound too large.
    return 0.5 / float(basis.table.l1_norms.max()) * (1.0 - 2.0**-40)


def measure_regime(basis: Basis, parts: Iterable[np.ndarray]) -> Regime:
    """Return the regime of float64 rows that come in parts of shape (n, d)."""
    counts, peak = [np.zeros(0, dtype=np.int64)], 0.0
    for rows in parts:
        for block in row_blocks(len(rows), basis.n_frequencies, _BLOCK_ENTRIES):
            sizes = np.abs(basis.table.product(rows[block]))
            counts.append(np.count_nonzero(sizes >= 0.5, axis=1))
            peak = max(peak, float(sizes.max()))
    wraps = np.concatenate(counts)
    return Regime("hash" if wraps.any() else "manifold", wraps, basis.n_frequencies, peak)


class LinearInverse:
    """From phases (..., k) in turns, none of which wrapped, to x (..., d), float64.

    By the transform itself for whole blocks of the basis ``hadamard``, else by the pseudoinverse.
    `gain` (d,) is the deviation of x for phases that are one turn off, or no less than it. Raises
    NotInvertibleError if the phases leave a direction of x open.
    """

    def __init__(self, basis: Basis) -> None:
        table = basis.table
        self._matrix: np.ndarray | None = None
        if isinstance(table, HadamardTable) and basis.n_frequencies >= table.m:
            self._table, self._weights = table, table.inverse_weights
            # Rows of a block are orthogonal; the least of them counts for all.
            self.gain = np.full(basis.d, math.sqrt(float(self._weights.max())))
        else:
            self._matrix = pseudoinverse(basis).T
            self.gain = np.linalg.norm(self._matrix, axis=0)

    def of_waves(
        self, cos: np.ndarray, sin: np.ndarray, middle: np.ndarray | None = None
    ) -> np.ndarray:
        """Return x from waves (..., k) of phases that lie within half a turn of `middle` (k,).

        NaN, with a MisfitWarning in the name of the caller's caller, where a wave has no phase.
        """
        phases = phases_of(cos, sin)
        if middle is not None:
            phases -= middle
            phases -= np.rint(phases)
        x = self(phases)
        warn_of_erased(x, stacklevel=3)
        return x

    def __call__(self, phases: np.ndarray) -> np.ndarray:
        if self._matrix is not None:
            return phases @ self._matrix
        flat = (phases * self._weights).reshape(-1, phases.shape[-1])
        return self._table.adjoint(flat).reshape(*phases.shape[:-1], self._table.shape[1])


def pseudoinverse(basis: Basis) -> np.ndarray:
    """Return the pseudoinverse of sigma * W in float64, shape (d, k), if there are d phases."""
    if basis.n_frequencies < basis.d:
        raise NotInvertibleError(
            f"decoding needs D >= 2 d, got D = {2 * basis.n_frequencies} and d = {basis.d}: "
            f"use D = {2 * basis.d} or more."
        )
    left, sizes, right = np.linalg.svd(basis.frequencies, full_matrices=False)
    if sizes[-1] <= 2.0**-50 * sizes[0]:
        table = basis.table
        enough = 2 * table.m if isinstance(table, HadamardTable) else 2 * len(left) + 2
        raise NotInvertibleError(
            f"the {len(left)} frequencies of basis {basis.name!r} leave a direction of x open, "
            f"d = {basis.d}: use D = {enough} or more, or another basis."
        )
    return (right.T / sizes) @ left.T


def warn_of_erased(x: np.ndarray, *, stacklevel: int) -> None:
    """Warn when rows of decoded x (..., d) are NaN, because their codes had no phases."""
    erased = np.isnan(x[..., 0])
    if erased.any():
        warnings.warn(
            f"{int(erased.sum())} of {erased.size} codes have a (cos, sin) pair that is zero, or "
            "shorter than 2**-14 of the mean of their pairs, and so has no phase: their x is NaN. "
            "Leave out of z what is missing.",
            MisfitWarning,
            stacklevel=stacklevel + 1,
        )
