"""Compiled loops of the Numba engine, each over rows, each free of the interpreter lock.

A row makes its turns in a small buffer, then its waves: two passes over a buffer in the
first-level cache vectorise better than one loop that mixes 64-bit and 32-bit lanes. There
is no fast-math: multiplications and additions of the waves must stay separate. Sums of
digit products may be fused, because they are exact either way.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from primal.turns._waves import Cosine32, Sine32

__all__ = [
    "accumulate",
    "direct_fast",
    "direct_near",
    "fast",
    "first_digits",
    "near",
    "second_digits",
    "static",
    "take_level",
    "write_waves",
]

_F32 = np.float32
_U32 = np.uint32
_U64 = np.uint64
_S0, _S1, _S2 = (_F32(c) for c in Sine32.coefficients)
_C0, _C1, _C2, _C3 = (_F32(c) for c in Cosine32.coefficients)
_PI4_HEAD, _PI4_REST, _PI4 = _F32(Sine32.head), _F32(Sine32.rest), _F32(Sine32.whole)
_TAIL = np.int32((1 << Sine32.tail_bits) - 1)
_ONE = _F32(1.0)
_TO_UNIT = _F32(2.0**-29)
_EIGHTH = _U32(1 << 29)
_THIRTY = _U32(30)
_HALF_ULP = _U64(1 << 31)
_THIRTY_TWO = _U64(32)
# Adding this leaves a float64's fraction, in units of 2**-32, in its low 32 bits.
_FRACTION_TO_LOW_BITS = 1.5 * 2.0**20

_kernel = njit(cache=True, nogil=True)
_inlined = njit(cache=True, nogil=True, inline="always")
_exact_sums = njit(cache=True, nogil=True, fastmath={"contract"})


@_inlined
def _waves(u):
    """Return (cos, sin) of a uint32 turn: the operations of ``primal.turns.waves``."""
    quadrant = _U32(_U32(u + _EIGHTH) >> _THIRTY)
    rest = np.int32(_U32(u - _U32(quadrant << _THIRTY)))
    size = np.int32(abs(rest))
    tail = np.int32(size & _TAIL)
    t_head = _F32(np.int32(size - tail)) * _TO_UNIT
    t_tail = _F32(tail) * _TO_UNIT
    t = _F32(size) * _TO_UNIT
    y = t * t
    cosine = (((_C3 * y + _C2) * y + _C1) * y + _C0) * y + _ONE
    linear = t_head * _PI4_REST + t_tail * _PI4
    small = linear + (t * y) * ((_S2 * y + _S1) * y + _S0)
    sine = t_head * _PI4_HEAD + small
    sine = -sine if rest < np.int32(0) else sine
    odd = (quadrant & _U32(1)) != _U32(0)
    # Times -1 flips the sign exactly, also of zero.
    cos_sign = _ONE - _F32(np.int32(_U32(quadrant + _U32(1)) & _U32(2)))
    sin_sign = _ONE - _F32(np.int32(quadrant & _U32(2)))
    cos = (sine if odd else cosine) * cos_sign
    sin = (cosine if odd else sine) * sin_sign
    return cos, sin


@_kernel
def _write_block(turns, cos_out, sin_out):
    for i in range(turns.shape[0]):
        cos, sin = _waves(turns[i])
        cos_out[i] = cos
        sin_out[i] = sin


@_kernel
def _write_interleaved(turns, out):
    for i in range(turns.shape[0]):
        cos, sin = _waves(turns[i])
        out[2 * i] = cos
        out[2 * i + 1] = sin


@_kernel
def _write_row(turns, out, block):
    k = turns.shape[0]
    if block:
        # Two slices, so that the compiler sees that the stores cannot overlap.
        _write_block(turns, out[:k], out[k:])
    else:
        _write_interleaved(turns, out)


@_kernel
def write_waves(turns, out, block):
    """Write the waves of uint32 turns, shape (n, k), into `out`."""
    for r in range(turns.shape[0]):
        _write_row(turns[r], out[r], block)


@_kernel
def static(increments, positions, out, block):
    """Write the codes of integer positions."""
    k = increments.shape[0]
    turns = np.empty(k, dtype=np.uint32)
    for r in range(positions.shape[0]):
        t = positions[r]
        for i in range(k):
            turns[i] = _U32((t * increments[i] + _HALF_ULP) >> _THIRTY_TWO)
        _write_row(turns, out[r], block)


@_kernel
def first_digits(x, width, exponents, digits):
    """Write the exponent and the first digit of every row of x."""
    for r in range(x.shape[0]):
        largest = 0.0
        for j in range(x.shape[1]):
            largest = max(largest, abs(x[r, j]))
        a = math.frexp(largest)[1]
        exponents[r] = a
        # Two factors: a single power of two overflows for rows of denormal numbers.
        shift = width - 1 - a
        half = shift // 2
        first, second = math.ldexp(1.0, half), math.ldexp(1.0, shift - half)
        for j in range(x.shape[1]):
            digits[r, j] = np.rint(x[r, j] * first * second)


@_kernel
def second_digits(x, width, exponents, digits):
    """Replace first digits by second ones."""
    scale = math.ldexp(1.0, width)
    for r in range(x.shape[0]):
        shift = width - 1 - exponents[r]
        half = shift // 2
        first, second = math.ldexp(1.0, half), math.ldexp(1.0, shift - half)
        for j in range(x.shape[1]):
            digits[r, j] = np.rint((x[r, j] * first * second - digits[r, j]) * scale)


@_inlined
def _shifted(value, left, right):
    return (value << left) >> right


@_inlined
def _left(shift):
    return min(max(shift, 0), 63)


@_inlined
def _right(shift):
    return min(max(-shift, 0), 63)


@_kernel
def near(products, row_exponents, exponents, first_shift, second_shift, out, block):
    """Write features from the two exact sums of every phase, side by side in `products`."""
    k = exponents.shape[0]
    turns = np.empty(k, dtype=np.uint32)
    left1, right1 = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    left2, right2 = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    for r in range(products.shape[0]):
        if r == 0 or row_exponents[r] != row_exponents[r - 1]:
            for i in range(k):
                shift = row_exponents[r] + exponents[i]
                left1[i], right1[i] = _left(shift + first_shift), _right(shift + first_shift)
                left2[i], right2[i] = _left(shift + second_shift), _right(shift + second_shift)
        head, tail = products[r, :k], products[r, k:]
        for i in range(k):
            total = _shifted(np.int64(head[i]), left1[i], right1[i])
            total += _shifted(np.int64(tail[i]), left2[i], right2[i])
            turns[i] = _U32((_U64(total) + _HALF_ULP) >> _THIRTY_TWO)
        _write_row(turns, out[r], block)


@_exact_sums
def _add_products(x_row, digits, first, sums):
    """Set sums to x_row @ digits[:, first : first + k]."""
    k = sums.shape[0]
    sums[:] = 0.0
    for j in range(x_row.shape[0]):
        x = x_row[j]
        column = digits[j, first : first + k]
        for i in range(k):
            sums[i] += x * column[i]


@_kernel
def direct_near(x, width, digits, exponents, first_shift, second_shift, out, block):
    """Like `first_digits`, a matrix product and `near`; for few inputs, without the matrix."""
    k = exponents.shape[0]
    x_digits = np.empty((1, x.shape[1]))
    row_exponent = np.empty(1, dtype=np.int64)
    products = np.empty((1, 2 * k))
    for r in range(x.shape[0]):
        first_digits(x[r : r + 1], width, row_exponent, x_digits)
        _add_products(x_digits[0], digits, 0, products[0])
        near(products, row_exponent, exponents, first_shift, second_shift, out[r : r + 1], block)


@_kernel
def accumulate(products, row_exponents, exponents, shift, total):
    """Add one exact sum, shifted to its place, to int64 turns that wrap."""
    k = exponents.shape[0]
    for r in range(products.shape[0]):
        row_shift = row_exponents[r] + shift
        for i in range(k):
            s = row_shift + exponents[i]
            value = _shifted(np.int64(products[r, i]), _left(s), _right(s))
            total[r, i] += value if s < 64 else np.int64(0)


@_kernel
def take_level(total, row_exponents, above, up_to, turns):
    """Round those phases whose row exponent lies in (above, up_to] to uint32 turns."""
    for r in range(total.shape[0]):
        a = row_exponents[r]
        for i in range(total.shape[1]):
            rounded = _U32((_U64(total[r, i]) + _HALF_ULP) >> _THIRTY_TWO)
            turns[r, i] = rounded if above[i] < a <= up_to[i] else turns[r, i]


@_kernel
def _fast_row(phases, shifted, bits, turns):
    for i in range(phases.shape[0]):
        shifted[i] = (phases[i] - np.rint(phases[i])) + _FRACTION_TO_LOW_BITS
    for i in range(phases.shape[0]):
        turns[i] = _U32(bits[i])


@_kernel
def fast(phases, out, block):
    """Write features from float64 phases in turns."""
    k = phases.shape[1]
    turns = np.empty(k, dtype=np.uint32)
    shifted = np.empty(k, dtype=np.float64)
    bits = shifted.view(np.uint64)
    for r in range(phases.shape[0]):
        _fast_row(phases[r], shifted, bits, turns)
        _write_row(turns, out[r], block)


@_kernel
def direct_fast(x, frequencies, out, block):
    """Like a matrix product and `fast`; for few inputs, without the matrix."""
    k = frequencies.shape[1]
    turns = np.empty(k, dtype=np.uint32)
    phases = np.empty(k, dtype=np.float64)
    shifted = np.empty(k, dtype=np.float64)
    bits = shifted.view(np.uint64)
    for r in range(x.shape[0]):
        _add_products(x[r], frequencies, 0, phases)
        _fast_row(phases, shifted, bits, turns)
        _write_row(turns, out[r], block)
