"""Triton kernels of positions: a wrapping 64-bit product, then waves.

For rotary embeddings a program takes some positions and several heads of one tensor. Their waves
are made once and stay in registers for all these heads: the pass is bound by memory.
"""

from __future__ import annotations

import torch
import triton.language as tl

from primal.torch._eager import Request
from primal.torch._kernel_parts import jit, next_power_of_two, quotient, wave_pair, write_pair

_HALF = tl.constexpr(1 << 31)
# Pairs of columns in a tile, eight to a thread: rows of 16 bytes in 16-bit types. Measured on an
# H200 with pairs of halves: 0.99 of the copy bandwidth with 4 heads, 0.96 with 16.
_TILE_PAIRS = 1024
_HEADS_OF_A_PROGRAM = 4
_WARPS = 4
_KINDS = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}


@jit
def positions_kernel(
    positions, increments, out, n_rows, n_frequencies, INTERLEAVED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write the codes of positions in any order."""
    # Half a unit of 2**-32 turn is added, so that cutting rounds.
    first = tl.program_id(1) * COLUMNS
    columns = first + tl.arange(0, COLUMNS)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    increment = tl.load(increments + columns, columns < n_frequencies, other=0)
    position = tl.load(positions + rows, rows < n_rows, other=0)
    turns = position[:, None] * increment[None, :] + _HALF
    cos, sin = wave_pair((turns >> 32).to(tl.int32))
    write_pair(out, cos, sin, rows, first, n_rows, n_frequencies, 1.0, INTERLEAVED, False, COLUMNS)


def write_positions(
    positions: torch.Tensor, increments: torch.Tensor, out: torch.Tensor, request: Request
) -> None:
    """Write the codes of int64 positions of shape (n,) into `out`."""
    n, k = out.shape[0], increments.shape[0]
    rows, columns = 8, min(256, next_power_of_two(k))
    grid = (quotient(n, rows), quotient(k, columns))
    positions_kernel[grid](
        *(positions, increments, out, n, k, request.interleaved, rows, columns),
        num_warps=4,
        enable_fp_fusion=False,
    )


@jit
def rotary_kernel(
    q, k, q_out, k_out, positions, increments, n, n_frequencies, q_heads, k_heads,
    batch_step, place_step, q_batch, q_head, q_row, k_batch, k_head, k_row,
    qo_batch, qo_head, qo_row, ko_batch, ko_head, ko_row,
    INTERLEAVED: tl.constexpr, INVERSE: tl.constexpr, KIND: tl.constexpr, WHOLE: tl.constexpr,
    ROWS: tl.constexpr, PAIRS: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    """Write q and k turned; the arguments after the heads are strides in elements.

    With a KIND every element is a word: a pair of neighbors of that 16-bit type.
    """
    across = tl.cdiv(n, ROWS)
    program = tl.program_id(0)
    batch = (program // across).to(tl.int64)
    rows = (program % across).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, PAIRS)
    place = tl.load(positions + batch * batch_step + rows * place_step, rows < n, other=0)
    increment = tl.load(increments + columns, columns < n_frequencies, other=0)
    turns = place[:, None] * increment[None, :] + _HALF
    cos, sin = wave_pair((turns >> 32).to(tl.int32))
    if INVERSE:
        sin = -sin
    groups = tl.cdiv(q_heads, HEADS)
    group = tl.program_id(1)
    if group < groups:
        _turn_heads(
            q + batch * q_batch, q_out + batch * qo_batch, q_head, qo_head, q_row, qo_row,
            rows, columns, cos, sin, n, n_frequencies, group * HEADS, q_heads,
            INTERLEAVED, KIND, WHOLE, HEADS,
        )  # fmt: skip
    else:
        _turn_heads(
            k + batch * k_batch, k_out + batch * ko_batch, k_head, ko_head, k_row, ko_row,
            rows, columns, cos, sin, n, n_frequencies, (group - groups) * HEADS, k_heads,
            INTERLEAVED, KIND, WHOLE, HEADS,
        )  # fmt: skip


@jit
def _turn_heads(
    x, out, x_head, out_head, x_row, out_row, rows, columns, cos, sin, n, n_frequencies,
    first, n_heads, INTERLEAVED: tl.constexpr, KIND: tl.constexpr, WHOLE: tl.constexpr,
    HEADS: tl.constexpr,
):  # fmt: skip
    """Turn up to HEADS heads from `first` on by the same waves."""
    line, line_out = rows[:, None] * x_row, rows[:, None] * out_row
    low = columns[None, :]
    for step in range(HEADS):
        head = (first + step).to(tl.int64)
        source, target = x + head * x_head + line, out + head * out_head + line_out
        mask = None
        if not WHOLE:
            mask = (rows < n)[:, None] & (head < n_heads) & (low < n_frequencies)
        if KIND is not None:
            word = tl.load(source + low, mask)
            a = word.to(tl.int16).to(KIND, bitcast=True).to(tl.float32)
            b = (word >> 16).to(tl.int16).to(KIND, bitcast=True).to(tl.float32)
            c = (a * cos - b * sin).to(KIND).to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF
            d = (a * sin + b * cos).to(KIND).to(tl.int16, bitcast=True).to(tl.int32) << 16
            tl.store(target + low, c | d, mask)
        else:
            even = 2 * low if INTERLEAVED else low
            odd = even + 1 if INTERLEAVED else low + n_frequencies
            a = tl.load(source + even, mask).to(tl.float32)
            b = tl.load(source + odd, mask).to(tl.float32)
            tl.store(target + even, (a * cos - b * sin).to(out.dtype.element_ty), mask)
            tl.store(target + odd, (a * sin + b * cos).to(out.dtype.element_ty), mask)


def write_rotary(
    inputs: list[torch.Tensor],
    outputs: list[torch.Tensor],
    positions: torch.Tensor,
    increments: torch.Tensor,
    *,
    interleaved: bool,
    inverse: bool,
) -> None:
    """Write queries and keys of shape (batch, heads, n, columns) turned by int64 (batch, n).

    Columns of a row are neighbors in memory; those beyond the pairs that turn are not written.
    """
    (batch, q_heads, n, _), k_heads = inputs[0].shape, inputs[1].shape[1]
    k, tensors, kind = increments.shape[0], [*inputs, *outputs], None
    if interleaved and inputs[0].dtype in _KINDS and all(map(_in_words, tensors)):
        kind = _KINDS[inputs[0].dtype]
        tensors = [tensor.view(torch.int32) for tensor in tensors]
    columns = next_power_of_two(k)
    rows = max(1, min(next_power_of_two(n), _TILE_PAIRS // columns))
    heads = min(_HEADS_OF_A_PROGRAM, next_power_of_two(max(q_heads, k_heads)))
    whole = not (n % rows or q_heads % heads or k_heads % heads) and k == columns
    grid = (quotient(n, rows) * batch, quotient(q_heads, heads) + quotient(k_heads, heads))
    strides = [step for tensor in tensors for step in tensor.stride()[:3]]
    rotary_kernel[grid](
        *(*tensors, positions, increments, n, k, q_heads, k_heads, *positions.stride()),
        *(*strides, interleaved, inverse, kind, whole, rows, columns, heads),
        num_warps=_WARPS,
        enable_fp_fusion=False,
    )


def _in_words(x: torch.Tensor) -> bool:
    """Whether pairs of neighbors of 16 bits are whole words, read and written at once."""
    sizes = (x.shape[-1], x.storage_offset(), *x.stride()[:-1])
    return not any(size % 2 for size in sizes)
