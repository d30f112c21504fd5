"""Perfect difference sets (Singer's): every non-zero residue is one difference, exactly once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from primal._checks import require_memory
from primal.codebooks._numbers import is_prime, prime_at_most, scrambled
from primal.errors import ParameterError

__all__ = ["difference_set", "singer_order"]


@cache
def difference_set(q: int) -> tuple[int, ...]:
    """Return q + 1 residues modulo P = q**2 + q + 1, for a prime q, rising from 0.

    Notes
    -----
    Powers of a root x of a cubic over the field of q elements run through the points of the
    projective plane when the cubic is primitive enough; those on the line "third coordinate
    zero" are a difference set. Cubics are tried in a fixed order until one is. By definition
    the set is right when every non-zero residue is a difference exactly once, which is checked.

    Examples
    --------
    >>> from primal.codebooks._singer import difference_set
    >>> difference_set(2)
    (0, 1, 5)
    """
    modulus = q * q + q + 1
    require_memory(32 * q * q, f"a difference set of order {q}")
    for attempt in range(64 * (q + 1)):
        cubic = [int(c % np.uint64(q)) for c in scrambled(3 * attempt, 3)]
        found = _line(q, modulus, cubic)
        if len(found) == q + 1 and _is_perfect(found, modulus):
            return tuple(found)
    raise ParameterError(f"no difference set of order {q} was found: use a prime q.")


def singer_order(kind: str, N: int, D: int, field: str) -> int:
    """Return the largest prime q whose codes fit into D entries, and number at least N.

    Raises
    ------
    ParameterError
        If there is none; the message names sizes that work.
    """
    copies = 1 if field == "complex" else 2  # real codes are z and i z, of 2 k entries
    q = prime_at_most(D // copies - 1)
    if q is not None and copies * (q * q + q + 1) >= N:
        return q
    least = max(2, math.isqrt(max(0, -(-N // copies) - 1)))
    while not is_prime(least) or copies * (least * least + least + 1) < N:
        least += 1
    room = f"D = {copies * (least + 1)} holds {copies * (least * least + least + 1)}"
    if q is None:
        raise ParameterError(f"kind {kind!r} needs a larger D, got {D}: {room}.")
    largest = copies * (q * q + q + 1)
    raise ParameterError(
        f"kind {kind!r} has {largest} codes in D = {D} ({field}), got N = {N}: "
        f"use N up to {largest}, or a larger D ({room})."
    )


def _line(q: int, modulus: int, cubic: list[int]) -> list[int]:
    """Return the exponents i < P with third coordinate of x**i zero; stops beyond q + 1."""
    c0, c1, c2 = cubic
    s0, s1, s2 = 1, 0, 0
    found = []
    for i in range(modulus):
        if s2 == 0:
            found.append(i)
            if len(found) > q + 1:
                break
        s0, s1, s2 = s2 * c0 % q, (s0 + s2 * c1) % q, (s1 + s2 * c2) % q
    return found


def _is_perfect(residues: list[int], modulus: int) -> bool:
    s = np.array(residues)
    differences = (s[:, None] - s[None, :]) % modulus
    return bool((np.bincount(differences.reshape(-1), minlength=modulus)[1:] == 1).all())
