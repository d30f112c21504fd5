"""Attacks on any encoder or model: on rows, on an attribute of people, and on membership."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from primal._checks import one_of, raised_as
from primal._extras import require
from primal.errors import DataError, ParameterError
from primal.privacy._estimates import Estimate, Finding, auc, median, share
from primal.privacy._inputs import Encoder, codes, labels_of, matrix
from primal.privacy._metrics import threshold_at

ATTACKERS = ("ridge", "network")
# Of the square of the largest singular value; the least is for what `_LEAST_SINGULAR` lets pass.
_ALPHAS = 10.0 ** np.arange(-24.0, 4.0)
_LEAST_SINGULAR = 1e-12
_FALSE_ALARMS = 0.01


def learned_inversion(
    encode: Encoder, X_train: object, X: object, *, attacker: str = "ridge"
) -> Finding:
    """Learn to go back from codes to rows on one set of rows, and try it on another.

    Parameters
    ----------
    encode : callable
        From rows (n, d) to codes (n, D), numbers of any kind; nothing of it needs to be known.
    X_train, X : array_like of shape (n_train, d) and (n, d)
        Rows that the attacker had encoded; rows under attack, of other people.
    attacker : {"ridge", "network"}, default="ridge"
        Linear, or two hidden layers of scikit-learn's ``MLPRegressor``.

    Returns
    -------
    finding : Finding
        ``relative error``: median over rows of the distance from the truth, over the distance of
        the truth from the mean training row; knowing nothing gives 1.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import learned_inversion
    >>> X = np.sin(np.arange(300.0)).reshape(100, 3)
    >>> found = learned_inversion(lambda rows: 2 * rows, X[:50], X[50:])
    >>> found.numbers["relative error"].value < 1e-3
    True
    """
    one_of("attacker", attacker, ATTACKERS)
    rows = matrix("X_train", X_train)
    targets = matrix("X", X, like=rows)
    center, spread = rows.mean(axis=0), rows.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    Z, Z_new = codes(encode, rows), codes(encode, targets)
    learned = ridge_answers if attacker == "ridge" else _network
    guess = learned(Z, (rows - center) / spread, Z_new).reshape(len(targets), -1)
    guess = center + spread * guess
    errors = relative_errors(guess, targets, center)
    knows = f"{len(rows)} rows with their codes, and codes of other people"
    return Finding(f"learned inversion, {attacker}", knows, {"relative error": median(errors)})


def attribute_inference(
    encode: Encoder, X_train: object, attribute_train: object, X: object, attribute: object
) -> Finding:
    """Learn an attribute of people from codes, and guess it for others.

    The attacker is a ridge regression of class membership.

    Parameters
    ----------
    encode : callable
        From rows (n, d) to codes (n, D).
    X_train, attribute_train : array_like of shape (n, d) and (n,)
        Rows that the attacker has, and a label of each.
    X, attribute : array_like of shape (m, d) and (m,)
        Rows that are attacked, and what is to be guessed.

    Returns
    -------
    finding : Finding
        ``accuracy``; ``from rows``: the same attacker on rows without a map; ``guessing``: share
        of the most frequent label, which takes no code at all.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import attribute_inference
    >>> X = np.sin(np.arange(300.0)).reshape(100, 3)
    >>> a = X[:, 0] > 0
    >>> found = attribute_inference(lambda rows: rows**3, X[:50], a[:50], X[50:], a[50:])
    >>> found.numbers["accuracy"].value > 0.9
    True
    """
    rows = matrix("X_train", X_train)
    targets = matrix("X", X, like=rows)
    known = labels_of("attribute_train", attribute_train, len(rows), "X_train")
    wanted = labels_of("attribute", attribute, len(targets))
    labels, places = np.unique(known, return_inverse=True)
    if not (wanted[:, None] == labels).any():
        raise DataError(
            f"attribute has no label of attribute_train: {wanted.tolist()[0]!r} is none of "
            f"{labels.tolist()[:5]!r}: pass labels of one kind, with rows of each in both."
        )
    members = np.eye(len(labels))[places]

    def hits(Z: np.ndarray, Z_new: np.ndarray) -> Estimate:
        return share(labels[ridge_answers(Z, members, Z_new).argmax(axis=1)] == wanted)

    return Finding(
        "attribute inference",
        f"codes and the attribute of {len(rows)} people, and codes of others",
        {
            "accuracy": hits(codes(encode, rows), codes(encode, targets)),
            "from rows": hits(rows, targets),
            "guessing": share(labels[members.sum(axis=0).argmax()] == wanted),
        },
    )


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


def relative_errors(guess: np.ndarray, rows: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Return the distance of each guess, over that of a guess that is always the center."""
    nothing = np.linalg.norm(rows - center, axis=1)
    return np.linalg.norm(guess - rows, axis=1) / np.where(nothing > 0.0, nothing, 1.0)


