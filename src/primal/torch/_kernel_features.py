"""Triton kernels of DynamicPrime: phases and waves of a tile in one go.

Nothing of the size of the batch times the frequencies is held beside the output: the sums of
a tile stay in registers until their waves are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import triton.language as tl

from primal.torch import _kernel_few, _kernel_resident
from primal.torch._eager import INVALID_EXPONENT, quarter_shift
from primal.torch._jit import jit, next_power_of_two, quotient
from primal.torch._kernel_phases import fast_turns, float64_sum, rounded_turns
from primal.torch._kernel_settle import dense_kernel, list_unsure, sparse_kernel
from primal.torch._kernel_waves import fast_pair, wave_pair, write_pair
from primal.turns import digit_widths

__all__ = ["MOST_FEW_INPUTS", "Tile", "fast_writer", "tile_for", "write_exact", "write_fast"]

# Up to this many inputs plain multiplications are faster than the matrix unit.
MOST_FEW_INPUTS = 8
_INVALID = tl.constexpr(INVALID_EXPONENT)
# Tiles that one program looks through for lists that are too long: mostly there are none.
_GROUP = 32


class Tile(NamedTuple):
    """Rows, frequencies and inputs that a program takes at once, and how it runs."""

    rows: int
    columns: int
    depth: int
    num_warps: int
    num_stages: int


def tile_for(n_inputs: int, n_frequencies: int) -> Tile:
    """Return the tile that was fastest on an H200 for such a shape."""
    if n_inputs <= MOST_FEW_INPUTS:
        return Tile(16, min(128, max(16, next_power_of_two(n_frequencies))), 16, 4, 1)
    if n_inputs <= 16:
        return Tile(64, 32, 16, 4, 2)
    return Tile(64, 64, 16, 4, 4)


@jit
def fast_kernel(
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
    FEW_INPUTS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Write the features of one tile from float64 sums."""
    rows, first = _tile(n_rows, n_frequencies, ROWS, COLUMNS)
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


@jit
def exact_kernel(
    x,
    lengths,
    row_exponents,
    frequencies,
    product_errors,
    out,
    counts,
    unsure,
    n_rows,
    n_frequencies,
    amplitude,
    N_INPUTS: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr,
    FEW_INPUTS: tl.constexpr,
    CAPACITY: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Write the features of one tile, and list the phases whose rounding is open."""
    rows, first = _tile(n_rows, n_frequencies, ROWS, COLUMNS)
    columns = first + tl.arange(0, COLUMNS)
    phases = float64_sum(
        x, frequencies, rows, columns, n_rows, n_frequencies, N_INPUTS,
        FEW_INPUTS, ROWS, COLUMNS, DEPTH,
    )  # fmt: skip
    length = tl.load(lengths + rows, rows < n_rows, other=0)
    errors = tl.load(product_errors + columns, columns < n_frequencies, other=0)
    turns, sure = rounded_turns(phases, length[:, None] * errors[None, :])
    valid = tl.load(row_exponents + rows, rows < n_rows, other=_INVALID) < _INVALID
    inside = valid[:, None] & (columns < n_frequencies)[None, :]
    list_unsure(counts, unsure, tl.program_id(0), inside & (sure == 0), CAPACITY, ROWS, COLUMNS)
    cos, sin = wave_pair(turns, valid[:, None])
    write_pair(
        out, cos, sin, rows, first, n_rows, n_frequencies, amplitude, INTERLEAVED, SCALED, COLUMNS
    )


@jit
def _tile(n_rows, n_frequencies, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Return the int64 rows and the first column of this program.

    Programs that run together share rows of x: all columns of a few row blocks in turn.
    """
    across = tl.cdiv(n_frequencies, COLUMNS)
    program = tl.program_id(0)
    rows = (program // across).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return rows, (program % across) * COLUMNS


def write_fast(
    x: torch.Tensor,
    frequencies: torch.Tensor,
    out: torch.Tensor,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
    *,
    tile: Tile | None = None,
) -> None:
    """Write the features of x (n, d) for float64 frequencies (k, d) into `out` (n, 2 k)."""
    (n, d), k = x.shape, frequencies.shape[0]
    t = tile or tile_for(d, k)
    fast_kernel[(quotient(n, t.rows) * quotient(k, t.columns),)](
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
        d <= MOST_FEW_INPUTS,
        t.rows,
        t.columns,
        t.depth,
        num_warps=t.num_warps,
        num_stages=t.num_stages,
    )


def fast_writer(n_inputs: int) -> Callable[..., None]:
    """Return the fastest writer of fast features for so many inputs, as measured on an H200."""
    if n_inputs <= _kernel_few.MOST_INPUTS:
        return _kernel_few.write_few
    if n_inputs <= _kernel_resident.MOST_INPUTS:
        return _kernel_resident.write_resident
    return write_fast


def write_exact(
    x: torch.Tensor,
    row_exponents: torch.Tensor,
    mantissas: torch.Tensor,
    exponents: torch.Tensor,
    frequencies: torch.Tensor,
    errors: torch.Tensor,
    out: torch.Tensor,
    amplitude: float,
    interleaved: bool,
    *,
    tile: Tile | None = None,
    capacity: int = 512,
) -> None:
    """Write the exact features of x (n, d) for a table of k frequencies into `out`.

    `errors` has three rows: of a float64 product with |x| = 1, and of two levels of digit
    sums with |x_j| < 1, in turns.
    """
    (n, d), k = x.shape, mantissas.shape[0]
    widths = digit_widths(d)
    t = tile or tile_for(d, k)
    grid = (quotient(n, t.rows) * quotient(k, t.columns),)
    counts = torch.zeros(grid, dtype=torch.int32, device=x.device)
    unsure = torch.empty((*grid, capacity), dtype=torch.int32, device=x.device)
    lengths = torch.linalg.vector_norm(x, dim=1, dtype=torch.float64)
    sizes = (n, k, amplitude, d, interleaved, amplitude != 1.0)
    settle = {"num_stages": 1, "enable_fp_fusion": False}
    exact_kernel[grid](
        x,
        lengths,
        row_exponents,
        frequencies,
        errors[0],
        out,
        counts,
        unsure,
        *sizes,
        d <= MOST_FEW_INPUTS,
        capacity,
        t.rows,
        t.columns,
        t.depth,
        num_warps=t.num_warps,
        num_stages=t.num_stages,
        enable_fp_fusion=False,
    )
    dense_kernel[(quotient(grid[0], _GROUP),)](
        x,
        row_exponents,
        mantissas,
        exponents,
        errors[2],
        out,
        counts,
        unsure,
        grid[0],
        *sizes,
        widths.x,
        widths.frequency,
        capacity,
        t.rows,
        t.columns,
        16,
        _GROUP,
        num_warps=max(4, t.rows * t.columns // 512),
        **settle,
    )
    sparse_kernel[grid](
        x,
        row_exponents,
        mantissas,
        exponents,
        out,
        counts,
        unsure,
        *sizes,
        capacity,
        t.rows,
        t.columns,
        16,
        min(64, next_power_of_two(d)),
        num_warps=4,
        **settle,
    )
