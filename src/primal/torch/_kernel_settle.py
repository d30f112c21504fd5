"""Triton kernels that settle what a float64 product leaves open.

The exact phase of a row of x and a row of frequencies is an integer dot product (see
``primal.exact``). The feature kernel lists, tile by tile, the phases whose rounding
its float64 sum cannot decide. A tile with a short list has these computed exactly, one pair
at a time. A tile with a long one (long phases) first goes through sums of digit products,
which decide nearly all of it.
"""

from __future__ import annotations

import triton.language as tl

from primal.exact import DEEP_BITS
from primal.torch._eager import INVALID_EXPONENT
from primal.torch._kernel_parts import jit, wave_pair, write_pair

_INVALID = tl.constexpr(INVALID_EXPONENT)
_DEEP_BITS = tl.constexpr(DEEP_BITS)
_HALF = tl.constexpr(1 << 31)
_LOW31 = tl.constexpr(2**31 - 1)
_LOW32 = tl.constexpr(2**32 - 1)
# A shift to the right loses less than one unit of 2**-64 turn, for each of up to 16 sums.
_SHIFT_ERROR = tl.constexpr(16.0)


@jit
def dense_kernel(
    x, row_exponents, mantissas, exponents, level_errors, out, counts, unsure,
    n_tiles, n_rows, n_frequencies, amplitude, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr, X_BITS: tl.constexpr, F_BITS: tl.constexpr, CAPACITY: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Go through GROUP tiles and write those again whose lists are too long."""
    first_tile = tl.program_id(0) * GROUP
    tiles = first_tile + tl.arange(0, GROUP)
    listed = tl.load(counts + tiles, tiles < n_tiles, other=0)
    if tl.max(listed, 0) > CAPACITY:
        i = 0
        while i < GROUP:
            tile = first_tile + i
            if tl.load(counts + tile, tile < n_tiles, other=0) > CAPACITY:
                _dense_tile(
                    x, row_exponents, mantissas, exponents, level_errors, out, counts, unsure,
                    tile, n_rows, n_frequencies, amplitude, N_INPUTS, INTERLEAVED, SCALED,
                    X_BITS, F_BITS, CAPACITY, ROWS, COLUMNS, DEPTH,
                )  # fmt: skip
            i += 1


@jit
def _dense_tile(
    x, row_exponents, mantissas, exponents, level_errors, out, counts, unsure,
    tile, n_rows, n_frequencies, amplitude, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr, X_BITS: tl.constexpr, F_BITS: tl.constexpr, CAPACITY: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Write a tile whose list is too long again, and list again what is still unsure."""
    across = tl.cdiv(n_frequencies, COLUMNS)
    rows = (tile // across).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    first = (tile % across) * COLUMNS
    columns = first + tl.arange(0, COLUMNS)
    a = tl.load(row_exponents + rows, rows < n_rows, other=0)
    valid = a < _INVALID
    a = tl.where(valid, a, 0)
    g = tl.load(exponents + columns, columns < n_frequencies, other=0).to(tl.int32)
    shift = a[:, None] + g[None, :] - 60
    turns = tl.full((ROWS, COLUMNS), _HALF, tl.int64)
    for i in tl.static_range(1, 3):
        for b in tl.static_range(1, (63 + F_BITS - 1) // F_BITS + 1):
            if (i - 1) * X_BITS + (b - 1) * F_BITS < _DEEP_BITS:
                total = _digit_sum(
                    x, mantissas, a, rows, columns, n_rows, n_frequencies, N_INPUTS,
                    i, b, X_BITS, F_BITS, ROWS, COLUMNS, DEPTH,
                )  # fmt: skip
                place = shift + (_unit(i, X_BITS) + _unit(b, F_BITS))
                left = tl.minimum(tl.maximum(place, 0), 63).to(tl.int64)
                right = tl.minimum(tl.maximum(-place, 0), 63).to(tl.int64)
                turns += tl.where(place > 63, 0, (total.to(tl.int64) << left) >> right)
    errors = tl.load(level_errors + columns, columns < n_frequencies, other=0) * 2.0**64
    error = errors[None, :] * _power_of_two(a)[:, None] + _SHIFT_ERROR
    low = (turns & _LOW32).to(tl.float64)
    sure = (low >= error) & (low <= 2.0**32 - 1.0 - error)
    cos, sin = wave_pair((turns >> 32).to(tl.int32), valid[:, None])
    write_pair(
        out, cos, sin, rows, first, n_rows, n_frequencies, amplitude, INTERLEAVED, SCALED, COLUMNS
    )
    tl.store(counts + tile, 0)
    tl.debug_barrier()
    inside = (rows < n_rows)[:, None] & (columns < n_frequencies)[None, :] & valid[:, None]
    list_unsure(counts, unsure, tile, inside & (sure == 0), CAPACITY, ROWS, COLUMNS)


@jit
def list_unsure(
    counts, unsure, tile, mask, CAPACITY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Append the marked entries of a tile to its list; the count may pass the capacity."""
    if tl.max(tl.max(mask.to(tl.int32), 1), 0) > 0:
        index = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        here = tl.zeros((ROWS, COLUMNS), tl.int32) + tile
        slot = tl.atomic_add(counts + here, 1, mask)
        tl.store(unsure + here.to(tl.int64) * CAPACITY + slot, index, mask & (slot < CAPACITY))


@jit
def sparse_kernel(
    x, row_exponents, mantissas, exponents, out, counts, unsure, n_rows, n_frequencies, amplitude,
    N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr, SCALED: tl.constexpr,
    CAPACITY: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PAIRS: tl.constexpr,
    DEPTH: tl.constexpr,
):  # fmt: skip
    """Write the listed entries of a tile from their exact phases; all of it if it overflowed."""
    tile = tl.program_id(0)
    listed = tl.load(counts + tile)
    n = tl.where(listed > CAPACITY, ROWS * COLUMNS, listed)
    across = tl.cdiv(n_frequencies, COLUMNS)
    begin = 0
    while begin < n:
        slot = begin + tl.arange(0, PAIRS)
        index = slot
        if listed <= CAPACITY:
            index = tl.load(unsure + tile.to(tl.int64) * CAPACITY + slot, slot < n, other=0)
        row = (tile // across).to(tl.int64) * ROWS + index // COLUMNS
        column = (tile % across) * COLUMNS + index % COLUMNS
        mask = (slot < n) & (row < n_rows) & (column < n_frequencies)
        a = tl.load(row_exponents + row, mask, other=_INVALID)
        mask = mask & (a < _INVALID)
        a = tl.where(mask, a, 0)
        turns = _exact_turns(x, mantissas, exponents, a, row, column, mask, N_INPUTS, PAIRS, DEPTH)
        cos, sin = wave_pair(((turns + _HALF) >> 32).to(tl.int32))
        if SCALED:
            cos = cos * amplitude
            sin = sin * amplitude
        line = out + row * (2 * n_frequencies)
        at_cos = column
        at_sin = column + n_frequencies
        if INTERLEAVED:
            at_cos = 2 * column
            at_sin = 2 * column + 1
        tl.store(line + at_cos, cos.to(out.dtype.element_ty), mask)
        tl.store(line + at_sin, sin.to(out.dtype.element_ty), mask)
        begin += PAIRS


@jit
def _exact_turns(
    x, mantissas, exponents, a, row, column, mask, N_INPUTS: tl.constexpr,
    PAIRS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Return the exact 64-bit turns of some pairs of a row and a frequency.

    Factors are cut at 31 bits; the products of 62 bits are summed in two halves each.
    """
    hh_high = tl.zeros((PAIRS,), tl.int64)
    hh_low = tl.zeros((PAIRS,), tl.int64)
    mid_high = tl.zeros((PAIRS,), tl.int64)
    mid_low = tl.zeros((PAIRS,), tl.int64)
    ll_high = tl.zeros((PAIRS,), tl.int64)
    ll_low = tl.zeros((PAIRS,), tl.int64)
    for first in range(0, N_INPUTS, DEPTH):
        j = first + tl.arange(0, DEPTH)
        inside = mask[:, None] & (j[None, :] < N_INPUTS)
        value = tl.load(x + row[:, None] * N_INPUTS + j[None, :], inside, other=0)
        point = _integer_point(value, a[:, None])
        f = tl.load(mantissas + column[:, None] * N_INPUTS + j[None, :], inside, other=0)
        xh = point >> 31
        xl = point & _LOW31
        fh = f >> 31
        fl = f & _LOW31
        hh = xh * fh
        mid = xh * fl + xl * fh
        ll = xl * fl
        hh_high += tl.sum(hh >> 32, 1)
        hh_low += tl.sum(hh & _LOW32, 1)
        mid_high += tl.sum(mid >> 32, 1)
        mid_low += tl.sum(mid & _LOW32, 1)
        ll_high += tl.sum(ll >> 32, 1)
        ll_low += tl.sum(ll & _LOW32, 1)
    low = tl.zeros((PAIRS,), tl.uint64)
    middle = tl.zeros((PAIRS,), tl.uint64)
    high = tl.zeros((PAIRS,), tl.uint64)
    low, middle, high = _add(low, middle, high, ll_low, 0)
    low, middle, high = _add(low, middle, high, ll_high, 32)
    low, middle, high = _add(low, middle, high, mid_low, 31)
    low, middle, high = _add(low, middle, high, mid_high, 63)
    low, middle, high = _add(low, middle, high, hh_low, 62)
    middle, high = _add_upper(middle, high, hh_high, 30)
    g = tl.load(exponents + column, mask, other=0).to(tl.int32)
    return _window(low, middle, high, 60 - a - g)


@jit
def _add(low, middle, high, value, SHIFT: tl.constexpr):
    """Add value * 2**SHIFT to a 192-bit integer in three words, 0 <= SHIFT < 64."""
    part = value.to(tl.uint64, bitcast=True) << SHIFT
    sign = (value >> 63).to(tl.uint64, bitcast=True)
    above = sign
    if SHIFT > 0:
        above = (value >> (64 - SHIFT)).to(tl.uint64, bitcast=True)
    low = low + part
    carry = (low < part).to(tl.uint64)
    total = above + carry
    carry = (total < carry).to(tl.uint64)
    middle = middle + total
    carry = carry + (middle < total).to(tl.uint64)
    return low, middle, high + sign + carry


@jit
def _add_upper(middle, high, value, SHIFT: tl.constexpr):
    """Add value * 2**(64 + SHIFT), 0 < SHIFT < 64, to the two upper words."""
    part = value.to(tl.uint64, bitcast=True) << SHIFT
    middle = middle + part
    carry = (middle < part).to(tl.uint64)
    return middle, high + (value >> (64 - SHIFT)).to(tl.uint64, bitcast=True) + carry


@jit
def _window(low, middle, high, start):
    """Return bits start .. start + 63 of 192-bit integers, start >= 0, as int64."""
    sign = (high.to(tl.int64, bitcast=True) >> 63).to(tl.uint64, bitcast=True)
    word = start // 64
    shift = (start % 64).to(tl.uint64)
    here = tl.where(word == 0, low, tl.where(word == 1, middle, tl.where(word == 2, high, sign)))
    next_ = tl.where(word == 0, middle, tl.where(word == 1, high, sign))
    # Two shifts: one by 64 is not defined.
    joined = (here >> shift) | ((next_ << 1) << (63 - shift))
    return joined.to(tl.int64, bitcast=True)


@jit
def _digit_sum(
    x, mantissas, a, rows, columns, n_rows, n_frequencies, N_INPUTS: tl.constexpr,
    X_DIGIT: tl.constexpr, F_DIGIT: tl.constexpr, X_BITS: tl.constexpr, F_BITS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Return the exact sum over one product of digits, whole numbers within 2**53."""
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    for first in range(0, N_INPUTS, DEPTH):
        j = first + tl.arange(0, DEPTH)
        value = tl.load(
            x + rows[:, None] * N_INPUTS + j[None, :],
            (rows[:, None] < n_rows) & (j[None, :] < N_INPUTS),
            other=0,
        )
        mantissa = tl.load(
            mantissas + columns[None, :] * N_INPUTS + j[:, None],
            (columns[None, :] < n_frequencies) & (j[:, None] < N_INPUTS),
            other=0,
        )
        x_digit = _digit(_integer_point(value, a[:, None]), X_DIGIT, X_BITS)
        f_digit = _digit(mantissa, F_DIGIT, F_BITS)
        total = tl.dot(x_digit, f_digit, total, out_dtype=tl.float64)
    return total


@jit
def _integer_point(value, a):
    """Return x as the integers of the definition: the nearest to x * 2**(62 - a)."""
    # Two factors: a single power of two overflows for rows of denormal numbers.
    scale = 62 - a
    half = scale >> 1
    scaled = value.to(tl.float64) * _power_of_two(half) * _power_of_two(scale - half)
    # Numbers of 2**52 or more are whole already; the others are rounded, ties to even.
    size = tl.abs(scaled)
    rounded = (size + 2.0**52) - 2.0**52
    rounded = tl.where(size < 2.0**52, rounded, size)
    return tl.where(scaled < 0, -rounded, rounded).to(tl.int64)


@jit
def _digit(integers, DIGIT: tl.constexpr, BITS: tl.constexpr):
    """Return one balanced digit of int64 numbers as float64."""
    rest = integers
    digit = integers
    for b in tl.static_range(1, DIGIT + 1):
        if 63 - b * BITS > 0:
            digit = (rest + (1 << (62 - b * BITS))) >> (63 - b * BITS)
            rest = rest - (digit << (63 - b * BITS))
        else:
            digit = rest
    return digit.to(tl.float64)


@jit
def _unit(digit: tl.constexpr, BITS: tl.constexpr):
    """Return the power of two that a digit counts."""
    return max(63 - digit * BITS, 0)


@jit
def _power_of_two(exponent):
    return ((exponent.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)
