"""A Triton kernel for the basis ``hadamard``: x in, features out, nothing in between in memory.

A program has a few rows and goes through all blocks of frequencies; the first round of signs and
transform is done once. Steps of a transform run upwards and downwards in turn, so that the layout
of registers that one ends with is the one the next begins with.
"""

from __future__ import annotations

import math

import torch
import triton.language as tl

from primal.torch._eager import Finish
from primal.torch._hadamard import HadamardTensors
from primal.torch._kernel_parts import jit, quotient, wave_pair, write_pair

# Rows and warps of a program, by the rows of a block (found on an H200).
_PLANS = {64: (16, 4), 128: (8, 4), 256: (2, 2), 512: (1, 2), 1024: (1, 4), 2048: (1, 4)}
_LARGE_PLAN = (1, 8)


@jit
def _step(y, ROWS: tl.constexpr, M: tl.constexpr, HALF: tl.constexpr):
    """Return sums and differences of neighbors HALF apart."""
    pairs = tl.reshape(y, (ROWS, M // (2 * HALF), 2, HALF))
    a, b = tl.split(tl.permute(pairs, (0, 1, 3, 2)))
    both = tl.permute(tl.join(a + b, a - b), (0, 1, 3, 2))
    return tl.reshape(both, (ROWS, M))


@jit
def _transform(y, ROWS: tl.constexpr, M: tl.constexpr, LOG_M: tl.constexpr, UP: tl.constexpr):
    for step in tl.static_range(LOG_M):
        y = _step(y, ROWS, M, 1 << (step if UP else LOG_M - 1 - step))
    return y


@jit
def _signed(y, signs):
    return (y ^ signs[None, :]) - signs[None, :]


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
def hadamard_kernel(
    x, signs, factors, out, n_rows, n_frequencies, scale_mantissa, scale_exponent, x_limit,
    amplitude, N_BLOCKS: tl.constexpr, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr, ROWS: tl.constexpr, M: tl.constexpr, LOG_M: tl.constexpr,
):  # fmt: skip
    """Write the features of a few rows."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, M)
    inside = (rows < n_rows)[:, None] & (columns < N_INPUTS)[None, :]
    points = tl.load(x + rows[:, None] * N_INPUTS + columns[None, :], inside, other=0).to(
        tl.float64
    )
    valid = tl.sum((tl.abs(points) <= x_limit).to(tl.int32), axis=1) == M  # not for NaN
    words = _words(points, scale_mantissa, scale_exponent)
    first = _transform(_signed(words, tl.load(signs + columns)), ROWS, M, LOG_M, True)
    for block in range(N_BLOCKS):
        second = tl.load(signs + (1 + 2 * block) * M + columns)
        third = tl.load(signs + (2 + 2 * block) * M + columns)
        y = _transform(_signed(first, second), ROWS, M, LOG_M, False)
        y = _transform(_signed(y, third), ROWS, M, LOG_M, True)
        factor = tl.load(factors + block * M + columns)
        turns = ((y * factor[None, :] + (1 << 31)) >> 32).to(tl.int32)
        cos, sin = wave_pair(turns, valid[:, None])
        write_pair(
            out, cos, sin, rows, block * M, n_rows, n_frequencies, amplitude, INTERLEAVED, SCALED, M
        )  # fmt: skip


def write_hadamard(
    x: torch.Tensor, table: HadamardTensors, out: torch.Tensor, finish: Finish
) -> None:
    """Write the features of x (n, d) into `out`; the table begins with a whole block."""
    (n, d), m = x.shape, table.signs.shape[1]
    rows, num_warps = _PLANS.get(m, _LARGE_PLAN)
    hadamard_kernel[(quotient(n, rows),)](
        *(x, table.signs, table.factors, out, n, out.shape[1] // 2),
        *(table.scale_mantissa, table.scale_exponent, table.x_limit, finish.amplitude),
        *(table.signs.shape[0] // 2, d, finish.interleaved, finish.amplitude != 1.0),
        *(rows, m, m.bit_length() - 1),
        num_warps=num_warps,
        num_stages=1,
        enable_fp_fusion=False,
    )


@jit
def gradient_kernel(
    gradient, x, signs, factors, out, n_rows, n_frequencies, scale_mantissa, scale_exponent,
    x_limit, scale, N_BLOCKS: tl.constexpr, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr, M: tl.constexpr, LOG_M: tl.constexpr,
):  # fmt: skip
    """Write `scale` times the gradient of x for a few rows.

    The phases are made again; what comes in goes the same way backwards, in float32.
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, M)
    inside = (rows < n_rows)[:, None] & (columns < N_INPUTS)[None, :]
    points = tl.load(x + rows[:, None] * N_INPUTS + columns[None, :], inside, other=0).to(
        tl.float64
    )
    valid = tl.sum((tl.abs(points) <= x_limit).to(tl.int32), axis=1) == M  # not for NaN
    words = _words(points, scale_mantissa, scale_exponent)
    first = _transform(_signed(words, tl.load(signs + columns)), ROWS, M, LOG_M, True)
    line = gradient + rows[:, None] * (2 * n_frequencies)
    total = tl.zeros((ROWS, M), tl.float32)
    for block in range(N_BLOCKS):
        second = tl.load(signs + (1 + 2 * block) * M + columns)
        third = tl.load(signs + (2 + 2 * block) * M + columns)
        y = _transform(_signed(first, second), ROWS, M, LOG_M, False)
        y = _transform(_signed(y, third), ROWS, M, LOG_M, True)
        factor = tl.load(factors + block * M + columns)
        turns = ((y * factor[None, :] + (1 << 31)) >> 32).to(tl.int32)
        cos, sin = wave_pair(turns, valid[:, None])
        if INTERLEAVED:
            both = 2 * block * M + tl.arange(0, 2 * M)
            mask = (rows[:, None] < n_rows) & (both[None, :] < 2 * n_frequencies)
            pair = tl.load(line + both[None, :], mask, other=0)
            of_cos, of_sin = tl.split(tl.reshape(pair, (ROWS, M, 2)))
        else:
            place = block * M + columns
            here = (rows[:, None] < n_rows) & (place[None, :] < n_frequencies)
            of_cos = tl.load(line + place[None, :], here, other=0)
            of_sin = tl.load(line + n_frequencies + place[None, :], here, other=0)
        back = of_sin.to(tl.float32) * cos - of_cos.to(tl.float32) * sin
        back = _transform(back * factor.to(tl.float32)[None, :], ROWS, M, LOG_M, False)
        back = _transform(back * (2 * third + 1).to(tl.float32)[None, :], ROWS, M, LOG_M, True)
        total += back * (2 * second + 1).to(tl.float32)[None, :]
    total = _transform(total, ROWS, M, LOG_M, False)
    total = total * (2 * tl.load(signs + columns) + 1).to(tl.float32)[None, :] * scale
    tl.store(
        out + rows[:, None] * N_INPUTS + columns[None, :], total.to(out.dtype.element_ty), inside
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
    rows, num_warps = _PLANS.get(m, _LARGE_PLAN)
    scale = 2.0 * math.pi * finish.amplitude * table.scale_mantissa * 2.0**table.scale_exponent
    gradient_kernel[(quotient(n, rows),)](
        *(gradient, x, table.signs, table.factors, out, n, gradient.shape[1] // 2),
        *(table.scale_mantissa, table.scale_exponent, table.x_limit, scale),
        *(table.signs.shape[0] // 2, d, finish.interleaved, rows, m, m.bit_length() - 1),
        num_warps=num_warps,
        num_stages=1,
        enable_fp_fusion=False,
    )
