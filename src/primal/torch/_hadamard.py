"""Phases of the basis ``hadamard`` in plain PyTorch, by the definition in ``primal.exact``.

Signed integers wrap like unsigned ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from primal.exact import HadamardTable
from primal.torch._integers import LOW32, add_shifted, carried, round_turns, window

# Of a round: kernels load these straight into registers, more of them by way of shared memory.
_MOST_LONG_SIGNS = 256


class HadamardTensors(NamedTuple):
    """A table on a device: signs of the rounds (0 or -1), row factors, and the scale."""

    signs: Tensor  # int32 or, many, int8 of shape (1 + 2 n_blocks, m)
    factors: Tensor  # int32 of shape (n_blocks m,)
    scale_mantissa: int  # scale = mantissa 2**exponent, of 53 bits
    scale_exponent: int
    columns: slice  # of all rows of the blocks
    x_limit: float  # rows with a larger number have no features

    @property
    def limit_bits(self) -> int:
        """The bits of `x_limit`: Triton would make a float32 of a float."""
        return int(np.float64(self.x_limit).view(np.int64))

    @classmethod
    def of(cls, table: HadamardTable, device: torch.device) -> HadamardTensors:
        fraction, exponent = math.frexp(table.scale)
        few = table.m <= _MOST_LONG_SIGNS
        arrays = table.signs.astype(np.int32 if few else np.int8), table.factors.astype(np.int32)
        signs, factors = (torch.from_numpy(array).to(device) for array in arrays)
        mantissa = int(math.ldexp(fraction, 53))
        columns = slice(table.skip, table.skip + table.shape[0])
        return cls(signs, factors, mantissa, exponent - 53, columns, table.largest_input)


def rounded_turns(x: Tensor, table: HadamardTensors) -> Tensor:
    """Return the phases of finite float64 rows (n, d) to the nearest 2**-32 turn, int32 (n, k)."""
    low, high = _limbs(x, table, 2)
    words = _transformed(low + (high << 32), table, lambda words: words)
    return round_turns(words * table.factors[table.columns])


def exact_turns(x: Tensor, table: HadamardTensors) -> Tensor:
    """Return the phases to the nearest 2**-64 turn, int64 (n, k), by words of 128 bits."""
    limbs = torch.stack(_limbs(x, table, 4))
    limbs = _transformed(limbs, table, lambda limbs: torch.stack(carried(limbs)))
    _, below, low, high = carried(limbs * table.factors[table.columns])
    return low + (high << 32) + (below >> 31)


def _limbs(x: Tensor, table: HadamardTensors, n_limbs: int) -> list[Tensor]:
    """Return sign(x) floor(|x| scale 2**(32 n_limbs) + 1/2) in that many limbs, without carries."""
    bits = x.view(torch.int64)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & ((1 << 52) - 1)
    mantissa = torch.where(exponent == 0, mantissa, mantissa | (1 << 52))
    # Two limbs more below: within the limit of x nothing is shifted further to the left.
    product = [torch.zeros_like(bits)] * 7
    for place in range(0, 53, 8):
        add_shifted(product, mantissa * ((table.scale_mantissa >> place) & 0xFF), 64 + place)
    product = carried(product)
    start = 64 - (exponent.clamp(min=1) - 1075 + table.scale_exponent + 32 * n_limbs)
    words = [window(product, start + 64 * i) for i in range(n_limbs // 2)]
    limbs = [limb & LOW32 for word in words for limb in (word, word >> 32)]
    limbs[0] = limbs[0] + (window(product, start - 1) & 1)
    return [torch.where(bits < 0, -limb, limb) for limb in limbs]


def _transformed(
    words: Tensor, table: HadamardTensors, settled: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return H S3 H S2 H S1 of words (..., d) for all frequencies, (..., k)."""
    signs = table.signs
    words = torch.nn.functional.pad(words, (0, signs.shape[1] - words.shape[-1]))
    first = settled(_transform(_signed(words, signs[0])))
    parts = []
    for second, third in zip(signs[1::2], signs[2::2], strict=True):
        once = settled(_transform(_signed(first, second)))
        parts.append(settled(_transform(_signed(once, third))))
    return torch.cat(parts, dim=-1)[..., table.columns]


def _signed(words: Tensor, signs: Tensor) -> Tensor:
    return (words ^ signs) - signs


def _transform(rows: Tensor) -> Tensor:
    shape, m = rows.shape, rows.shape[-1]
    half = 1
    while half < m:
        a, b = rows.reshape(*shape[:-1], m // (2 * half), 2, half).unbind(-2)
        rows = torch.stack((a + b, a - b), dim=-2).reshape(shape)
        half *= 2
    return rows


def product(x: Tensor, rows: Tensor, k: int) -> Tensor:
    """Return x (..., d) times the frequencies, (..., k); `rows` are `SharedTable.transform_rows`.

    Plain operations in the type of x: they can be differentiated any number of times.
    """
    first, second, third, weights = _rounds(rows, x.dtype)
    padded = torch.nn.functional.pad(x, (0, len(first) - x.shape[-1]))
    y = _transform(_transform(padded * first)[..., None, :] * second)
    return (_transform(y * third) * weights).flatten(-2)[..., :k]


def adjoint(v: Tensor, rows: Tensor, d: int) -> Tensor:
    """Return v (..., k) times the frequencies, (..., d): `product` backwards."""
    first, second, third, weights = _rounds(rows, v.dtype)
    y = torch.nn.functional.pad(v, (0, weights.numel() - v.shape[-1]))
    y = y.reshape(*y.shape[:-1], *weights.shape)
    y = _transform(_transform(y * weights) * third) * second
    return (_transform(y.sum(dim=-2)) * first)[..., :d]


def inverse(phases: Tensor, rows: Tensor, d: int) -> Tensor:
    """Return x (..., d) from phases (..., k) in turns that did not wrap, by the whole blocks.

    Rows of a block are orthogonal and m**1.5 times their weights long; x is the mean over blocks.
    """
    weights = _rounds(rows, phases.dtype)[3]
    m = weights.shape[1]
    n_whole = phases.shape[-1] // m
    whole = phases[..., : n_whole * m] / weights[:n_whole].flatten() ** 2
    return adjoint(whole, rows[: 1 + 3 * n_whole], d) / (n_whole * float(m) ** 3)


def _rounds(rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return S1 (m,), and S2, S3 and the weights of all blocks, (n_blocks, m)."""
    rows = rows.to(dtype)
    return rows[0], rows[1::3], rows[2::3], rows[3::3]
