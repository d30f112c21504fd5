"""Compiled loops for the basis ``hadamard``: the definition in ``primal.bases._hadamard``.

Eight rows stand side by side: every step of a transform is the same for neighbors in memory, one
vector. Three steps are done at once, which makes a third of the passes (see `_numba_vectors`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from primal.engines._numba_kernels import write_row, write_row64
from primal.engines._numba_vectors import (
    butterflies2,
    butterflies4,
    butterflies8,
    butterflies16,
    signed_butterflies,
    wide_butterflies,
    write_turns,
    write_words,
)

_U64 = np.uint64
_U32 = np.uint32
_ZERO, _ONE = _U64(0), _U64(1)
_LOW32 = _U64(2**32 - 1)
_S32, _S63 = _U64(32), _U64(63)
_HALF_ULP = _U64(1 << 31)
_MANTISSA = _U64((1 << 52) - 1)
_IMPLICIT = _U64(1 << 52)
_kernel = njit(cache=True, nogil=True)


@_kernel
def _wide_word(bits, scale_mantissa, scale_exponent, n_bits):
    """Return floor(|x| scale 2**n_bits + 1/2), its last 128 bits as two words, x by its bits."""
    exponent = np.int64((bits >> _U64(52)) & _U64(0x7FF))
    mantissa = bits & _MANTISSA
    if exponent == 0:
        exponent = 1
    else:
        mantissa |= _IMPLICIT
    a_high, a_low = mantissa >> _S32, mantissa & _LOW32
    b_high, b_low = scale_mantissa >> _S32, scale_mantissa & _LOW32
    bottom, middle = a_low * b_low, a_high * b_low + a_low * b_high
    low = bottom + (middle << _S32)
    high = a_high * b_high + (middle >> _S32) + _U64(low < bottom)
    left = exponent - 1075 + scale_exponent + n_bits
    if left >= 128:
        return _ZERO, _ZERO
    if left >= 64:
        return low << _U64(left - 64), _ZERO
    if left > 0:
        by = _U64(left)
        return (high << by) | (low >> _U64(64 - left)), low << by
    if left == 0:
        return high, low
    if left < -127:
        return _ZERO, _ZERO
    # Halves up: the last bit that falls out is added.
    if left < -64:
        by = _U64(-left - 64)
        return _ZERO, (high >> by) + ((high >> (by - _ONE)) & _ONE)
    if left == -64:
        rounded = high + (low >> _S63)
        return _U64(rounded < high), rounded
    by = _U64(-left)
    shifted = (low >> by) | (high << _U64(64 + left))
    rounded = shifted + ((low >> (by - _ONE)) & _ONE)
    return (high >> by) + _U64(rounded < shifted), rounded


@_kernel
def _transform_signed(source, signs, target):
    """Write H times the columns of `source`, (m, 8), with signs of all bits or none, to `target`.

    Both may be the same array.
    """
    m = target.shape[0]
    inner = _inner_rows(m)
    for begin in range(0, m, inner):
        for row in range(begin, begin + inner, 8):
            signed_butterflies(source, row, signs, target)
        _steps(target, begin, begin + inner, 8, inner)
    _steps(target, 0, m, inner, m)


@_kernel
def _inner_rows(m):
    """Return how many rows to finish before others: a processor's nearest cache holds 512."""
    return m if m <= 512 else min(m // 8, 512)


@_kernel
def _steps(y, begin, end, half, size):
    """Do the steps of rows `half` to size / 2 apart on rows begin .. end - 1 of y, (m, 8)."""
    while half < size:
        if size == 16 * half:
            for first in range(begin, end, 16 * half):
                for row in range(first, first + half):
                    butterflies16(y, row, half)
            half *= 16
        elif size >= 8 * half:
            for first in range(begin, end, 8 * half):
                for row in range(first, first + half):
                    butterflies8(y, row, half)
            half *= 8
        elif size == 4 * half:
            for first in range(begin, end, 4 * half):
                for row in range(first, first + half):
                    butterflies4(y, row, half)
            half *= 4
        else:
            for first in range(begin, end, 2 * half):
                for row in range(first, first + half):
                    butterflies2(y, row, half)
            half *= 2


@_kernel
def _narrow_words(x, scale, first):
    """Fill the columns of `first`, (m, 8), with the 64-bit words of 8 rows, zero behind them."""
    scale_mantissa, scale_exponent = scale
    d = x.shape[1]
    first[d:] = _ZERO
    factor = math.ldexp(np.float64(scale_mantissa), scale_exponent + 64)
    n_done, outside = d // 8 * 8, 0
    for i in range(0, n_done, 8):
        outside |= write_words(x, i, factor, first)
    if outside:
        n_done = 0
    point = np.empty(1, dtype=np.float64)
    for c in range(8):
        for i in range(n_done, d):
            point[0] = x[c, i]
            bits = point.view(np.uint64)[0]
            word = _wide_word(bits, scale_mantissa, scale_exponent, 64)[1]
            minus = _ZERO - (bits >> _S63)
            first[i, c] = (word ^ minus) - minus


@_kernel
def _eight_rows(x, start):
    """Return eight rows from `start` on, zeros where there are fewer."""
    if start + 8 <= len(x):
        return x[start : start + 8]
    rows = np.zeros((8, x.shape[1]), dtype=x.dtype)
    rows[: len(x) - start] = x[start:]
    return rows


@_kernel
def _tile_turns(x, scale, signs, factors, first, y, turns):
    """Write the uint32 turns of 8 rows; `first` and `y`, (m, 8), are room for the words."""
    m = first.shape[0]
    _narrow_words(x, scale, first)
    _transform_signed(first, signs[0], first)
    for b in range((signs.shape[0] - 1) // 2):
        _transform_signed(first, signs[1 + 2 * b], y)
        _transform_signed(y, signs[2 + 2 * b], y)
        for row in range(0, m, 8):
            write_turns(y, row, factors, b * m + row, turns)


@_kernel
def turns(x, scale, signs, factors, skip, out):
    """Write the uint32 turns of rows of float32 or float64, shape (n, k)."""
    n, m = len(x), signs.shape[1]
    first, y = np.empty((m, 8), dtype=np.uint64), np.empty((m, 8), dtype=np.uint64)
    tile = np.empty((8, factors.shape[0]), dtype=np.uint32)
    for start in range(0, n, 8):
        some = min(8, n - start)
        _tile_turns(_eight_rows(x, start), scale, signs, factors, first, y, tile)
        out[start : start + some] = tile[:some, skip : skip + out.shape[1]]


@_kernel
def features(x, scale, signs, factors, skip, k, finish, out):
    """Write the features of rows of float32 or float64."""
    n, m = len(x), signs.shape[1]
    first, y = np.empty((m, 8), dtype=np.uint64), np.empty((m, 8), dtype=np.uint64)
    tile = np.empty((8, factors.shape[0]), dtype=np.uint32)
    for start in range(0, n, 8):
        some = min(8, n - start)
        _tile_turns(_eight_rows(x, start), scale, signs, factors, first, y, tile)
        for c in range(some):
            write_row(tile[c, skip : skip + k], finish, out[start + c])


@_kernel
def _wide_transform(high, low):
    """Replace the columns of 128-bit words, (m, 8) in two parts, by H times each."""
    m, half = low.shape[0], 1
    while half < m:
        for first in range(0, m, 2 * half):
            for row in range(first, first + half):
                wide_butterflies(high, low, row, half)
        half *= 2


@_kernel
def _wide_signed(high, low, signs, high_out, low_out):
    for i in range(low.shape[0]):
        sign = signs[i]
        for c in range(low.shape[1]):
            flipped = (low[i, c] ^ sign) - sign
            # The borrow of minus zero is lost in the low word and kept in the high one.
            carry = _U64(flipped == _ZERO) & sign
            high_out[i, c], low_out[i, c] = (high[i, c] ^ sign) + carry, flipped


@_kernel
def wide_features(x_bits, scale, signs, factors, skip, k, finish, out):
    """Write the float64 features of rows, given by the bits of their float64: 128-bit words."""
    n, m = len(x_bits), signs.shape[1]
    d, rows = x_bits.shape[1], 8
    scale_mantissa, scale_exponent = scale
    first, first_low, y, y_low = (
        np.zeros((m, rows), dtype=np.uint64),
        np.zeros((m, rows), dtype=np.uint64),
        np.empty((m, rows), dtype=np.uint64),
        np.empty((m, rows), dtype=np.uint64),
    )
    tile = np.empty((rows, factors.shape[0]), dtype=np.uint64)
    for start in range(0, n, rows):
        some = min(rows, n - start)
        first[d:], first_low[d:] = _ZERO, _ZERO
        for c in range(some):
            for i in range(d):
                bits = x_bits[start + c, i]
                high, low = _wide_word(bits, scale_mantissa, scale_exponent, 128)
                minus = _ZERO - (bits >> _S63)
                low = (low ^ minus) - minus
                high = (high ^ minus) + (_U64(low == _ZERO) & minus)
                first[i, c], first_low[i, c] = high, low
        _wide_signed(first, first_low, signs[0], first, first_low)
        _wide_transform(first, first_low)
        for b in range((signs.shape[0] - 1) // 2):
            _wide_signed(first, first_low, signs[1 + 2 * b], y, y_low)
            _wide_transform(y, y_low)
            _wide_signed(y, y_low, signs[2 + 2 * b], y, y_low)
            _wide_transform(y, y_low)
            for j in range(m):
                factor = factors[b * m + j]
                for c in range(some):
                    low = y_low[j, c]
                    middle = (low >> _S32) * factor + (((low & _LOW32) * factor) >> _S32)
                    # Bit 63 of the low word of the product rounds, halves up.
                    top = (middle >> _U64(31)) & _ONE
                    tile[c, b * m + j] = y[j, c] * factor + (middle >> _S32) + top
        for c in range(some):
            write_row64(tile[c, skip : skip + k], finish, out[start + c])


@_kernel
def _transform(y):
    """Replace the columns of y, (m, 8), of any type, by H times each."""
    m = y.shape[0]
    inner = _inner_rows(m)
    for begin in range(0, m, inner):
        _steps(y, begin, begin + inner, 1, inner)
    _steps(y, 0, m, inner, m)


@_kernel
def adjoint(v, weights, signs, skip, out):
    """Write rows of v times the frequencies, the transform backwards, in their own type."""
    (n, k), m = v.shape, signs.shape[1]
    d = out.shape[1]
    y, total = np.empty((m, 8), dtype=v.dtype), np.empty((m, 8), dtype=v.dtype)
    for start in range(0, n, 8):
        some = min(8, n - start)
        total[:] = 0
        for b in range((signs.shape[0] - 1) // 2):
            for j in range(m):
                column = b * m + j - skip
                y[j] = 0
                if 0 <= column < k:
                    weight = weights[b * m + j]
                    for c in range(some):
                        y[j, c] = v[start + c, column] * weight
            _transform(y)
            for j in range(m):
                for c in range(8):
                    y[j, c] *= signs[2 + 2 * b, j]
            _transform(y)
            for j in range(m):
                for c in range(8):
                    total[j, c] += y[j, c] * signs[1 + 2 * b, j]
        _transform(total)
        for i in range(d):
            for c in range(some):
                out[start + c, i] = total[i, c] * signs[0, i]
