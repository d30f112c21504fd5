"""Triton kernels of fast features and of their gradient: phases from one float64 sum.

Nothing of the size of the batch times the frequencies is held beside the features. Which kernel
serves which number of inputs, and its tiles, were the fastest on an H200.
"""

from __future__ import annotations

import math

import torch
import triton.language as tl

from primal.torch._eager import Request, quarter_shift
from primal.torch._kernel_parts import (
    MOST_PLAIN_INPUTS,
    fast_pair,
    fast_turns,
    float64_sum,
    jit,
    next_power_of_two,
    quotient,
    tile,
    tile_for,
    write_pair,
)

# Up to this many inputs the kernel is bound by the memory it writes.
_MOST_FEW_INPUTS = 4
# Up to this many, rows of x stay in registers.
_MOST_RESIDENT_INPUTS = 64


@jit
def few_kernel(
    x, frequencies, out, n_rows, n_frequencies, shift, amplitude, N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr, SCALED: tl.constexpr, COLUMNS: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Walk down STEPS rows with the frequencies of up to four inputs in registers.

    One row at a time keeps each thread on its own columns: no exchange through shared memory,
    and hardly an index to compute.
    """
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < n_frequencies
    table = frequencies + columns * N_INPUTS
    f0 = tl.load(table, inside, other=0)
    f1 = tl.load(table + 1, inside, other=0) if N_INPUTS > 1 else f0
    f2 = tl.load(table + 2, inside, other=0) if N_INPUTS > 2 else f0
    f3 = tl.load(table + 3, inside, other=0) if N_INPUTS > 3 else f0
    row = tl.program_id(0).to(tl.int64) * STEPS
    point = x + row * N_INPUTS
    line = out + row * (2 * n_frequencies)
    both = 2 * tl.program_id(1) * COLUMNS + tl.arange(0, 2 * COLUMNS)
    for step in range(STEPS):
        here = row + step < n_rows
        phases = tl.load(point, here, other=0).to(tl.float64) * f0
        if N_INPUTS > 1:
            phases += tl.load(point + 1, here, other=0).to(tl.float64) * f1
        if N_INPUTS > 2:
            phases += tl.load(point + 2, here, other=0).to(tl.float64) * f2
        if N_INPUTS > 3:
            phases += tl.load(point + 3, here, other=0).to(tl.float64) * f3
        turns, valid = fast_turns(phases)
        cos, sin = fast_pair(turns + shift, valid)
        if SCALED:
            cos = cos * amplitude
            sin = sin * amplitude
        if INTERLEAVED:
            value = tl.interleave(cos, sin).to(out.dtype.element_ty)
            tl.store(line + both, value, here & (both < 2 * n_frequencies))
        else:
            tl.store(line + columns, cos.to(out.dtype.element_ty), here & inside)
            sines = line + n_frequencies + columns
            tl.store(sines, sin.to(out.dtype.element_ty), here & inside)
        point += N_INPUTS
        line += 2 * n_frequencies


@jit
def resident_kernel(
    x, frequencies, out, n_rows, n_frequencies, shift, amplitude, N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr, SCALED: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, BLOCKS: tl.constexpr, INPUTS: tl.constexpr,
):  # fmt: skip
    """Write the features of ROWS rows and BLOCKS blocks of COLUMNS frequencies.

    Rows of x stay in registers while a program walks along the frequencies: the next block of
    the table is on its way while the waves of one are made.
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    j = tl.arange(0, INPUTS)
    inside = (rows[:, None] < n_rows) & (j[None, :] < N_INPUTS)
    points = tl.load(x + rows[:, None] * N_INPUTS + j[None, :], inside, other=0).to(tl.float64)
    for block in range(BLOCKS):
        first = (tl.program_id(1) * BLOCKS + block) * COLUMNS
        columns = first + tl.arange(0, COLUMNS)
        table = tl.load(
            frequencies + columns[None, :] * N_INPUTS + j[:, None],
            (columns[None, :] < n_frequencies) & (j[:, None] < N_INPUTS),
            other=0,
        )
        turns, valid = fast_turns(tl.dot(points, table, out_dtype=tl.float64))
        cos, sin = fast_pair(turns + shift, valid)
        write_pair(
            out, cos, sin, rows, first, n_rows, n_frequencies, amplitude,
            INTERLEAVED, SCALED, COLUMNS,
        )  # fmt: skip


@jit
def tiled_kernel(
    x, frequencies, out, n_rows, n_frequencies, shift, amplitude, N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr, SCALED: tl.constexpr, FEW_INPUTS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Write the features of one tile from float64 sums."""
    rows, first = tile(n_rows, n_frequencies, ROWS, COLUMNS)
    columns = first + tl.arange(0, COLUMNS)
    phases = float64_sum(
        x, frequencies, rows, columns, n_rows, n_frequencies, N_INPUTS,
        FEW_INPUTS, ROWS, COLUMNS, DEPTH,
    )  # fmt: skip
    turns, valid = fast_turns(phases)
    cos, sin = fast_pair(turns + shift, valid)
    write_pair(
        out, cos, sin, rows, first, n_rows, n_frequencies, amplitude, INTERLEAVED, SCALED, COLUMNS
    )


def write_fast(
    x: torch.Tensor, frequencies: torch.Tensor, out: torch.Tensor, request: Request
) -> None:
    """Write the features of x (n, d) for float64 frequencies (k, d) into `out` (n, 2 k)."""
    (n, d), k = x.shape, frequencies.shape[0]
    amplitude, shift = request.amplitude, quarter_shift(request.quarter_turns)
    sizes = (n, k, shift, amplitude, d, request.interleaved, amplitude != 1.0)
    if d <= _MOST_FEW_INPUTS:
        columns, steps = min(512, next_power_of_two(k)), 4
        grid = (quotient(n, steps), quotient(k, columns))
        num_warps = min(4, max(1, columns // 128))
        few_kernel[grid](x, frequencies, out, *sizes, columns, steps, num_warps=num_warps)
    elif d <= _MOST_RESIDENT_INPUTS:
        rows, columns, blocks, num_warps = (32, 64, 16, 2) if d <= 16 else (64, 64, 8, 4)
        blocks = min(blocks, quotient(k, columns))
        tiling = (rows, columns, blocks, max(16, next_power_of_two(d)))
        grid = (quotient(n, rows), quotient(k, columns * blocks))
        options = {"num_warps": num_warps, "num_stages": 2}
        resident_kernel[grid](x, frequencies, out, *sizes, *tiling, **options)
    else:
        t = tile_for(d, k)
        grid = (quotient(n, t.rows) * quotient(k, t.columns),)
        tiling = (d <= MOST_PLAIN_INPUTS, t.rows, t.columns, t.depth)
        options = {"num_warps": t.num_warps, "num_stages": t.num_stages}
        tiled_kernel[grid](x, frequencies, out, *sizes, *tiling, **options)


@jit
def gradient_kernel(
    gradient, x, frequencies, narrow_frequencies, out, n_rows, shift, factor,
    N_FREQUENCIES: tl.constexpr, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, INPUTS: tl.constexpr,
):  # fmt: skip
    """Write `factor` times the gradient of x for one block of rows.

    For each block of frequencies the phases are made again, the waves a quarter turn on
    multiplied with the gradient that came in, and their product with the frequencies added up.
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    j = tl.arange(0, INPUTS)
    inside = (rows[:, None] < n_rows) & (j[None, :] < N_INPUTS)
    points = tl.load(x + rows[:, None] * N_INPUTS + j[None, :], inside, other=0).to(tl.float64)
    line = gradient + rows[:, None] * (2 * N_FREQUENCIES)
    total = tl.zeros((ROWS, INPUTS), tl.float32)
    for first in range(0, N_FREQUENCIES, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        entry = columns[:, None] * N_INPUTS + j[None, :]
        known = (columns[:, None] < N_FREQUENCIES) & (j[None, :] < N_INPUTS)
        table = tl.load(frequencies + entry, known, other=0)
        narrow = tl.load(narrow_frequencies + entry, known, other=0)
        phases = tl.dot(points, tl.trans(table), out_dtype=tl.float64)
        turns, valid = fast_turns(phases)
        cos, sin = fast_pair(turns + shift, valid)
        here = (rows[:, None] < n_rows) & (columns[None, :] < N_FREQUENCIES)
        if INTERLEAVED:
            both = 2 * first + tl.arange(0, 2 * COLUMNS)
            mask = (rows[:, None] < n_rows) & (both[None, :] < 2 * N_FREQUENCIES)
            pair = tl.load(line + both[None, :], mask, other=0)
            of_cos, of_sin = tl.split(tl.reshape(pair, (ROWS, COLUMNS, 2)))
        else:
            of_cos = tl.load(line + columns[None, :], here, other=0)
            of_sin = tl.load(line + N_FREQUENCIES + columns[None, :], here, other=0)
        of_phase = of_cos.to(tl.float32) * cos + of_sin.to(tl.float32) * sin
        total = tl.dot(of_phase, narrow, total, input_precision="tf32x3")
    total = total * factor
    tl.store(out + rows[:, None] * N_INPUTS + j[None, :], total.to(out.dtype.element_ty), inside)


def write_input_gradient(
    gradient: torch.Tensor,
    x: torch.Tensor,
    frequencies: torch.Tensor,
    out: torch.Tensor,
    request: Request,
) -> None:
    """Write the gradient of x (n, d) into `out`; `gradient` is that of the features."""
    (n, d), k = x.shape, frequencies.shape[0]
    rows = columns = 32
    # A conversion in every tile would cost more than the second read of the frequencies.
    tables = (frequencies, frequencies.float())
    factors = (quarter_shift(request.quarter_turns + 1), 2.0 * math.pi * request.amplitude)
    tiling = (rows, columns, max(16, next_power_of_two(d)))
    gradient_kernel[(quotient(n, rows),)](
        *(gradient, x, *tables, out, n, *factors, k, d, request.interleaved, *tiling),
        num_warps=2,
        num_stages=2,
    )
