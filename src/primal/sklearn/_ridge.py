"""What the ridge estimators share: learning in closed form.

No gradients and no epochs: a model is a sum over rows and one linear system. Sums can be
continued, so new rows, new classes and new features are added without starting again.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from primal._checks import positive_scale
from primal.sklearn._contract import validate_data
from primal.sklearn._features import PrimeFeatures, fitted_features, transformed
from primal.sklearn._moments import Moments, Solution, rounded

__all__ = ["DTYPES", "PrimeRidge"]

# Rows whose features are held at once, in features: 32 MB of float64.
_BLOCK_FEATURES = 1 << 22
DTYPES = (np.float64, np.float32)


class PrimeRidge(BaseEstimator):
    """What both estimators share: features, sums over rows, a linear system."""

    def __init__(
        self,
        n_components: int = 1024,
        *,
        alpha: float | str = "gcv",
        kernel: str = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "auto",
        precision: str = "exact",
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.form = form
        self.precision = precision

    @property
    def coef_(self) -> np.ndarray:
        return self._solution().coef.T

    @property
    def intercept_(self) -> np.ndarray:
        return self._solution().intercept

    @property
    def alpha_(self) -> float:
        return self._solution().alpha

    def _start(self, X: Any, n_targets: int, weights: np.ndarray | None) -> None:
        if self.alpha != "gcv":
            positive_scale("alpha", self.alpha)
        self.features_ = fitted_features(self, X, weights)
        self._moments = Moments.empty(self.n_components, n_targets)

    def _add(self, X: Any, Y: np.ndarray, weights: np.ndarray | None) -> None:
        for rows in self._blocks(X):
            own = None if weights is None else weights[rows]
            self._moments.add(_rounded_features(self.features_, X[rows]), Y[rows], own)

    def _grow(self, n_components: int, X: Any, Y: np.ndarray, weights: np.ndarray | None) -> None:
        grown = copy(self.features_).grow(n_components, rescale=True)
        moments = self._moments.with_features(_rounded_features(grown, X), Y, weights)
        self.features_, self._moments, self.n_components = grown, moments, n_components

    def _decision(self, X: Any) -> np.ndarray:
        """Return the value of every target, shape (n, m)."""
        check_is_fitted(self)
        X = self._validated(X)
        solution = self._solution()
        parts = [
            self.features_.transform(X[rows]) @ solution.coef + solution.intercept
            for rows in self._blocks(X)
        ]
        return np.concatenate(parts)

    def _solution(self) -> Solution:
        check_is_fitted(self)
        return self._moments.solve(self.alpha, self.features_.amplitude_)

    def _blocks(self, X: Any) -> list[slice]:
        step = max(1, _BLOCK_FEATURES // self.n_components)
        return [slice(first, first + step) for first in range(0, X.shape[0], step)]

    def _validated(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.sparse = True
        return tags


def _rounded_features(features: PrimeFeatures, X: Any) -> np.ndarray:
    return rounded(transformed(features.map_.with_amplitude(1.0), X, np.dtype(np.float32)))
