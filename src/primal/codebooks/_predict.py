"""What coherence to expect before any code is made: an extreme-value law.

Treat the N - 1 similarities of a Toeplitz codebook as independent draws of the mean of k
cosines of uniform phases. That is a heuristic: it is exact for no codebook, and within a few
percent for StaticPrime and for random frequencies (docs/codebooks.md has the comparison).
"""

import math
import operator

import numpy as np

from primal._checks import even_dimension, one_of, real_number, whole_number
from primal.codebooks.bounds import bisect

# Beyond this the tails of similarities are no floats.
_LARGEST_D = 1 << 53
MODELS = ("toeplitz", "gaussian")


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
        The worst similarity of any two codes, in [0, 1].

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
    # 2 T(x) = 1 - quantile**(1 / draws)
    log_target = math.log(-math.expm1(math.log(quantile) / draws))
    return bisect(lambda x: log_target - _log_two_sided(x, D, model), 1e-9, 1.0 - 1e-9)


def capacity(D: int, coherence: float, *, model: str = "toeplitz") -> float:
    """Return how many codes in D dimensions have this median coherence.

    Parameters
    ----------
    D : int
        Number of real dimensions, as in :func:`predict_coherence`.
    coherence : float
        Strictly between 0 and 1.
    model : {"toeplitz", "gaussian"}, default="toeplitz"
        As in :func:`predict_coherence`.

    Returns
    -------
    float
        It soon leaves the range of integers worth counting; ``inf`` beyond the range of floats.

    Examples
    --------
    >>> import math
    >>> from primal.codebooks import capacity
    >>> round(math.log10(capacity(1024, 0.2)), 1)
    9.7
    """
    D = _dimension(D, model)
    coherence = real_number("coherence", coherence, above=0.0, below=1.0)
    log_draws = math.log(math.log(2.0)) - _log_two_sided(coherence, D, model)
    log_n = log_draws if model == "toeplitz" else 0.5 * (math.log(2.0) + log_draws)
    return math.exp(log_n) if log_n < 709.0 else math.inf


def log_mean_cosine_tail(k: int, x: float) -> float:
    """Return ln P((1/k) sum of cos(2 pi U_m) > x), U_m uniform, 0 < x < 1.

    Lugannani and Rice's formula with the cumulant function K = ln I_0.
    """
    # I_1(s) / I_0(s) = x; s is between 2 x (small x) and 1 / (1 - x) or so (large x).
    s = bisect(
        lambda s: operator.truediv(*scaled_bessel(s)[::-1]) - x,
        0.0,
        4.0 * x / (1.0 - x * x) + 1e-12,
    )
    log_i0 = math.log(scaled_bessel(s)[0]) + s
    exponent = max(0.0, k * (s * x - log_i0))
    w = math.sqrt(2.0 * exponent)
    u = s * math.sqrt(k * max(1.0 - x / s - x * x, 1e-300))
    if exponent > 600.0:
        # The normal tail underflows: keep the density times the leading correction.
        return -exponent - math.log(math.sqrt(2.0 * math.pi) * u)
    if w < 1e-3:  # the two corrections cancel to nothing
        return math.log(0.5 * math.erfc(w / math.sqrt(2.0)))
    density = math.exp(-exponent) / math.sqrt(2.0 * math.pi)
    return math.log(0.5 * math.erfc(w / math.sqrt(2.0)) + density * (1.0 / u - 1.0 / w))


def _log_two_sided(x: float, D: int, model: str) -> float:
    if model == "toeplitz":
        return math.log(2.0) + log_mean_cosine_tail(D // 2, x)
    return log_beta_tail((D - 1) / 2.0, 1.0 - x * x)


def _dimension(D: int, model: str) -> int:
    if one_of("model", model, MODELS) == "toeplitz":
        return even_dimension(whole_number("D", D, least=1, most=_LARGEST_D))
    return whole_number("D", D, least=2, most=_LARGEST_D)


def scaled_bessel(s: float) -> tuple[float, float]:
    """Return (exp(-s) I_0(s), exp(-s) I_1(s)) for s >= 0."""
    # The mean of exp(s (cos t - 1)) over a period, or over its peak: beyond that it is below 1e-17.
    # Either way the trapezoidal rule is exact to rounding with so many points.
    half = math.pi if s < 40.0 else 10.0 / math.sqrt(s)
    t = half / 64.0 * (np.arange(64) + 0.5)
    values = half / math.pi * np.exp(-2.0 * s * np.square(np.sin(0.5 * t)))
    # Poisson's integral for I_1, which has no terms that cancel.
    return float(values.mean()), s * float((np.square(np.sin(t)) * values).mean())


def log_beta_tail(a: float, x: float) -> float:
    """Return ln I_x(a, 1/2), the regularised incomplete beta function, for 0 < x <= 1."""
    b = 0.5
    if x >= 1.0:
        return 0.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x <= (a + 1.0) / (a + b + 2.0):
        return log_front - math.log(a) + math.log(_beta_fraction(a, b, x))
    other = math.exp(log_front) / b * _beta_fraction(b, a, 1.0 - x)
    return math.log1p(-other)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of I_x(a, b), by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or tiny)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or tiny)
            c = 1.0 + term / c or tiny
            value *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return value
