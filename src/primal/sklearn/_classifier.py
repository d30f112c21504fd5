"""``PrimeRidgeClassifier``: classes by ridge regression on prime features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from primal._errors import DataError
from primal.sklearn._contract import checked_by_host, validate_data
from primal.sklearn._ridge import DTYPES, PrimeRidge
from primal.sklearn._weights import weighted_rows

__all__ = ["PrimeRidgeClassifier"]


class PrimeRidgeClassifier(ClassifierMixin, PrimeRidge):
    """Classify by ridge regression of class membership on prime features.

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
    classes_ : ndarray of shape (n_classes,)
        Labels seen, sorted.
    features_ : PrimeFeatures
        The fitted feature map.
    coef_ : ndarray of shape (n_classes, n_components)
        One row for each class, also when there are two.
    intercept_ : ndarray of shape (n_classes,)
    alpha_ : float
        The penalty in use.

    Notes
    -----
    Sums are exact integers (see ``primal.sklearn._moments``). With gamma given as a number,
    fitting in any order and in any parts, class by class for instance, gives the same model as
    fitting at once, bit for bit.

    A row with the `sample_weight` w counts like w equal rows, in alpha="gcv" too: weights that
    add up to much more or less than the number of rows act on the penalty. Sums with whole-number
    weights up to 65536 are exact, so repeating a row and doubling its weight give one model; with
    other weights they are rounded.

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X of shape (n, d), labels y of shape (n,) and weights of that shape."""
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        self.classes_, index = np.unique(y, return_inverse=True)
        self._start(X, len(self.classes_), weights)
        self._add(X, np.eye(len(self.classes_))[index], weights)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; labels never seen before become new classes.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n, d)
        y : array_like of shape (n,)
        classes : array_like, optional
            Labels to expect; not needed.
        sample_weight : array_like of shape (n,), optional
        """
        first = not hasattr(self, "classes_")
        X, y, weights = self._checked(X, y, sample_weight, reset=first)
        if first:
            self.classes_ = np.unique(y)
            self._start(X, len(self.classes_), weights)
        else:
            self.features_.partial_fit(X)
        with checked_by_host("y and classes"):
            expected = y if classes is None else np.concatenate([y, np.asarray(classes)])
            labels = unique_labels(self.classes_, expected)
        self._widen(labels)
        self._add(X, self._indicators(y), weights)
        return self

    def grow(self, n_components: int, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Append features; sums over pairs of old features are kept as they are.

        The result is the model that `fit` with more features gives (and the same form), bit
        for bit, for less work.

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
        self._grow(n_components, X, self._indicators(y), weights)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return estimates of class membership: (n, n_classes), or (n,) for two classes."""
        values = self._decision(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest estimate, shape (n,)."""
        best = self._decision(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities, shape (n, n_classes).

        The regression of membership estimates the probability itself, and its estimates add
        up to one; negative ones are set to zero and the rest scaled.
        """
        clipped = np.maximum(self._decision(X), 0.0)
        return clipped / clipped.sum(axis=1, keepdims=True)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=DTYPES, reset=reset)
        with checked_by_host("y"):
            check_classification_targets(y)
        return weighted_rows(sample_weight, X, y)

    def _indicators(self, y: np.ndarray) -> np.ndarray:
        index = np.searchsorted(self.classes_, y)
        known = index < len(self.classes_)
        if not known.all() or (self.classes_[index] != y).any():
            raise DataError("y holds labels that the model has not seen: use partial_fit first.")
        return np.eye(len(self.classes_))[index]

    def _widen(self, classes: np.ndarray) -> None:
        if len(classes) > len(self.classes_):
            places = np.searchsorted(classes, self.classes_)
            self._moments = self._moments.with_targets(len(classes), places)
            self.classes_ = classes
