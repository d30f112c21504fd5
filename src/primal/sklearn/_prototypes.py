"""Classification by prototypes: every class is one vector, the most similar one wins."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from primal._checks import require_memory
from primal.errors import DataError
from primal.sklearn._models import PrimeClassifier
from primal.sklearn._saved import checked_array


class PrimeCentroidClassifier(PrimeClassifier):
    """Classify by the class whose sum of prime features is the most similar.

    The oldest classifier of hyperdimensional computing: one addition for each row. Features are
    rounded to multiples of 2**-18 and summed as integers: with gamma given as a number, the model
    does not depend on the order of rows or classes, to the bit.

    Parameters
    ----------
    n_components, kernel, gamma, basis, form, precision
        As in :class:`PrimeRidgeClassifier`.

    Attributes
    ----------
    classes_, features_
        As in :class:`PrimeRidgeClassifier`.
    class_sums_ : ndarray of shape (n_classes, n_components), dtype=int64
        Exact, in units of 2**-18.
    prototypes_ : ndarray of shape (n_classes, n_components), dtype=float64
        The same with length 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primal.sklearn import PrimeCentroidClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(PrimeCentroidClassifier(64, gamma=0.3).fit(X, y).score(X, y), 2)
    0.95
    """

    _sums: np.ndarray

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to X of shape (n, d) and labels y of shape (n,)."""
        return self._fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Add rows X (n, d) with labels y (n,); labels never seen, also of `classes`, are added."""
        return self._fit(X, y, classes=classes, part=True)

    @property
    def prototypes_(self) -> np.ndarray:
        check_is_fitted(self)
        sums = self._sums.astype(np.float64)
        return sums / _lengths(sums)

    def _spread(self, n_classes: int, places: np.ndarray) -> None:
        wider = self._zeros(n_classes)
        if len(places):
            wider[places] = self._sums
        self._sums = wider

    def _zeros(self, n_classes: int) -> np.ndarray:
        shape = (n_classes, self._n_features)
        require_memory(8 * n_classes * self._n_features, f"prototypes of shape {shape}")
        return np.zeros(shape, dtype=np.int64)

    def _answers(self, Z: np.ndarray) -> np.ndarray:
        return (Z @ self.prototypes_.T) / _lengths(Z)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        return fields, arrays | {"sums": self._sums}

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._learned(fields, arrays)
        shape = (len(self.classes_), self._n_features)
        self._sums = checked_array(arrays, "sums", shape, "<i8")

    @property
    def class_sums_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._sums

    def grow(self, n_components: int, X: Any, y: Any) -> Self:
        """Return the model with more features; the sums of old ones are the same.

        X and y are all rows seen so far, in any order; others are rejected.
        """
        return self._grown(n_components, X, y)

    def _add(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        members = np.eye(len(self.classes_))[:, targets]
        for rows in self._blocks(X):
            sums = members[:, rows] @ self._whole_features(X[rows])
            self._sums = self._sums + sums.astype(np.int64)

    def _widen(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        old = self._sums
        self._sums = self._zeros(len(old))
        self._add(X, targets, weights)
        if not np.array_equal(self._sums[:, : old.shape[1]], old):
            raise DataError(
                "these are not the rows that the model was fitted on: pass all of them with their "
                "labels, in any order."
            )


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Return the length of every row as a column; 1 for those of zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(norms > 0.0, norms, 1.0)
