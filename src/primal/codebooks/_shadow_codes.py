"""Kind ``shadow``: primes chosen so that their codes follow a designed set of frequencies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal.codebooks._cyclotomic import DEFAULT_STEPS, cyclotomic_target, has_cosets
from primal.codebooks._designs import shipped_design
from primal.codebooks._prime_codes import PrimeCodes
from primal.codebooks._shadow import tightest_shadow
from primal.codebooks._singer import difference_set, singer_order
from primal.errors import ParameterError, PrimalError

__all__ = ["cyclotomic_shadow", "design_shadow", "shadow_codes", "singer_shadow"]

Progress = Callable[[int, int], None]
# The frequencies are fractions u / P with P >= N and P > D, and searching for them goes through all
# sizes near D.
_LARGEST_N, _LARGEST_D = 2**31, 2**17


def shadow_codes(
    N: int,
    D: int,
    field: str,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> PrimeCodes:
    """Return the shipped design for (N, D, field), or search for one.

    Parameters
    ----------
    steps, seconds
        Budget of the search; giving either asks for a new search even if a design is shipped.
    progress : callable, optional
        Told (steps done, steps in all).

    Raises
    ------
    ParameterError
        If neither a cyclotomic set nor a difference set fits.
    """
    if steps is None and seconds is None:
        design = shipped_design(N, D, field)
        if design is not None:
            return PrimeCodes("shadow", N, D, design.primes, view=design.view)
    return design_shadow(N, D, field, steps=steps, seconds=seconds, progress=progress)


def design_shadow(
    N: int,
    D: int,
    field: str,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> PrimeCodes:
    """Return the better of a Singer and a cyclotomic shadow, by their exact coherence."""
    if N > _LARGEST_N or D > _LARGEST_D:
        raise ParameterError(
            f"kind 'shadow' takes N up to {_LARGEST_N} and D up to {_LARGEST_D}, got {N} and {D}: "
            "use kind='static'."
        )
    found, refusals = [], []
    attempts: list[Callable[[], PrimeCodes]] = [lambda: singer_shadow(N, D, field)]
    if field == "real":
        attempts.append(
            lambda: cyclotomic_shadow(N, D, steps=steps, seconds=seconds, progress=progress)
        )
    for attempt in attempts:
        try:
            found.append(attempt())
        except PrimalError as refusal:
            refusals.append(str(refusal))
    if not found:
        raise ParameterError(" ".join(refusals))
    return min(found, key=lambda codes: codes.evidence().mu)


def cyclotomic_shadow(
    N: int,
    D: int,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> PrimeCodes:
    """Return a shadow of the best union of cyclotomic cosets, one real code for each position.

    When no union has exactly D / 2 frequencies, a slightly smaller one is padded with zeros.
    """
    budget = {
        "steps": DEFAULT_STEPS if steps is None else steps,
        "seconds": seconds,
        "progress": progress or (lambda done, total: None),
    }
    sizes = range(D - D % 2, max(1, int(0.9 * D) - 1), -2)
    smaller = next((size for size in sizes if has_cosets(N, size)), D)
    target = cyclotomic_target(N, smaller, **budget)
    frequencies = [u / target.P for u in target.numerators]
    (primes,), _ = tightest_shadow([frequencies], N, signed=False)
    return PrimeCodes("shadow", N, D, primes, view="real")


def singer_shadow(N: int, D: int, field: str) -> PrimeCodes:
    """Return a shadow of a perfect difference set: phasors, or real codes z and i z."""
    q = singer_order("shadow", N, D, field)
    modulus = q * q + q + 1
    view = "phasor" if field == "complex" else "paired"
    residues = np.array(difference_set(q))
    offset = _offset_away_from_halves(residues, modulus)
    targets = ((residues + offset) / modulus).tolist()
    n_positions = N if field == "complex" else -(-N // 2)
    (primes,), _ = tightest_shadow([targets], n_positions, signed=True)
    return PrimeCodes("shadow", N, D, primes, view=view)


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
