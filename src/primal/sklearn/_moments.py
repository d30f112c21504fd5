"""Sums from which a ridge regression follows in closed form, exact where that is possible.

Features, rounded to multiples of 2**-18, are whole numbers whose products float64 adds without
error: the Gram matrix is one of integers. Their sums do not depend on the order in which batches,
classes and machines come, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import linalg

from primal._checks import require_memory
from primal.errors import DataError

_BITS = 18
# A sum of this many products of 2**36 stays within 2**53.
_BLOCK_ROWS = 1 << 16
# More rows could overflow the 64-bit sums.
_MOST_ROWS = 1 << 26
_ALPHAS = tuple(10.0**exponent for exponent in np.arange(-6.0, 3.0, 0.5))


class Solution(NamedTuple):
    """A linear model of the features: Z @ coef + intercept."""

    alpha: float
    coef: np.ndarray
    intercept: np.ndarray


def rounded(Z: np.ndarray) -> np.ndarray:
    """Return features in [-1, 1] as whole numbers in units of 2**-18, float64."""
    return np.rint(Z.astype(np.float64) * 2.0**_BITS)


@dataclass(eq=False)
class Moments:
    """Sums over `n_rows` rows of features and targets, each counted as often as its weight says.

    Sums of products of features, in units of 2**-36, and of features, in units of 2**-18, are
    int64; float64 once weights come that are not whole numbers. `cross` (D, m), the sum of feature
    times target in units of 2**-18, is float64, and exact for targets 0 and 1.
    """

    n_rows: int | float
    gram: np.ndarray
    feature_sums: np.ndarray
    cross: np.ndarray
    target_sums: np.ndarray
    target_squares: np.ndarray
    _solutions: dict[tuple[object, float], Solution] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, n_features: int, n_targets: int) -> Moments:
        n_entries = n_features * (n_features + n_targets)
        require_memory(8 * n_entries, f"a regression on {n_features} features")
        return cls(
            0,
            np.zeros((n_features, n_features), dtype=np.int64),
            np.zeros(n_features, dtype=np.int64),
            np.zeros((n_features, n_targets)),
            np.zeros(n_targets),
            np.zeros(n_targets),
        )

    def add(self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add rows Q (n, D) from :func:`rounded`, with targets Y (n, m) and positive weights (n,).

        A rank-n update of the Gram matrix; sums with whole weights up to 2**16 are exact.
        """
        exact = self.gram.dtype == np.int64 and _are_counts(weights)
        n_new = len(Q) if weights is None else weights.sum()
        n_rows = self.n_rows + (int(n_new) if exact else float(n_new))
        if exact and n_rows > _MOST_ROWS:
            raise DataError(
                f"{n_rows} rows are more than the {_MOST_ROWS} that 64-bit sums hold: fit on fewer."
            )
        kind = np.int64 if exact else np.float64
        self.gram, self.feature_sums = (
            sums.astype(kind, copy=False) for sums in (self.gram, self.feature_sums)
        )
        for rows in _blocks(len(Q), weights):
            part = Q[rows]
            counted = part if weights is None else part * weights[rows, None]
            self.gram += (counted.T @ part).astype(kind, copy=False)
            self.feature_sums += counted.sum(axis=0).astype(kind, copy=False)
        weighted = Y if weights is None else Y * weights[:, None]
        self.cross += Q.T @ weighted
        self.target_sums += weighted.sum(axis=0)
        self.target_squares += (weighted * Y).sum(axis=0)
        self.n_rows = n_rows
        self._solutions.clear()

    def with_targets(self, n_targets: int, places: np.ndarray) -> Moments:
        """Return the sums with more targets, zero so far; the old ones go to `places`."""
        cross = np.zeros((len(self.cross), n_targets))
        sums, squares = np.zeros(n_targets), np.zeros(n_targets)
        cross[:, places], sums[places] = self.cross, self.target_sums
        squares[places] = self.target_squares
        return Moments(self.n_rows, self.gram, self.feature_sums, cross, sums, squares)

    def with_features(
        self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None
    ) -> Moments:
        """Return the sums with new features appended; the block of the old ones is kept.

        Q holds all features, old ones first, of the rows that were added before, in any order.
        """
        old, kind = len(self.gram), self.gram.dtype
        counted = Q if weights is None else Q * weights[:, None]
        feature_sums = counted.sum(axis=0)
        n_rows = len(Q) if weights is None else weights.sum()
        differences = np.append(feature_sums[:old] - self.feature_sums, n_rows - self.n_rows)
        # Sums with weights that are no counts are rounded, in the order in which they came.
        rounding = 0.0 if kind == np.int64 else 1e-9 * self.n_rows * 2.0**_BITS
        if np.abs(differences).max() > rounding:
            raise DataError(
                "X and sample_weight are not the rows that the model was fitted on: growing keeps "
                f"their Gram matrix and needs all {self.n_rows} of them, in any order."
            )
        gram = np.zeros((Q.shape[1], Q.shape[1]), dtype=kind)
        gram[:old, :old] = self.gram
        for rows in _blocks(len(Q), weights):
            new = (counted[rows].T @ Q[rows, old:]).astype(kind)
            gram[:, old:] += new
            gram[old:, :old] += new[:old].T
        cross = np.concatenate([self.cross, counted[:, old:].T @ Y])
        targets = (self.target_sums.copy(), self.target_squares.copy())
        return Moments(self.n_rows, gram, feature_sums.astype(kind), cross, *targets)

    def solve(self, alpha: float | str, amplitude: float) -> Solution:
        """Return the ridge regression of the targets on `amplitude` times the features.

        The intercept is free of the penalty. With alpha="gcv" the sums determine which of `_ALPHAS`
        has the least generalised cross-validation error. Solutions are kept until rows are added.
        """
        key = (alpha, amplitude)
        if key in self._solutions:
            return self._solutions[key]
        unit = amplitude * 2.0**-_BITS
        feature_means = self.feature_sums * (unit / self.n_rows)
        target_means = self.target_sums / self.n_rows
        gram = self.gram * unit**2 - self.n_rows * np.outer(feature_means, feature_means)
        cross = self.cross * unit - np.outer(feature_means, self.target_sums)
        if isinstance(alpha, str) and self.n_rows <= 1.0 and self.gram.dtype != np.int64:
            raise DataError(
                f"the weights of all rows add up to {self.n_rows:.3g}, and alpha='gcv' counts them "
                "as rows: scale them to add up to the number of rows, or give alpha as a number."
            )
        if isinstance(alpha, str):
            squares = self.target_squares - self.n_rows * target_means**2
            penalty, coef = _gcv(gram, cross, float(squares.sum()), self.n_rows)
        else:
            penalty = float(alpha)
            gram[np.diag_indices_from(gram)] += penalty
            coef = np.asarray(linalg.cho_solve(linalg.cho_factor(gram), cross))
        self._solutions[key] = Solution(penalty, coef, target_means - feature_means @ coef)
        return self._solutions[key]


