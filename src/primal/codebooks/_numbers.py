"""Small number theory: primes, primitive roots, a counter that scrambles.

And shadows: the fractions of square roots of primes are dense, so for any list of target
frequencies there are primes that follow it as closely as N codes can tell: with
|frac sqrt(p) - a| <= delta the cosine at lag l moves by at most 2 pi l delta.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count

import numpy as np

from primal.errors import PrimalError

# Largest lag times delta, from tight to loose: the tightest that has primes below 2**32 wins.
_TOLERANCES = (0.001, 0.003, 0.01, 0.02, 0.05)
# Whole parts of the roots of p < 2**32, and how many are looked at first.
_WHOLE_PARTS, _FIRST_SCAN = 1 << 16, 256
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


def is_prime(n: int) -> bool:
    """Return whether n is prime; right for every n below 3.8e18 (Miller and Rabin's test)."""
    if n < 2:
        return False
    for p in _SMALL:
        if n % p == 0:
            return n == p
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1

    def passes(base: int) -> bool:
        x = pow(base, odd, n)
        return x in (1, n - 1) or any((x := x * x % n) == n - 1 for _ in range(twos - 1))

    # The first four bases serve up to 3.2e9, nine of them up to 3.8e18.
    return all(passes(base) for base in _SMALL[: 4 if n < 3_215_031_751 else 9])


def prime_at_most(n: int, *, residue: int = 0, modulus: int = 1) -> int | None:
    """Return the largest prime p <= n with p = residue modulo `modulus`, or None."""
    return next((p for p in range(n, 1, -1) if p % modulus == residue and is_prime(p)), None)


def prime_at_least(n: int, *, residue: int = 0, modulus: int = 1) -> int:
    """Return the smallest prime p >= n with p = residue modulo `modulus`."""
    return next(p for p in count(max(n, 2)) if p % modulus == residue and is_prime(p))


def divisors(n: int) -> list[int]:
    """Return the divisors of n, rising."""
    low = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return low + [n // d for d in reversed(low) if d * d != n]


def primitive_root(p: int) -> int:
    """Return the smallest generator of the non-zero residues modulo a prime p."""
    orders = [(p - 1) // q for q in divisors(p - 1) if is_prime(q)]
    return next(g for g in range(1, p) if all(pow(g, order, p) != 1 for order in orders))


def scrambled(counter: int, n: int) -> np.ndarray:
    """Return n uint64 values that look unordered: SplitMix64 of counter, counter + 1, ...

    Searches take their starting points from here, so that they need no random numbers.
    """
    z = np.arange(counter, counter + n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def scrambled_order(counter: int, n: int) -> np.ndarray:
    """Return 0, ..., n - 1 in an order that depends on `counter` alone."""
    return np.argsort(scrambled(counter, n), kind="stable")


class ShadowError(PrimalError):
    """No prime below 2**32 comes close enough to a target frequency."""


def tightest_shadow(targets: Sequence[float], n_lags: int, *, signed: bool) -> list[int]:
    """Return :func:`shadow_primes` at the tightest tolerance that has primes for all targets."""
    for c in _TOLERANCES[:-1]:
        with suppress(ShadowError):
            return shadow_primes(targets, c / n_lags, signed=signed)
    return shadow_primes(targets, _TOLERANCES[-1] / n_lags, signed=signed)


def shadow_primes(targets: Sequence[float], delta: float, *, signed: bool) -> list[int]:
    """Return, for each target in order, the smallest unused prime below 2**32 that shadows it.

    Targets are frequencies in turns, `delta` is the largest distance between one and the fraction
    of sqrt(p). Without a sign a and 1 - a do not differ, as for cosines and sines of one position.
    """
    chosen: dict[int, float] = {}
    for a in (target % 1.0 for target in targets):
        sides = (a,) if signed else (min(a, 1.0 - a), 1.0 - min(a, 1.0 - a))
        unused = (m for m in _near_squares(sides, delta) if m not in chosen and is_prime(m))
        prime = next(unused, None)
        if prime is None:
            raise ShadowError(
                f"no unused prime below 2**32 has a square root within {delta:.2g} turn of the "
                f"fraction {sides[0]:.9f}: ask for fewer codes."
            )
        chosen[prime] = a
    return list(chosen)


def _near_squares(sides: tuple[float, ...], delta: float) -> Iterator[int]:
    """Yield the integers from 2 to 2**32 with frac sqrt within delta of a side, rising."""
    low, high = 0, _FIRST_SCAN
    while low < _WHOLE_PARTS:
        whole_parts = np.arange(low, min(high, _WHOLE_PARTS), dtype=np.float64)
        roots = (whole_parts[:, None] + np.array(sides)).reshape(-1)
        first = np.ceil(np.square(roots - delta)).astype(np.int64)
        last = np.floor(np.square(roots + delta)).astype(np.int64)
        for at in np.flatnonzero(last >= first).tolist():
            for m in range(max(2, int(first[at])), int(last[at]) + 1):
                # The squares above are rounded: ask again, at the root itself.
                if m < 2**32 and abs(math.sqrt(m) - roots[at]) <= delta:
                    yield m
        low, high = high, 2 * high
