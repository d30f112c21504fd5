"""Compiled loops for the basis ``hadamard``: the definition in ``primal.bases._hadamard``.

Eight rows stand side by side: every step of a transform is the same for neighbors in memory, one
vector. Three steps are done at once, which makes a third of the passes (see `_numba_butterflies`).
"""

import math

import numpy as np
from numba import njit

from primal.engines._numba_butterflies import (
    butterflies2,
    butterflies4,
    butterflies8,
    butterflies16,
    double2,
    double4,
    double8,
    double16,
    signed_butterflies,
    wide2,
    wide4,
    wide8,
    wide_signed,
    word_butterflies,
    write_turns,
    write_wide_turns,
)
from primal.engines._numba_kernels import write_row

ROWS = 8  # that a kernel takes at once
_U64 = np.uint64
_ZERO, _ONE = _U64(0), _U64(1)
_LOW32 = _U64(2**32 - 1)
_S32, _S63 = _U64(32), _U64(63)
_MANTISSA = _U64((1 << 52) - 1)
_IMPLICIT = _U64(1 << 52)
# Loops in Numba's cache are made anew when this file changes, and contain those of others.
# Compiled with: 8ee7a1ca3ca7
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
def _long_words(x, scale, row, words):
    """Write the 64-bit words of eight columns of x, (8, d), zero beyond, to rows of `words`."""
    words[row : row + 8] = _ZERO
    point = np.empty(1, dtype=np.float64)
    for i in range(row, min(row + 8, x.shape[1])):
        for c in range(8):
            point[0] = x[c, i]
            bits = point.view(np.uint64)[0]
            word = _wide_word(bits, scale[0], scale[1], 64)[1]
            minus = _ZERO - (bits >> _S63)
            words[i, c] = (word ^ minus) - minus


@_kernel
def _first_round(x, scale, signs, words):
    """Write H S X of eight rows, (8, d), to `words`, (m, 8)."""
    m = words.shape[0]
    inner = _inner_rows(m)
    factor = math.ldexp(np.float64(scale[0]), scale[1] + 64)
    for begin in range(0, m, inner):
        for row in range(begin, begin + inner, 8):
            if row + 8 > x.shape[1] or word_butterflies(x, row, factor, signs, words):
                _long_words(x, scale, row, words)
                signed_butterflies(words, row, signs, words)
        _steps(words, begin, begin + inner, 8, inner)
    _steps(words, 0, m, inner, m)


@_kernel
def _block_turns(first, signs, third_signs, factors, column, y, turns):
    """Write the turns of a block of frequencies to `turns` from a column on.

    The steps of a transform may be done in any order: those of the second end, and those of the
    third begin, with the rows farthest from each other, in one pass; the third ends with neighbors.
    """
    m = y.shape[0]
    inner = _inner_rows(m)
    far = _last_half(inner if inner < m else 8, m)
    near = min(inner, far)
    for begin in range(0, m, inner):
        for row in range(begin, begin + inner, 8):
            signed_butterflies(first, row, signs, y)
        _steps(y, begin, begin + inner, 8, near)
    _steps(y, 0, m, inner, far)
    for row in range(far):
        if m == 16 * far:
            double16(y, row, far, third_signs)
        elif m == 8 * far:
            double8(y, row, far, third_signs)
        elif m == 4 * far:
            double4(y, row, far, third_signs)
        else:
            double2(y, row, far, third_signs)
    _steps(y, 0, m, inner, far)
    for begin in range(0, m, inner):
        _steps(y, begin, begin + inner, 8, near)
        for row in range(begin, begin + inner, 8):
            write_turns(y, row, factors, column + row, turns)


@_kernel
def _last_half(half, size):
    """Return the distance of rows in the last pass of `_steps`."""
    while size > 8 * half and size != 16 * half:
        half *= 8
    return half


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
    m, n_blocks = first.shape[0], (signs.shape[0] - 1) // 2
    _first_round(x, scale, signs[0], first)
    for b in range(n_blocks):
        # What has been read for the last time may be written over: half the memory.
        room = y if b + 1 < n_blocks else first
        _block_turns(first, signs[1 + 2 * b], signs[2 + 2 * b], factors, b * m, room, turns)


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
def _wide_transform(high, low, signs, high_out, low_out):
    """Write H times the columns of 128-bit words, (m, 8) in two parts, with signs."""
    m, half = low.shape[0], 8
    for row in range(0, m, 8):
        wide_signed(high, low, row, signs, high_out, low_out)
    while half < m:
        radix = min(m // half, 8)
        for first in range(0, m, radix * half):
            for row in range(first, first + half):
                if radix == 8:
                    wide8(high_out, low_out, row, half)
                elif radix == 4:
                    wide4(high_out, low_out, row, half)
                else:
                    wide2(high_out, low_out, row, half)
        half *= radix


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
                # The borrow of minus zero is lost in the low word and kept in the high one.
                high = (high ^ minus) + (_U64(low == _ZERO) & minus)
                first[i, c], first_low[i, c] = high, low
        _wide_transform(first, first_low, signs[0], first, first_low)
        for b in range((signs.shape[0] - 1) // 2):
            _wide_transform(first, first_low, signs[1 + 2 * b], y, y_low)
            _wide_transform(y, y_low, signs[2 + 2 * b], y, y_low)
            for row in range(0, m, 8):
                write_wide_turns(y, y_low, row, factors, b * m + row, tile)
        for c in range(some):
            write_row(tile[c, skip : skip + k], finish, out[start + c])


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
