"""Triton kernels for the basis ``hadamard``: x in, features out, nothing in between in memory.

A program has a few rows and goes through all blocks of frequencies; the first round of signs and
transform is done once. The m words of a row are an array of A x B x C. Triton deals the last axes
of a tensor out to threads, so steps along the first axis stay within a thread. After these the
axes are turned, A to the end, and steps go along B, then along C: two exchanges between threads, or
one where C is 1, instead of one for every step. The next transform goes the same way backwards,
and so every second one ends with neighbors in neighboring threads, ready to be written.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton.language as tl

from primal.torch._eager import Request
from primal.torch._hadamard import HadamardTensors
from primal.torch._kernel_parts import fast_pair, jit, quotient, wave_pair, write_pair

# By the rows of a block: rows and warps of a program, and log2 of A, B and C (found on an H200).
_PLANS: dict[int, tuple[int, ...]] = {
    64: (16, 4, 3, 3, 0),
    128: (4, 1, 4, 3, 0),
    256: (2, 1, 4, 4, 0),
    512: (1, 1, 2, 4, 3),
    1024: (1, 4, 3, 4, 3),
    2048: (1, 4, 3, 4, 4),
    4096: (1, 4, 3, 5, 4),
}
# Gradients hold more numbers at once.
_GRADIENT_PLANS = _PLANS | {1024: (1, 2, 2, 4, 4)}
_LARGE_PLAN = (1, 8)
_UP_32, _DOWN_32, _UP_52 = (tl.constexpr(2.0**power) for power in (32, -32, 52))
_BITS_OF_UP_52 = tl.constexpr((1023 + 52) << 52)
_MAGNITUDE = tl.constexpr((1 << 63) - 1)


@jit
def _step(flat, HALF: tl.constexpr):
    """Return sums and differences of entries HALF apart along the first of two axes."""
    pairs = tl.reshape(flat, (flat.shape[0] // (2 * HALF), 2, HALF, flat.shape[1]))
    p, q = tl.split(tl.permute(pairs, (0, 2, 3, 1)))
    both = tl.permute(tl.join(p + q, p - q), (0, 3, 1, 2))
    return tl.reshape(both, flat.shape)


@jit
def _group(y, LOG: tl.constexpr):
    """Return the transform along the first of four axes, of 2**LOG entries."""
    flat = tl.reshape(y, (y.shape[0], y.shape[1] * y.shape[2] * y.shape[3]))
    for step in tl.static_range(LOG):
        flat = _step(flat, 1 << step)
    return tl.reshape(flat, y.shape)


@jit
def _there(y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Return H y for y (A, rows, B, C), in the order of axes it ends with."""
    y = tl.permute(_group(y, A), (2, 1, 3, 0))
    y = _group(y, B)
    if C > 0:
        y = _group(tl.permute(y, (2, 1, 3, 0)), C)
    return y


