"""Similarities that depend on the lag alone: exact coherence in O(N k), exact RMS in O(k**2).

Two codes l positions apart have the inner product sum_m w_m e(l f_m), e(x) = exp(2 pi i x);
for cosines and sines it is the real part. N codes therefore have N - 1 different inner
products, not N (N - 1) / 2.
"""

import math
from collections.abc import Iterator

import numpy as np

from primal._checks import fixed_point, real_array, require_memory, require_work, whole_number
from primal.engines import row_blocks
from primal.errors import DataError
from primal.turns import waves

# Lags in one block; a block and its factors take a few tens of bytes for each.
_BLOCK_LAGS = 1 << 20
# Entries of the factor that all blocks share: 256 MB.
_LARGEST_FACTOR = 1 << 24


def lag_products(
    increments: np.ndarray, n_lags: int, weights: np.ndarray | None = None
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the inner products at lags 0, 1, ..., n_lags - 1, block by block.

    A block comes with its first lag: sum_m w_m e(l f_m) in complex128, within 1e-13. Increments
    are uint64 turns; weights have the sum 1 and by default are all equal.

    With l = q B + r the sum is a matrix product of e(q B f_m) and w_m e(r f_m): one
    exponential for about sqrt(N) of the lags, and multiply-adds for the rest.
    """
    k = len(increments)
    require_work(4 * n_lags * k, f"looking at {n_lags} lags of {k} phases")
    step = max(1, min(math.isqrt(max(n_lags, 1)), 4096, _LARGEST_FACTOR // k))
    fine = phasors(np.arange(step, dtype=np.uint64)[:, None] * increments)
    fine *= (np.full(k, 1.0 / k) if weights is None else weights)[None, :]
    fine = np.ascontiguousarray(fine.T)
    for rows in row_blocks(-(-n_lags // step), max(step, k), _BLOCK_LAGS):
        q = np.arange(rows.start, rows.stop, dtype=np.uint64)
        products = (phasors(q[:, None] * np.uint64(step) * increments) @ fine).reshape(-1)
        first = rows.start * step
        yield first, products[: n_lags - first]


def lag_cosines(increments: np.ndarray, N: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the cosine similarities of N real codes at every lag.

    Parameters
    ----------
    increments : ndarray of shape (k,), dtype=uint64
        Phase of each frequency in one step, units of 2**-64 turn.
    N : int
        Number of codes.
    weights : ndarray of shape (k,), dtype=float64, optional
        Squares of the amplitudes, with sum 1; by default all equal.

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
    increments, weights = checked_spectrum(increments, weights)
    N = whole_number("N", N)
    require_memory(8 * N, f"the cosines at {N} lags")
    g = np.empty(N)
    for first, products in lag_products(increments, N, weights):
        g[first : first + len(products)] = products.real
    return g


def checked_spectrum(increments: object, weights: object) -> tuple[np.ndarray, np.ndarray | None]:
    """Return one increment and, if there are any, one weight for each frequency."""
    frequencies = fixed_point("increments", increments, np.uint64, ndim=1)
    if frequencies.size == 0:
        raise DataError("increments must have one value or more, got none.")
    if weights is None:
        return frequencies, None
    squares = real_array("weights", weights, last=len(frequencies)).astype(np.float64)
    if squares.ndim != 1:
        raise DataError(f"weights must be one for each increment, got shape {squares.shape}.")
    if squares.min() < 0.0 or abs(squares.sum() - 1.0) > 1e-9:
        raise DataError(
            f"weights must not be negative and must have the sum 1, got numbers from "
            f"{squares.min():g} with the sum {squares.sum():g}: divide them by their sum."
        )
    return frequencies, squares


def real_energy(increments: np.ndarray, N: int, weights: np.ndarray | None = None) -> float:
    """Return the sum of squares of the Gram matrix of N real codes, diagonal included.

    The Fejer identity: with F_N(x) = sin(pi N x)**2 / sin(pi x)**2 the sum is
    1/2 sum_mn w_m w_n [F_N(f_m - f_n) + F_N(f_m + f_n)], whatever N is.
    """
    mirrored = _fejer_sum(increments, np.uint64(0) - increments, N, weights)
    return 0.5 * (_fejer_sum(increments, increments, N, weights) + mirrored)


def phasor_energy(increments: np.ndarray, N: int) -> float:
    """Return the sum of |inner product|**2 over the Gram matrix of N phasor codes."""
    return _fejer_sum(increments, increments, N, None)


def dirichlet(turns: np.ndarray, N: int) -> np.ndarray:
    """Return sum over t < N of e(t x), complex128, at phases x given as uint64 turns.

    The quotient sin(pi N x) / sin(pi x) with N x reduced in integers: in floating point a
    large N would lose the fraction of N x.
    """
    # The ratio changes its sign with every whole turn of N x, and so does e((N - 1) x / 2).
    half = _signed_turns(turns * np.uint64(N)) - _signed_turns(turns)
    return _sine_ratio(turns, N) * np.exp(1j * np.pi * half)


def _sine_ratio(turns: np.ndarray, N: int) -> np.ndarray:
    """Return sin(pi N x) / sin(pi x), N x reduced to within half a turn; N at x = 0."""
    below = np.sin(np.pi * _signed_turns(turns))
    small = np.abs(below) < 1e-15
    below[small] = 1.0
    ratio = np.sin(np.pi * _signed_turns(turns * np.uint64(N)))
    ratio /= below
    ratio[small] = N
    return ratio


def _fejer_sum(left: np.ndarray, right: np.ndarray, N: int, weights: np.ndarray | None) -> float:
    """Return sum_mn w_m w_n F_N(left_m - right_n), which is symmetric in m and n.

    F_N(x) is |sum over t < N of e(t x)|**2, at phases x given as uint64 turns.
    """
    k = len(left)
    require_work(10 * k**2, f"the RMS of codes of {k} phases")
    w = np.full(k, 1.0 / k) if weights is None else weights
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
