"""``audit``: what stored codes of any encoder give away, beside encoders that people know."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from primal._arithmetic import normal_quantile
from primal._checks import flag, whole_number
from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.maps import DynamicPrime, KernelPrime
from primal.privacy._attacks import attribute_inference, bundle_membership, learned_inversion
from primal.privacy._estimates import Estimate, Finding, share
from primal.privacy._evaluate import closeness
from primal.privacy._inputs import Encoder, codes, encoder, labels_of, matrix
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key, uniform
from primal.privacy._lattice_attacks import data_prior, inversion
from primal.privacy._report import Report, Subject

# The lattice decoder's set-up grows fast with the inputs; a hundred rows are enough for a median.
_MOST_INPUTS, _ROWS_DECODED = 64, 100
_MAPS = (DynamicPrime, KernelPrime, KeyedPrime)
_MOST_WIDTH = 1024
# Members of the sum whose membership is asked.
_SUMMED = 50
# Turns that the usual distance of two rows makes: where templates match and no longer link.
_TURNS_APART = 0.35


def audit(
    encode: Any,
    X: object,
    *,
    attribute: object = None,
    people: object = None,
    second: Any = None,
    name: str = "encoder",
    baselines: bool = True,
    most_rows: int = 2000,
) -> Report:
    """Attack an encoder of stored vectors, and report what that gives, beside baselines.

    Parameters
    ----------
    encode : callable, DynamicPrime, KernelPrime or KeyedPrime
        From rows (n, d) to codes (n, D). The lattice decoder is tried on maps of ours that have a
        `decode_plan`, with up to 64 inputs; learning attackers on every encoder.
    X : array_like of shape (n, d)
        At least 40 rows, such as will be encoded.
    attribute : array_like of shape (n,), optional
        A label of each row that codes should not show.
    people : array_like of shape (n,), optional
        Who each row belongs to: nobody is then both learned from and attacked.
    second : callable or map, optional
        The encoder of another release, for instance with another key; by default the same.
    name : str, default="encoder"
    baselines : bool, default=True
        Whether rows without a map, random projections, and public, quantised and keyed maps of the
        same width are attacked as well.
    most_rows : int, default=2000
        More rows are thinned out evenly.

    Returns
    -------
    report : Report

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import audit
    >>> X = np.sin(np.arange(1200.0) ** 2).reshape(200, 6)
    >>> report = audit(lambda rows: rows @ np.eye(6)[:, :4], X, name="four columns")
    >>> [subject.name for subject in report.subjects][:3]
    ['four columns', 'no map', 'random projection']
    >>> report.subjects[0].numbers()["inversion"].value < 0.7
    True
    """
    rows = matrix("X", X)
    most = whole_number("most_rows", most_rows, least=40)
    if len(rows) < 40:
        raise DataError(f"an audit needs 40 rows at least, got {len(rows)}.")
    if (rows == rows[0]).all():
        raise DataError("the rows of X are all equal: there is nothing to recover or to link.")
    kept = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64))
    given = (("attribute", attribute), ("people", people))
    attribute, people = (None if v is None else labels_of(n, v, len(rows))[kept] for n, v in given)
    rows = rows[kept]
    learn = _half(len(rows), people)
    width = codes(encoder(encode), rows[:2]).shape[1]
    tried = [(str(name), encode, encode if second is None else second)]
    tried += _baselines(rows[learn], width) if flag("baselines", baselines) else []
    subjects = [_attacked(what, own, other, rows, learn, attribute) for what, own, other in tried]
    return Report(tuple(subjects), len(rows), rows.shape[1])


def _attacked(
    name: str,
    encode: Any,
    second: Any,
    rows: np.ndarray,
    learn: np.ndarray,
    attribute: np.ndarray | None,
) -> Subject:
    """Return the findings of all attacks on one encoder."""
    plain, known, attacked = encoder(encode), rows[learn], rows[~learn]
    findings = [learned_inversion(plain, known, attacked)]
    if isinstance(encode, _MAPS) and rows.shape[1] <= _MOST_INPUTS:
        with suppress(NotInvertibleError):
            findings.append(inversion(encode, attacked[:_ROWS_DECODED], prior=data_prior(known)))
    n_summed = min(_SUMMED, len(attacked) // 2)
    findings.append(bundle_membership(plain, attacked[:n_summed], attacked[n_summed:]))
    findings.append(_linkage(plain, encoder(second), attacked))
    if attribute is not None:
        split = (known, attribute[learn], attacked, attribute[~learn])
        findings.append(attribute_inference(plain, *split))
    return Subject(name, codes(plain, rows[:2]).shape[1], tuple(findings))


def _linkage(encode: Encoder, second: Encoder, rows: np.ndarray) -> Finding:
    """Return how often the nearest code of a second release is of the same row."""
    a, b = codes(encode, rows), codes(second, rows)
    if a.shape != b.shape:
        raise ParameterError(f"the second release has codes of another size: {b.shape}, {a.shape}.")
    # Constant columns, and the scale of others, must not decide who is near.
    a, b = ((z - z.mean(axis=0)) / (z.std() or 1.0) for z in (a, b))
    linked = closeness(a, b).argmax(axis=1) == np.arange(len(rows))
    return Finding(
        "linkage",
        f"codes of {len(rows)} rows in two releases, and nothing else",
        {
            "linked": share(linked),
            "guessing": Estimate(1 / len(rows), 1 / len(rows), 1 / len(rows), len(rows)),
        },
    )


def _baselines(known: np.ndarray, width: int) -> list[tuple[str, Any, Any]]:
    """Return names, encoders and encoders of a second release, with codes of about this width."""
    d, D = known.shape[1], min(_MOST_WIDTH, max(2, 2 * round(width / 2)))
    some = known[:: -(-len(known) // 200)]
    some = some - some.mean(axis=0)
    # The mean square distance of two rows is twice the variance.
    apart = np.sqrt(2.0 * np.square(some).sum() / max(1, len(some) - 1))
    sigma = _TURNS_APART / max(float(apart), 1e-30)
    # For this measurement only: the secret is public.
    secret = b"primal.privacy measurements, 32b"
    keys = (Key(secret, application="evaluate", version=i) for i in (0, 1))
    old, new = (KeyedPrime(key, d, D, sigma) for key in keys)
    public = DynamicPrime(d, D, sigma, basis="auto")

    def quantised(rows: np.ndarray) -> np.ndarray:
        return np.where(public.encode(rows) >= 0.0, 1.0, -1.0)

    return [
        ("no map", np.asarray, np.asarray),
        ("random projection", _projection(d, D, 0), _projection(d, D, 1)),
        ("public prime map", public, public),
        ("public prime map, one bit", quantised, quantised),
        ("keyed prime map, 4 bits", old, new),
    ]


def _projection(d: int, D: int, number: int) -> Encoder:
    normal = normal_quantile(uniform(f"projection/{number}", d * D)).reshape(d, D) / np.sqrt(D)
    return lambda rows: rows @ normal


def _half(n: int, people: np.ndarray | None) -> np.ndarray:
    """Return which rows are learned from: every other one, or those of every other person."""
    if people is None:
        return np.arange(n) % 2 == 0
    _, who = np.unique(people, return_inverse=True)
    learn = who % 2 == 0
    if learn.all() or min(learn.sum(), (~learn).sum()) < 4:
        raise DataError("people must be several, with rows for both halves.")
    return learn
