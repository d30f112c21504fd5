"""Kind ``shadow``: primes whose square roots have the fractions of a design.

Common sizes need no search: ``designs.txt``, made by ``tools/design_codebooks.py``, has
their targets.
"""

from copy import copy
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from primal.codebooks._codebook import SearchBudget
from primal.codebooks._cyclotomic import Target, coset_options, cyclotomic_target
from primal.codebooks._numbers import tightest_shadow
from primal.codebooks._phase_codes import PrimeCodes
from primal.codebooks._rational import difference_set, singer_order
from primal.errors import ParameterError, PrimalError

# The frequencies are fractions u / P with P >= N and P > D, and searching for them goes through all
# sizes near D.
_LARGEST_N, _LARGEST_D = 2**31, 2**17
# A common shift of the targets, in units of 1 / P. One half would put a target next to the
# fraction 1/2, which only very large primes have.
_SHIFT = 0.382


class Shadow(PrimeCodes):
    """A shipped design, or the better of a Singer and a cyclotomic shadow.

    Giving a budget asks for a new search even if a design is shipped.
    """

    kind, _options = "shadow", ("primes", "view")
    target: Target | None = None  # of cosets, where it was made from them

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> PrimeCodes:
        shipped = shipped_design(N, D, field)
        if shipped is not None and budget.steps is None and budget.seconds is None:
            return copy(shipped[1])
        if N > _LARGEST_N or D > _LARGEST_D:
            raise ParameterError(
                f"kind 'shadow' takes N up to {_LARGEST_N} and D up to {_LARGEST_D}, got {N} and "
                f"{D}: use kind='static'."
            )
        attempts = [lambda: cls.of_singer(N, D, field)]
        if field == "real":
            attempts.append(lambda: cls.of_cosets(N, D, budget))
        found, reasons = [], []
        for attempt in attempts:
            try:
                found.append(attempt())
            except PrimalError as error:
                reasons.append(str(error))
        if not found:
            raise ParameterError(" ".join(reasons))
        return min(found, key=lambda codes: codes._evidence().coherence)

    @classmethod
    def of_cosets(cls, N: int, D: int, budget: SearchBudget) -> Self:
        """Return a shadow of the best union of cyclotomic cosets, one real code for each position.

        When no union has exactly D / 2 frequencies, a slightly smaller one is padded with zeros.
        """
        sizes = range(D - D % 2, max(1, int(0.9 * D) - 1), -2)
        smaller = next((size for size in sizes if coset_options(N, size)), D)
        return cls.of_target(N, D, cyclotomic_target(N, smaller, budget))

    @classmethod
    def of_target(cls, N: int, D: int, target: Target) -> Self:
        """Return the shadow of a union of cosets."""
        frequencies = [u / target.P for u in target.numerators]
        codes = cls(N, D, "real", tightest_shadow(frequencies, N, signed=False), "real")
        codes.target = target
        return codes

    @classmethod
    def of_singer(cls, N: int, D: int, field: str) -> Self:
        """Return a shadow of a perfect difference set: phasors, or real codes z and i z."""
        q = singer_order("shadow", N, D, field)
        modulus = q * q + q + 1
        residues = np.array(difference_set(q))
        offset = _offset_away_from_halves(residues, modulus)
        targets = ((residues + offset) / modulus).tolist()
        n_positions = N if field == "complex" else -(-N // 2)
        primes = tightest_shadow(targets, n_positions, signed=True)
        return cls(N, D, field, primes, "phasor" if field == "complex" else "paired")


def _offset_away_from_halves(residues: np.ndarray, modulus: int) -> float:
    """Return the common shift, in units of 1 / P, that keeps targets furthest from 0 and 1/2.

    A shift turns every code by a common phase and changes no |inner product|. Only very large
    primes have square roots next to whole or half numbers.
    """
    shifts = np.arange(modulus) + _SHIFT
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


@cache
def shipped_design(N: int, D: int, field: str) -> tuple[float, Shadow] | None:
    """Return the design for exactly this size and its coherence, or None."""
    if (N, D, field) not in shipped_lines():
        return None
    coherence, *numbers = shipped_lines()[N, D, field].split()[3:]
    if not numbers:
        return float(coherence), Shadow.of_singer(N, D, field)
    P, h, *cosets = map(int, numbers)
    target = Target(P, h, tuple(cosets), float(coherence))
    return float(coherence), Shadow.of_target(N, D, target)


@cache
def shipped_lines() -> dict[tuple[int, int, str], str]:
    """Return the lines of the table by (N, D, field).

    Each is N, D, field and coherence; then, unless the target is a perfect difference set, P, h
    and a residue of each coset.
    """
    table = Path(__file__).with_name("designs.txt").read_text(encoding="ascii")
    lines = [line for line in table.splitlines() if line[0] != "#"]
    sizes = [line.split(maxsplit=3)[:3] for line in lines]
    keys = [(int(N), int(D), field) for N, D, field in sizes]
    return dict(zip(keys, lines, strict=True))
