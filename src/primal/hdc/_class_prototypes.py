"""Classification by prototypes: every class is one vector, the most similar one wins.

The third read-out, ridge regression in closed form, is
:class:`primal.sklearn.PrimeRidgeClassifier`; all three take the same parameters of the features.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from primal._errors import DataError
from primal.sklearn._contract import checked_by_host, validate_data
from primal.sklearn._features import fitted_features
from primal.sklearn._ridge import DTYPES, _rounded_features

__all__ = ["PrimeCentroidClassifier", "PrototypeClassifier"]

# Rows whose features are held at once, in features: 32 MB of float64.
_BLOCK_FEATURES = 1 << 22


class PrototypeClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """What the prototype classifiers share: features, growing classes, cosine similarity.

    A subclass has the array `_weights` of shape (n_classes, n_components), of any scale, and
    adds rows to it in `_learn(X, index)`.
    """

    n_features_in_: int
    _weights: np.ndarray

    def __init__(
        self,
        n_components: int = 1024,
        *,
        kernel: str = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "auto",
        precision: str = "exact",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.form = form
        self.precision = precision

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X of shape (n, d) and labels y of shape (n,)."""
        X, y = self._checked(X, y, reset=True)
        self._start(X, y)
        self._learn(X, np.searchsorted(self.classes_, y))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Add rows; labels never seen before become new classes.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n, d)
        y : array_like of shape (n,)
        classes : array_like, optional
            Labels to expect; not needed.
        """
        first = not hasattr(self, "classes_")
        X, y = self._checked(X, y, reset=first)
        if first:
            self._start(X, y)
        else:
            self.features_.partial_fit(X)
        with checked_by_host("y and classes"):
            expected = y if classes is None else np.concatenate([y, np.asarray(classes)])
            labels = unique_labels(self.classes_, expected)
        self._widen(labels)
        self._learn_part(X, np.searchsorted(self.classes_, y))
        return self

    @property
    def prototypes_(self) -> np.ndarray:
        """One vector of length 1 for each class, shape (n_classes, n_components)."""
        check_is_fitted(self)
        weights = self._weights.astype(np.float64)
        norms = np.linalg.norm(weights, axis=1, keepdims=True)
        return weights / np.where(norms > 0.0, norms, 1.0)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return cosine similarities: (n, n_classes), or their difference for two classes."""
        values = self._similarities(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the most similar prototype, shape (n,)."""
        best = self._similarities(X).argmax(axis=1)
        return self.classes_[best]

    def _learn(self, X: Any, index: np.ndarray) -> None:
        self._learn_part(X, index)

    @abstractmethod
    def _learn_part(self, X: Any, index: np.ndarray) -> None: ...

    def _start(self, X: Any, y: np.ndarray) -> None:
        self.classes_ = np.unique(y)
        self.features_ = fitted_features(self, X)
        self._weights = np.zeros((len(self.classes_), self.n_components), self._weight_type)

    _weight_type: Any = np.float64

    def _widen(self, classes: np.ndarray) -> None:
        if len(classes) > len(self.classes_):
            wider = np.zeros((len(classes), self.n_components), self._weight_type)
            wider[np.searchsorted(classes, self.classes_)] = self._weights
            self._weights, self.classes_ = wider, classes

    def _similarities(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)
        prototypes = self.prototypes_
        parts = [
            similarities(self.features_.transform(X[rows]), prototypes) for rows in self._blocks(X)
        ]
        return np.concatenate(parts)

    def _blocks(self, X: Any) -> list[slice]:
        step = max(1, _BLOCK_FEATURES // self.n_components)
        return [slice(first, first + step) for first in range(0, X.shape[0], step)]

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=DTYPES, reset=reset)
        with checked_by_host("y"):
            check_classification_targets(y)
        return X, y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.sparse = True
        return tags


class PrimeCentroidClassifier(PrototypeClassifier):
    """Classify by the class whose sum of prime features is the most similar.

    The oldest classifier of hyperdimensional computing: one addition for each row.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features D.
    kernel, gamma, basis, form, precision
        As in :class:`primal.sklearn.PrimeFeatures`. When data come in parts, gamma="scale" and
        "median" look at the first part only: pass a number to make the order irrelevant.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels seen, sorted.
    features_ : PrimeFeatures
        The fitted feature map.
    class_sums_ : ndarray of shape (n_classes, n_components), dtype=int64
        Sums of features in units of 2**-18, exact.
    prototypes_ : ndarray of shape (n_classes, n_components)
        The sums, of length 1.

    Notes
    -----
    Features are rounded to multiples of 2**-18 and summed as integers. With gamma given as a
    number, the model does not depend on the order of rows or classes, to the bit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primal.hdc.classifiers import PrimeCentroidClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(PrimeCentroidClassifier(64, gamma=0.3).fit(X, y).score(X, y), 2)
    0.95
    """

    _weight_type = np.int64

    @property
    def class_sums_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._weights

    def grow(self, n_components: int, X: Any, y: Any) -> Self:
        """Append features; sums of old ones are kept, so old features answer as before.

        Parameters
        ----------
        n_components : int
            At least the present number.
        X, y
            All rows seen so far, in any order.

        Raises
        ------
        DataError
            If X and y are not the rows seen so far.
        """
        check_is_fitted(self)
        X, y = self._checked(X, y, reset=False)
        old = self.n_components
        grown = copy(self)
        grown.features_ = copy(self.features_).grow(n_components, rescale=True)
        grown.n_components = n_components
        grown._weights = np.zeros((len(self.classes_), n_components), np.int64)
        if np.isin(y, self.classes_).all():
            grown._learn_part(X, np.searchsorted(self.classes_, y))
        if not np.array_equal(grown._weights[:, :old], self._weights):
            raise DataError(
                "X and y are not the rows that the model was fitted on: pass all of them with "
                "their labels, in any order."
            )
        vars(self).update(vars(grown))
        return self

    def _learn_part(self, X: Any, index: np.ndarray) -> None:
        indicators = np.eye(len(self.classes_))[:, index]
        for rows in self._blocks(X):
            sums = indicators[:, rows] @ _rounded_features(self.features_, X[rows])
            self._weights = self._weights + sums.astype(np.int64)


def similarities(Z: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Return the cosine similarity of rows of features with prototypes of length 1."""
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return (Z @ prototypes.T) / np.where(norms > 0.0, norms, 1.0)
