"""What coherence to expect before any code is made: an extreme-value law.

Treat the N - 1 similarities of a Toeplitz codebook as independent draws of the mean of k
cosines of uniform phases. That is a heuristic: it is exact for no codebook, and within a few
percent for StaticPrime and for random frequencies (docs/codebooks.md has the comparison).
"""

import math
from typing import NamedTuple

import numpy as np

from primal._checks import even_dimension, one_of, real_number, whole_number
from primal.codebooks.bounds import bisect

# Beyond this the tails of similarities are no floats.
_LARGEST_D = 1 << 53
MODELS = ("toeplitz", "gaussian")
# Of 64 angles between 0 and 1.
_HALF_ANGLES = (np.arange(64) + 0.5) / 128.0
# Gauss and Legendre's rule on [-1, 1].
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def predict_coherence(N: int, D: int, quantile: float = 0.5, *, model: str = "toeplitz") -> float:
    """Return a quantile of the coherence that N codes in D dimensions will have.

    Parameters
    ----------
    N, D : int
        Number of codes and of real dimensions, at least 2; D even for ``"toeplitz"``.
    quantile : float, default=0.5
        Strictly between 0 and 1.
    model : {"toeplitz", "gaussian"}, default="toeplitz"
        Codes whose similarity depends on the lag alone, such as StaticPrime; or independent
        random directions.

    Returns
    -------
    float
        The largest |cosine| between two codes, in [0, 1].

    Examples
    --------
    >>> from primal.codebooks import predict_coherence
    >>> round(predict_coherence(1000, 64), 5), round(predict_coherence(1000, 64, 0.95), 5)
    (0.41678, 0.49243)
    """
    N = whole_number("N", N, least=2)
    D = _dimension(D, model)
    quantile = real_number("quantile", quantile, above=0.0, below=1.0)
    draws = N - 1 if model == "toeplitz" else N * (N - 1) // 2
    # 2 T(x) = 1 - quantile**(1 / draws), to first order where draws may be beyond floats.
    rate = -math.log(quantile)
    log_target = math.log(rate) - math.log(draws)
    if draws < _LARGEST_D:
        log_target = math.log(-math.expm1(-rate / draws))
    if model == "gaussian":
        return bisect(lambda x: log_target - log_direction_tail(D, x), 0.0, 1.0)
    # In terms of the tilt s there is no equation to be solved for every tail.
    log_target -= math.log(2.0)
    high = 1.0
    while high < 1e18 and _log_tilted_tail(D // 2, high) > log_target:
        high *= 4.0
    return tilted(bisect(lambda s: log_target - _log_tilted_tail(D // 2, s), 0.0, high)).mean


def _log_tilted_tail(k: int, s: float) -> float:
    """Return ln P((1/k) sum of cos(2 pi U_m) > x), U_m uniform.

    Lugannani and Rice's formula with the cumulant function K = ln I_0, whose derivative at s is x,
    the mean of the cosine of a phase with density exp(s cos t).
    """
    law = tilted(s)
    exponent = max(0.0, k * law.exponent)
    w = math.sqrt(2.0 * exponent)
    u = s * math.sqrt(k * law.variance)
    if exponent > 600.0:
        # The normal tail underflows: keep the density times the leading correction.
        return -exponent - math.log(math.sqrt(2.0 * math.pi) * u)
    if w < 1e-3:  # the two corrections cancel to nothing
        return math.log(0.5 * math.erfc(w / math.sqrt(2.0)))
    density = math.exp(-exponent) / math.sqrt(2.0 * math.pi)
    return math.log(0.5 * math.erfc(w / math.sqrt(2.0)) + density * (1.0 / u - 1.0 / w))


def _dimension(D: int, model: str) -> int:
    if one_of("model", model, MODELS) == "toeplitz":
        return even_dimension(whole_number("D", D, least=1, most=_LARGEST_D))
    return whole_number("D", D, least=2, most=_LARGEST_D)


class Tilted(NamedTuple):
    """Of the cosine of a phase with density exp(s cos t): mean x, 1 - x and variance.

    And of its rate function s x - ln I_0(s); the mean is I_1(s) / I_0(s).
    """

    mean: float
    gap: float
    variance: float
    exponent: float


def tilted(s: float) -> Tilted:
    """Return the law of a tilted cosine for s >= 0, each number without cancellation."""
    # The mean of exp(s (cos t - 1)) over a period, or over its peak: beyond that it is below 1e-17.
    # Either way the trapezoidal rule is exact to rounding with so many points.
    half = math.pi if s < 40.0 else 10.0 / math.sqrt(s)
    lost = 2.0 * np.square(np.sin(half * _HALF_ANGLES))  # 1 - cos t
    weights = half / math.pi * np.exp(-s * lost)
    total = float(weights.sum())
    weights /= total
    gap = float(lost @ weights)
    variance = float(np.square(lost - gap) @ weights)
    # I_1 by Poisson's integral of sin(t)**2.
    mean = s * float((lost * (2.0 - lost)) @ weights)
    if s < 1.0:
        log_i0 = math.log1p(2.0 * float(np.square(np.sinh(0.5 * s * (1.0 - lost))).mean()))
        return Tilted(mean, gap, variance, s * mean - log_i0)
    return Tilted(mean, gap, variance, -s * gap - math.log(total / len(lost)))


def log_direction_tail(D: int, x: float) -> float:
    """Return ln P(|cosine| > x) for two random directions in D >= 2 dimensions, 0 < x < 1.

    A cosine has the density cos(t)**(D - 2) in its latitude t: its sine is the cosine.
    """
    return _log_cap(D - 2, x) - _log_cap(D - 2, 0.0)


def _log_cap(n: int, x: float) -> float:
    """Return the logarithm of the integral of cos(t)**n from t = arcsin(x) to a right angle."""
    root = math.sqrt((1.0 - x) * (1.0 + x))
    slope, to_pole = x / root, math.atan2(root, x)
    width = to_pole
    if n:  # beyond this the integrand is below exp(-40) of its first value
        width = min(to_pole, 80.0 / n / (slope + math.sqrt(slope * slope + 80.0 / n)))
    steps = 0.5 * width * (1.0 + _NODES)
    # ln cos(t) without cancellation, where t is small as where it is next to a right angle.
    tangents = np.tan(math.asin(x) + steps) if x < 0.5 else 1.0 / np.tan(to_pole - steps)
    log_cosines = -0.5 * np.log1p(np.square(tangents))
    highest = -0.5 * math.log1p(slope * slope)
    integral = 0.5 * width * float(_WEIGHTS @ np.exp(n * (log_cosines - highest)))
    return n * highest + math.log(integral)
