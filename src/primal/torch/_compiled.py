"""Features on the CPU by the loops of :mod:`primal.exact`, on the memory of the tensors.

Exact features and codes are those of the NumPy maps because the code is theirs. ``fast`` ones
and gradients take one float64 product for each block of rows, and their waves from the same
loops. Threads are as many as PyTorch may use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from primal import exact
from primal._parallel import matrix_product, n_threads, over_rows, row_blocks, single_threaded_blas
from primal.exact import engine, wave_columns, write_features
from primal.maps import LAYOUTS
from primal.torch._eager import LARGEST_FAST_TURNS, Request, quarter_shift
from primal.torch._tables import SharedTable

_TYPES = {torch.float64: np.float64}  # narrower ones are float32, rounded
# Phases in one block: with their waves and gradients they stay in the second-level cache.
_BLOCK_PHASES = 1 << 15
# Phases of a gradient by transforms at once, for all threads.
_BLOCK_GRADIENTS = 1 << 19
# Fewer phases than this are not worth a second thread, here and in the engines.
_LEAST_PHASES = 1 << 16


def positions_features(positions: Tensor, increments: Tensor, request: Request) -> Tensor:
    """Return the codes of int64 positions (n,), shape (n, 2 k)."""
    steps, table = positions.numpy().view(np.uint64), increments.numpy().view(np.uint64)
    out = np.empty((len(steps), 2 * len(table)), _TYPES.get(request.dtype, np.float32))
    chosen = engine(n_phases=len(steps) * len(table))
    for rows in _thread_blocks(len(steps), len(table)):
        chosen.static(table, steps[rows], out[rows], LAYOUTS[request.interleaved])
    return torch.from_numpy(out).to(request.dtype)


def exact_features(x: Tensor, table: SharedTable, request: Request) -> Tensor:
    """Return the exact features of x (n, d), n > 0; NaN for rows that have none."""
    points, valid = _valid_points(x, table.x_limit)
    k, own = table.shape[0], exact.Finish(LAYOUTS[request.interleaved], request.amplitude)
    out = np.empty((len(points), 2 * k), _TYPES.get(request.dtype, np.float32))
    chosen = engine(n_phases=len(points) * k)
    for rows in _thread_blocks(len(points), k):
        chosen.features(table.rows, points[rows], out[rows], own)
    if valid is not None:
        out[~valid] = np.nan
    return torch.from_numpy(out).to(request.dtype)


def fast_features(x: Tensor, frequencies: Tensor, request: Request) -> Tensor:
    """Return features of x (n, d) for float64 frequencies (k, d), each phase from one product."""
    k = frequencies.shape[0]
    out = np.empty((len(x), 2 * k), _TYPES.get(request.dtype, np.float32))
    write = _wave_writer(len(x), k, request)

    def work(phases: np.ndarray, invalid: np.ndarray | None, rows: slice) -> None:
        write(phases, out[rows])
        if invalid is not None:
            for columns in wave_columns(out[rows], LAYOUTS[request.interleaved]):
                columns[invalid] = np.nan

    _over_phases(x, frequencies, work)
    return torch.from_numpy(out).to(request.dtype)


def input_gradient(gradient: Tensor, x: Tensor, frequencies: Tensor, request: Request) -> Tensor:
    """Return the float32 gradient of `fast_features` with respect to x (n, d).

    Phases are float64, waves and sums float32; nothing of the size of the batch times the
    frequencies is held.
    """
    incoming, narrow = gradient.float().numpy(), frequencies.float().numpy()
    (n, d), k = x.shape, frequencies.shape[0]
    out = np.empty((n, d), dtype=np.float32)
    later = Request(request.quarter_turns + 1, 1.0, request.interleaved, torch.float32)
    write = _wave_writer(n, k, later)

    def work(phases: np.ndarray, invalid: np.ndarray | None, rows: slice) -> None:
        waves = np.empty((len(phases), 2 * k), dtype=np.float32)
        write(phases, waves)
        waves *= incoming[rows]
        of_phase = np.add(*wave_columns(waves, LAYOUTS[request.interleaved]))
        if invalid is not None:
            of_phase[invalid] = np.nan
        matrix_product(of_phase, narrow, out[rows])

    _over_phases(x, frequencies, work)
    out *= 2.0 * math.pi * request.amplitude
    return torch.from_numpy(out)


def hadamard_gradient(gradient: Tensor, x: Tensor, table: SharedTable, request: Request) -> Tensor:
    """Return the float32 gradient of `exact_features` for a table of ``hadamard``, n > 0."""
    incoming, k, transform = gradient.float().numpy(), table.shape[0], table.transform
    assert transform is not None
    points, valid = _valid_points(x, table.x_limit)
    out = np.empty(points.shape, dtype=np.float32)
    quarter = np.full(k, 1 << 30, dtype=np.uint32)
    later = exact.Finish(LAYOUTS[request.interleaved], 1.0, quarter)
    chosen = engine(n_phases=len(points) * k)
    for part in _thread_blocks(len(points), k):
        for block in row_blocks(part.stop - part.start, k, _BLOCK_GRADIENTS):
            rows = slice(part.start + block.start, part.start + block.stop)
            waves = np.empty((block.stop - block.start, 2 * k), dtype=np.float32)
            chosen.features(transform, points[rows], waves, later)
            waves *= incoming[rows]
            chosen.adjoint(
                transform, np.add(*wave_columns(waves, LAYOUTS[request.interleaved])), out[rows]
            )
    out *= 2.0 * math.pi * request.amplitude
    if valid is not None:
        out[~valid] = np.nan
    return torch.from_numpy(out)


def _over_phases(
    x: Tensor,
    frequencies: Tensor,
    work: Callable[[np.ndarray, np.ndarray | None, slice], None],
) -> None:
    """Call work(phases, invalid, rows) on blocks of rows, several at a time.

    Phases of 2**20 turns or more, and NaN, become 0; `invalid` is where, or None.
    """
    points = x.numpy().astype(np.float64, copy=False)
    table = np.ascontiguousarray(frequencies.numpy().T)
    k = table.shape[1]

    def piece(start: int, first: int, last: int) -> None:
        buffer = np.empty((max(1, _BLOCK_PHASES // k), k))
        with np.errstate(over="ignore", invalid="ignore"):  # a setting of the thread
            for block in row_blocks(last - first, k, _BLOCK_PHASES):
                rows = slice(start + first + block.start, start + first + block.stop)
                phases = matrix_product(points[rows], table, buffer[: rows.stop - rows.start])
                invalid = None
                if not max(float(phases.max()), -float(phases.min())) < LARGEST_FAST_TURNS:
                    invalid = ~(np.abs(phases) < LARGEST_FAST_TURNS)  # true for NaN
                    phases[invalid] = 0.0
                work(phases, invalid, rows)

    with single_threaded_blas():
        for part in _thread_blocks(len(points), k):
            over_rows(
                part.stop - part.start, max(1, _LEAST_PHASES // k), partial(piece, part.start)
            )


def _thread_blocks(n_rows: int, k: int) -> Iterator[slice]:
    """Yield slices of rows that keep engines from taking more threads than PyTorch may."""
    step = max(1, _LEAST_PHASES // k)
    if n_rows >= 2 * step and (allowed := torch.get_num_threads()) < n_threads():
        return row_blocks(n_rows, 1, (allowed + 1) * step - 1)
    return iter((slice(0, n_rows),))


def _valid_points(x: Tensor, x_limit: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows that can be encoded, zero in place of others, and which are, or None for all."""
    # Not by PyTorch: its threads keep spinning for a while on the processors that ours need.
    points = x.numpy().astype(np.float64, copy=False)
    if max(-float(points.min()), float(points.max())) <= x_limit:  # not for NaN
        return points, None
    valid = np.abs(points).max(axis=1) <= x_limit
    return np.where(valid[:, None], points, 0.0), valid


def _wave_writer(n_rows: int, k: int, request: Request) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return what writes waves of float64 phases of less than 2**20 turns into features."""
    layout = LAYOUTS[request.interleaved]
    if request.dtype == torch.float64:
        shift = np.uint64(quarter_shift(request.quarter_turns, 64) & (2**64 - 1))

        def write_wide(phases: np.ndarray, out: np.ndarray) -> None:
            # 2**63 itself does not fit into int64; its half does.
            quarters = np.rint((phases - np.rint(phases)) * 2.0**62).astype(np.int64)
            turns = (quarters << 2).view(np.uint64) + shift
            write_features(turns, out, exact.Finish(layout, request.amplitude))

        return write_wide
    offsets = np.full(k, quarter_shift(request.quarter_turns) & (2**32 - 1), dtype=np.uint32)
    own = exact.Finish(layout, request.amplitude, offsets if request.quarter_turns % 4 else None)
    chosen = engine(n_phases=n_rows * k)
    return lambda phases, out: chosen.write_phases(phases, out, own)
