"""Measure a scheme of templates: accuracy, renewability, unlinkability, irreversibility.

The words are those of ISO/IEC 24745 and 30136; that they are used here is no claim of conformity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from primal._checks import flag, raised_as, whole_number
from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.maps import DynamicPrime, KernelPrime
from primal.privacy._attacks import relative_errors, ridge_answers
from primal.privacy._estimates import Estimate, mean_range, median, share
from primal.privacy._inputs import Encoder, codes, encoder, labels_of, matrix
from primal.privacy._keyed import KeyedPrime
from primal.privacy._lattice_attacks import data_prior, pairs_needed, public_plan
from primal.privacy._metrics import equal_error_rate, linkability, linkability_floor, threshold_at

Scheme = Callable[[int], Any]
_FALSE_MATCHES = 0.01


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate` measured, by property; the meaning of limits is in the names.

    Limits of rates over keys are the smallest and the largest over keys, of the others 95 %
    intervals.
    """

    accuracy: Mapping[str, Estimate]
    renewability: Mapping[str, Estimate]
    unlinkability: Mapping[str, Estimate]
    irreversibility: Mapping[str, Estimate]
    key_leakage: Mapping[str, Estimate]

    def as_json(self) -> dict[str, Any]:
        """Return the same as JSON values."""
        return asdict(self)


def evaluate(
    scheme: Scheme,
    X: object,
    y: object,
    *,
    others: object,
    y_others: object,
    n_key_pairs: int = 20,
    attacks: bool = True,
) -> Evaluation:
    """Measure what a scheme of templates keeps and gives away.

    Parameters
    ----------
    scheme : callable
        From the number of a key to a :class:`KeyedPrime`, another map or any encoder, a callable
        from rows (n, d) to codes (n, D) whose distances tell people apart.
    X, y : array_like of shape (n, d) and (n,)
        Rows of the people to score, at least two of each, and who they are.
    others, y_others : array_like of shape (m, d) and (m,)
        Rows of other people: from them comes what an attacker knows of the law of rows. A person
        in both sets is rejected.
    n_key_pairs : int, default=20
        At least 20: over fewer, ranges say little.
    attacks : bool, default=True
        Whether to invert templates and count known pairs, which can take minutes.

    Returns
    -------
    evaluation : Evaluation
        ``accuracy``: equal error rate with the key stolen (one key for all), and with one key for
        each person, which flatters. ``renewability``: equal error rate between two keys, and the
        share of old templates that the new key still accepts at one false match in a hundred.
        ``unlinkability``: D_sys between two keys, its floor, and D_sys once both keys are stolen.
        ``irreversibility``, with the key: relative error, and impersonation, the share of
        recovered rows that pass for another row of the person where one stranger in a hundred
        does; beside it the same for true rows. ``key_leakage``: known pairs needed.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import Key, KeyedPrime, evaluate
    >>> y = np.repeat(np.arange(20), 4)
    >>> X = 3.0 * np.sin(np.arange(160.0) ** 2).reshape(20, 8)[y]  # one row for each person
    >>> X += np.sin(np.arange(640.0) ** 3).reshape(80, 8)
    >>> mine, rest = y < 10, y >= 10
    >>> def scheme(number):
    ...     return KeyedPrime(Key(bytes(32), application="door", version=number), 8, 64, 0.02)
    >>> people = {"others": X[rest], "y_others": y[rest]}
    >>> found = evaluate(scheme, X[mine], y[mine], **people, attacks=False)
    >>> sorted(found.as_json())
    ['accuracy', 'irreversibility', 'key_leakage', 'renewability', 'unlinkability']
    """
    rows = matrix("X", X)
    strangers, attacks = matrix("others", others, like=rows), flag("attacks", attacks)
    people = labels_of("y", y, len(rows))
    both = np.intersect1d(people, labels_of("y_others", y_others, len(strangers), "others"))
    if len(both):
        raise DataError(f"people are in both sets, such as {both[0]!r}: score other people.")
    n_pairs = whole_number("n_key_pairs", n_key_pairs, least=20)
    same = people[:, None] == people
    mated, non_mated = np.triu(same, 1), np.triu(~same, 1)  # every pair of rows once
    if not mated.any() or same.all():
        raise DataError("y must have several people, and one of them twice at least.")
    within, across, linked, kept = [], [], [], []
    for number in range(0, 2 * n_pairs, 2):
        a, b = (codes(_encoder(scheme, i), rows) for i in (number, number + 1))
        own, crossed = closeness(a, a), closeness(a, b)
        within.append(equal_error_rate(own[mated], own[non_mated]))
        across.append(equal_error_rate(crossed[same], crossed[~same]))
        linked.append(linkability(crossed[same], crossed[~same]))
        threshold = threshold_at(own[non_mated], _FALSE_MATCHES)
        kept.append(float((crossed[same] >= threshold).mean()))
    each = _own_keys(scheme, rows, people)
    accuracy = {
        "EER, key stolen": mean_range(within),
        "EER, one key each": mean_range([equal_error_rate(each[mated], each[non_mated])]),
    }
    renewability = {
        "EER across keys": mean_range(across),
        "old accepted by new key": mean_range(kept),
    }
    floor = linkability_floor(int(same.sum()), int((~same).sum()))
    unlinkability = {"D_sys": mean_range(linked), "D_sys floor": floor}
    irreversibility: dict[str, Estimate] = {}
    leakage: dict[str, Estimate] = {}
    if attacks:
        first, second = (_inverted(scheme(i), rows, strangers) for i in (0, 1))
        stolen = closeness(first, second)
        unlinkability["D_sys, both keys stolen"] = mean_range(
            [linkability(stolen[same], stolen[~same])]
        )
        irreversibility = _irreversibility(first, rows, strangers, same)
        m = scheme(0)
        if isinstance(m, KeyedPrime):
            leakage["known pairs needed"] = pairs_needed(m, np.concatenate([strangers, rows]))
    return Evaluation(accuracy, renewability, unlinkability, irreversibility, leakage)


