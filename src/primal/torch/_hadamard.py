"""Phases of the basis ``hadamard`` in plain PyTorch, by the definition in ``primal.bases``.

Signed integers wrap like unsigned ones, and are compared as unsigned ones after a flip of their
top bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from primal.bases import HadamardTable
from primal.turns import LARGEST_LOG2_TURNS

_LOW32 = (1 << 32) - 1
_TOP = -(1 << 63)


class HadamardTensors(NamedTuple):
    """A table on a device: signs of the rounds (0 or -1), row factors, and the scale."""

    signs: Tensor  # int8 of shape (1 + 2 n_blocks, m): kernels read them for every few rows
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
        arrays = (table.signs.astype(np.int8), table.factors.astype(np.int32))
        signs, factors = (torch.from_numpy(array).to(device) for array in arrays)
        mantissa = int(math.ldexp(fraction, 53))
        columns = slice(table.skip, table.skip + table.shape[0])
        limit = 2.0**LARGEST_LOG2_TURNS / table.largest_l1_norm
        return cls(signs, factors, mantissa, exponent - 53, columns, limit)


def rounded_turns(x: Tensor, table: HadamardTensors) -> Tensor:
    """Return the phases of finite float64 rows (n, d) to the nearest 2**-32 turn, int32 (n, k)."""
    words = _padded(_words(x, table, 64)[1], table)
    first = _transform(_signed(words, table.signs[0]))
    parts = []
    for second, third in zip(table.signs[1::2], table.signs[2::2], strict=True):
        once = _transform(_signed(first, second))
        parts.append(_transform(_signed(once, third)))
    turns = torch.cat(parts, dim=1)[:, table.columns] * table.factors[table.columns]
    return ((turns + (1 << 31)) >> 32).int()


def exact_turns(x: Tensor, table: HadamardTensors) -> Tensor:
    """Return the phases to the nearest 2**-64 turn, int64 (n, k), by 128-bit words."""
    high, low = (_padded(word, table) for word in _words(x, table, 128))
    first = _wide_transform(*_wide_signed(high, low, table.signs[0]))
    parts = []
    for b, (second, third) in enumerate(zip(table.signs[1::2], table.signs[2::2], strict=True)):
        once = _wide_transform(*_wide_signed(*first, second))
        twice = _wide_transform(*_wide_signed(*once, third))
        m = table.signs.shape[1]
        parts.append(_rounded_products(*twice, table.factors[b * m : (b + 1) * m]))
    return torch.cat(parts, dim=1)[:, table.columns]


def _words(x: Tensor, table: HadamardTensors, n_bits: int) -> tuple[Tensor, Tensor]:
    """Return sign(x) floor(|x| scale 2**n_bits + 1/2) as a high and a low word of 128 bits."""
    bits = x.view(torch.int64)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & ((1 << 52) - 1)
    mantissa = torch.where(exponent == 0, mantissa, mantissa | (1 << 52))
    a_high, a_low = mantissa >> 32, mantissa & _LOW32
    b_high, b_low = table.scale_mantissa >> 32, table.scale_mantissa & _LOW32
    bottom, middle = a_low * b_low, a_high * b_low + a_low * b_high
    low = bottom + (middle << 32)
    high = a_high * b_high + (middle >> 32) + _less(low, bottom)
    left = exponent.clamp(min=1) - 1075 + table.scale_exponent + n_bits
    high, low = _rounded_right(high, low, (-left).clamp(min=0))
    high, low = _shifted_left(high, low, left.clamp(min=0))
    minus = bits >> 63
    flipped = (low ^ minus) - minus
    return (high ^ minus) + ((flipped == 0) & (minus != 0)).long(), flipped


def _padded(words: Tensor, table: HadamardTensors) -> Tensor:
    return torch.nn.functional.pad(words, (0, table.signs.shape[1] - words.shape[1]))


def _signed(words: Tensor, signs: Tensor) -> Tensor:
    return (words ^ signs) - signs


def _wide_signed(high: Tensor, low: Tensor, signs: Tensor) -> tuple[Tensor, Tensor]:
    flipped = (low ^ signs) - signs
    # The borrow of minus zero is lost in the low word and kept in the high one.
    return (high ^ signs) + ((flipped == 0) & (signs != 0)).long(), flipped


def _transform(rows: Tensor) -> Tensor:
    shape, m = rows.shape, rows.shape[-1]
    half = 1
    while half < m:
        a, b = rows.reshape(*shape[:-1], m // (2 * half), 2, half).unbind(-2)
        rows = torch.stack((a + b, a - b), dim=-2).reshape(shape)
        half *= 2
    return rows


def product(x: Tensor, rows: Tensor, k: int, skip: int) -> Tensor:
    """Return x (..., d) times the frequencies, (..., k); `rows` are `SharedTable.transform_rows`.

    Plain operations in the type of x: they can be differentiated any number of times.
    """
    first, second, third, weights = _rounds(rows, x.dtype)
    padded = torch.nn.functional.pad(x, (0, len(first) - x.shape[-1]))
    y = _transform(_transform(padded * first)[..., None, :] * second)
    return (_transform(y * third) * weights).flatten(-2)[..., skip : skip + k]


def adjoint(v: Tensor, rows: Tensor, d: int, skip: int) -> Tensor:
    """Return v (..., k) times the frequencies, (..., d): `product` backwards."""
    first, second, third, weights = _rounds(rows, v.dtype)
    after = weights.numel() - skip - v.shape[-1]
    y = torch.nn.functional.pad(v, (skip, after)).unflatten(-1, weights.shape)
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
    return adjoint(whole, rows[: 1 + 3 * n_whole], d, 0) / (n_whole * float(m) ** 3)


def _rounds(rows: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return S1 (m,), and S2, S3 and the weights of all blocks, (n_blocks, m)."""
    rows = rows.to(dtype)
    return rows[0], rows[1::3], rows[2::3], rows[3::3]


