"""Triton kernel of fast features for up to four inputs: bound by the memory it writes."""

from __future__ import annotations

import torch
import triton.language as tl

from primal.torch._eager import quarter_shift
from primal.torch._jit import jit, next_power_of_two, quotient
from primal.torch._kernel_phases import fast_turns
from primal.torch._kernel_waves import fast_pair

__all__ = ["MOST_INPUTS", "write_few"]

MOST_INPUTS = 4


@jit
def few_kernel(
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
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Walk down STEPS rows with the frequencies of COLUMNS columns in registers.

    One row at a time keeps each thread on its own columns: no exchange through shared memory,
    and hardly an index to compute.
    """
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < n_frequencies
    table = frequencies + columns * N_INPUTS
    f0 = tl.load(table, inside, other=0)
    f1 = f0
    f2 = f0
    f3 = f0
    if N_INPUTS > 1:
        f1 = tl.load(table + 1, inside, other=0)
    if N_INPUTS > 2:
        f2 = tl.load(table + 2, inside, other=0)
    if N_INPUTS > 3:
        f3 = tl.load(table + 3, inside, other=0)
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


def write_few(
    x: torch.Tensor,
    frequencies: torch.Tensor,
    out: torch.Tensor,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
    *,
    columns: int = 512,
    steps: int = 4,
    num_warps: int = 4,
) -> None:
    """Write the features of x (n, d), d <= 4, into `out`; as ``write_fast``."""
    (n, d), k = x.shape, frequencies.shape[0]
    columns = min(columns, next_power_of_two(k))
    few_kernel[(quotient(n, steps), quotient(k, columns))](
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
        columns,
        steps,
        num_warps=min(num_warps, max(1, columns // 128)),
    )
