"""Elementary functions from correctly rounded operations only (+ - * / sqrt, scaling).

A frequency table must have the same bits on every machine. The logarithm of the C library,
NumPy's own vectorised functions and a BLAS sum all differ between machines and versions in
the last place; the functions here do not, because IEEE 754 fixes every step of them.
"""

from collections.abc import Callable

import numpy as np

_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")  # 44 bits: times an exponent it is exact
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")


def unit_fractions(turns: np.ndarray) -> np.ndarray:
    """Return 64-bit turns as fractions in (0, 1): the middle of their 2**-52 cell.

    u and 1 - u are both exact in float64, so quantiles are exactly antisymmetric, and
    neither 0 nor 1 can occur.
    """
    return (2 * (turns >> np.uint64(12)) + np.uint64(1)).astype(np.float64) * 2.0**-53


def fold_sum(values: np.ndarray) -> np.ndarray:
    """Return the sum along the last axis, adding the upper half onto the lower until one is left.

    The order of a library's own sum may change with its version or with the processor.
    """
    n = values.shape[-1]
    if n == 0:
        return np.zeros(values.shape[:-1])
    half = (n + 1) // 2
    folded = values[..., :half].copy()
    folded[..., : n - half] += values[..., half:n]
    while half > 1:
        n, half = half, (half + 1) // 2
        folded[..., : n - half] += folded[..., half:n]
    return folded[..., 0]


