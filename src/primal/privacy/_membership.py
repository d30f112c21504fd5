"""Who was in a sum, or among the rows that a model was trained on?"""

from __future__ import annotations

from typing import Any

import numpy as np

from primal._checks import raised_as
from primal.errors import DataError, ParameterError
from primal.privacy._estimates import Estimate, Finding, auc, share
from primal.privacy._learned_attacks import Encoder, codes, labels_of, matrix

_FALSE_ALARMS = 0.01


def bundle_membership(encode: Encoder, X: object, others: object) -> Finding:
    """Tell rows whose codes were summed from others of the same kind, by product with the sum.

    Parameters
    ----------
    encode : callable
        From rows (n, d) to codes (n, D).
    X, others : array_like of shape (n, d) and (m, d)
        Members of the sum, and rows that are not in it.

    Returns
    -------
    finding : Finding
        ``AUC``: chance that a member scores above another row, 0.5 for guessing; ``found``: share
        of members found at one false alarm in a hundred.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import KeyedPrime, Key, bundle_membership
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> m = KeyedPrime(Key(bytes(32), application="example"), 8, 512, 1.0)
    >>> bundle_membership(m.features, X[:10], X[10:]).numbers["AUC"].value
    1.0
    """
    rows = matrix("X", X)
    members, rest = (codes(encode, part) for part in (rows, matrix("others", others, like=rows)))
    bundle = members.sum(axis=0)
    knows = f"the sum of {len(members)} codes, the encoder, and the rows in question"
    return Finding("membership in a sum", knows, _numbers(members @ bundle, rest @ bundle))


def model_membership(model: Any, X: object, y: object, others: object, y_others: object) -> Finding:
    """Tell rows that a classifier was trained on from others, by its errors on them.

    Parameters
    ----------
    model : estimator
        With `classes_` and `decision_function`, for instance a fitted ``PrimeRidgeClassifier``.
    X, y : array_like of shape (n, d) and (n,)
        Rows that the model was trained on, with labels.
    others, y_others : array_like of shape (m, d) and (m,)

    Returns
    -------
    finding : Finding
        As of :func:`bundle_membership`.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import model_membership
    >>> from primal.sklearn import PrimeRidgeClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> y = np.arange(80) % 2  # noise: what the model knows, it learned by heart
    >>> model = PrimeRidgeClassifier(256, alpha=1e-6).fit(X[:40], y[:40])
    >>> model_membership(model, X[:40], y[:40], X[40:], y[40:]).numbers["AUC"].value
    1.0
    """
    given = (("X", X, "y", y), ("others", others, "y_others", y_others))
    scores = [
        _fit_of(model, rows := matrix(name, some), labels_of(what, labels, len(rows), name))
        for name, some, what, labels in given
    ]
    knows = "the model, and rows in question with their labels"
    return Finding("membership in training", knows, _numbers(*scores))


def _fit_of(model: Any, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return minus the squared distance of a model's answers from the labels."""
    with raised_as(ParameterError, "model must be a fitted classifier with a decision_function"):
        wanted = labels[:, None] == np.asarray(model.classes_)
        answers = np.asarray(model.decision_function(rows), dtype=np.float64)
    if answers.ndim == 1:  # of two classes, the difference
        answers = np.stack([-answers, answers], axis=1) / 2.0 + 0.5
    if answers.shape != wanted.shape:
        raise DataError(f"the model gives {answers.shape} answers for {wanted.shape} labels.")
    return -np.square(answers - wanted).sum(axis=1)


def _numbers(members: np.ndarray, others: np.ndarray) -> dict[str, Estimate]:
    threshold = np.quantile(others, 1.0 - _FALSE_ALARMS, method="higher")
    return {"AUC": auc(members, others), "found": share(members > threshold)}
