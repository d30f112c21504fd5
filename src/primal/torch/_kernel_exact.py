"""Triton kernels of exact features: phases and waves of a tile in one go, then what is open.

Nothing of the size of the batch times the frequencies is held beside the output: the sums of
a tile stay in registers until their waves are stored.
"""

from __future__ import annotations

from typing import Any

import torch
import triton.language as tl

from primal.exact import digit_widths
from primal.torch._eager import INVALID_EXPONENT, Request, row_exponents
from primal.torch._kernel_parts import (
    MOST_PLAIN_INPUTS,
    Tile,
    float64_sum,
    jit,
    next_power_of_two,
    quotient,
    rounded_turns,
    tile,
    tile_for,
    wave_pair,
    write_pair,
)
from primal.torch._kernel_settle import dense_kernel, list_unsure, sparse_kernel
from primal.torch._tables import SharedTable

_INVALID = tl.constexpr(INVALID_EXPONENT)
# Tiles that one program looks through for lists that are too long: mostly there are none.
_GROUP = 32


@jit
def exact_kernel(
    x, lengths, row_exponents, frequencies, product_errors, out, counts, unsure,
    n_rows, n_frequencies, amplitude, N_INPUTS: tl.constexpr, INTERLEAVED: tl.constexpr,
    SCALED: tl.constexpr, FEW_INPUTS: tl.constexpr, CAPACITY: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Write the features of one tile, and list the phases whose rounding is open."""
    rows, first = tile(n_rows, n_frequencies, ROWS, COLUMNS)
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


def write_exact(
    x: torch.Tensor,
    table: SharedTable,
    out: torch.Tensor,
    request: Request,
    *,
    tiling: Tile | None = None,
    capacity: int = 512,
) -> None:
    """Write the exact features of x (n, d) for a table of k frequencies into `out`."""
    (n, d), k = x.shape, table.shape[0]
    mantissas, exponents, frequencies, errors = table.on(x.device)
    t = tiling or tile_for(d, k)
    grid = (quotient(n, t.rows) * quotient(k, t.columns),)
    a = row_exponents(x, table.x_limit)
    lengths = torch.linalg.vector_norm(x, dim=1, dtype=torch.float64)
    counts = torch.zeros(grid, dtype=torch.int32, device=x.device)
    unsure = torch.empty((*grid, capacity), dtype=torch.int32, device=x.device)
    sizes = (n, k, request.amplitude, d, request.interleaved, request.amplitude != 1.0)
    exact_kernel[grid](
        *(x, lengths, a, frequencies, errors[0], out, counts, unsure, *sizes),
        *(d <= MOST_PLAIN_INPUTS, capacity, t.rows, t.columns, t.depth),
        num_warps=t.num_warps,
        num_stages=t.num_stages,
        enable_fp_fusion=False,
    )
    settle: dict[str, Any] = {"num_stages": 1, "enable_fp_fusion": False}
    widths = digit_widths(d)
    dense_kernel[(quotient(grid[0], _GROUP),)](
        *(x, a, mantissas, exponents, errors[2], out, counts, unsure, grid[0], *sizes),
        *(widths.x, widths.frequency, capacity, t.rows, t.columns, 16, _GROUP),
        num_warps=max(4, t.rows * t.columns // 512),
        **settle,
    )
    sparse_kernel[grid](
        *(x, a, mantissas, exponents, out, counts, unsure, *sizes),
        *(capacity, t.rows, t.columns, 16, min(64, next_power_of_two(d))),
        num_warps=4,
        **settle,
    )