def log(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithm of positive numbers, to about one unit in the last place."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < _SQRT_HALF
    mantissa = np.where(low, mantissa + mantissa, mantissa)
    exponent = (exponent - low).astype(np.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)  # at most 0.172
    z = s * s
    series = np.full_like(z, 1.0 / 25.0)
    for odd in range(23, 1, -2):
        series = series * z + 1.0 / odd
    atanh = s + s * (z * series)
    return exponent * _LN2_HIGH + (2.0 * atanh + exponent * _LN2_LOW)


def exp(x: np.ndarray) -> np.ndarray:
    """Return e**x, to about one unit in the last place, for |x| below 700."""
    k = np.rint(x * (1.0 / (_LN2_HIGH + _LN2_LOW)))
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    series = np.ones_like(r)
    for n in range(15, 0, -1):
        series = 1.0 + series * r / n
    return np.ldexp(series, k.astype(np.int64))


def normal_quantile(u: np.ndarray) -> np.ndarray:
    """Return the inverse of the normal distribution function.

    Rational approximations PPND16 of M. J. Wichura, Algorithm AS 241, Applied Statistics
    37 (1988) 477-484; relative accuracy about 1e-15. Exactly antisymmetric about 1/2.
    """
    q = u - 0.5
    tail = np.minimum(u, 1.0 - u)
    central = np.abs(q) <= 0.425
    r = 0.180625 - q * q
    middle = q * _ratio(_CENTRAL, np.where(central, r, 0.0))
    r = np.sqrt(-log(np.where(central, 0.5, tail)))
    near = _ratio(_NEAR_TAIL, r - 1.6)
    far = _ratio(_FAR_TAIL, r - 5.0)
    outer = np.where(r <= 5.0, near, far)
    return np.where(central, middle, np.where(q < 0.0, -outer, outer))


def radial_quantile(
    log_density: Callable[[np.ndarray], np.ndarray], low: float, high: float, u: np.ndarray
) -> np.ndarray:
    """Return the quantile function of a density on (low, high) that need not be normalised.

    Gauss-Legendre sums over equal panels give the distribution function; Newton steps
    within a panel invert it. `log_density` is elementwise, from the functions of this module; its
    largest value should be near 0, and the density negligible outside of the limits.
    """
    n_panels = 512
    width = (high - low) / n_panels
    edges = low + width * np.arange(n_panels + 1)
    panels = _gauss_legendre(log_density, edges[:-1], np.full(n_panels, width))
    cumulative = np.concatenate([[0.0], np.add.accumulate(panels)])  # accumulate has one order
    target = u * cumulative[-1]
    panel = np.clip(np.searchsorted(cumulative, target, side="right") - 1, 0, n_panels - 1)
    left, missing = edges[panel], target - cumulative[panel]
    # Newton from the chord of the panel, kept inside it; each entry stops on its own, so
    # that its value cannot depend on its neighbours.
    step = np.clip(missing / np.maximum(panels[panel], 1e-300), 0.0, 1.0) * width
    active = np.arange(len(u))
    for _ in range(60):
        old = step[active]
        value = _gauss_legendre(log_density, left[active], old)
        slope = np.maximum(exp(log_density(left[active] + old)), 1e-300)
        new = np.clip(old + (missing[active] - value) / slope, 1e-30 * width, width)
        step[active] = new
        active = active[np.abs(new - old) > 2.0**-50 * (left[active] + new)]
        if len(active) == 0:
            break
    return left + step


def _gauss_legendre(
    log_density: Callable[[np.ndarray], np.ndarray], left: np.ndarray, width: np.ndarray
) -> np.ndarray:
    half = 0.5 * width
    middle = left + half
    total = np.zeros_like(middle)
    for node, weight in LEGENDRE_8:
        total = total + weight * exp(log_density(middle - half * node))
        total = total + weight * exp(log_density(middle + half * node))
    return total * half


def _polynomials(table: str) -> tuple[tuple[float, ...], ...]:
    rows = (map(float, line.split()) for line in table.strip().splitlines())
    return tuple(zip(*rows, strict=True))


def _ratio(table: tuple[tuple[float, ...], ...], r: np.ndarray) -> np.ndarray:
    """Return the quotient of two polynomials of the same degree, both by Horner's rule."""
    above, below = (np.full_like(r, coefficients[-1]) for coefficients in table)
    for a, b in zip(table[0][-2::-1], table[1][-2::-1], strict=True):
        above, below = above * r + a, below * r + b
    return above / below


# Positive nodes and weights of the 8-point Gauss-Legendre rule on (-1, 1), as in
# Abramowitz and Stegun, table 25.4.
LEGENDRE_8 = (
    (0.18343464249564980494, 0.36268378337836198297),
    (0.52553240991632898582, 0.31370664587788728734),
    (0.79666647741362673959, 0.22238103445337447054),
    (0.96028985649753623168, 0.10122853629037625915),
)

# Numerators and denominators of AS 241, from the constant on.
_CENTRAL = _polynomials("""
    3.3871328727963666080e0   1.0
    1.3314166789178437745e2   4.2313330701600911252e1
    1.9715909503065514427e3   6.8718700749205790830e2
    1.3731693765509461125e4   5.3941960214247511077e3
    4.5921953931549871457e4   2.1213794301586595867e4
    6.7265770927008700853e4   3.9307895800092710610e4
    3.3430575583588128105e4   2.8729085735721942674e4
    2.5090809287301226727e3   5.2264952788528545610e3
""")
_NEAR_TAIL = _polynomials("""
    1.42343711074968357734e0  1.0
    4.63033784615654529590e0  2.05319162663775882187e0
    5.76949722146069140550e0  1.67638483018380384940e0
    3.64784832476320460504e0  6.89767334985100004550e-1
    1.27045825245236838258e0  1.48103976427480074590e-1
    2.41780725177450611770e-1 1.51986665636164571966e-2
    2.27238449892691845833e-2 5.47593808499534494600e-4
    7.74545014278341407640e-4 1.05075007164441684324e-9
""")
_FAR_TAIL = _polynomials("""
    6.65790464350110377720e0  1.0
    5.46378491116411436990e0  5.99832206555887937690e-1
    1.78482653991729133580e0  1.36929880922735805310e-1
    2.96560571828504891230e-1 1.48753612908506148525e-2
    2.65321895265761230930e-2 7.86869131145613259100e-4
    1.24266094738807843860e-3 1.84631831751005468180e-5
    2.71155556874348757815e-5 1.42151175831644588870e-7
    2.01033439929228813265e-7 2.04426310338993978564e-15
""")
