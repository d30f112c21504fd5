"""Triton kernel of fast features for a moderate number of inputs: rows of x stay in registers.

A program walks along the frequencies; while it makes the waves of one block, the next block of
the table is on its way.
"""

from __future__ import annotations

import torch
import triton.language as tl

from primal.torch._eager import quarter_shift
from primal.torch._jit import jit, next_power_of_two, quotient
from primal.torch._kernel_phases import fast_turns
from primal.torch._kernel_waves import fast_pair, write_pair

__all__ = ["MOST_INPUTS", "write_resident"]

MOST_INPUTS = 64


@jit
def resident_kernel(
    x,
    frequencies,
    out,
    n_rows,
    n_frequencies,
    shift,
    amplitude,
    N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCKS: tl.constexpr,
    INPUTS: tl.constexpr,
):
    """Write the features of ROWS rows and BLOCKS blocks of COLUMNS frequencies."""
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


def write_resident(
    x: torch.Tensor,
    frequencies: torch.Tensor,
    out: torch.Tensor,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
) -> None:
    """Write the features of x (n, d), d <= 64, into `out`; as ``write_fast``."""
    (n, d), k = x.shape, frequencies.shape[0]
    # The fastest of several on an H200.
    rows, columns, blocks, num_warps = (32, 64, 16, 2) if d <= 16 else (64, 64, 8, 4)
    blocks = min(blocks, quotient(k, columns))
    resident_kernel[(quotient(n, rows), quotient(k, columns * blocks))](
        x,
        frequencies,
        out,
        n,
        k,
        quarter_shift(quarter_turns),
        amplitude,
        d,
        interleaved,
        amplitude != 1.0,
        rows,
        columns,
        blocks,
        max(16, next_power_of_two(d)),
        num_warps=num_warps,
        num_stages=2,
    )
