"""Similarities that depend on the lag alone: exact coherence in O(N k), exact RMS in O(k**2).

Two codes l positions apart have as inner product the mean of e(l f_m), e(x) = exp(2 pi i x);
for cosines and sines it is the real part. N codes therefore have N - 1 different inner
products, not N (N - 1) / 2.
"""

import math
from collections.abc import Iterator

import numpy as np

from primal._checks import fixed_point, require_memory, require_work, whole_number
from primal._parallel import row_blocks
from primal.errors import DataError
from primal.exact import waves

# Lags in one block; a block and its factors take a few tens of bytes for each.
_BLOCK_LAGS = 1 << 20
# Entries of the factor that all blocks share: 256 MB.
_LARGEST_FACTOR = 1 << 24


def lag_products(increments: np.ndarray, n_lags: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the inner products at lags 0, 1, ..., n_lags - 1, block by block.

    A block comes with its first lag: the mean of e(l f_m) in complex128, within 1e-13. Increments
    are uint64 turns.

    With l = q B + r the mean is a matrix product of e(q B f_m) and e(r f_m) / k: one
    exponential for about sqrt(N) of the lags, and multiply-adds for the rest.
    """
    k = len(increments)
    require_work(4 * n_lags * k, f"looking at {n_lags} lags of {k} phases")
    step = max(1, min(math.isqrt(max(n_lags, 1)), 4096, _LARGEST_FACTOR // k))
    fine = phasors(np.arange(step, dtype=np.uint64)[:, None] * increments)
    fine *= 1.0 / k
    fine = np.ascontiguousarray(fine.T)
    for rows in row_blocks(-(-n_lags // step), max(step, k), _BLOCK_LAGS):
        q = np.arange(rows.start, rows.stop, dtype=np.uint64)
        products = (phasors(q[:, None] * np.uint64(step) * increments) @ fine).reshape(-1)
        first = rows.start * step
        yield first, products[: n_lags - first]


def lag_cosines(increments: np.ndarray, N: int) -> np.ndarray:
    """Return the cosine similarities of N real codes at every lag.

    Parameters
    ----------
    increments : ndarray of shape (k,), dtype=uint64
        Phase of each frequency in one step, units of 2**-64 turn.
    N : int
        Number of codes.

    Returns
    -------
    ndarray of shape (N,), dtype=float64
        g(0), ..., g(N - 1).

    Examples
    --------
    >>> import primal
    >>> from primal.codebooks import lag_cosines
    >>> g = lag_cosines(primal.StaticPrime(64).increments, 1000)
    >>> round(float(g[0]), 12), round(float(g[24]), 10)
    (1.0, -0.3229285722)
    """
    increments = checked_increments(increments)
    N = whole_number("N", N)
    require_memory(8 * N, f"the cosines at {N} lags")
    g = np.empty(N)
    for first, products in lag_products(increments, N):
        g[first : first + len(products)] = products.real
    return g


def checked_increments(increments: object) -> np.ndarray:
    """Return one increment or more."""
    frequencies = fixed_point("increments", increments, np.uint64, ndim=1)
    if frequencies.size == 0:
        raise DataError("increments must have one value or more, got none.")
    return frequencies


def real_energy(increments: np.ndarray, N: int) -> float:
    """Return the sum of squares of the Gram matrix of N real codes, diagonal included.

    The Fejer identity: with F_N(x) = sin(pi N x)**2 / sin(pi x)**2 the sum is
    1 / (2 k**2) sum_mn [F_N(f_m - f_n) + F_N(f_m + f_n)], whatever N is.
    """
    mirrored = _fejer_sum(increments, np.uint64(0) - increments, N)
    return 0.5 * (_fejer_sum(increments, increments, N) + mirrored)


def phasor_energy(increments: np.ndarray, N: int) -> float:
    """Return the sum of |inner product|**2 over the Gram matrix of N phasor codes."""
    return _fejer_sum(increments, increments, N)


def _sine_ratio(turns: np.ndarray, N: int) -> np.ndarray:
    """Return sin(pi N x) / sin(pi x), N x reduced to within half a turn; N at x = 0."""
    below = np.sin(np.pi * _signed_turns(turns))
    small = np.abs(below) < 1e-15
    below[small] = 1.0
    ratio = np.sin(np.pi * _signed_turns(turns * np.uint64(N)))
    ratio /= below
    ratio[small] = N
    return ratio


def _fejer_sum(left: np.ndarray, right: np.ndarray, N: int) -> float:
    """Return the mean of F_N(left_m - right_n) over m and n, in which it is symmetric.

    F_N(x) is |sum over t < N of e(t x)|**2, at phases x given as uint64 turns.
    """
    k = len(left)
    require_work(10 * k**2, f"the RMS of codes of {k} phases")
    w = np.full(k, 1.0 / k)
    total = 0.0
    for rows in row_blocks(k, k, 1 << 18):
        rest = slice(rows.start, k)
        values = np.square(_sine_ratio(left[rows, None] - right[None, rest], N)) @ w[rest]
        square = np.square(_sine_ratio(left[rows, None] - right[None, rows], N)) @ w[rows]
        total += float(w[rows] @ (2.0 * values - square))
    return total


def phasors(turns: np.ndarray) -> np.ndarray:
    """Return e(x), complex128, at phases x given as uint64 turns."""
    result = np.empty(turns.shape, dtype=np.complex128)
    result.real, result.imag = waves(turns)
    return result


def _signed_turns(turns: np.ndarray) -> np.ndarray:
    return turns.view(np.int64) * 2.0**-64
