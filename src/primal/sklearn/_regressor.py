"""``PrimeRidgeRegressor``: real targets by ridge regression on prime features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from primal._errors import DataError
from primal.sklearn._contract import validate_data
from primal.sklearn._ridge import DTYPES, PrimeRidge
from primal.sklearn._weights import weighted_rows

__all__ = ["PrimeRidgeRegressor"]


class PrimeRidgeRegressor(RegressorMixin, PrimeRidge):
    """Regress by ridge regression on prime features.

    Parameters
    ----------
    n_components, alpha, kernel, gamma, basis, form, precision
        As in :class:`PrimeRidgeClassifier`.

    Attributes
    ----------
    features_ : PrimeFeatures
        The fitted feature map.
    coef_ : ndarray of shape (n_targets, n_components)
    intercept_ : ndarray of shape (n_targets,)
    alpha_ : float
        The penalty in use.

    Notes
    -----
    The Gram matrix is exact, as in the classifier; sums of real targets are rounded, so models
    fitted in different orders agree to rounding. Weights act as in the classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeRidgeRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = PrimeRidgeRegressor(64, gamma=1.0).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X of shape (n, d) and targets y of shape (n,) or (n, m).

        A row with the `sample_weight` w counts like w equal rows.
        """
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        self._n_outputs = y.ndim
        Y = y.reshape(len(y), -1)
        self._n_columns = Y.shape[1]
        self._start(X, self._n_columns, weights)
        self._add(X, Y, weights)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows; the first call fits."""
        if not hasattr(self, "features_"):
            return self.fit(X, y, sample_weight)
        X, y, weights = self._checked(X, y, sample_weight, reset=False)
        if y.ndim != self._n_outputs or y[:1].size != self._n_columns:
            raise DataError(f"y must have the columns that it had in fit, got shape {y.shape}.")
        self.features_.partial_fit(X)
        self._add(X, y.reshape(len(y), -1), weights)
        return self

    def grow(self, n_components: int, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Append features; sums over pairs of old features are kept as they are.

        Parameters
        ----------
        n_components : int
            At least the present number.
        X, y, sample_weight
            All rows seen so far, in any order, with their weights.

        Raises
        ------
        DataError
            If X is not the data seen so far.
        """
        check_is_fitted(self)
        X, y, weights = self._checked(X, y, sample_weight, reset=False)
        self._grow(n_components, X, y.reshape(len(y), -1), weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the estimates, of the shape that y had in `fit`."""
        values = self._decision(X)
        return values[:, 0] if self._n_outputs == 1 else values

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=DTYPES,
            reset=reset,
            multi_output=True,
            y_numeric=True,
        )
        if not isinstance(y, np.ndarray):
            raise DataError(f"y must be dense, got {type(y).__name__}: pass y.toarray().")
        return weighted_rows(sample_weight, X, y.astype(np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        return tags
