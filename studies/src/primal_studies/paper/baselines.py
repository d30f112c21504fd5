"""What StaticPrime is compared with: the paper's baseline, and the controls that it lacks.

The paper's baseline has independent Gaussian rows. It differs from StaticPrime in two ways at
once: its codes are random, and they are not of the form e(t f_m), in which a similarity depends
on the lag alone. The controls keep that form and replace only the fractions of sqrt(p): by
independent uniform numbers, by a scrambled Sobol sequence, by multiples of the golden ratio.

Random draws use NumPy's ``default_rng(seed)`` (PCG64). The paper has the same seed, 42, but
PyTorch's generator: single draws differ, their law does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from primal._checks import whole_number
from primal.codebooks import lag_cosines
from primal.errors import ParameterError
from primal.exact import primes
from primal_studies.paper._draws import SEED

__all__ = [
    "float32_root_increments",
    "gaussian_codes",
    "gaussian_rms",
    "golden_increments",
    "nonsquare_root_increments",
    "prefix_coherences",
    "random_increments",
    "rational_increments",
    "sobol_increments",
    "toeplitz_coherences",
    "toeplitz_rms",
]


# Small enough that a block of cosines is read from the cache, not from memory.
_BLOCK_ROWS = 512


def gaussian_codes(N: int, D: int, seed: int = SEED) -> np.ndarray:
    """Return N independent uniform directions in D dimensions, float32 of shape (N, D)."""
    codes = np.random.default_rng(seed).standard_normal((N, D), dtype=np.float32)
    codes /= np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64))[:, None]
    return codes


def random_increments(k: int, seed: int = SEED) -> np.ndarray:
    """Return k independent uniform frequencies, uint64 in units of 2**-64 turn."""
    return np.random.default_rng(seed).integers(0, 2**64, size=k, dtype=np.uint64)


def sobol_increments(k: int, seed: int = SEED) -> np.ndarray:
    """Return the first k points of a scrambled one-dimensional Sobol sequence, uint64."""
    from scipy.stats import qmc

    sampler = qmc.Sobol(1, scramble=True, bits=53, seed=np.random.default_rng(seed))
    points = sampler.random_base2(max(k - 1, 0).bit_length())[:k, 0]
    return np.ldexp(points, 64).astype(np.uint64)


def golden_increments(k: int) -> np.ndarray:
    """Return the fractions of m / phi, m = 1..k, phi the golden ratio, uint64."""
    step = (math.isqrt(5 << 128) - (1 << 64)) // 2
    return np.arange(1, k + 1, dtype=np.uint64) * np.uint64(step)


def rational_increments(k: int, seed: int = SEED) -> np.ndarray:
    """Return k fractions i / 20011 with different random i: numbers with no independence at all.

    The denominator is a prime above every N of the paper, so that no lag in use is a period.
    """
    chosen = np.random.default_rng(seed).permutation(20_010)[:k] + 1
    return np.array([(int(i) << 64) // 20_011 for i in chosen], dtype=np.uint64)


def nonsquare_root_increments(k: int) -> np.ndarray:
    """Return the fractions of the roots of 2, 3, 5, 6, 7, 8, 10 ...: all but squares, uint64.

    They are dependent over the rationals: sqrt(8) = 2 sqrt(2).
    """
    numbers = (n for n in range(2, 2 * k + 10) if math.isqrt(n) ** 2 != n)
    roots = [math.isqrt(n << 128) % 2**64 for n, _ in zip(numbers, range(k), strict=False)]
    return np.array(roots, dtype=np.uint64)


def float32_root_increments(k: int, start: int = 0) -> np.ndarray:
    """Return the fractions of sqrt(p) rounded to float32, as the paper's recipe stores them.

    A float32 above 1 is a multiple of 2**-23, so these are exact multiples of 2**41.

    Examples
    --------
    >>> from primal_studies.paper.baselines import float32_root_increments
    >>> float32_root_increments(2) % 2**41
    array([0, 0], dtype=uint64)
    """
    roots = np.sqrt(primes(k, start=start).astype(np.float32)).astype(np.float64)
    return np.ldexp(roots - np.floor(roots), 64).astype(np.uint64)


def toeplitz_coherences(increments: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Return the coherence of the first N codes e(t f_m) for every N of `sizes`."""
    sizes = [whole_number("N", N, least=2) for N in sizes]
    worst = np.maximum.accumulate(np.abs(lag_cosines(increments, max(sizes))[1:]))
    return [float(worst[N - 2]) for N in sizes]


def toeplitz_rms(increments: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Return the RMS cosine of the first N codes e(t f_m) for every N of `sizes`."""
    sizes = [whole_number("N", N, least=2) for N in sizes]
    squares = lag_cosines(increments, max(sizes)) ** 2
    # Lag l occurs N - l times, each pair in both orders.
    return [
        math.sqrt(2.0 * float(np.arange(N - 1, 0, -1) @ squares[1:N]) / (N * (N - 1)))
        for N in sizes
    ]


def prefix_coherences(codes: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Return the largest |cosine| among the first N unit rows, for every N of `sizes`.

    One pass over half of the Gram matrix, in blocks, serves all sizes.

    Raises
    ------
    ParameterError
        If a size is below 2 or above the number of rows.
    """
    sizes = [whole_number("N", N, least=2) for N in sizes]
    if max(sizes) > len(codes):
        raise ParameterError(f"there are {len(codes)} codes, fewer than N = {max(sizes)}.")
    edges = sorted({0, *sizes, *range(0, max(sizes), _BLOCK_ROWS)})
    blocks = list(pairwise(edges))
    largest = {0: 0.0}  # coherence of the rows up to each edge
    for first, last in blocks:
        worst = largest[first]
        for top, bottom in blocks:
            if top > first:
                break
            gram = codes[top:bottom] @ codes[first:last].T
            if top == first:
                np.fill_diagonal(gram, 0.0)
            worst = max(worst, float(gram.max()), -float(gram.min()))
        largest[last] = worst
    return [largest[N] for N in sizes]


def gaussian_rms(N: int, D: int, seed: int = SEED) -> float:
    """Return the RMS cosine of Gaussian codes from the smaller of the two Gram matrices.

    The sum of squares of V V^T is that of V^T V, which has D x D entries. Nothing larger than
    the codes themselves is held.
    """
    codes = gaussian_codes(N, D, seed)
    if N < D:
        codes = np.ascontiguousarray(codes.T)
    width = codes.shape[1]
    squares = 0.0
    for first in range(0, width, _BLOCK_ROWS):
        rows = codes[:, first : first + _BLOCK_ROWS].T
        for left in range(first, width, _BLOCK_ROWS):
            part = rows @ codes[:, left : left + _BLOCK_ROWS]
            # Squares are summed in float64: N is taken off the sum below.
            part_sum = float(np.einsum("ij,ij->", part, part, dtype=np.float64))
            squares += part_sum if left == first else 2.0 * part_sum
    return math.sqrt(max(0.0, squares - N) / (N * (N - 1)))
