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

from primal.torch._eager import Finish
from primal.torch._hadamard import HadamardTensors
from primal.torch._kernel_parts import fast_pair, jit, quotient, wave_pair

# By the rows of a block: rows and warps of a program, and log2 of A, B and C (found on an H200).
_PLANS = {
    64: (16, 4, 3, 3, 0),
    128: (16, 4, 4, 3, 0),
    256: (8, 4, 4, 4, 0),
    512: (4, 2, 5, 4, 0),
    1024: (4, 4, 5, 5, 0),
    2048: (1, 4, 4, 4, 3),
    4096: (1, 8, 4, 4, 4),
}
_LARGE_PLAN = (1, 8)


@jit
def _group(y, LOG: tl.constexpr):
    """Return sums and differences along the first of four axes, of 2**LOG entries."""
    a: tl.constexpr = y.shape[0]
    rest: tl.constexpr = y.shape[1] * y.shape[2] * y.shape[3]
    flat = tl.reshape(y, (a, rest))
    for step in tl.static_range(LOG):
        half: tl.constexpr = 1 << step
        pairs = tl.reshape(flat, (a // (2 * half), 2, half, rest))
        p, q = tl.split(tl.permute(pairs, (0, 2, 3, 1)))
        both = tl.permute(tl.join(p + q, p - q), (0, 3, 1, 2))
        flat = tl.reshape(both, (a, rest))
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
        return a + c + (tl.arange(0, 1 << B)[None, None, None, :] << C)
    b = tl.arange(0, 1 << B)[:, None, None, None]
    return b + (tl.arange(0, 1 << A)[None, None, None, :] << B)


@jit
def _signed(y, signs):
    return (y ^ signs) - signs


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
def _first_round(
    x, signs, rows, n_rows, scale_mantissa, scale_exponent, x_limit, N_INPUTS: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Return H S1 X of some rows, (A, rows, B, C), and which rows have features."""
    columns = _turned_columns(A, B, C)
    row = rows[None, :, None, None]
    inside = (row < n_rows) & (columns < N_INPUTS)
    points = tl.load(x + row * N_INPUTS + columns, inside, other=0).to(tl.float64)
    outside = (tl.abs(points) <= x_limit) == 0  # true for NaN
    n_outside = tl.sum(tl.sum(tl.sum(outside.to(tl.int32), axis=3), axis=2), axis=0)
    words = _words(points, scale_mantissa, scale_exponent)
    return _back(_signed(words, tl.load(signs + columns)), A, B, C), n_outside == 0


@jit
def _block_turns(first, signs, factors, block, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """Return the int32 turns of a block of frequencies, (A, rows, B, C)."""
    M: tl.constexpr = 1 << (A + B + C)
    columns = _columns(A, B, C)
    y = _there(_signed(first, tl.load(signs + (1 + 2 * block) * M + columns)), A, B, C)
    third = tl.load(signs + (2 + 2 * block) * M + _turned_columns(A, B, C))
    y = _back(_signed(y, third), A, B, C)
    factor = tl.load(factors + block * M + columns)
    return ((y * factor + (1 << 31)) >> 32).to(tl.int32)


@jit
def hadamard_kernel(
    x, signs, factors, out, n_rows, n_frequencies, scale_mantissa, scale_exponent, x_limit,
    amplitude, N_BLOCKS: tl.constexpr, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr, ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write the features of a few rows."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    first, valid = _first_round(
        x, signs, rows, n_rows, scale_mantissa, scale_exponent, x_limit, N_INPUTS, A, B, C
    )
    row = rows[None, :, None, None]
    line = out + row * (2 * n_frequencies)
    for block in range(N_BLOCKS):
        turns = _block_turns(first, signs, factors, block, A, B, C)
        cos, sin = wave_pair(turns, valid[None, :, None, None])
        if SCALED:
            cos, sin = cos * amplitude, sin * amplitude
        place = (block << (A + B + C)) + _columns(A, B, C)
        inside = (row < n_rows) & (place < n_frequencies)
        kind = out.dtype.element_ty
        if INTERLEAVED:
            one = tl.arange(0, 2)[None, None, None, None, :]
            both = tl.join(cos, sin).to(kind)
            start = tl.expand_dims(line + 2 * place, 4)
            tl.store(start + one, both, tl.expand_dims(inside, 4))
        else:
            tl.store(line + place, cos.to(kind), inside)
            tl.store(line + n_frequencies + place, sin.to(kind), inside)


@jit
def gradient_kernel(
    gradient, x, signs, factors, out, n_rows, n_frequencies, scale_mantissa, scale_exponent,
    x_limit, scale, N_BLOCKS: tl.constexpr, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Write `scale` times the gradient of x for a few rows.

    The phases are made again; what comes in goes the same way backwards, in float32.
    """
    M: tl.constexpr = 1 << (A + B + C)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    first, valid = _first_round(
        x, signs, rows, n_rows, scale_mantissa, scale_exponent, x_limit, N_INPUTS, A, B, C
    )
    row = rows[None, :, None, None]
    line = gradient + row * (2 * n_frequencies)
    columns, turned = _columns(A, B, C), _turned_columns(A, B, C)
    total = tl.zeros(first.shape, tl.float32)
    for block in range(N_BLOCKS):
        turns = _block_turns(first, signs, factors, block, A, B, C)
        cos, sin = fast_pair(turns, valid[None, :, None, None])
        place = block * M + columns
        inside = (row < n_rows) & (place < n_frequencies)
        if INTERLEAVED:
            one = tl.arange(0, 2)[None, None, None, None, :]
            start = tl.expand_dims(line + 2 * place, 4)
            pair = tl.load(start + one, tl.expand_dims(inside, 4), other=0)
            of_cos, of_sin = tl.split(pair)
        else:
            of_cos = tl.load(line + place, inside, other=0)
            of_sin = tl.load(line + n_frequencies + place, inside, other=0)
        back = of_sin.to(tl.float32) * cos - of_cos.to(tl.float32) * sin
        back = _there(back * tl.load(factors + place).to(tl.float32), A, B, C)
        third = tl.load(signs + (2 + 2 * block) * M + turned)
        back = _back(back * (2 * third + 1).to(tl.float32), A, B, C)
        second = tl.load(signs + (1 + 2 * block) * M + columns)
        total += back * (2 * second + 1).to(tl.float32)
    of_x = _there(total, A, B, C) * (2 * tl.load(signs + turned) + 1).to(tl.float32) * scale
    inside = (row < n_rows) & (turned < N_INPUTS)
    tl.store(out + row * N_INPUTS + turned, of_x.to(out.dtype.element_ty), inside)


def write_hadamard(
    x: torch.Tensor, table: HadamardTensors, out: torch.Tensor, finish: Finish
) -> None:
    """Write the features of x (n, d) into `out`; the table begins with a whole block."""
    (n, d), m = x.shape, table.signs.shape[1]
    rows, num_warps, *axes = _plan(m)
    hadamard_kernel[(quotient(n, rows),)](
        *(x, table.signs, table.factors, out, n, out.shape[1] // 2),
        *(table.scale_mantissa, table.scale_exponent, table.x_limit, finish.amplitude),
        *(table.signs.shape[0] // 2, d, finish.interleaved, finish.amplitude != 1.0),
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
    finish: Finish,
) -> None:
    """Write the gradient of x (n, d) into `out`; `gradient` is that of the features."""
    (n, d), m = x.shape, table.signs.shape[1]
    rows, num_warps, *axes = _plan(m)
    scale = 2.0 * math.pi * finish.amplitude * table.scale_mantissa * 2.0**table.scale_exponent
    gradient_kernel[(quotient(n, rows),)](
        *(gradient, x, table.signs, table.factors, out, n, gradient.shape[1] // 2),
        *(table.scale_mantissa, table.scale_exponent, table.x_limit, scale),
        *(table.signs.shape[0] // 2, d, finish.interleaved, rows, *axes),
        num_warps=num_warps,
        num_stages=1,
    )


def _plan(m: int) -> tuple[Any, ...]:
    if m in _PLANS:
        return _PLANS[m]
    log_m = m.bit_length() - 1
    b = c = log_m // 3
    return *_LARGE_PLAN, log_m - b - c, b, c
