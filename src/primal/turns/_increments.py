"""Increments: the fraction of sigma * sqrt(p) as an exact 64-bit integer."""

from __future__ import annotations

import math

import numpy as np

from primal._checks import positive_scale, require_memory, whole_number
from primal.turns._primes import prime_slice
from primal.turns._roots import exact_floor, scaled_roots

# Arrays of this many elements stay in cache through the hundred steps of a root.
_CHUNK = 1 << 14


def increments(n: int, *, start: int = 0, sigma: float = 1.0) -> np.ndarray:
    """Return floor(2**64 * sigma * sqrt(p)) mod 2**64 for `n` primes from index `start`.

    This is how far the phase of a prime moves in one step, in units of 2**-64 turn. The
    result is exact: it comes from integer square roots, with sigma as the rational
    number that the float is.

    Parameters
    ----------
    n : int
        How many, at least 0.
    start : int, default=0
        Index of the first prime; index 0 is the prime 2.
    sigma : float, default=1.0
        Scale, positive and finite.

    Returns
    -------
    increments : ndarray of shape (n,), dtype=uint64

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    The first one is the first initial value of SHA-512 (FIPS 180-4). That is a coincidence
    of definitions and says nothing about security.

    >>> import primal
    >>> hex(primal.increments(1)[0])
    '0x6a09e667f3bcc908'
    """
    n = whole_number("n", n)
    start = whole_number("start", start)
    sigma = positive_scale("sigma", sigma)
    require_memory(32 * n, f"n = {n} increments")
    return floor_roots(prime_slice(start, start + n), sigma, 64)


def floor_roots(
    p: np.ndarray, sigma: float | np.ndarray, log2_scale: int | np.ndarray
) -> np.ndarray:
    """Return floor(sigma * sqrt(p) * 2**log2_scale) mod 2**64, exactly, as uint64.

    Parameters
    ----------
    p : ndarray of shape (n,) or (n, m)
        Positive integers below 2**32.
    sigma : float or ndarray of shape (n,)
        Positive scale, of every entry or of every row.
    log2_scale : int or ndarray of shape (n,)
        Likewise.
    """
    rows = p.reshape(len(p), math.prod(p.shape[1:]))
    result = np.empty(rows.shape, dtype=np.uint64)
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    sigma_column = np.broadcast_to(np.asarray(sigma, dtype=np.float64), len(rows))[:, None]
    log2_column = np.broadcast_to(np.asarray(log2_scale, dtype=np.int64), len(rows))[:, None]
    for first in range(0, len(rows), step):
        block = slice(first, first + step)
        result[block] = _floor_block(
            rows[block].astype(np.uint64), sigma_column[block], log2_column[block]
        )
    return result.reshape(p.shape)


def _floor_block(p: np.ndarray, sigma: np.ndarray, log2_scale: np.ndarray) -> np.ndarray:
    roots = scaled_roots(p, sigma)
    # A very large sigma needs more digits than `scaled_roots` makes.
    too_long = roots.exponent + log2_scale > 32
    if not too_long.any():
        return roots.floor_scaled(log2_scale)
    result = roots.floor_scaled(np.where(too_long, -roots.exponent, log2_scale))
    sigma, log2_scale = np.broadcast_to(sigma, p.shape), np.broadcast_to(log2_scale, p.shape)
    for index in zip(*np.nonzero(too_long), strict=True):
        value = exact_floor(int(p[index]), float(sigma[index]), int(log2_scale[index]))
        result[index] = value & (2**64 - 1)
    return result
