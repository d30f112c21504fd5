"""Attacks by the lattice decoder: on rows, and on the key itself.

A failed attack shows that this decoder failed, and nothing more.
"""

from __future__ import annotations

import numpy as np

from primal._checks import instance_of, real_array
from primal.decoding import (
    Box,
    DecodePlan,
    Gaussian,
    Integers,
    least_noise_turns,
    noise_turns,
    plan_matrix,
)
from primal.errors import DataError, ParameterError
from primal.exact import pack, unpack
from primal.maps import DynamicPrime, KernelPrime
from primal.privacy._attacks import relative_errors
from primal.privacy._estimates import Estimate, Finding, median, share
from primal.privacy._keyed import KeyedPrime

# A row is recovered when its relative error is below.
_RECOVERED = 0.01
# A frequency is known when it predicts phases of new rows to this many turns, besides the noise.
_PREDICTED_TURNS = 1.0 / 64.0
# Knowing this fraction of the frequencies is as good as knowing the key.
_NEARLY_ALL = 0.98
# How much wider the law of other people is taken to be.
_WIDER = 1.3
_STORED = {"uint8": 8, "uint16": 16}


def inversion(
    m: DynamicPrime | KernelPrime | KeyedPrime,
    X: object,
    *,
    prior: Box | Gaussian | Integers,
    stored: str | float = "float32",
    codes: object = None,
) -> Finding:
    """Recover rows from what a map makes of them, by somebody who has the map.

    For a public map that is everybody; for a :class:`KeyedPrime` whoever has the key.

    Parameters
    ----------
    m : DynamicPrime, KernelPrime or KeyedPrime
    X : array_like of shape (n, d)
        Rows to recover.
    prior : Box, Gaussian or Integers
        What the attacker knows of rows, for instance mean and covariance of other people's.
    stored : {"float32", "uint16", "uint8"} or float, default="float32"
        What is stored of a row with a public map, or how noisy the phases of `codes` are, as a
        standard deviation in turns. Not with a KeyedPrime, which has its own bits.
    codes : array_like of shape (n, D), optional
        What the attacker sees of the rows, for instance features with noise; by default what the
        map makes of X. Not with a KeyedPrime.

    Returns
    -------
    finding : Finding
        `attack`, what the attacker `knows`, and `numbers`, each with a `value` and the limits `low`
        and `high` of its 95 % interval. ``relative error``: median over rows of the distance from
        the truth, over the distance of the truth from the prior's mean; knowing nothing gives 1.
        ``recovered``: share within 1 %.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.privacy import inversion
    >>> X = np.sin(np.arange(80.0)).reshape(20, 4)
    >>> found = inversion(primal.DynamicPrime(4, 16, 100.0), X, prior=primal.Box(1.0))
    >>> found.numbers["recovered"].value
    1.0
    """
    instance_of("m", m, DynamicPrime, KernelPrime, KeyedPrime)
    instance_of("prior", prior, Box, Gaussian, Integers)
    rows, law = _rows(X, m.d), prior.model(m.d)
    if isinstance(m, KeyedPrime):
        if codes is not None or not isinstance(stored, str) or stored != "float32":
            raise ParameterError(
                "codes and stored go with a public map, a KeyedPrime has templates of its own "
                f"bits: got stored = {stored!r}."
            )
        found = m.decode(m.template(rows), prior=prior).candidates[:, 0]
        knows = f"the key, templates of {m.bits} bits a phase, and where rows lie"
        return Finding("inversion", knows, _errors(found, rows, law.mean))
    seen, named = codes, isinstance(stored, str) and stored in ("float32", *_STORED)
    if not named and (codes is None or isinstance(stored, str)):
        raise ParameterError(
            "stored must be 'float32', 'uint16' or 'uint8', or with codes a number of turns, got "
            f"{stored!r}."
        )
    if codes is None:
        bits = _STORED.get(str(stored))
        seen = m.encode(rows)
        if bits is not None:
            seen = unpack(pack(m.turns(rows), bits), bits, m.D // 2)
    plan = public_plan(m, prior, stored)
    kind = stored if named else f"noise of {plan.noise_turns:.3g} turns"
    # That codes are noisier or rarer than the plan assumes is part of the answer.
    found = plan.decode(seen, check=False).x
    if found.shape != rows.shape:
        raise DataError(f"codes must be one for each of {len(rows)} rows, got {found.shape[:-1]}.")
    knows = f"the codes ({kind}), and where rows lie; the basis is public"
    return Finding("inversion", knows, _errors(found, rows, law.mean))


def public_plan(
    m: DynamicPrime | KernelPrime, prior: Box | Gaussian | Integers, stored: str | float
) -> DecodePlan:
    """Return the plan of somebody who has a public map and codes as good as `stored` says."""
    table = (m.map if isinstance(m, KernelPrime) else m).basis.table
    # Rows far from zero have phases of many turns, which float64 holds less well.
    noise = max(noise_turns(stored), least_noise_turns(table, prior.model(m.d)))
    return m.decode_plan(prior=prior, noise=noise)


def known_pairs(m: KeyedPrime, rows: np.ndarray, n_pairs: int) -> Estimate:
    """Return the fraction of the secret frequencies that pairs of row and template reveal.

    The first rows are known with their templates; a frequency is learned if it predicts every phase
    of the others. With the roles of rows and frequencies swapped this is the problem that the
    decoder solves: every phase of N rows is one equation for the d numbers of a frequency and its
    offset, up to whole turns.
    """
    known, new = rows[:n_pairs], rows[n_pairs:]
    design = np.concatenate([known, np.ones((n_pairs, 1))], axis=1)
    # An offset is anywhere in a turn; entries of the frequencies have the mean square sigma**2.
    law = Gaussian([0.0] * m.d + [0.5], [m.sigma**2] * m.d + [0.09])
    templates = (m._phases(m.template(known)) + m._offsets * 2.0**-32) % 1.0  # offsets included
    found = plan_matrix(design, prior=law, noise=m.noise_turns).solve(templates.T, check=False)
    guess = np.concatenate([new, np.ones((len(new), 1))], axis=1) @ found.candidates[:, 0].T
    off = guess - m.turns(new) * 2.0**-32
    worst = np.abs(off - np.rint(off)).max(axis=0)
    # False where nothing was found. A quarter of a turn off is no prediction, however coarse m is.
    return share(worst < min(0.25, _PREDICTED_TURNS + 3.0 * m.noise_turns))


def pairs_needed(m: KeyedPrime, rows: np.ndarray) -> Estimate:
    """Return the number of known pairs that reveal the key, of 1.1, 1.2, ... 4 times d + 1.

    Limits are the last number that failed and the first that did it. NaN, with an infinite limit,
    where none does with the rows at hand.
    """
    last = 0
    for factor in np.arange(11, 41) / 10.0:
        n = int(np.ceil(factor * (m.d + 1)))
        if n >= len(rows):
            break
        if n > last:
            learned = known_pairs(m, rows, n)
            if learned.value >= _NEARLY_ALL:
                return Estimate(n, last, n, learned.n)
            last = n
    return Estimate(np.nan, last, np.inf, m.n_frequencies)


def data_prior(rows: np.ndarray) -> Gaussian:
    """Return the Gaussian law of rows (n, d), of other people, its covariance a little wider."""
    covariance = _WIDER * np.atleast_2d(np.cov(rows.T))
    if not covariance.any():
        raise DataError(
            f"{len(rows)} rows are all equal, which says nothing about where others lie: got a "
            "covariance of zero, pass rows that differ."
        )
    # A constant column says too little about people who are not in the data.
    floor = 1e-6 * np.trace(covariance) / len(covariance)
    return Gaussian(rows.mean(axis=0), covariance + floor * np.eye(len(covariance)))


def _rows(X: object, d: int) -> np.ndarray:
    rows = real_array("X", X, last=d).astype(np.float64)
    if rows.ndim != 2 or not len(rows):
        raise DataError(f"X must have rows and columns, got shape {rows.shape}.")
    return rows


def _errors(found: np.ndarray, rows: np.ndarray, center: np.ndarray) -> dict[str, Estimate]:
    """Return median error and share recovered; a row that is not found counts as the center."""
    errors = relative_errors(np.where(np.isnan(found), center, found), rows, center)
    return {"relative error": median(errors), "recovered": share(errors < _RECOVERED)}
