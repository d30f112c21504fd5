"""Features in plain PyTorch: the fallback for every device, and the oracle of kernels.

Waves repeat the operations of ``primal.exact`` in the same order, so the bits are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from primal._parallel import row_blocks
from primal.exact import FrequencyTable, Octant32, Octant64
from primal.torch import _hadamard, _integers
from primal.torch._hadamard import HadamardTensors
from primal.torch._inputs import split_pairs
from primal.torch._integers import round_turns
from primal.torch._tables import SharedTable

# Row exponent of a row that cannot be encoded: its features are NaN.
INVALID_EXPONENT = 1 << 20
LARGEST_FAST_TURNS = 2.0**FrequencyTable.fast_log2_turns
# Phases held at once; a phase needs about a hundred bytes of temporary memory.
_BLOCK_PHASES = {"cpu": 1 << 18, "cuda": 1 << 24}


class Request(NamedTuple):
    """The requested features: quarter turns added to phases, amplitude, order and type."""

    quarter_turns: int
    amplitude: float
    interleaved: bool
    dtype: torch.dtype


def waves(turns: Tensor) -> tuple[Tensor, Tensor]:
    """Return (cos, sin) of int32 turns in float32, or of int64 turns in float64.

    Same bits as :func:`primal.exact.waves` of the unsigned twins.
    """
    narrow = turns.dtype == torch.int32
    bits = 32 if narrow else 64
    rest = (turns << 2) >> 2
    cosine, sine = _octant32(rest.abs()) if narrow else _octant64(rest.abs())
    odd = ((turns + (1 << (bits - 3))) & (1 << (bits - 2))) != 0
    cos, sin = torch.where(odd, sine, cosine), torch.where(odd, cosine, sine)
    # Before this step both are positive, or zero at a quadrant point.
    cos = torch.where((turns + (1 << (bits - 2))) < 0, -cos, cos)
    sin = torch.where(turns < 0, -sin, sin)
    return cos, sin


def positions_features(positions: Tensor, increments: Tensor, request: Request) -> Tensor:
    """Return the codes of int64 positions (n,), shape (n, 2 k)."""

    def block(rows: slice) -> tuple[Tensor, None]:
        turns = positions[rows, None] * increments
        return turns if request.dtype == torch.float64 else round_turns(turns), None

    return _in_blocks(block, positions, len(increments), request)


def exact_features(x: Tensor, table: SharedTable, request: Request) -> Tensor:
    """Return the exact features of x (n, d), shape (n, 2 k); NaN for rows that have none."""
    tensors, limit = table.on(x.device), table.x_limit
    way = _hadamard if isinstance(tensors, HadamardTensors) else _integers
    turns_of = way.exact_turns if request.dtype == torch.float64 else way.rounded_turns

    def block(rows: slice) -> tuple[Tensor, Tensor]:
        points = x[rows].double()
        valid = (points.abs() <= limit).all(dim=1, keepdim=True)  # not for NaN
        return turns_of(torch.where(valid, points, 0.0), tensors), valid

    return _in_blocks(block, x, table.shape[0], request)


def fast_features(x: Tensor, frequencies: Tensor, request: Request) -> Tensor:
    """Return features of x (n, d) from float64 frequencies (k, d) and one matrix product."""
    wide = request.dtype == torch.float64
    shift = quarter_shift(request.quarter_turns, 64 if wide else 32)

    def block(rows: slice) -> tuple[Tensor, Tensor]:
        phases = x[rows].double() @ frequencies.T
        valid = phases.abs() < LARGEST_FAST_TURNS  # false for NaN
        phases = torch.where(valid, phases, 0.0)
        # 2**63 itself does not fit into int64; its half does.
        turns = ((phases - phases.round()) * 2.0 ** (62 if wide else 32)).round().long()
        return (turns << 2 if wide else turns.int()) + shift, valid

    return _in_blocks(block, x, len(frequencies), request)


def row_exponents(x: Tensor, x_limit: float) -> Tensor:
    """Return for each row of x (n, d) the smallest a with |x_j| < 2**a, as int32.

    A row with NaN or a value above `x_limit` gets INVALID_EXPONENT.
    """
    largest = torch.linalg.vector_norm(x, torch.inf, dim=1).double()
    return torch.where(largest <= x_limit, torch.frexp(largest).exponent, INVALID_EXPONENT)


def quarter_shift(quarter_turns: int, bits: int = 32) -> int:
    """Return quarter turns as a signed fixed-point number: a derivative is a quarter turn on."""
    return ((quarter_turns + 2) % 4 - 2) << (bits - 2)


def _in_blocks(
    block: Callable[[slice], tuple[Tensor, Tensor | None]], x: Tensor, k: int, request: Request
) -> Tensor:
    """Return the features of blocks of rows, of which `block` gives turns and which are valid."""
    n, device = len(x), x.device
    out = torch.empty((n, 2 * k), dtype=request.dtype, device=device)
    outputs = split_pairs(out, request.interleaved)
    for rows in row_blocks(n, k, _BLOCK_PHASES["cuda" if device.type == "cuda" else "cpu"]):
        turns, valid = block(rows)
        for wave, columns in zip(waves(turns), outputs, strict=True):
            if valid is not None:
                wave = wave.masked_fill(~valid, torch.nan)
            columns[rows] = wave if request.amplitude == 1.0 else wave * request.amplitude
    return out


def _octant32(size: Tensor) -> tuple[Tensor, Tensor]:
    """Return (cos, sin) of int32 rests of 0 to 2**29, in units of 2**-32 turn."""
    unit = 2.0**-29
    tail = size & ((1 << Octant32.tail_bits) - 1)
    t_head, t_tail = (size - tail).float() * unit, tail.float() * unit
    t = size.float() * unit
    y = t * t
    cosine = _horner(Octant32.cosine, y) * y + 1.0
    linear = t_head * Octant32.rest + t_tail * Octant32.whole
    small = linear + (t * y) * _horner(Octant32.sine, y)
    return cosine, t_head * Octant32.head + small


def _octant64(size: Tensor) -> tuple[Tensor, Tensor]:
    t = size.double() * 2.0**-61
    y = t * t
    cosine = _horner(Octant64.cosine, y) * y + 1.0
    return cosine, _horner(Octant64.sine, y) * t


def _horner(coefficients: tuple[float, ...], y: Tensor) -> Tensor:
    value = torch.full_like(y, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * y + coefficient
    return value
