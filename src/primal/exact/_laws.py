"""Frequencies that follow the law of a kernel: quantiles of equidistributed fractions.

A shift-invariant kernel is the Fourier transform of the law of its frequencies. Here they are
quantiles of the fractions of prime roots: as even as quasi-random points, and with nothing random
in them. ``table`` takes one prime for every entry, ``kronecker`` one for every column:

=============================  ===========================================
kernel                         law of each coordinate
=============================  ===========================================
exp(-sum_j t_j**2 / 2)         normal
exp(-sum_j abs(t_j))           Cauchy, quantile tan(pi (u - 1/2))
prod_j 1 / (1 + t_j**2)        Laplace, quantile -sign(u - 1/2) ln(1 - 2 abs(u - 1/2))
=============================  ===========================================

A Matern kernel is a mixture of Gaussian ones, so its frequencies are Gaussian rows, each with
a length of its own: :func:`mixture_scales`.
"""

from collections.abc import Callable

import numpy as np

from primal._arithmetic import log, normal_quantile, radial_quantile, unit_fractions
from primal.exact._increments import floor_roots
from primal.exact._phases import static_turns
from primal.exact._primes import prime_slice
from primal.exact._root_tables import scrambled_fractions
from primal.exact._waves import waves

# For d <= 8, primes whose sequences i sqrt(q) fill the cube well for every number of rows
# from 32 to 512; ``tools/kronecker_primes.py`` finds them. Order matters.
KRONECKER_PRIMES = {
    1: (1699,),
    2: (1699, 3169),
    3: (1699, 3169, 863),
    4: (1699, 3169, 863, 1579),
    5: (1699, 3169, 863, 1579, 3301),
    6: (1699, 3169, 3187, 457, 359, 5147),
    7: (3797, 5279, 5261, 4721, 2579, 3491, 4283),
    8: (3323, 271, 4259, 79, 3919, 761, 2719, 1487),
}
_HALF_TURN = np.uint64(1 << 63)
# Arrays of this many entries stay in cache through the hundred steps of a quantile.
_CHUNK = 1 << 14

Quantile = Callable[[np.ndarray], np.ndarray]


def cauchy_quantile(u: np.ndarray) -> np.ndarray:
    """Return tan(pi (u - 1/2)), the quantile of the Cauchy law, for float64 u in (0, 1).

    Sine and cosine are those of :func:`primal.exact.waves`, so the bits are the same
    everywhere. Exactly antisymmetric about 1/2.
    """
    # u - 1/2 is exact, and half of it in turns has at most 53 bits: the cast is exact too.
    turns = ((u - 0.5) * 2.0**63).astype(np.int64).view(np.uint64)
    cos, sin = waves(turns)
    return sin / cos


def laplace_quantile(u: np.ndarray) -> np.ndarray:
    """Return the quantile of the Laplace law of scale 1, for float64 u in (0, 1)."""
    size = log(2.0 * np.minimum(u, 1.0 - u))  # never positive
    return np.where(u < 0.5, size, -size)


def prime_entries(p: np.ndarray, quantile: Quantile = normal_quantile) -> np.ndarray:
    """Return the quantile of {M sqrt(p)} for primes of shape (n,)."""
    values = np.empty(len(p))
    for first in range(0, len(p), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        values[chunk] = quantile(unit_fractions(scrambled_fractions(p[chunk])))
    return values


def _table(d: int, k: int, quantile: Quantile = normal_quantile) -> np.ndarray:
    """Return quantiles of {M sqrt(p_n)}, one prime for every entry, shape (k, d)."""
    return prime_entries(prime_slice(0, k * d), quantile).reshape(k, d)


def _kronecker(d: int, k: int, quantile: Quantile = normal_quantile) -> np.ndarray:
    """Return quantiles of {i sqrt(q_j) + 1/2}, one prime for every column."""
    primes = KRONECKER_PRIMES.get(d)
    columns = prime_slice(0, d) if primes is None else np.array(primes, dtype=np.uint32)
    return quantile(_row_fractions(columns, k))


def chi_lengths(m: int, k: int) -> np.ndarray:
    """Return the chi_m quantiles of {i sqrt(2) + 1/2}, i = 1..k, for m of 2 or more."""
    mode_squared = np.float64(m - 1)
    center = np.sqrt(np.float64(m))

    def log_density(r: np.ndarray) -> np.ndarray:
        return (m - 1) * log(r / np.sqrt(mode_squared)) - 0.5 * (r * r - mode_squared)

    low, high = max(0.0, float(center) - 9.0), float(center) + 9.0
    return radial_quantile(log_density, low, high, _fractions(0, k))


def mixture_scales(degrees: int, k: int, *, prime_index: int) -> np.ndarray:
    """Return factors that turn k Gaussian frequencies into those of a mixture of Gaussian kernels.

    The frequencies of the Matern kernel of smoothness nu follow a multivariate t law with
    2 nu degrees of freedom: a Gaussian vector over sqrt(c / (2 nu)), c of a chi-square law. Those
    of the rational quadratic kernel are a Gaussian vector times sqrt(c / (2 alpha)).

    `degrees` is 2 alpha, or -2 nu. The prime of an index from 0, whose multiples of the root are
    the fractions, must not be one that the basis uses.
    """
    n = abs(degrees)

    def log_density(r: np.ndarray) -> np.ndarray:
        return (n - 1) * log(r) - 0.5 * r * r

    lengths = radial_quantile(log_density, 0.0, 12.0, _fractions(prime_index, k))
    root = np.sqrt(np.float64(n))
    return lengths / root if degrees > 0 else root / lengths


def _fractions(prime_index: int, k: int) -> np.ndarray:
    return _row_fractions(prime_slice(prime_index, prime_index + 1), k)[:, 0]


def _row_fractions(columns: np.ndarray, k: int) -> np.ndarray:
    """Return {i sqrt(q_j) + 1/2} for i = 1..k, shape (k, len(columns))."""
    rows = np.arange(1, k + 1, dtype=np.uint64)
    return unit_fractions(static_turns(rows, floor_roots(columns, 1.0, 64)) + _HALF_TURN)


# Tables of (d, k) at sigma = 1, registered as bases.
GAUSSIAN: dict[str, Callable[[int, int], np.ndarray]] = {
    "table": _table,
    "kronecker": _kronecker,
}
# Here the name says how fractions are made, then which kernel results.
LAWS: dict[str, Callable[[int, int], np.ndarray]] = {
    "table-laplacian": lambda d, k: _table(d, k, cauchy_quantile),
    "table-cauchy": lambda d, k: _table(d, k, laplace_quantile),
    "kronecker-laplacian": lambda d, k: _kronecker(d, k, cauchy_quantile),
    "kronecker-cauchy": lambda d, k: _kronecker(d, k, laplace_quantile),
}
