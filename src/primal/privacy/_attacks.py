"""Attacks on any encoder: on rows, on an attribute of people, and on membership in a sum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal.errors import DataError
from primal.privacy._estimates import Estimate, Finding, auc, median, share
from primal.privacy._inputs import Encoder, codes
from primal.privacy._metrics import threshold_at

Learner = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# Of the square of the largest singular value; the least is for what `_LEAST_SINGULAR` lets pass.
_ALPHAS = 10.0 ** np.arange(-24.0, 4.0)
_LEAST_SINGULAR = 1e-12
_FALSE_ALARMS = 0.01


def learned_inversion(
    encode: Encoder, rows: np.ndarray, targets: np.ndarray, *, learn: Learner | None = None
) -> Finding:
    """Learn to go back from codes to `rows`, and try it on those of `targets`, other people.

    By a ridge regression, or another function from codes, answers and new codes to new answers.
    ``relative error`` is the median distance from the truth, over the distance of the truth from
    the mean of `rows`: knowing nothing gives 1.
    """
    center, spread = rows.mean(axis=0), rows.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    Z, Z_new = codes(encode, rows), codes(encode, targets)
    guess = (learn or ridge_answers)(Z, (rows - center) / spread, Z_new).reshape(len(targets), -1)
    guess = center + spread * guess
    errors = relative_errors(guess, targets, center)
    knows = f"{len(rows)} rows with their codes, and codes of other people"
    return Finding("learned inversion", knows, {"relative error": median(errors)})


def attribute_inference(
    encode: Encoder, rows: np.ndarray, known: np.ndarray, targets: np.ndarray, wanted: np.ndarray
) -> Finding:
    """Learn an attribute of people from codes by ridge regression, and guess that of `targets`.

    In addition to ``accuracy``: ``from rows``, the same without a map; ``guessing``, the fraction
    of the most frequent label, which takes no code at all.
    """
    labels, places = np.unique(known, return_inverse=True)
    if not (wanted[:, None] == labels).any():
        raise DataError(
            f"no label of the rows learned from, such as {labels.tolist()[0]!r}, is a label of the "
            f"others, such as {wanted.tolist()[0]!r}: pass an attribute that more rows have."
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


def bundle_membership(encode: Encoder, rows: np.ndarray, others: np.ndarray) -> Finding:
    """Tell `rows`, whose codes were summed, from others of the same kind, by product with the sum.

    ``AUC`` is the chance that a member scores above another row, 0.5 for guessing; ``found`` the
    share of members found at one false alarm in a hundred.
    """
    members, rest = (codes(encode, part) for part in (rows, others))
    bundle = members.sum(axis=0)
    members, rest = members @ bundle, rest @ bundle
    found = share(members >= threshold_at(rest, _FALSE_ALARMS))
    knows = f"the sum of {len(rows)} codes, the encoder, and the rows in question"
    return Finding("membership in a sum", knows, {"AUC": auc(members, rest), "found": found})


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
