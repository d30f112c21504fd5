"""The definition of the codes and scores in NumPy: every other implementation returns these bytes.

A float64 operation occurs only where IEEE 754 fixes its result: a product by a power of two, one
subtraction, quotient or square root. Sums are of integers. docs/vectors.md has the specification.

    x' = x - center                  for the metric "cosine" x / |x| - center
    X  = integers, x' ~ X 2**t       |X|**2 <= 2**60 / m**3, thus every value below fits int32
    y  = R X                         three rounds of signs and Hadamard blocks; |y|**2 = m**3 |X|**2
    code_i = level of y_i            among levels for normal values; uniform for 8 bits
    f  = |y|**2 2**t / <level, y>    float32
    a  = |x'|**2                     float32; for the metric "ip" |x'|**2 - |x|**2

The score of a row for a query is a - 2 f <level, q>, with q the rotated query in 8 or 12 bits.

References: Vargaftik et al., "EDEN" (ICML 2022) and "DRIVE" (NeurIPS 2021), for the random rotation
with Lloyd-Max levels and an unbiased factor; Gao and Long, "RaBitQ" (SIGMOD 2024), for one bit.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from primal.exact import increments, transform

LARGEST_D = 8192  # beyond it, the sum of squared 20-bit words no longer fits a float64
ROUNDS = 3
_LARGEST_BLOCK = 256
# A sign is minus where the first fraction bit of this number times the root of a prime is 0. The
# roots of the first primes alone are too similar to serve as signs.
_SIGN_SCALE = 1_048_583.0
# Lloyd-Max quantizer of the normal distribution: thresholds in 1/4096 of the root mean square, and
# positive levels. They are constants because library functions differ in their last digits.
THRESHOLDS = {1: (), 2: (4021,), 4: (1058, 2140, 3275, 4503, 5887, 7551, 9834)}
LEVELS = {1: (1,), 2: (3, 10), 4: (3, 9, 15, 22, 29, 38, 48, 64)}
# Mean squared cosine of a row and its levels.
FITS = {1: 0.637, 2: 0.883, 4: 0.991, 8: 1.0}


class Rotation(NamedTuple):
    """Shape and signs of the rotation of d columns, padded to D = m * r."""

    d: int
    m: int  # columns of a Hadamard block, a power of two
    r: int  # number of blocks
    D: int
    gain: float  # squared length of a rotated row, relative to that of the row
    signs: np.ndarray  # int8 of shape (3, D)


class Rotated(NamedTuple):
    """Rotated rows.

    y : int32 (n, D); exponents : int32 (n,), y counts units of 2**exponent; squares : int64 (n,),
    |X|**2; offsets : float64 (n,), the values `a`, infinite or NaN if out of range.
    """

    y: np.ndarray
    exponents: np.ndarray
    squares: np.ndarray
    offsets: np.ndarray


@cache
def rotation(d: int) -> Rotation:
    """Return the rotation of d columns: the largest block that pads by at most d / 32."""
    most = max(-(-d // 8) * 8, d + d // 32)
    m = min(_LARGEST_BLOCK, 1 << max(3, (d - 1).bit_length()))
    while m > 8 and -(-d // m) * m > most:
        m //= 2
    r = -(-d // m)
    first_bits = increments(ROUNDS * m * r, sigma=_SIGN_SCALE) >> np.uint64(63)
    signs = (2 * first_bits.astype(np.int8) - 1).reshape(ROUNDS, m * r)
    signs.flags.writeable = False
    return Rotation(d, m, r, m * r, float(m**ROUNDS), signs)


def unit_rows(x: np.ndarray) -> np.ndarray:
    """Return float64 rows divided by their length, which is that of their 20-bit words."""
    u = _scaled(x, 20 - _row_exponents(x))
    lengths = np.sqrt((u * u).sum(axis=1))  # of integers below 2**53: exact
    lengths[lengths == 0] = 1
    return u / lengths[:, None]


def rotated(x: np.ndarray, turn: Rotation, center: np.ndarray | None, metric: str) -> Rotated:
    """Return the rotated rows of float64 rows."""
    own = unit_rows(x) if metric == "cosine" else x
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        words, exponents, squares, offsets = _words(own if center is None else own - center, turn)
        if metric == "ip":
            offsets = offsets - _words(own, turn)[3]
    y = np.zeros((len(x), turn.D), dtype=np.int32)
    y[:, : turn.d] = words
    for number in range(ROUNDS):
        y = transform((y * turn.signs[number]).reshape(-1, turn.r, turn.m))
        if number < ROUNDS - 1:
            y = y.transpose(0, 2, 1)
        y = y.reshape(len(x), turn.D)
    return Rotated(y, exponents.astype(np.int32), squares, offsets)


def coded(rows: Rotated, bits: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the packed codes of rotated rows and their factors."""
    y = rows.y.astype(np.int64)
    sizes, energy = np.abs(y), rows.squares * gain
    if bits == 8:
        top = np.maximum(sizes.max(axis=1), 1)
        levels = np.rint(y * 127.0 / top[:, None]).astype(np.int64)
        places = levels + 128
    else:
        rms, half = np.sqrt(energy / y.shape[1]), 1 << (bits - 1)
        above = np.zeros_like(y)
        for threshold in THRESHOLDS[bits]:
            above += sizes > np.floor(rms * (threshold / 4096))[:, None]
        levels = np.where(y < 0, -1, 1) * np.array(LEVELS[bits])[above]
        places = np.where(y < 0, half - 1 - above, half + above)
    products = (y * levels).sum(axis=1)
    products[products == 0] = 1  # rows of zeros
    with np.errstate(over="ignore", under="ignore"):
        factors = energy / products * np.ldexp(1.0, rows.exponents)
        packed = places.reshape(len(y), -1, 8 // bits) << (bits * np.arange(8 // bits))
        return packed.sum(axis=2).astype(np.uint8), factors.astype(np.float32)


def levels_of(codes: np.ndarray, bits: int) -> np.ndarray:
    """Return the levels of packed codes, float64 of shape (n, D)."""
    if bits == 8:
        return codes - 128.0
    positive = np.array(LEVELS[bits], dtype=np.float64)
    levels = np.concatenate([-positive[::-1], positive])
    of_bytes = levels[np.arange(256)[:, None] >> (bits * np.arange(8 // bits)) & (2**bits - 1)]
    return of_bytes[codes].reshape(len(codes), -1)


def unrotated(levels: np.ndarray, turn: Rotation) -> np.ndarray:
    """Return the transposed rotation of rows of integers, exactly, shape (n, d)."""
    y = levels.astype(np.int64)
    for number in reversed(range(ROUNDS)):
        if number < ROUNDS - 1:
            y = y.reshape(-1, turn.m, turn.r).transpose(0, 2, 1)
        y = transform(y.reshape(-1, turn.r, turn.m)).reshape(len(levels), turn.D)
        y = y * turn.signs[number]
    return y[:, : turn.d]


def short_words(rows: Rotated, bits: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rotated queries as integers of 8 bits, 12 for 8-bit codes, and twice their unit."""
    kept = 11 if bits == 8 else 7  # in addition to the sign
    y = rows.y.astype(np.int64)
    top = np.abs(y).max(axis=1)
    shifts = np.maximum(np.frexp(top.astype(np.float64))[1].astype(np.int64) - kept, 0)
    shifts += (top + _half(shifts)) >> shifts == 1 << kept  # rounded up to one bit more
    words = (y + _half(shifts)[:, None]) >> shifts[:, None]
    return words, np.ldexp(2.0, rows.exponents + shifts) / gain


def scores(
    levels: np.ndarray,
    factors: np.ndarray,
    offsets: np.ndarray,
    words: np.ndarray,
    twice: np.ndarray,
) -> np.ndarray:
    """Return the scores of rows for queries (n_queries, D); the smallest is the nearest."""
    # Sums of integers below 2**53 are exact in any order, also those of BLAS.
    products = (words.astype(np.float64) @ levels.T) * factors.astype(np.float64)
    return offsets.astype(np.float64) - products * twice[:, None]


def _words(x: np.ndarray, turn: Rotation) -> tuple[np.ndarray, ...]:
    """Return rows as integers, their exponents, and squared lengths in their units and in 1."""
    exponents = _row_exponents(x)
    words = _scaled(x, 18 - exponents).astype(np.int64)
    squares, shifts = (words * words).sum(axis=1), np.zeros(len(x), dtype=np.int64)
    while (large := squares > 2.0**60 / turn.gain * 4.0**shifts).any():
        shifts += large
    words = (words + _half(shifts)[:, None]) >> shifts[:, None]
    exponents, squares = exponents - 18 + shifts, (words * words).sum(axis=1)
    unit = np.ldexp(1.0, exponents)
    return words, exponents, squares, squares * (unit * unit)


def _half(shifts: np.ndarray) -> np.ndarray:
    return (1 << shifts) >> 1


def _row_exponents(x: np.ndarray) -> np.ndarray:
    """Return the smallest e with |x| < 2**e for all of a row; 0 for zeros."""
    return np.frexp(np.abs(x).max(axis=1))[1].astype(np.int64)


def _scaled(x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return x 2**exponent, rounded to integers, halves to the even one."""
    return np.rint(np.ldexp(x, exponents[:, None]))