def _are_counts(weights: np.ndarray | None) -> bool:
    """Whether weights are whole numbers, with which float64 sums of a block are exact."""
    if weights is None:
        return True
    return bool((weights == np.rint(weights)).all() and weights.max(initial=0.0) <= _BLOCK_ROWS)


def _blocks(n: int, weights: np.ndarray | None) -> Iterator[slice]:
    """Return the rows in parts of at most `_BLOCK_ROWS`, counted with their weights."""
    if weights is None:
        yield from (slice(first, first + _BLOCK_ROWS) for first in range(0, n, _BLOCK_ROWS))
        return
    first, total = 0, np.cumsum(np.maximum(weights, 1.0))
    while first < n:
        before = total[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(total, before + _BLOCK_ROWS, side="right")))
        yield slice(first, last)
        first = last


def _gcv(
    gram: np.ndarray, cross: np.ndarray, target_square: float, n: float
) -> tuple[float, np.ndarray]:
    """Return the alpha with the least error (RSS / n) / (1 - df / n)**2, and its solution."""
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ cross
    energy = np.square(rotated).sum(axis=1)

    def error(alpha: float) -> float:
        shrunk = values + alpha
        residual = target_square - float((energy * (shrunk + alpha) / shrunk**2).sum())
        freedom = 1.0 + float((values / shrunk).sum())
        # Saturated models fit anything: no error estimate is left for them.
        spare = 1.0 - freedom / n
        return max(residual, 0.0) / spare**2 if spare > 1e-3 else np.inf

    best = min(_ALPHAS[::-1], key=error)
    return best, vectors @ (rotated / (values + best)[:, None])
