"""Perfect difference sets (Singer's): every non-zero residue is one difference, exactly once."""

from __future__ import annotations

from functools import cache

import numpy as np

from primal._checks import require_memory
from primal.codebooks._numbers import largest_order, scrambled
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
    """Return the largest prime q whose codes fit into D entries, and number at least N."""
    return largest_order(kind, N, D, field, lambda q: q * q + q + 1, more_phases=1)


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
