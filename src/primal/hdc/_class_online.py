"""Prototypes that learn from their mistakes, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from primal._checks import require_memory, require_work, whole_number
from primal.hdc._class_prototypes import PrototypeClassifier, similarities
from primal.turns import increments, static_turns

__all__ = ["PrimeOnlineClassifier"]


class PrimeOnlineClassifier(PrototypeClassifier):
    """Prototypes of prime features, corrected where they answer wrongly.

    Every row z of class y that is taken for class w moves two prototypes: (1 - cos(z, C_y)) z is
    added to C_y and (1 - cos(z, C_w)) z is subtracted from C_w. This is the rule of OnlineHD; a
    row that is nearly right moves little. All prototypes start at zero, and only their
    directions matter: there is no learning rate to choose.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features D.
    epochs : int, default=20
        Passes of `fit`; `partial_fit` makes one.
    batch_size : int, default=32
        Rows that are judged by the same prototypes.
    kernel, gamma, basis, form, precision
        As in :class:`primal.sklearn.PrimeFeatures`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    features_ : PrimeFeatures
    prototypes_ : ndarray of shape (n_classes, n_components)
        Vectors of length 1.
    n_errors_ : list of int
        Wrong rows of every pass.

    Notes
    -----
    No random numbers: pass e takes rows in the order of the fractions of i sqrt(p_e), p_e the
    prime of number e. Unlike the centroid and the ridge read-out the model depends on the order
    in which parts arrive, and forgets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primal.hdc.classifiers import PrimeOnlineClassifier
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
        kernel: str = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "auto",
        precision: str = "exact",
    ) -> None:
        super().__init__(
            n_components, kernel=kernel, gamma=gamma, basis=basis, form=form, precision=precision
        )
        self.epochs = epochs
        self.batch_size = batch_size

    def _learn(self, X: Any, index: np.ndarray) -> None:
        self._passes(X, index, whole_number("epochs", self.epochs, least=1))

    def _learn_part(self, X: Any, index: np.ndarray) -> None:
        self._passes(X, index, 1)

    def _start(self, X: Any, y: np.ndarray) -> None:
        super()._start(X, y)
        self.n_errors_: list[int] = []

    def _passes(self, X: Any, index: np.ndarray, n_passes: int) -> None:
        size = whole_number("batch_size", self.batch_size, least=1)
        Z = self._features(X)
        require_work(n_passes * Z.size, f"{n_passes} epochs")
        weights = self._weights.copy()
        for _ in range(n_passes):
            order = scattered(len(Z), len(self.n_errors_))
            batches = [order[first : first + size] for first in range(0, len(Z), size)]
            errors = [_correct(weights, Z[rows], index[rows]) for rows in batches]
            self.n_errors_.append(sum(errors))
        self._weights = weights

    def _features(self, X: Any) -> np.ndarray:
        shape = (X.shape[0], self.n_components)
        require_memory(4 * shape[0] * shape[1], f"features of shape {shape}")
        parts = [self.features_.transform(X[rows]) for rows in self._blocks(X)]
        return np.concatenate([part.astype(np.float32, copy=False) for part in parts])


def scattered(n: int, pass_number: int) -> np.ndarray:
    """Return 0 ... n - 1 in the order of the fractions of i sqrt(p), p the prime of that number.

    Examples
    --------
    >>> scattered(8, 0).tolist()
    [0, 5, 3, 1, 6, 4, 2, 7]
    """
    turns = static_turns(np.arange(n, dtype=np.uint64), increments(1, start=pass_number))
    return np.argsort(turns[:, 0], kind="stable")


def _correct(weights: np.ndarray, Z: np.ndarray, index: np.ndarray) -> int:
    """Move the prototypes of wrongly classified rows; return how many rows those are."""
    norms = np.linalg.norm(weights, axis=1, keepdims=True)
    found = similarities(Z, weights / np.where(norms > 0.0, norms, 1.0))
    guess = found.argmax(axis=1)
    wrong = np.flatnonzero(guess != index)
    steps = np.zeros((len(wrong), len(weights)))
    places = np.arange(len(wrong))
    for classes, sign in ((index[wrong], 1.0), (guess[wrong], -1.0)):
        steps[places, classes] = sign * (1.0 - found[wrong, classes])
    weights += steps.T @ Z[wrong]
    return len(wrong)