def ridge_answers(Z: np.ndarray, Y: np.ndarray, Z_new: np.ndarray) -> np.ndarray:
    """Return what a ridge regression of Y (n, m) on Z (n, D) says about Z_new.

    Penalties are relative to the largest singular value, chosen by generalised cross-validation.
    """
    center, intercept = Z.mean(axis=0), Y.mean(axis=0)
    u, s, vt = np.linalg.svd(Z - center, full_matrices=False)
    kept = s > _LEAST_SINGULAR * s.max()
    u, s, vt = u[:, kept], s[kept], vt[kept]
    along = u.T @ (Y - intercept)
    # What is left and what is free are summed up: as differences they would be rounding, and zero.
    outside = float(np.square(Y - intercept - u @ along).sum())
    best, least = np.zeros_like(s), np.inf
    for alpha in _ALPHAS * np.square(s).max(initial=0.0):
        lost = alpha / (np.square(s) + alpha)
        free = float(lost.sum()) + (len(Z) - 1 - len(s))
        error = (outside + float(np.square(lost[:, None] * along).sum())) / free**2
        if error < least:
            best, least = 1.0 - lost, error
    coef = vt.T @ ((best / s)[:, None] * along)  # s > 0: others are not kept
    return (Z_new - center) @ coef + intercept


def _network(Z: np.ndarray, wanted: np.ndarray, Z_new: np.ndarray) -> np.ndarray:
    neural = require("sklearn.neural_network", 'attacker="network"')
    scale = np.where((spread := Z.std(axis=0)) > 0.0, spread, 1.0)
    # Not stopped early: its score, a mean of R**2, is meaningless where a target hardly varies.
    net = neural.MLPRegressor(
        hidden_layer_sizes=(256, 128),
        alpha=0.01,
        batch_size=min(32, len(Z)),
        max_iter=max(20, 64_000 // len(Z)),  # about 2,000 steps
        random_state=0,
        tol=1e-5,
    )
    ignored = require("sklearn.exceptions", 'attacker="network"').ConvergenceWarning
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ignored)  # what it has learned by then is its answer
        net.fit((Z - Z.mean(axis=0)) / scale, wanted)
    return net.predict((Z_new - Z.mean(axis=0)) / scale)


def _fit_of(model: Any, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return minus the squared distance of a model's answers from the labels."""
    with raised_as(ParameterError, "model must be a fitted classifier with a decision_function"):
        wanted = labels[:, None] == np.asarray(model.classes_)
        answers = np.asarray(model.decision_function(rows), dtype=np.float64)
    if answers.ndim == 1:  # of two classes, the difference
        answers = np.stack([-answers, answers], axis=1) / 2.0 + 0.5
    if answers.shape != wanted.shape:
        raise DataError(f"the model gives {answers.shape} answers for {wanted.shape} labels.")
    if not (known := wanted.any(axis=1)).all():
        unknown = labels.tolist()[known.argmin()]
        raise DataError(
            f"the model does not know the label {unknown!r}, only those of its classes_: its "
            "errors there say nothing about membership."
        )
    return -np.square(answers - wanted).sum(axis=1)


def _numbers(members: np.ndarray, others: np.ndarray) -> dict[str, Estimate]:
    threshold = threshold_at(others, _FALSE_ALARMS)
    return {"AUC": auc(members, others), "found": share(members >= threshold)}