def _wide_transform(high: Tensor, low: Tensor) -> tuple[Tensor, Tensor]:
    n, m = low.shape
    half = 1
    while half < m:
        shape = (n, m // (2 * half), 2, half)
        (a, c), (b, d) = high.view(shape).unbind(2), low.view(shape).unbind(2)
        total = b + d
        low = torch.stack((total, b - d), dim=2).view(n, m)
        high = torch.stack((a + c + _less(total, b), a - c - _less(b, d)), dim=2).view(n, m)
        half *= 2
    return high, low


def _rounded_products(high: Tensor, low: Tensor, factors: Tensor) -> Tensor:
    """Return the high word of 128-bit words times small factors, rounded (halves up)."""
    bottom = (low & _LOW32) * factors
    middle = ((low >> 32) & _LOW32) * factors + ((bottom >> 32) & _LOW32)
    return high * factors + ((middle >> 32) & _LOW32) + ((middle >> 31) & 1)


def _less(a: Tensor, b: Tensor) -> Tensor:
    """Return 1 where a < b as unsigned numbers."""
    return ((a ^ _TOP) < (b ^ _TOP)).long()


def _logical_right(word: Tensor, by: Tensor) -> Tensor:
    """Return word >> by without sign bits, by from 0 to 63."""
    return (word >> by) & ~((-1 << (63 - by)) << 1)


def _shifted_right(high: Tensor, low: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    far, rest = by >= 64, by % 64
    low, high = torch.where(far, high, low), torch.where(far, 0, high)
    # Two shifts, because one by 64 is not defined.
    return _logical_right(high, rest), _logical_right(low, rest) | ((high << 1) << (63 - rest))


def _rounded_right(high: Tensor, low: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    """Return numbers below 2**106 over 2**by, to the nearest, halves up."""
    before = by.clamp(max=127)
    high, low = _shifted_right(high, low, (before - 1).clamp(min=0))
    odd = torch.where(by > 0, low & 1, 0)
    high, low = _shifted_right(high, low, before.clamp(max=1))
    total = low + odd
    return high + _less(total, low), total


def _shifted_left(high: Tensor, low: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    none, far, rest = by >= 128, by >= 64, by % 64
    high, low = torch.where(far, low, high), torch.where(far, 0, low)
    high, low = torch.where(none, 0, high), torch.where(none, 0, low)
    return (high << rest) | _logical_right(_logical_right(low, torch.ones_like(rest)), 63 - rest), (
        low << rest
    )
