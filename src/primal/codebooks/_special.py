"""The few special functions that bounds and predictions need, in plain Python floats.

Written out here so that neither of them needs SciPy; tests compare them with mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

# From here on the asymptotic series of I_0 and I_1 reaches 1e-16.
_ASYMPTOTIC = 40.0


def bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """Return a root of a function that is negative at `low` and positive at `high`."""
    while high - low > 1e-15 * max(abs(low), abs(high)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if f(middle) < 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def scaled_bessel(s: float) -> tuple[float, float]:
    """Return (exp(-s) I_0(s), exp(-s) I_1(s)) for s >= 0."""
    if s >= _ASYMPTOTIC:
        scale = 1.0 / math.sqrt(2.0 * math.pi * s)
        return scale * _hankel_sum(0.0, s), scale * _hankel_sum(4.0, s)
    # The trapezoidal rule on a period: exact to rounding with so many points.
    cosines = np.cos(np.pi / 64.0 * (np.arange(64) + 0.5))
    values = np.cosh(s * cosines).mean(), (cosines * np.sinh(s * cosines)).mean()
    return math.exp(-s) * float(values[0]), math.exp(-s) * float(values[1])


def _hankel_sum(mu: float, s: float) -> float:
    total = term = 1.0
    for n in range(1, 40):
        term *= -(mu - (2 * n - 1) ** 2) / (8.0 * n * s)
        if abs(term) < 1e-18:
            break
        total += term
    return total


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


def jacobi(n: int, a: float, b: float, t: float) -> float:
    """Return the Jacobi polynomial P_n^(a,b)(t) divided by its value at 1."""
    if n == 0:
        return 1.0
    before, here = 1.0, 1.0 + (a + b + 2.0) * (t - 1.0) / (2.0 * (a + 1.0))
    for i in range(1, n):
        s = 2.0 * i + a + b
        grow = 2.0 * (i + a + 1.0) * (i + a + b + 1.0) * s
        middle = (s + 1.0) * (a * a - b * b) + s * (s + 1.0) * (s + 2.0) * t
        here, before = (middle * here - 2.0 * i * (i + b) * (s + 2.0) * before) / grow, here
    return here


def largest_jacobi_zero(n: int, a: float, b: float) -> float:
    """Return the largest zero of P_n^(a,b), or -1 for n = 0."""
    if n == 0:
        return -1.0
    i = np.arange(n, dtype=np.float64)
    s = 2.0 * i + a + b
    with np.errstate(invalid="ignore", divide="ignore"):  # the first ones are set below
        diagonal = (b * b - a * a) / (s * (s + 2.0))
        beside = 4.0 * i * (i + a) * (i + b) * (i + a + b) / (s * s * (s + 1.0) * (s - 1.0))
    diagonal[0] = (b - a) / (a + b + 2.0)
    beside = beside[1:]
    if n > 1:
        beside[0] = 4.0 * (1.0 + a) * (1.0 + b) / ((2.0 + a + b) ** 2 * (3.0 + a + b))
    matrix = np.diag(diagonal) + np.diag(np.sqrt(beside), 1) + np.diag(np.sqrt(beside), -1)
    return float(np.linalg.eigvalsh(matrix)[-1])