def closeness(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return minus the squared distance of all rows of a and b."""
    # Squares of what all rows have in common would hide how they differ.
    middle = a.mean(axis=0)
    common = np.where(np.abs(middle) > 10.0 * a.std(axis=0), middle, 0.0)
    a, b = a - common, b - common
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)
    return 2.0 * (a @ b.T) - squares


def _encoder(scheme: Scheme, number: int) -> Encoder:
    with raised_as(ParameterError, "scheme must make an encoder of the number of a key"):
        return encoder(scheme(number))


def _own_keys(scheme: Scheme, rows: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Return the scores where every person has a key, and nobody has another's."""
    parts = [
        codes(_encoder(scheme, i), rows[people == person])
        for i, person in enumerate(np.unique(people))
    ]
    by_person = np.argsort(people, kind="stable")
    made = np.concatenate(parts)[np.argsort(by_person)]
    return closeness(made, made)


def _inverted(made: Any, rows: np.ndarray, strangers: np.ndarray) -> np.ndarray:
    """Return what is recovered of rows with the key: by lattice, or learned on other people."""
    prior = data_prior(strangers)
    found = None
    if isinstance(made, KeyedPrime):
        found = made.decode(made.template(rows), prior=prior).candidates[:, 0]
    elif isinstance(made, (DynamicPrime, KernelPrime)):
        with suppress(NotInvertibleError):
            found = public_plan(made, prior, "float32").decode(made.encode(rows), check=False).x
    if found is None:
        plain = encoder(made)
        return ridge_answers(codes(plain, strangers), strangers, codes(plain, rows))
    return np.where(np.isnan(found), strangers.mean(axis=0), found)


def _irreversibility(
    found: np.ndarray, rows: np.ndarray, strangers: np.ndarray, same: np.ndarray
) -> dict[str, Estimate]:
    true, forged = closeness(rows, rows), closeness(found, rows)
    threshold = threshold_at(true[~same], _FALSE_MATCHES)
    other = same & ~np.eye(len(rows), dtype=bool)
    errors = relative_errors(found, rows, strangers.mean(axis=0))
    return {
        "relative error": median(errors),
        "impersonation": share(forged[other] >= threshold),
        "impersonation with true rows": share(true[other] >= threshold),
    }
