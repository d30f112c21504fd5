"""Attacks that learn from examples, on any encoder: of rows, and of an attribute of people."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import one_of, raised_as, real_array, real_matrix
from primal._extras import require
from primal.errors import DataError
from primal.privacy._estimates import Estimate, Finding, median, share

Encoder = Callable[[np.ndarray], Any]
ATTACKERS = ("ridge", "network")
# Squares of larger rows, and sums of them, may leave float64.
_LARGEST = 1e100
# Of the square of the largest singular value.
_ALPHAS = 10.0 ** np.arange(-8.0, 4.0)


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


def codes(encode: Encoder, rows: np.ndarray) -> np.ndarray:
    """Return what an encoder makes of rows, as float64 of shape (n, D)."""
    found = real_array("codes", encode(rows)).astype(np.float64)
    if found.ndim < 2 or len(found) != len(rows) or not found.size:
        raise DataError(
            f"the encoder must return a code for each of {len(rows)} rows, got shape {found.shape}."
        )
    return found.reshape(len(rows), -1)


def matrix(name: str, value: object, like: np.ndarray | None = None) -> np.ndarray:
    """Return rows as float64 of shape (n, d), with as many columns as those of `like`."""
    rows = real_matrix(name, value).astype(np.float64)
    if len(rows) < 2:
        raise DataError(f"{name} must have at least two rows, got shape {rows.shape}.")
    if like is not None and rows.shape[1] != like.shape[1]:
        raise DataError(
            f"{name} must have the columns of the other rows, {like.shape[1]}, got {rows.shape}."
        )
    if (largest := float(np.abs(rows).max())) > _LARGEST:
        raise DataError(
            f"{name} must be below {_LARGEST:g} in size, got {largest:.3g}: scale it down."
        )
    return rows


def labels_of(name: str, values: object, n: int, rows: str = "X") -> np.ndarray:
    """Return labels of n rows, those of the argument `rows`, as an array."""
    with raised_as(DataError, f"{name} must be labels"):
        labels = np.asarray(values)
        np.unique(labels)
    if labels.shape != (n,):
        raise DataError(
            f"{name} must be one label for each of {n} rows of {rows}, got shape {labels.shape}."
        )
    return labels


def relative_errors(guess: np.ndarray, rows: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Return the distance of each guess, over that of a guess that is always the center."""
    nothing = np.linalg.norm(rows - center, axis=1)
    return np.linalg.norm(guess - rows, axis=1) / np.where(nothing > 0.0, nothing, 1.0)


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


def ridge_answers(Z: np.ndarray, Y: np.ndarray, Z_new: np.ndarray) -> np.ndarray:
    """Return what a ridge regression of Y (n, m) on Z (n, D) says about Z_new.

    Penalties are relative to the largest singular value, chosen by generalised cross-validation.
    """
    center, intercept = Z.mean(axis=0), Y.mean(axis=0)
    u, s, vt = np.linalg.svd(Z - center, full_matrices=False)
    kept = s > 1e-12 * s.max(initial=1e-300)
    u, s, vt = u[:, kept], s[kept], vt[kept]
    along = u.T @ (Y - intercept)
    total = float(np.square(Y - intercept).sum())
    best, least = np.zeros_like(s), np.inf
    for alpha in _ALPHAS * np.square(s).max(initial=1.0):
        shrink = np.square(s) / (np.square(s) + alpha)
        explained = float(((2.0 * shrink - shrink**2)[:, None] * np.square(along)).sum())
        error = max(0.0, total - explained) / (1.0 - (shrink.sum() + 1.0) / len(Z)) ** 2
        if shrink.sum() + 1.0 < len(Z) and error < least:
            best, least = shrink, error
    coef = vt.T @ ((best / s)[:, None] * along)  # s > 0: others are not kept
    return (Z_new - center) @ coef + intercept
