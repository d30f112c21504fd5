"""``PrimeRidgeClassifier`` and ``PrimeRidgeRegressor``: sums over rows and one linear system."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from primal._checks import positive_scale, require_memory
from primal.errors import DataError
from primal.sklearn._models import PrimeClassifier, PrimeModel
from primal.sklearn._moments import Moments, Solution


class _Ridge(PrimeModel):
    """Sums of products of features and targets, and the linear system that they make."""

    _moments: Moments

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
        super().__init__(
            n_components, kernel=kernel, gamma=gamma, basis=basis, form=form, precision=precision
        )
        self.alpha = alpha

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X of shape (n, d), targets y of shape (n,) and weights of that shape.

        A row with the `sample_weight` w counts like w equal rows. A regressor also takes y (n, m).
        """
        return self._fit(X, y, sample_weight)

    def grow(self, n_components: int, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the model with more features; sums over pairs of old ones are kept.

        The result is the model that `fit` with more features gives (and the same form), for less
        work: bit for bit, for a classifier. This model stays as it is. X, y and sample_weight are
        all rows seen so far, in any order; others are refused.
        """
        return self._grown(n_components, X, y, sample_weight)

    @property
    def coef_(self) -> np.ndarray:
        return self._solution().coef.T

    @property
    def intercept_(self) -> np.ndarray:
        return self._solution().intercept

    @property
    def alpha_(self) -> float:
        return self._solution().alpha

    def _solution(self) -> Solution:
        check_is_fitted(self)
        return self._moments.solve(self.alpha, self.features_.amplitude_)

    def _new_moments(self, n_targets: int) -> Moments:
        if not (isinstance(self.alpha, str) and self.alpha == "gcv"):
            positive_scale("alpha", self.alpha)
        return Moments.empty(self.n_components, n_targets)

    def _add(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        n_targets = self._moments.cross.shape[1]
        if targets.shape[1] != n_targets:
            raise DataError(
                f"y has {targets.shape[1]} targets, and the model was fitted on {n_targets}."
            )
        for rows in self._blocks(X):
            own = None if weights is None else weights[rows]
            self._moments.add(self._whole_features(X[rows]), targets[rows], own)

    def _widen(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        n = self.n_components
        require_memory(8 * n * (n + X.shape[0]), f"a regression on {n} features")
        self._moments = self._moments.with_features(self._whole_features(X), targets, weights)

    def _answers(self, Z: np.ndarray) -> np.ndarray:
        solution = self._solution()
        return Z @ solution.coef + solution.intercept


class PrimeRidgeClassifier(_Ridge, PrimeClassifier):
    """Classify by ridge regression of class membership on prime features.

    Sums are exact integers. With gamma given as a number, fitting in any order and in any parts,
    class by class for instance, gives the same model as fitting at once, bit for bit. A row with
    the `sample_weight` w counts like w equal rows, in alpha="gcv" too. Sums with whole weights up
    to 65536 are exact, with other weights they are rounded.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features.
    alpha : float or "gcv", default="gcv"
        Penalty; ``"gcv"`` takes the one with the least generalised cross-validation error,
        which needs no second pass over the data.
    kernel, gamma, basis, form, precision
        As in :class:`PrimeFeatures`. When data come in parts, gamma="scale" and "median" look
        at the first part only: pass a number to make the order irrelevant.

    Attributes
    ----------
    classes_, features_, alpha_ : ndarray of shape (n_classes,), PrimeFeatures, float
        Labels seen, sorted; the fitted feature map; the penalty in use.
    coef_, intercept_ : ndarray of shape (n_classes, n_components) and (n_classes,)
        One row for each class, also when there are two.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primal.sklearn import PrimeRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> at_once = PrimeRidgeClassifier(64, gamma=0.3).fit(X, y)
    >>> in_parts = PrimeRidgeClassifier(64, gamma=0.3)
    >>> for label in (2, 0, 1):  # one class after the other
    ...     in_parts = in_parts.partial_fit(X[y == label], y[y == label])
    >>> bool((at_once.coef_ == in_parts.coef_).all())
    True
    >>> round(at_once.score(X, y), 2)
    0.99
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows X (n, d) with labels y (n,) and weights (n,); new labels become new classes.

        `classes` may hold labels to expect; it is not needed.
        """
        return self._fit(X, y, sample_weight, classes=classes, part=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities, shape (n, n_classes): estimates, negative ones set to zero."""
        # The regression of membership estimates the probability itself; estimates add up to one.
        clipped = np.maximum(self._values(X), 0.0)
        return clipped / clipped.sum(axis=1, keepdims=True)

    def _spread(self, n_classes: int, places: np.ndarray) -> None:
        first = not len(places)
        self._moments = (
            self._new_moments(n_classes) if first else self._moments.with_targets(n_classes, places)
        )

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return np.eye(len(self.classes_))[super()._targets(y)]


class PrimeRidgeRegressor(RegressorMixin, _Ridge):
    """Regress by ridge regression on prime features.

    The Gram matrix is exact, as in the classifier; sums of real targets are rounded, so models
    fitted in different orders agree to rounding. Parameters, weights and attributes are those of
    :class:`PrimeRidgeClassifier`, with a row of `coef_` for each target.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeRidgeRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = PrimeRidgeRegressor(64, gamma=1.0).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    _y_options: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows; the first call fits."""
        return self._fit(X, y, sample_weight, part=True)

    def predict(self, X: Any) -> np.ndarray:
        """Return the estimates, of the shape that y had in `fit`."""
        values = self._values(X)
        return values[:, 0] if self._n_outputs == 1 else values

    def _start(self, y: np.ndarray) -> None:
        self._n_outputs = y.ndim
        self._moments = self._new_moments(self._targets(y).shape[1])

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return y.astype(np.float64).reshape(len(y), -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        return tags
