"""Classifiers from noisy sums: class bundles, and the moments of a ridge regression.

What is released is the noisy sums and nothing else: no counts, no labels that were found in the
data, no scale that was fitted to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import instance_of, raised_as, reject_lost_values, require_memory
from primal.errors import DataError, ParameterError
from primal.privacy._inputs import labels_of, matrix
from primal.privacy._noise import (
    UNIT,
    Accountant,
    largest_product_square,
    largest_square,
    noisy,
    whole_features,
)

# Of the budget of moments, the share for products of features; the rest is for class sums. Chosen
# on MNIST (tools/privacy_digits.py --mnist), not on the digits of the documentation.
_GRAM_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class NoisyClassifier:
    """A linear classifier made of noisy sums; whatever is computed from it costs nothing more.

    Attributes
    ----------
    map : DynamicPrime or KeyedPrime
    classes : ndarray of shape (m,)
    weights : ndarray of shape (D, m), dtype=float64
    sums : ndarray of shape (m, D), dtype=int64
        The noisy sum of every class, in units of 1/4096.
    noise_scale : float
        Standard deviation of the noise of `sums`, in the same units.
    """

    map: Any
    classes: np.ndarray
    weights: np.ndarray
    sums: np.ndarray
    noise_scale: float

    def decision_function(self, X: object) -> np.ndarray:
        """Return a value for each class, shape (..., m), of rows X (..., d)."""
        return (whole_features(self.map, X) / UNIT) @ self.weights

    def predict(self, X: object) -> np.ndarray:
        """Return the label of the largest value, shape (...)."""
        return self.classes[self.decision_function(X).argmax(axis=-1)]


def release_bundles(
    m: Any, X: object, y: object, *, classes: object, budget: Accountant, ids: object = None
) -> NoisyClassifier:
    """Return a classifier by class bundles, the sums of all codes of a class, with noise.

    The sums are (epsilon, delta)-differentially private for the presence of one record, with what
    is left of the budget.

    Parameters
    ----------
    m : DynamicPrime or KeyedPrime
        Its scale must not have been fitted to these rows.
    X, y : array_like of shape (n, d) and (n,)
        Records, with one label each.
    classes : array_like of shape (m,)
        All labels that there may be. They are public: taking them from y would release them.
    budget : Accountant
    ids : array_like of shape (n,), optional
        Whose record it is. A record that is there twice is rejected: it would count twice.

    Returns
    -------
    classifier : NoisyClassifier

    Notes
    -----
    Needs OpenDP (the extra ``privacy``). Rows have the same length whatever is in them, so nothing
    is clipped.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.privacy import Accountant, release_bundles
    >>> X = np.concatenate([np.full((500, 2), v) for v in (0.0, 2.0)])
    >>> y = np.repeat([0, 1], 500)
    >>> m = primal.DynamicPrime(2, 32, 0.2, basis="auto")
    >>> model = release_bundles(m, X, y, classes=[0, 1], budget=Accountant(1.0, 1e-5))
    >>> float((model.predict(X) == y).mean())
    1.0
    """
    features, members, labels = _records(m, X, y, classes, ids)
    _require_left(budget)
    square = largest_square(features.shape[1] // 2)
    sums, scale = noisy(members.T @ features, square, budget.left, budget)
    return NoisyClassifier(m, labels, _one_length(sums), sums, scale)


def release_moments(
    m: Any, X: object, y: object, *, classes: object, budget: Accountant, ids: object = None
) -> NoisyClassifier:
    """Return a ridge classifier from noisy moments.

    A tenth of the budget goes to the sums of products of features, the rest to the class sums. What
    follows costs nothing: eigenvalues of the products are corrected for their noise, whose law is
    public, as is the penalty, its size; class sums are brought to one length, as in bundles.

    Parameters
    ----------
    m, X, y, classes, budget, ids
        As of :func:`release_bundles`.

    Returns
    -------
    classifier : NoisyClassifier

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.privacy import Accountant, release_moments
    >>> X = np.concatenate([np.full((500, 2), v) for v in (0.0, 2.0)])
    >>> y = np.repeat([0, 1], 500)
    >>> m = primal.DynamicPrime(2, 32, 0.2, basis="auto")
    >>> model = release_moments(m, X, y, classes=[0, 1], budget=Accountant(1.0, 1e-5))
    >>> float((model.predict(X) == y).mean())
    1.0
    """
    features, members, labels = _records(m, X, y, classes, ids)
    D = features.shape[1]
    require_memory(8 * 4 * D * D, f"products of {D} features")
    _require_left(budget)
    square, rho = largest_square(D // 2), budget.left
    upper = np.triu_indices(D)
    products, products_scale = noisy(
        (features.T @ features)[upper], largest_product_square(D // 2), _GRAM_SHARE * rho, budget
    )
    sums, scale = noisy(members.T @ features, square, (1.0 - _GRAM_SHARE) * rho, budget)
    gram = np.zeros((D, D))
    gram[upper] = products
    gram = gram + np.triu(gram, 1).T
    values, vectors = np.linalg.eigh(gram)
    # Eigenvalues of noise alone reach the edge; beyond it, noise moves v to v + (edge / 2)**2 / v.
    edge = 2.0 * np.sqrt(D) * products_scale
    roots = np.sqrt(np.maximum(np.square(values) - edge**2, 0.0))
    cleaned = np.where(values > edge, (values + roots) / 2.0, 0.0)
    # A penalty of half the edge, as a unit: where noise hides all products, these are the bundles.
    shrunk = (vectors.T @ _one_length(sums)) / (1.0 + cleaned / (edge / 2.0))[:, None]
    return NoisyClassifier(m, labels, vectors @ shrunk, sums, scale)


def _one_length(sums: np.ndarray) -> np.ndarray:
    """Return sums (m, D) as columns of length 1: large classes must not win by their size."""
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.where(lengths > 0.0, lengths, 1.0)).T


def _records(
    m: Any, X: object, y: object, classes: object, ids: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return whole features (n, D), membership (n, m) and labels; reject what breaks the rule."""
    rows = matrix("X", X)
    given = labels_of("y", y, len(rows))
    with raised_as(DataError, "classes must be text or numbers"):
        labels = np.unique(np.asarray(classes))
    if labels.ndim != 1 or len(labels) < 2:
        raise ParameterError("classes must list all labels that there may be, two or more.")
    members = (given[:, None] == labels).astype(np.int64)
    if not members.any(axis=1).all():
        raise DataError(
            "y holds a label that is not in classes: list all that there may be, whether or not "
            "these records have them."
        )
    if ids is not None:
        reject_lost_values("ids", ids, as_floats=False)
        with raised_as(DataError, "ids must be text or numbers"):
            given_ids = np.asarray(ids)
            shape, n_ids = given_ids.shape, len(np.unique(given_ids))
        if shape != (len(rows),) or n_ids < len(rows):
            raise DataError(
                f"ids must be one for each record, and none twice: {n_ids} of shape {shape} for "
                f"{len(rows)} rows. A record that counts twice would break the guarantee: merge "
                "its rows."
            )
    with raised_as(ParameterError, f"m must be a DynamicPrime or a KeyedPrime, got {m!r}"):
        return whole_features(m, rows), members, labels


def _require_left(budget: Accountant) -> None:
    instance_of("budget", budget, Accountant)
    if budget.left <= 1e-6 * budget.rho:
        raise ParameterError(
            f"nothing is left of the budget epsilon = {budget.epsilon:g}: these records have been "
            "released for all of it."
        )
