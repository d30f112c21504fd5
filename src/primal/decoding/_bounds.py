"""Bounds from probability that the certificates are made of."""

import math

import numpy as np

# Standard deviations that a normal variable exceeds once in 100,000 and once in two million.
SELDOM, RARELY = 4.265, 4.892


def chi_squared_limit(freedom: float, deviations: float = SELDOM) -> float:
    """Return what a chi-squared variable exceeds at most as often (Wilson and Hilferty).

    Their quantiles are a little large where the freedom is small.
    """
    if freedom <= 0.0:
        return 0.0
    spread = 2.0 / (9.0 * freedom)
    return freedom * (1.0 - spread + deviations * math.sqrt(spread)) ** 3


def chi_squared_tail(freedom: float, value: float) -> float:
    """Return how often a chi-squared variable exceeds a value (Wilson and Hilferty)."""
    spread = 2.0 / (9.0 * freedom)
    deviations = ((value / freedom) ** (1.0 / 3.0) - 1.0 + spread) / math.sqrt(spread)
    return 0.5 * math.erfc(deviations / math.sqrt(2.0))


def log2_shifted_within(freedom: float, limit: float, shift_squared: np.ndarray) -> np.ndarray:
    """Return log2 of a bound on P(|w + u|**2 <= limit), w standard normal, |u|**2 given.

    Chernoff: exp(t limit) E exp(-t |w + u|**2) for the best of many t.
    """
    t = np.geomspace(1e-3, 1e3, 200)
    fixed = t * limit - 0.5 * freedom * np.log1p(2.0 * t)
    bounds = fixed - np.asarray(shift_squared)[..., None] * (t / (1.0 + 2.0 * t))
    return np.minimum(0.0, bounds.min(axis=-1)) / math.log(2.0)


def log2_ball(n: float, radius_squared: float) -> float:
    """Return log2 of the volume of a ball in n dimensions; 0 when n is 0."""
    if n <= 0.0:
        return 0.0
    log_volume = n / 2.0 * math.log(math.pi * radius_squared) - math.lgamma(n / 2.0 + 1.0)
    return log_volume / math.log(2.0)
