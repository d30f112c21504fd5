"""Classification by prototypes: every class is one vector, the most similar one wins."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from primal._checks import require_memory, require_work, whole_number
from primal.errors import DataError
from primal.kernels import KernelSum
from primal.sklearn._models import PrimeClassifier
from primal.sklearn._saved import checked_array
from primal.turns import increments, static_turns


class _Prototypes(PrimeClassifier):
    """Prototypes of any length in `_sums`, shape (n_classes, n_components); cosine decides."""

    _sums: np.ndarray
    _sum_type: Any = np.float64

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
        return np.zeros(shape, self._sum_type)

    def _answers(self, Z: np.ndarray) -> np.ndarray:
        return _cosines(Z, self.prototypes_)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        return fields, arrays | {"sums": self._sums}

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._learned(fields, arrays)
        shape, dtype = (len(self.classes_), self._n_features), np.dtype(self._sum_type).str
        self._sums = checked_array(arrays, "sums", shape, dtype)


class PrimeCentroidClassifier(_Prototypes):
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

    _sum_type = np.int64

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


class PrimeOnlineClassifier(_Prototypes):
    """Prototypes of prime features, corrected where they answer wrongly.

    Every row z of class y that is taken for class w moves two prototypes: (1 - cos(z, C_y)) z is
    added to C_y and (1 - cos(z, C_w)) z is subtracted from C_w. This is the rule of OnlineHD; a row
    that is nearly right moves little. All prototypes start at zero, and only their directions
    matter: there is no learning rate to choose.

    No random numbers: pass e takes rows in the order of the fractions of i sqrt(p_e), p_e the prime
    of number e. Unlike the centroid and the ridge read-out the model depends on the order in which
    parts arrive, forgets, and cannot grow.

    Parameters
    ----------
    n_components, kernel, gamma, basis, form, precision
        As in :class:`PrimeRidgeClassifier`.
    epochs : int, default=20
        Passes of `fit`; `partial_fit` makes one.
    batch_size : int, default=32
        Rows judged by the same prototypes.

    Attributes
    ----------
    classes_, features_, prototypes_
        As in :class:`PrimeCentroidClassifier`.
    n_errors_ : list of int
        Wrong rows of every pass.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primal.sklearn import PrimeOnlineClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(PrimeOnlineClassifier(64, gamma=0.3).fit(X, y).score(X, y), 2)
    0.98
    """

    def __init__(
        self,
        n_components: int = 1024,
        *,
        epochs: int = 20,
        batch_size: int = 32,
        kernel: str | KernelSum = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "pair",
        precision: str = "exact",
    ) -> None:
        super().__init__(
            n_components, kernel=kernel, gamma=gamma, basis=basis, form=form, precision=precision
        )
        self.epochs = epochs
        self.batch_size = batch_size

    def _start(self, y: np.ndarray) -> None:
        super()._start(y)
        self.n_errors_: list[int] = []

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        return fields, arrays | {"errors": np.array(self.n_errors_, dtype=np.int64)}

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._learned(fields, arrays)
        errors = arrays.get("errors", np.empty(0))
        self.n_errors_ = checked_array(arrays, "errors", (errors.size,), "<i8").tolist()

    def _learn(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        self._add(X, targets, weights, whole_number("epochs", self.epochs, least=1))

    def _add(
        self, X: Any, targets: np.ndarray, weights: np.ndarray | None, n_passes: int = 1
    ) -> None:
        size = whole_number("batch_size", self.batch_size, least=1)
        shape = (X.shape[0], self._n_features)
        require_memory(4 * shape[0] * shape[1], f"features of shape {shape}")
        # A pass over a few rows takes as long as this many multiplications.
        n_steps = n_passes * ((1 << 16) + shape[0] * shape[1] * len(self.classes_))
        require_work(n_steps, f"epochs = {n_passes} of {shape[0]} rows")
        Z = np.empty(shape, dtype=np.float32)
        for rows in self._blocks(X):
            Z[rows] = self.features_.transform(X[rows])
        sums = self._sums.copy()
        for _ in range(n_passes):
            order = scattered(len(Z), len(self.n_errors_))
            batches = [order[first : first + size] for first in range(0, len(Z), size)]
            self.n_errors_.append(sum(_correct(sums, Z[rows], targets[rows]) for rows in batches))
        self._sums = sums


def scattered(n: int, pass_number: int) -> np.ndarray:
    """Return 0 ... n - 1 in the order of the fractions of i sqrt(p), p the prime of that number."""
    turns = static_turns(np.arange(n, dtype=np.uint64), increments(1, start=pass_number))
    return np.argsort(turns[:, 0], kind="stable")


def _correct(prototypes: np.ndarray, Z: np.ndarray, targets: np.ndarray) -> int:
    """Move the prototypes of wrongly classified rows; return how many rows those are."""
    found = _cosines(Z, prototypes / _lengths(prototypes))
    guess = found.argmax(axis=1)
    wrong = np.flatnonzero(guess != targets)
    steps = np.zeros((len(wrong), len(prototypes)))
    places = np.arange(len(wrong))
    for classes, sign in ((targets[wrong], 1.0), (guess[wrong], -1.0)):
        steps[places, classes] = sign * (1.0 - found[wrong, classes])
    prototypes += steps.T @ Z[wrong]
    return len(wrong)


def _cosines(Z: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Return the cosine similarity of rows of features with prototypes of length 1."""
    return (Z @ prototypes.T) / _lengths(Z)


def _lengths(rows: np.ndarray) -> np.ndarray:
    """Return the length of every row as a column; 1 for those of zeros."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(norms > 0.0, norms, 1.0)
