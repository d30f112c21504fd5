"""Triton kernel of the gradient with respect to x, without a matrix of phase gradients.

A program owns a block of rows. For each block of frequencies it makes the phases again,
multiplies the waves a quarter turn on with the gradient that came in, and adds the product
with the frequencies to its rows of the result.
"""

from __future__ import annotations

import math

import torch
import triton.language as tl

from primal.torch._eager import Finish, quarter_shift
from primal.torch._kernel_phases import fast_turns
from primal.torch._kernel_waves import fast_pair, jit, next_power_of_two, quotient


@jit
def gradient_kernel(
    gradient, x, frequencies, narrow_frequencies, out, n_rows, shift, factor,
    N_FREQUENCIES: tl.constexpr, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, INPUTS: tl.constexpr,
):  # fmt: skip
    """Write `factor` times the gradient of x for one block of rows."""
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
    finish: Finish,
) -> None:
    """Write the gradient of x (n, d) into `out`; `gradient` is that of the features."""
    (n, d), k = x.shape, frequencies.shape[0]
    rows = columns = 32
    # A conversion in every tile would cost more than the second read of the frequencies.
    tables = (frequencies, frequencies.float())
    factors = (quarter_shift(finish.quarter_turns + 1), 2.0 * math.pi * finish.amplitude)
    tiling = (rows, columns, max(16, next_power_of_two(d)))
    gradient_kernel[(quotient(n, rows),)](
        *(gradient, x, *tables, out, n, *factors, k, d, finish.interleaved, *tiling),
        num_warps=2,
        num_stages=2,
    )
