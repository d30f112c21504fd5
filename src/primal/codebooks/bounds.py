"""Lower bounds: no N unit vectors in D dimensions have a smaller coherence.

Coherence is the largest |cosine| between two of the vectors. D counts real numbers for
``field="real"`` and complex ones for ``field="complex"``.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import islice, product
from typing import NamedTuple

from primal._checks import one_of, whole_number

__all__ = ["FIELDS", "best", "levenshtein", "orthoplex", "welch"]

FIELDS = ("real", "complex")
# Pieces of Levenshtein's bound that are tried. For an N beyond the last one its end is
# returned, which is still a bound.
_LARGEST_DEGREE = 40
# Beyond this D floats hardly tell the polynomials' zeros, at t of about 2 / D - 1, from -1.
_LARGEST_LEVENSHTEIN_D = 10**8
# Beyond this the square root of D is no float.
_LARGEST_D = 10**300


class Bound(NamedTuple):
    """No N codes in D dimensions have a coherence below `value`, by the bound of this `name`."""

    value: float
    name: str


def welch(N: int, D: int) -> float:
    """Return Welch's bound sqrt((N - D) / (D (N - 1))), the same for real and complex vectors.

    Parameters
    ----------
    N, D : int
        Number of codes and of entries of a code.

    Returns
    -------
    float
        Zero for N <= D.

    Examples
    --------
    >>> from primal.codebooks import bounds
    >>> round(bounds.welch(1000, 64), 6)
    0.120994
    """
    N, D = _sizes(N, D)
    return math.sqrt((N - D) / (D * (N - 1))) if N > D else 0.0


def orthoplex(N: int, D: int, field: str = "real") -> float:
    """Return 1 / sqrt(D) once N is beyond the sizes that Welch's bound could serve.

    That is N > D (D + 1) / 2 for real and N > D**2 for complex vectors; zero before.

    Parameters
    ----------
    N, D, field
        As in :func:`best`.

    Returns
    -------
    float

    Examples
    --------
    >>> from primal.codebooks import bounds
    >>> bounds.orthoplex(2112, 64), bounds.orthoplex(1000, 64)
    (0.125, 0.0)
    """
    N, D = _sizes(N, D, field)
    return 1.0 / math.sqrt(D) if _most_for_welch(D, field) < N else 0.0


def levenshtein(N: int, D: int, field: str = "real") -> float:
    """Return Levenshtein's bound, which equals Welch's for small N and passes it later.

    In t = 2 mu**2 - 1, with mu the coherence, Q_n^(a,b) the Jacobi polynomials scaled to 1 at t = 1
    and R_i the dimensions of the harmonic spaces of the projective space, N is at most

        L(t) = (1 - Q_(j-1+e)^(a+1,b)(t) / Q_j^(a,b+e)(t)) (R_0 + ... + R_(j-1+e)),

    piece by piece for j = 1, 2, ... and e = 0, 1 (V. I. Levenshtein, 1992). The bound on mu
    is where L(t) = N; zero for N <= D.

    Parameters
    ----------
    N, D, field
        As in :func:`best`.

    Returns
    -------
    float

    Examples
    --------
    >>> from primal.codebooks import bounds
    >>> round(bounds.levenshtein(98280, 24), 9)  # the lines of the Leech lattice attain it
    0.5
    """
    N, D = _sizes(N, D, field)
    if _most_for_welch(D, field) >= N or D > _LARGEST_LEVENSHTEIN_D:  # the first piece
        return welch(N, D)
    if D == 1:
        return 1.0
    a, b = ((D - 3) / 2.0, -0.5) if field == "real" else (D - 2.0, 0.0)

    def surplus(t: float) -> float:
        ratio = jacobi(j - 1 + e, a + 1.0, b, t) / jacobi(j, a, b + e, t)
        return (1.0 - ratio) * _harmonics(D, j - 1 + e, field) - N

    low = (b - a - 1.0) / (a + b + 3.0)  # the end of the first piece
    try:
        for j, e in islice(product(range(1, _LARGEST_DEGREE + 1), (0, 1)), 1, None):
            # Zeros interlace: of this polynomial one alone lies beyond the last piece.
            high = bisect(partial(jacobi, j, a + 1.0, b + e), low, 1.0)
            if high >= 1.0 - 1e-12:
                return 1.0
            if surplus(high) >= 0.0:
                low = bisect(surplus, low, high)
                break
            low = high
    except (OverflowError, ZeroDivisionError):  # polynomials beyond the range of floats
        return welch(N, D)
    return math.sqrt(0.5 * (1.0 + low))


def best(N: int, D: int, field: str = "real") -> Bound:
    """Return the strongest of the bounds, with its name.

    Parameters
    ----------
    N, D : int
        Number of codes and of entries of a code.
    field : {"real", "complex"}, default="real"
        Of the entries.

    Returns
    -------
    Bound
        A named tuple of the `value` and its `name`: ``"Welch"``, ``"orthoplex"`` or
        ``"Levenshtein"``.

    Examples
    --------
    >>> from primal.codebooks import bounds
    >>> value, name = bounds.best(1000, 32)
    >>> name, round(value, 5)
    ('Levenshtein', 0.24103)
    """
    candidates = (
        Bound(welch(N, D), "Welch"),
        Bound(orthoplex(N, D, field), "orthoplex"),
        Bound(levenshtein(N, D, field), "Levenshtein"),
    )
    strongest = max(bound.value for bound in candidates)
    # Levenshtein's first piece is Welch's bound up to rounding: give it its simpler name.
    return next(bound for bound in candidates if bound.value >= strongest - 1e-12)


def _sizes(N: int, D: int, field: str = "real") -> tuple[int, int]:
    one_of("field", field, FIELDS)
    return whole_number("N", N, least=1), whole_number("D", D, least=1, most=_LARGEST_D)


def _most_for_welch(D: int, field: str) -> int:
    """Return the largest N for which Welch's bound could be attained."""
    return D * (D + 1) // 2 if field == "real" else D * D


def _harmonics(D: int, degree: int, field: str) -> int:
    """Return R_0 + ... + R_degree: the dimension of the even polynomials of that degree."""
    if field == "real":
        return math.comb(D + 2 * degree - 1, 2 * degree)
    return math.comb(D + degree - 1, degree) ** 2


def jacobi(n: int, a: float, b: float, t: float) -> float:
    """Return the Jacobi polynomial P_n^(a,b)(t) divided by its value at 1."""
    if n == 0:
        return 1.0
    before, here = 1.0, 1.0 + (a + b + 2.0) * (t - 1.0) / (2.0 * (a + 1.0))
    for i in range(1, n):
        s = 2.0 * i + a + b
        grow = 2.0 * (i + a + 1.0) * (i + a + b + 1.0) * s
        middle = (s + 1.0) * (a * a - b * b) + s * (s + 1.0) * (s + 2.0) * t
        here, before = (middle * here - 2.0 * i * (i + b) * (s + 2.0) * before) / grow, here
    return here


def bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """Return a root of a function that is negative at `low` and positive at `high`."""
    while high - low > 1e-15 * max(abs(low), abs(high)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if f(middle) < 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
