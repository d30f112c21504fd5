"""Frequencies of kernels other than the Gaussian one: the same fractions, other quantiles.

A shift-invariant kernel is the Fourier transform of the law of its frequencies. Where the
kernel is a product over inputs, the law is one of independent coordinates, and the fractions
behind ``table`` and ``kronecker`` only need another quantile function:

=============================  ===========================================
kernel                         law of each coordinate
=============================  ===========================================
exp(-sum_j abs(t_j))           Cauchy, quantile tan(pi (u - 1/2))
prod_j 1 / (1 + t_j**2)        Laplace, quantile -sign(u - 1/2) ln(1 - 2 abs(u - 1/2))
=============================  ===========================================

A Matern kernel is a mixture of Gaussian ones, so its frequencies are Gaussian rows, each with
a length of its own: :func:`mixture_scales`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal.bases._arithmetic import log, radial_quantile, unit_fractions
from primal.bases._gaussian import KRONECKER_PRIMES, _row_turns
from primal.bases._roots import scrambled_fractions
from primal.turns import prime_slice, waves


def cauchy_quantile(u: np.ndarray) -> np.ndarray:
    """Return tan(pi (u - 1/2)), the quantile of the Cauchy law, for float64 u in (0, 1).

    Sine and cosine are those of :func:`primal.turns.waves`, so the bits are the same
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


def mixture_scales(degrees: int, k: int, *, prime_index: int) -> np.ndarray:
    """Return factors that turn k Gaussian frequencies into those of a mixture of Gaussian kernels.

    The frequencies of the Matern kernel of smoothness nu follow a multivariate t law with
    2 nu degrees of freedom: a Gaussian vector over sqrt(c / (2 nu)), c of a chi-square law. Those
    of the rational quadratic kernel are a Gaussian vector times sqrt(c / (2 alpha)).

    Parameters
    ----------
    degrees : int
        2 alpha, or -2 nu.
    k : int
        Number of frequencies.
    prime_index : int
        Index of the prime whose multiples of the root are the fractions, from 0; it must
        not be one that the basis uses.

    Returns
    -------
    scales : ndarray of shape (k,), dtype=float64
    """
    u = unit_fractions(_row_turns(prime_slice(prime_index, prime_index + 1), k)[:, 0])
    lengths = _chi_quantile(abs(degrees), u)
    root = np.sqrt(np.float64(abs(degrees)))
    return lengths / root if degrees > 0 else root / lengths


def _chi_quantile(degrees: int, u: np.ndarray) -> np.ndarray:
    """Return the quantile of the length of a Gaussian vector of few dimensions."""

    def log_density(r: np.ndarray) -> np.ndarray:
        return (degrees - 1) * log(r) - 0.5 * r * r

    return radial_quantile(log_density, 0.0, 12.0, u)


def _table(quantile: Callable[[np.ndarray], np.ndarray], d: int, k: int) -> np.ndarray:
    p = prime_slice(0, k * d)
    return quantile(unit_fractions(scrambled_fractions(p))).reshape(k, d)


def _kronecker(quantile: Callable[[np.ndarray], np.ndarray], d: int, k: int) -> np.ndarray:
    primes = KRONECKER_PRIMES.get(d)
    columns = prime_slice(0, d) if primes is None else np.array(primes, dtype=np.uint32)
    return quantile(unit_fractions(_row_turns(columns, k)))


# Registered as bases: the name says how fractions are made, then which kernel results.
LAWS: dict[str, Callable[[int, int], np.ndarray]] = {
    "table-laplacian": lambda d, k: _table(cauchy_quantile, d, k),
    "table-cauchy": lambda d, k: _table(laplace_quantile, d, k),
    "kronecker-laplacian": lambda d, k: _kronecker(cauchy_quantile, d, k),
    "kronecker-cauchy": lambda d, k: _kronecker(laplace_quantile, d, k),
}
