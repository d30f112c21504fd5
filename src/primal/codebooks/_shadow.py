"""Kind ``shadow``: primes whose square roots have the fractions of a designed set of frequencies.

The fractions of square roots of primes are dense, so for any list of target frequencies there
are primes that follow it as closely as N codes can tell: with |frac sqrt(p) - a| <= delta the
cosine at lag l moves by at most 2 pi l delta.

Common sizes need no search: ``designs.txt``, made by ``tools/design_codebooks.py``, has their
targets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from primal.codebooks._codebook import SearchBudget
from primal.codebooks._cyclotomic import Target, coset_options, cyclotomic_target
from primal.codebooks._numbers import is_prime
from primal.codebooks._prime_codes import PrimeCodes
from primal.codebooks._rational import difference_set, singer_order
from primal.errors import ParameterError, PrimalError

# Largest lag times delta, from tight to loose: the tightest that has primes below 2**32 wins.
_TOLERANCES = (0.001, 0.003, 0.01, 0.02, 0.05)
_LARGEST_WHOLE_PART = 65535  # p < 2**32
_FIRST_SCAN = 256
# The frequencies are fractions u / P with P >= N and P > D, and searching for them goes through all
# sizes near D.
_LARGEST_N, _LARGEST_D = 2**31, 2**17


class Shadow(PrimeCodes):
    """A shipped design, or the better of a Singer and a cyclotomic shadow.

    Giving a budget asks for a new search even if a design is shipped.
    """

    kind, _options = "shadow", ("primes", "view")
    target: Target | None = None  # of cosets, where it was made from them

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Shadow:
        shipped = shipped_design(N, D, field)
        if shipped is not None and budget.steps is None and budget.seconds is None:
            return cls(N, D, field, shipped.primes, shipped.view)
        if N > _LARGEST_N or D > _LARGEST_D:
            raise ParameterError(
                f"kind 'shadow' takes N up to {_LARGEST_N} and D up to {_LARGEST_D}, got {N} and "
                f"{D}: use kind='static'."
            )
        found, refusals = [], []
        for attempt in (cls.of_singer, cls.of_cosets) if field == "real" else (cls.of_singer,):
            try:
                found.append(attempt(N, D, field, budget))
            except PrimalError as refusal:
                refusals.append(str(refusal))
        if not found:
            raise ParameterError(" ".join(refusals))
        return min(found, key=lambda codes: codes._coherence())

    @classmethod
    def of_cosets(cls, N: int, D: int, field: str, budget: SearchBudget) -> Shadow:
        """Return a shadow of the best union of cyclotomic cosets, one real code for each position.

        When no union has exactly D / 2 frequencies, a slightly smaller one is padded with zeros.
        """
        sizes = range(D - D % 2, max(1, int(0.9 * D) - 1), -2)
        smaller = next((size for size in sizes if coset_options(N, size)), D)
        return cls.of_target(N, D, field, cyclotomic_target(N, smaller, budget))

    @classmethod
    def of_target(cls, N: int, D: int, field: str, target: Target) -> Shadow:
        """Return the shadow of a union of cosets."""
        frequencies = [u / target.P for u in target.numerators]
        (primes,) = tightest_shadow([frequencies], N, signed=False)
        codes = cls(N, D, field, primes, "real")
        codes.target = target
        return codes

    @classmethod
    def of_singer(cls, N: int, D: int, field: str, budget: SearchBudget | None = None) -> Shadow:
        """Return a shadow of a perfect difference set: phasors, or real codes z and i z."""
        q = singer_order("shadow", N, D, field)
        modulus = q * q + q + 1
        residues = np.array(difference_set(q))
        offset = _offset_away_from_halves(residues, modulus)
        targets = ((residues + offset) / modulus).tolist()
        n_positions = N if field == "complex" else -(-N // 2)
        (primes,) = tightest_shadow([targets], n_positions, signed=True)
        return cls(N, D, field, primes, "phasor" if field == "complex" else "paired")


def _offset_away_from_halves(residues: np.ndarray, modulus: int) -> float:
    """Return the common shift, in units of 1 / P, that keeps targets furthest from 0 and 1/2.

    A shift turns every code by a common phase and changes no |inner product|. Only very large
    primes have square roots next to whole or half numbers.
    """
    shifts = np.arange(modulus) + 0.382
    # On a circle of half a turn both are one point; a shift moves it into a gap of the targets.
    circle = modulus / 2
    targets = np.sort(residues % circle)
    around = np.concatenate([targets[-1:] - circle, targets, targets[:1] + circle])
    points = -shifts % circle
    after = np.searchsorted(around, points)
    distance = np.minimum(around[after] - points, points - around[after - 1])

    def nearest(shift: float) -> float:
        turns = 2 * (residues + shift) / modulus
        return float(np.abs(turns - np.rint(turns)).min())

    return max(shifts[distance > distance.max() - 1e-6].tolist(), key=nearest)


class Design(NamedTuple):
    """A shadow that was found before; its coherence is recomputed by the certificate."""

    N: int
    D: int
    field: str
    view: str
    coherence: float
    primes: list[int]


@cache
def shipped_design(N: int, D: int, field: str) -> Design | None:
    """Return the design for exactly this size, or None."""
    if (N, D, field) not in shipped_lines():
        return None
    coherence, *numbers = shipped_lines()[N, D, field].split()[3:]
    if numbers:
        P, h, *cosets = map(int, numbers)
        codes = Shadow.of_target(N, D, field, Target(P, h, tuple(cosets), float(coherence)))
    else:
        codes = Shadow.of_singer(N, D, field)
    return Design(N, D, field, codes.view, float(coherence), codes.primes.tolist())


@cache
def shipped_lines() -> dict[tuple[int, int, str], str]:
    """Return the lines of the table by (N, D, field).

    Each is N, D, field and coherence; then, unless the target is a perfect difference set, P, h
    and a residue of each coset.
    """
    source = Path(__file__).with_name("designs.txt")
    if not source.is_file():  # while the table itself is being made
        return {}
    table = {}
    for line in source.read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            N, D, field = line.split(maxsplit=3)[:3]
            table[int(N), int(D), field] = line
    return table


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
        low, high = high, 2 * high
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
