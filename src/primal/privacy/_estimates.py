"""Numbers with 95 % intervals, and what an attack found with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_Z = 1.959963984540054  # the normal law lies within so many deviations, 95 % of it


@dataclass(frozen=True)
class Estimate:
    """A measured value with limits, from n observations; what the limits are is said with it."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Finding:
    """What one attack achieved.

    Attributes
    ----------
    attack : str
    knows : str
        What the attacker knows; without it the numbers mean nothing.
    numbers : mapping of str to Estimate
        With 95 % intervals.
    """

    attack: str
    knows: str
    numbers: Mapping[str, Estimate]

    def __str__(self) -> str:
        found = "; ".join(f"{name} {value}" for name, value in self.numbers.items())
        return f"{self.attack} (the attacker knows {self.knows}): {found}"


def share(hits: Any) -> Estimate:
    """Return the share of true values, with Wilson's interval.

    >>> str(share([True] * 10))
    '1 (0.722 to 1)'
    """
    flags = np.asarray(hits, dtype=bool).ravel()
    return _wilson(float(flags.mean()), len(flags))


def _wilson(p: float, n: int) -> Estimate:
    centre, spread = p + _Z**2 / (2 * n), _Z * math.sqrt(p * (1 - p) / n + (_Z / (2 * n)) ** 2)
    low, high = ((centre + sign * spread) / (1 + _Z**2 / n) for sign in (-1, 1))
    return Estimate(p, min(low, p), max(high, p), n)  # rounding aside, p lies between


def median(values: Any) -> Estimate:
    """Return the median, between two order statistics: an interval for any law.

    >>> str(median(range(101)))
    '50 (40 to 60)'
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    n = len(ordered)
    middle, reach = (n - 1) / 2.0, _Z * math.sqrt(n) / 2.0
    low, high = max(0, math.floor(middle - reach)), min(n - 1, math.ceil(middle + reach))
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[high]), n)


def mean_range(values: Any) -> Estimate:
    """Return the mean, with the smallest and the largest value as limits."""
    array = np.asarray(values, dtype=np.float64).ravel()
    low, high = float(array.min()), float(array.max())
    return Estimate(min(max(float(array.mean()), low), high), low, high, len(array))


def auc(positive: Any, negative: Any) -> Estimate:
    """Return the chance that a positive scores above a negative, with DeLong's interval.

    Where no pair is the exception, that has no width: then it is Wilson's, for the smaller number
    of scores. The variance of this chance, p, is at most p (1 - p) over that number.

    >>> auc([3.0, 4.0], [1.0, 2.0]).value, auc([1.0, 1.0], [1.0, 1.0]).value
    (1.0, 0.5)
    """
    p, q = (np.asarray(scores, dtype=np.float64).ravel() for scores in (positive, negative))
    n = min(len(p), len(q))
    of_p, of_q = _above(p, np.sort(q)), 1.0 - _above(q, np.sort(p))
    value = float(of_p.mean())
    variance = sum(float(part.var(ddof=1)) / len(part) for part in (of_p, of_q) if len(part) > 1)
    if not variance:
        return _wilson(value, n)
    reach = _Z * math.sqrt(variance)
    return Estimate(value, max(0.0, value - reach), min(1.0, value + reach), n)


def _above(scores: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return for each score the share of others below it, ties counted half."""
    below, not_above = (np.searchsorted(ordered, scores, side=s) for s in ("left", "right"))
    return (below + not_above) / (2.0 * len(ordered))