@jit
def _back(y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Return H y for y in the order of axes that `_there` ends with, as (A, rows, B, C)."""
    if C > 0:
        y = tl.permute(_group(y, C), (3, 1, 0, 2))
    y = tl.permute(_group(y, B), (3, 1, 0, 2))
    return _group(y, A)


@jit
def _columns(A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Return the place in a block of every word of a row, (A, 1, B, C)."""
    a = tl.arange(0, 1 << A)[:, None, None, None] << (B + C)
    b = tl.arange(0, 1 << B)[None, None, :, None] << C
    return a + b + tl.arange(0, 1 << C)[None, None, None, :]


@jit
def _turned_columns(A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Return the same in the order of axes that `_there` ends with."""
    if C > 0:
        c = tl.arange(0, 1 << C)[:, None, None, None]
        a = tl.arange(0, 1 << A)[None, None, :, None] << (B + C)
        columns = a + c + (tl.arange(0, 1 << B)[None, None, None, :] << C)
    else:
        b = tl.arange(0, 1 << B)[:, None, None, None]
        columns = b + (tl.arange(0, 1 << A)[None, None, None, :] << B)
    return columns


@jit
def _signed(y, signs):
    wide = signs.to(tl.int64)
    if signs.dtype == tl.int32:
        # Both halves of a sign are the same: no need to make one of the other.
        wide = (wide << 32) | signs.to(tl.uint32, bitcast=True).to(tl.int64)
    return (y ^ wide) - wide


@jit
def _shifted_right(word, by):
    """Return word >> by without sign bits, zero from 64 on."""
    wide = word.to(tl.uint64, bitcast=True) >> tl.minimum(by, 63).to(tl.uint64)
    return tl.where(by < 64, wide.to(tl.int64, bitcast=True), 0)


@jit
def _words(x, scale_mantissa, scale_exponent):
    """Return sign(x) floor(|x| scale 2**64 + 1/2) mod 2**64 of float64 x."""
    bits = x.to(tl.int64, bitcast=True)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & ((1 << 52) - 1)
    mantissa = tl.where(exponent == 0, mantissa, mantissa | (1 << 52))
    a_high, a_low = mantissa >> 32, mantissa & 0xFFFFFFFF
    b_high, b_low = scale_mantissa >> 32, scale_mantissa & 0xFFFFFFFF
    bottom, middle = a_low * b_low, a_high * b_low + a_low * b_high
    low = bottom + (middle << 32)
    carry = low.to(tl.uint64, bitcast=True) < bottom.to(tl.uint64, bitcast=True)
    high = a_high * b_high + (middle >> 32) + carry.to(tl.int64)
    left = tl.maximum(exponent, 1) - 1075 + scale_exponent + 64
    up = tl.where(left < 64, low << tl.minimum(tl.maximum(left, 0), 63), 0)
    by = tl.maximum(-left, 1)
    # Halves up: the last bit that falls out is added.
    near = _shifted_right(low, by) | tl.where(by < 64, high << (64 - tl.minimum(by, 63)), 0)
    shifted = tl.where(by < 64, near, _shifted_right(high, by - 64))
    last = tl.where(by <= 64, _shifted_right(low, by - 1), _shifted_right(high, by - 65)) & 1
    size = tl.where(left >= 0, up, shifted + last)
    minus = bits >> 63
    return (size ^ minus) - minus


@jit
def _short_words(x, scale_mantissa, scale_exponent):
    """Return what `_words` does, of x with at most 24 bits, by float64 sums without rounding.

    |x| times the head and the tail of the scale, of 28 and 25 bits, are exact. So are their whole
    parts and rests; where the sum of the rests is rounded, its sign decides and stays right.
    """
    unit = ((tl.full((), 1023 + 64, tl.int64) + scale_exponent) << 52).to(tl.float64, bitcast=True)
    size = tl.abs(x)
    head = size * ((scale_mantissa >> 25 << 25).to(tl.float64) * unit)
    tail = size * ((scale_mantissa & ((1 << 25) - 1)).to(tl.float64) * unit)
    whole, tail_whole = tl.floor(head), tl.floor(tail)
    past_half = (head - whole - 0.5) + (tail - tail_whole)
    # Whole parts may pass 2**64, the last bits of float64 sums with 2**52 do not.
    top = tl.floor(whole * _DOWN_32)
    low = (whole - top * _UP_32) + tail_whole
    word = ((top + _UP_52).to(tl.int64, bitcast=True) << 32) - _BITS_OF_UP_52
    word += (low + _UP_52).to(tl.int64, bitcast=True)
    word += (past_half >= 0.0).to(tl.int64) + (past_half >= 1.0).to(tl.int64)
    minus = x.to(tl.int64, bitcast=True) >> 63
    return (word ^ minus) - minus


@jit
def _first_round(
    x, signs, rows, n_rows, scale_mantissa, scale_exponent, limit_bits, N_INPUTS: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return H S1 X of some rows, (A, rows, B, C), and which rows have features."""
    columns = _turned_columns(A, B, C)
    row = rows[None, :, None, None]
    inside = (row < n_rows) & (columns < N_INPUTS)
    points = tl.load(x + row * N_INPUTS + columns, inside, other=0).to(tl.float64)
    outside = (points.to(tl.int64, bitcast=True) & _MAGNITUDE) > limit_bits  # true for NaN
    n_outside = tl.sum(tl.sum(tl.sum(outside.to(tl.int32), axis=3), axis=2), axis=0)
    if x.dtype.element_ty == tl.float64:
        words = _words(points, scale_mantissa, scale_exponent)
    else:
        words = _short_words(points, scale_mantissa, scale_exponent)
    return _back(_signed(words, tl.load(signs + columns)), A, B, C), n_outside == 0


@jit
def _block_turns(
    first, signs, factors, block, ROWS: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return the int32 turns of a block of frequencies, (rows, m), in the order of memory."""
    M: tl.constexpr = 1 << (A + B + C)
    y = _there(_signed(first, tl.load(signs + (1 + 2 * block) * M + _columns(A, B, C))), A, B, C)
    third = tl.load(signs + (2 + 2 * block) * M + _turned_columns(A, B, C))
    y = _back(_signed(y, third), A, B, C)
    if C > 0:
        turns = _turns(_in_order(y, ROWS, M), tl.load(factors + block * M + tl.arange(0, M)))
    else:
        # Turns are half as long as words to exchange; so few factors are no trouble in any order.
        turns = _turns(y, tl.load(factors + block * M + _columns(A, B, C)))
        turns = _in_order(turns, ROWS, M)
    return turns


@jit
def _in_order(y, ROWS: tl.constexpr, M: tl.constexpr):
    return tl.reshape(tl.permute(y, (1, 0, 2, 3)), (ROWS, M))


@jit
def _turns(y, factors):
    """Return the upper words of y times the factors, rounded: a wide product and a narrow one."""
    factor = factors.to(tl.uint32, bitcast=True)
    wide = y.to(tl.uint32).to(tl.uint64) * factor.to(tl.uint64) + (1 << 31)
    top = (wide >> 32).to(tl.uint32) + (y >> 32).to(tl.uint32) * factor
    return top.to(tl.int32, bitcast=True)


@jit
def hadamard_kernel(
    x, signs, factors, out, n_rows, n_frequencies, scale_mantissa, scale_exponent,
    limit_bits, amplitude, N_BLOCKS: tl.constexpr, N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr, SCALED: tl.constexpr, ROWS: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the features of a few rows."""
    M: tl.constexpr = 1 << (A + B + C)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    first, valid = _first_round(
        x, signs, rows, n_rows, scale_mantissa, scale_exponent, limit_bits, N_INPUTS, A, B, C
    )
    for block in range(N_BLOCKS):
        turns = _block_turns(first, signs, factors, block, ROWS, A, B, C)
        cos, sin = wave_pair(turns, valid[:, None])
        write_pair(
            out, cos, sin, rows, block * M, n_rows, n_frequencies, amplitude, INTERLEAVED, SCALED, M
        )  # fmt: skip


@jit
def gradient_kernel(
    gradient, x, signs, factors, out, n_rows, n_frequencies, scale_mantissa,
    scale_exponent, limit_bits, scale, N_BLOCKS: tl.constexpr, N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr, ROWS: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write `scale` times the gradient of x for a few rows.

    The phases are made again; what comes in goes the same way backwards, in float32.
    """
    M: tl.constexpr = 1 << (A + B + C)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    first, valid = _first_round(
        x, signs, rows, n_rows, scale_mantissa, scale_exponent, limit_bits, N_INPUTS, A, B, C
    )
    line = gradient + rows[:, None] * (2 * n_frequencies)
    columns, turned = _columns(A, B, C), _turned_columns(A, B, C)
    total = tl.zeros(first.shape, tl.float32)
    for block in range(N_BLOCKS):
        turns = _block_turns(first, signs, factors, block, ROWS, A, B, C)
        cos, sin = fast_pair(turns, valid[:, None])
        place = block * M + tl.arange(0, M)
        if INTERLEAVED:
            both = 2 * block * M + tl.arange(0, 2 * M)
            mask = (rows[:, None] < n_rows) & (both[None, :] < 2 * n_frequencies)
            pair = tl.load(line + both[None, :], mask, other=0)
            of_cos, of_sin = tl.split(tl.reshape(pair, (ROWS, M, 2)))
        else:
            here = (rows[:, None] < n_rows) & (place[None, :] < n_frequencies)
            of_cos = tl.load(line + place[None, :], here, other=0)
            of_sin = tl.load(line + n_frequencies + place[None, :], here, other=0)
        back = of_sin.to(tl.float32) * cos - of_cos.to(tl.float32) * sin
        back = back * tl.load(factors + place).to(tl.float32)[None, :]
        back = tl.permute(tl.reshape(back, (ROWS, 1 << A, 1 << B, 1 << C)), (1, 0, 2, 3))
        back = _there(back, A, B, C)
        third = tl.load(signs + (2 + 2 * block) * M + turned)
        back = _back(back * (2 * third + 1).to(tl.float32), A, B, C)
        second = tl.load(signs + (1 + 2 * block) * M + columns)
        total += back * (2 * second + 1).to(tl.float32)
    of_x = _there(total, A, B, C) * (2 * tl.load(signs + turned) + 1).to(tl.float32) * scale
    row = rows[None, :, None, None]
    inside = (row < n_rows) & (turned < N_INPUTS)
    tl.store(out + row * N_INPUTS + turned, of_x.to(out.dtype.element_ty), inside)


def write_hadamard(
    x: torch.Tensor, table: HadamardTensors, out: torch.Tensor, request: Request
) -> None:
    """Write the features of x (n, d) into `out`; the table begins with a whole block."""
    (n, d), m = x.shape, table.signs.shape[1]
    rows, num_warps, *axes = _plan(m, _PLANS)
    hadamard_kernel[(quotient(n, rows),)](
        *(x, table.signs, table.factors, out, n, out.shape[1] // 2),
        *(table.scale_mantissa, table.scale_exponent, table.limit_bits, request.amplitude),
        *(table.signs.shape[0] // 2, d, request.interleaved, request.amplitude != 1.0),
        *(rows, *axes),
        num_warps=num_warps,
        num_stages=1,
        enable_fp_fusion=False,
    )


def write_hadamard_gradient(
    gradient: torch.Tensor,
    x: torch.Tensor,
    table: HadamardTensors,
    out: torch.Tensor,
    request: Request,
) -> None:
    """Write the gradient of x (n, d) into `out`; `gradient` is that of the features."""
    (n, d), m = x.shape, table.signs.shape[1]
    rows, num_warps, *axes = _plan(m, _GRADIENT_PLANS)
    scale = 2.0 * math.pi * request.amplitude * table.scale_mantissa * 2.0**table.scale_exponent
    gradient_kernel[(quotient(n, rows),)](
        *(gradient, x, table.signs, table.factors, out, n, gradient.shape[1] // 2),
        *(table.scale_mantissa, table.scale_exponent, table.limit_bits, scale),
        *(table.signs.shape[0] // 2, d, request.interleaved, rows, *axes),
        num_warps=num_warps,
        num_stages=1,
    )


def _plan(m: int, plans: dict[int, tuple[int, ...]]) -> tuple[Any, ...]:
    if m in plans:
        return plans[m]
    log_m = m.bit_length() - 1
    b = c = log_m // 3
    return *_LARGE_PLAN, log_m - b - c, b, c
