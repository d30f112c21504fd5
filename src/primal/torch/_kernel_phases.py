"""Tiles of rows and frequencies, and their phases inside Triton kernels: float64 sums."""

from __future__ import annotations

from typing import NamedTuple

import triton.language as tl

from primal.torch._kernel_waves import jit, next_power_of_two

# Up to this many inputs plain multiplications are faster than the matrix unit.
MOST_PLAIN_INPUTS = 8

# Adding this to a phase below 2**20 turns leaves its fraction, in units of 2**-31 turn, in the
# low bits; any other phase (or NaN) shows by its exponent.
_MAGIC = tl.constexpr(1.5 * 2.0**21)
_MAGIC_EXPONENT = tl.constexpr(1023 + 21)
# The same in units of 2**-32 turn, for phases below 2**19 turns.
_FINE_MAGIC = tl.constexpr(1.5 * 2.0**20)
_HALF_UNIT = tl.constexpr(2.0**-33)


class Tile(NamedTuple):
    """Rows, frequencies and inputs that a program takes at once, and how it runs."""

    rows: int
    columns: int
    depth: int
    num_warps: int
    num_stages: int


def tile_for(n_inputs: int, n_frequencies: int) -> Tile:
    """Return the tile that was fastest on an H200 for such a shape."""
    if n_inputs <= MOST_PLAIN_INPUTS:
        return Tile(16, min(128, max(16, next_power_of_two(n_frequencies))), 16, 4, 1)
    if n_inputs <= 16:
        return Tile(64, 32, 16, 4, 2)
    return Tile(64, 64, 16, 4, 4)


@jit
def tile(n_rows, n_frequencies, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Return the int64 rows and the first column of this program.

    Programs that run together share rows of x: all columns of a few row blocks in turn.
    """
    across = tl.cdiv(n_frequencies, COLUMNS)
    program = tl.program_id(0)
    rows = (program // across).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return rows, (program % across) * COLUMNS


@jit
def fast_turns(phases):
    """Return float64 phases as int32 turns, and which of them are below 2**20 turns."""
    bits = (phases + _MAGIC).to(tl.int64, bitcast=True)
    return bits.to(tl.int32) << 1, (bits >> 52) == _MAGIC_EXPONENT


@jit
def rounded_turns(phases, errors):
    """Return float64 phases rounded to int32 turns, and which of these are sure.

    `errors` bounds the error of the phases; a rounding is sure unless the middle between two
    turns is that close. No phase of 2**19 turns or more is: its error is at least 3 * 2**-34.
    """
    shifted = phases + _FINE_MAGIC
    off = tl.abs(phases - (shifted - _FINE_MAGIC))
    return shifted.to(tl.int64, bitcast=True).to(tl.int32), off + errors < _HALF_UNIT


@jit
def float64_sum(
    x, frequencies, rows, columns, n_rows, n_frequencies, N_INPUTS: tl.constexpr,
    FEW_INPUTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Return x @ frequencies.T for a tile, in float64.

    With FEW_INPUTS by plain multiplications, else DEPTH inputs at a time through the matrix
    unit. (Triton's interpreter cannot loop up to a run-time value: N_INPUTS is a constant.)
    """
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    if FEW_INPUTS:
        for j in tl.static_range(N_INPUTS):
            a = tl.load(x + rows * N_INPUTS + j, rows < n_rows, other=0).to(tl.float64)
            b = tl.load(frequencies + columns * N_INPUTS + j, columns < n_frequencies, other=0)
            total = tl.fma(a[:, None], b[None, :], total)
    else:
        for first in range(0, N_INPUTS, DEPTH):
            j = first + tl.arange(0, DEPTH)
            a = tl.load(
                x + rows[:, None] * N_INPUTS + j[None, :],
                (rows[:, None] < n_rows) & (j[None, :] < N_INPUTS),
                other=0,
            ).to(tl.float64)
            b = tl.load(
                frequencies + columns[None, :] * N_INPUTS + j[:, None],
                (columns[None, :] < n_frequencies) & (j[:, None] < N_INPUTS),
                other=0,
            )
            total = tl.dot(a, b, total, out_dtype=tl.float64)
    return total
