"""Prime shadows: primes whose square roots have given fractions.

The fractions of square roots of primes are dense, so for any list of target frequencies there
are primes that follow it as closely as N codes can tell: with |frac sqrt(p) - a| <= delta the
cosine at lag l moves by at most 2 pi l delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from primal.codebooks._numbers import is_prime
from primal.errors import PrimalError

__all__ = ["ShadowError", "shadow_primes", "tightest_shadow"]

# Largest lag times delta, from tight to loose: the tightest that has primes below 2**32 wins.
_TOLERANCES = (0.001, 0.003, 0.01, 0.02, 0.05)
_LARGEST_WHOLE_PART = 65535  # p < 2**32
_FIRST_SCAN = 256


class ShadowError(PrimalError):
    """No prime below 2**32 comes close enough to a target frequency."""


def tightest_shadow(
    families: Sequence[Iterable[float]], n_lags: int, *, signed: bool
) -> list[list[int]]:
    """Return primes, all different, for families of targets, at the tightest tolerance."""
    for c in _TOLERANCES:
        used: set[int] = set()
        try:
            return [shadow_primes(f, c / n_lags, signed=signed, used=used) for f in families]
        except ShadowError:
            if c == _TOLERANCES[-1]:
                raise
    raise AssertionError("unreachable")


def shadow_primes(
    targets: Iterable[float], delta: float, *, signed: bool, used: set[int] | None = None
) -> list[int]:
    """Return, for each target in order, the smallest unused prime below 2**32 that shadows it.

    Targets are frequencies in turns, `delta` is the largest distance between one and the fraction
    of sqrt(p). Without a sign a and 1 - a do not differ, as for cosines and sines of one position.
    Primes found are added to those `used`.
    """
    used = set() if used is None else used
    chosen = []
    for a in (target % 1.0 for target in targets):
        sides = (a,) if signed else (min(a, 1.0 - a), 1.0 - min(a, 1.0 - a))
        chosen.append(_first_prime(sides, delta, used))
        used.add(chosen[-1])
    return chosen


def _first_prime(sides: tuple[float, ...], delta: float, used: set[int]) -> int:
    low, high = 0, _FIRST_SCAN
    while low <= _LARGEST_WHOLE_PART:
        for p in _near_squares(sides, delta, low, min(high, _LARGEST_WHOLE_PART + 1)):
            if p not in used and is_prime(p):
                return p
        low, high = high, 4 * high
    raise ShadowError(
        f"no unused prime below 2**32 has a square root within {delta:.2g} turn of the "
        f"fraction {sides[0]:.9f}: ask for fewer codes."
    )


def _near_squares(sides: tuple[float, ...], delta: float, low: int, high: int) -> list[int]:
    """Return the integers below 2**32 with frac sqrt within delta of a side, rising.

    The whole parts of the roots are in [low, high).
    """
    roots = (np.arange(low, high, dtype=np.float64)[:, None] + np.array(sides)).reshape(-1)
    first = np.ceil(np.square(roots - delta)).astype(np.int64)
    last = np.floor(np.square(roots + delta)).astype(np.int64)
    found = []
    for at in np.flatnonzero(last >= first).tolist():
        for m in range(max(2, int(first[at])), int(last[at]) + 1):
            # The squares above are rounded: ask again, at the root itself.
            if m < 2**32 and abs(math.sqrt(m) - roots[at]) <= delta:
                found.append(m)
    return found
