"""Triton kernels of StaticPrime: a wrapping 64-bit sum or product, then waves."""

from __future__ import annotations

import torch
import triton.language as tl

from primal.torch._eager import Finish
from primal.torch._kernel_parts import jit, next_power_of_two, quotient, wave_pair, write_pair

_HALF = tl.constexpr(1 << 31)


@jit
def range_kernel(
    first_turns, increments, out, n_rows, n_frequencies, INTERLEAVED: tl.constexpr,
    WHOLE: tl.constexpr, COLUMNS: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Write consecutive positions: a program walks down STEPS rows by addition alone.

    One row at a time keeps each thread on its own columns: no exchange through shared
    memory, and one 64-bit sum in place of a product. WHOLE says that no store needs a mask.
    """
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < n_frequencies
    increment = tl.load(increments + columns, inside, other=0)
    row = tl.program_id(0).to(tl.int64) * STEPS
    # Half a unit of 2**-32 turn is added once, so that cutting rounds.
    turns = tl.load(first_turns + columns, inside, other=0) + row * increment + _HALF
    line = out + row * (2 * n_frequencies)
    both = 2 * tl.program_id(1) * COLUMNS + tl.arange(0, 2 * COLUMNS)
    for step in range(STEPS):
        cos, sin = wave_pair((turns >> 32).to(tl.int32))
        cos = cos.to(out.dtype.element_ty)
        sin = sin.to(out.dtype.element_ty)
        if INTERLEAVED:
            mask = None if WHOLE else (row + step < n_rows) & (both < 2 * n_frequencies)
            tl.store(line + both, tl.interleave(cos, sin), mask)
        else:
            mask = None if WHOLE else (row + step < n_rows) & inside
            tl.store(line + columns, cos, mask)
            tl.store(line + n_frequencies + columns, sin, mask)
        turns += increment
        line += 2 * n_frequencies


@jit
def positions_kernel(
    positions, increments, out, n_rows, n_frequencies, INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write positions in any order."""
    first = tl.program_id(1) * COLUMNS
    columns = first + tl.arange(0, COLUMNS)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    increment = tl.load(increments + columns, columns < n_frequencies, other=0)
    position = tl.load(positions + rows, rows < n_rows, other=0)
    turns = position[:, None] * increment[None, :] + _HALF
    cos, sin = wave_pair((turns >> 32).to(tl.int32))
    write_pair(out, cos, sin, rows, first, n_rows, n_frequencies, 1.0, INTERLEAVED, False, COLUMNS)


def write_range(first: int, increments: torch.Tensor, out: torch.Tensor, interleaved: bool) -> None:
    """Write the codes of positions first, first + 1, ... into the rows of `out`."""
    n, k = out.shape[0], increments.shape[0]
    columns = min(512, next_power_of_two(k))
    # Measured on an H200: few rows to a program write fastest, but 16-bit pairs, bound by
    # arithmetic, like longer walks and more columns to a thread.
    wide = out.element_size() == 4
    steps = 4 if wide else 16
    columns_per_warp = 128 if wide else (256 if interleaved else 512)
    grid = (quotient(n, steps), quotient(k, columns))
    whole = n % steps == 0 and k % columns == 0
    range_kernel[grid](
        *(increments * first, increments, out, n, k, interleaved, whole, columns, steps),
        num_warps=max(1, columns // columns_per_warp),
        enable_fp_fusion=False,
    )


def write_positions(
    positions: torch.Tensor, increments: torch.Tensor, out: torch.Tensor, finish: Finish
) -> None:
    """Write the codes of int64 positions of shape (n,) into `out`."""
    n, k = out.shape[0], increments.shape[0]
    rows, columns = 8, min(256, next_power_of_two(k))
    grid = (quotient(n, rows), quotient(k, columns))
    positions_kernel[grid](
        *(positions, increments, out, n, k, finish.interleaved, rows, columns),
        num_warps=4,
        enable_fp_fusion=False,
    )
