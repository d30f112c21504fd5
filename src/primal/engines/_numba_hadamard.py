"""Compiled loops for the basis ``hadamard``: the definition in ``primal.bases._hadamard``.

A few rows stand side by side, so that every step of a transform is the same for neighbors in
memory and the compiler can take them together. Two steps are done at once: that halves the passes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from primal.engines._numba_kernels import write_row, write_row64

_U64 = np.uint64
_U32 = np.uint32
_ZERO, _ONE = _U64(0), _U64(1)
_LOW32 = _U64(2**32 - 1)
_S32, _S63 = _U64(32), _U64(63)
_HALF_ULP = _U64(1 << 31)
_MANTISSA = _U64((1 << 52) - 1)
_IMPLICIT = _U64(1 << 52)
# Words of a tile: with its copy it stays in the second-level cache.
_TILE_WORDS = 1 << 14
_MOST_ROWS = 16

_kernel = njit(cache=True, nogil=True)
_inlined = njit(cache=True, nogil=True, inline="always")


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
def _transform(y):
    """Replace the columns of y, shape (m, rows), by H times each."""
    m, n = y.shape
    h = 1
    while 2 * h < m:
        for i in range(0, m, 4 * h):
            for j in range(i, i + h):
                p, q, r, s = y[j], y[j + h], y[j + 2 * h], y[j + 3 * h]
                for c in range(n):
                    a, b = p[c] + q[c], p[c] - q[c]
                    u, v = r[c] + s[c], r[c] - s[c]
                    p[c], q[c], r[c], s[c] = a + u, b + v, a - u, b - v
        h *= 4
    if h < m:
        for j in range(h):
            p, q = y[j], y[j + h]
            for c in range(n):
                p[c], q[c] = p[c] + q[c], p[c] - q[c]


@_kernel
def _signed(source, signs, target):
    for i in range(source.shape[0]):
        sign = signs[i]
        for c in range(source.shape[1]):
            target[i, c] = (source[i, c] ^ sign) - sign


@_kernel
def tile_rows(m):
    """Return how many rows stand side by side."""
    return max(4, min(_MOST_ROWS, _TILE_WORDS // m))


@_kernel
def _narrow_words(x_bits, scale, first):
    """Fill the columns of `first` with the 64-bit words of rows, zero behind them."""
    scale_mantissa, scale_exponent = scale
    n, d = x_bits.shape
    first[d:] = _ZERO
    first[:d, n:] = _ZERO
    for c in range(n):
        for i in range(d):
            bits = x_bits[c, i]
            word = _wide_word(bits, scale_mantissa, scale_exponent, 64)[1]
            minus = _ZERO - (bits >> _S63)
            first[i, c] = (word ^ minus) - minus


@_kernel
def _tile_turns(x_bits, scale, signs, factors, first, y, turns):
    """Write the uint32 turns of a few rows; `first` and `y` are room for the words."""
    m, rows = first.shape
    _narrow_words(x_bits, scale, first)
    _signed(first, signs[0], first)
    _transform(first)
    for b in range((signs.shape[0] - 1) // 2):
        _signed(first, signs[1 + 2 * b], y)
        _transform(y)
        _signed(y, signs[2 + 2 * b], y)
        _transform(y)
        for j in range(m):
            factor = factors[b * m + j]
            for c in range(rows):
                turns[c, b * m + j] = _U32((y[j, c] * factor + _HALF_ULP) >> _S32)


@_kernel
def turns(x_bits, scale, signs, factors, skip, out):
    """Write the uint32 turns of rows, given by the bits of their float64, shape (n, k)."""
    n, m = len(x_bits), signs.shape[1]
    rows = tile_rows(m)
    first, y = np.empty((m, rows), dtype=np.uint64), np.empty((m, rows), dtype=np.uint64)
    tile = np.empty((rows, factors.shape[0]), dtype=np.uint32)
    for start in range(0, n, rows):
        some = min(rows, n - start)
        _tile_turns(x_bits[start : start + some], scale, signs, factors, first, y, tile)
        out[start : start + some] = tile[:some, skip : skip + out.shape[1]]


@_kernel
def features(x_bits, scale, signs, factors, skip, k, finish, out):
    """Write the features of rows, given by the bits of their float64."""
    n, m = len(x_bits), signs.shape[1]
    rows = tile_rows(m)
    first, y = np.empty((m, rows), dtype=np.uint64), np.empty((m, rows), dtype=np.uint64)
    tile = np.empty((rows, factors.shape[0]), dtype=np.uint32)
    for start in range(0, n, rows):
        some = min(rows, n - start)
        _tile_turns(x_bits[start : start + some], scale, signs, factors, first, y, tile)
        for c in range(some):
            write_row(tile[c, skip : skip + k], finish, out[start + c])


@_kernel
def _wide_transform(high, low):
    """Replace the columns of 128-bit words, (m, rows) in two parts, by H times each."""
    m, n = low.shape
    h = 1
    while h < m:
        for i in range(0, m, 2 * h):
            for j in range(i, i + h):
                p, q, r, s = high[j], low[j], high[j + h], low[j + h]
                for c in range(n):
                    a, b, u, v = p[c], q[c], r[c], s[c]
                    total = b + v
                    q[c], s[c] = total, b - v
                    p[c], r[c] = a + u + _U64(total < b), a - u - _U64(b < v)
        h *= 2


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
def wide_features(x_bits, scale, signs, factors, skip, k, block, out):
    """Write the float64 features of rows, by 128-bit words."""
    n, m = len(x_bits), signs.shape[1]
    d, rows = x_bits.shape[1], max(2, tile_rows(m) // 2)
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
            write_row64(tile[c, skip : skip + k], block, out[start + c])


@_kernel
def adjoint(v, weights, signs, skip, out):
    """Write rows of v times the frequencies, the transform backwards, in their own type."""
    (n, k), m = v.shape, signs.shape[1]
    rows, d = tile_rows(m), out.shape[1]
    y, total = np.empty((m, rows), dtype=v.dtype), np.empty((m, rows), dtype=v.dtype)
    for start in range(0, n, rows):
        some = min(rows, n - start)
        total[:] = 0
        for b in range((signs.shape[0] - 1) // 2):
            for j in range(m):
                column = b * m + j - skip
                if 0 <= column < k:
                    weight = weights[b * m + j]
                    for c in range(some):
                        y[j, c] = v[start + c, column] * weight
                    y[j, some:] = 0
                else:
                    y[j] = 0
            _transform(y)
            for j in range(m):
                sign = signs[2 + 2 * b, j]
                for c in range(rows):
                    y[j, c] *= sign
            _transform(y)
            for j in range(m):
                sign = signs[1 + 2 * b, j]
                for c in range(rows):
                    total[j, c] += y[j, c] * sign
        _transform(total)
        for i in range(d):
            for c in range(some):
                out[start + c, i] = total[i, c] * signs[0, i]
