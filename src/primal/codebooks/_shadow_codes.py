"""Kind ``shadow``: primes chosen so that their codes follow a designed set of frequencies.

Common sizes need no search: ``designs.txt``, made by ``tools/design_codebooks.py``, has one line
for each design: N, D, field, view, coherence, then the primes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from primal.codebooks._codebook import SearchBudget
from primal.codebooks._cyclotomic import coset_options, cyclotomic_target
from primal.codebooks._prime_codes import PrimeCodes
from primal.codebooks._rational import difference_set, singer_order
from primal.codebooks._shadow import tightest_shadow
from primal.errors import ParameterError, PrimalError

__all__ = ["Design", "Shadow", "shipped_design", "shipped_lines"]

# The frequencies are fractions u / P with P >= N and P > D, and searching for them goes through all
# sizes near D.
_LARGEST_N, _LARGEST_D = 2**31, 2**17


class Shadow(PrimeCodes):
    """A shipped design, or the better of a Singer and a cyclotomic shadow.

    Giving a budget asks for a new search even if a design is shipped.
    """

    kind, _options = "shadow", ("primes", "view")

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
        target = cyclotomic_target(N, smaller, budget)
        frequencies = [u / target.P for u in target.numerators]
        (primes,) = tightest_shadow([frequencies], N, signed=False)
        return cls(N, D, field, primes, "real")

    @classmethod
    def of_singer(cls, N: int, D: int, field: str, budget: SearchBudget) -> Shadow:
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
    best, widest = shifts[0], -1.0
    for shift in shifts[distance > distance.max() - 1e-6].tolist():
        turns = 2 * (residues + shift) / modulus
        nearest = float(np.abs(turns - np.rint(turns)).min())
        if nearest > widest:
            best, widest = shift, nearest
    return float(best)


class Design(NamedTuple):
    """A shadow that was found before; its coherence is recomputed by the certificate."""

    N: int
    D: int
    field: str
    view: str
    coherence: float
    primes: tuple[int, ...]


def shipped_design(N: int, D: int, field: str) -> Design | None:
    """Return the design for exactly this size, or None."""
    if (N, D, field) not in shipped_lines():
        return None
    view, coherence, *primes = shipped_lines()[N, D, field].split()[3:]
    return Design(N, D, field, view, float(coherence), tuple(map(int, primes)))


@cache
def shipped_lines() -> dict[tuple[int, int, str], str]:
    """Return the lines of the table by (N, D, field), each unread until it is needed."""
    source = Path(__file__).with_name("designs.txt")
    if not source.is_file():  # while the table itself is being made
        return {}
    table = {}
    for line in source.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            N, D, field = line.split(maxsplit=3)[:3]
            table[int(N), int(D), field] = line
    return table
