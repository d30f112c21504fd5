"""Exact phases in plain PyTorch, by the definition in :mod:`primal.exact`.

PyTorch has no full set of unsigned operations. Long integers are lists of int64 limbs that count
32 bits each, so that sums and carries have room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from primal.exact import LARGEST_UNSURE, FrequencyTable, digit_units, digit_widths

_BLOCK_PAIRS = 1 << 20
LOW32 = (1 << 32) - 1


class TableTensors(NamedTuple):
    """A table of k frequencies for d inputs: exact integers, and what kernels need of them.

    Frequency (i, j) is ``mantissas[i, j] * 2**(exponents[i] - 62)`` turns per unit of x.
    """

    mantissas: Tensor  # int64 of shape (k, d)
    exponents: Tensor  # int64 of shape (k,)
    frequencies: Tensor  # the same rounded to float64
    # float64 of shape (3, k), in turns: of a float64 product with a row of length one, and of two
    # levels of digit sums with a row of |x_j| < 1.
    errors: Tensor

    @classmethod
    def of(cls, table: FrequencyTable, frequencies: Tensor) -> TableTensors:
        errors = np.concatenate([table.product_errors[None], table.level_errors])
        mantissas, exponents, errors = (
            torch.from_numpy(array.copy()).to(frequencies.device)
            for array in (table.mantissas, table.exponents, errors)
        )
        return cls(mantissas, exponents, frequencies, errors)


def rounded_turns(x: Tensor, table: TableTensors) -> Tensor:
    """Return exact phases of finite float64 rows (n, d) to the nearest 2**-32 turn, int32 (n, k).

    Mostly by one float64 product; where its error leaves the rounding open, exactly.
    """
    lengths = torch.linalg.vector_norm(x, dim=1)
    errors = torch.outer(lengths, table.errors[0] * 2.0**32)
    if errors.numel() and not float(errors.max()) <= LARGEST_UNSURE:
        return round_turns(exact_turns(x, table))
    phases = x @ table.frequencies.T
    units = (phases - phases.round()) * 2.0**32  # both steps are exact
    turns = units.round().long().int()
    rows, columns = torch.nonzero((units - units.round()).abs() >= 0.5 - errors, as_tuple=True)
    step = max(1, _BLOCK_PAIRS // x.shape[1])
    for r, c in zip(rows.split(step), columns.split(step), strict=True):
        points, a = _integer_rows(x[r])
        pairs = _summed(
            points, table.mantissas[c], a + table.exponents[c], lambda x, f: (x * f).sum(1)
        )
        turns[r, c] = round_turns(pairs)
    return turns


def exact_turns(x: Tensor, table: TableTensors) -> Tensor:
    """Return exact phases in units of 2**-64 turn, int64 of shape (n, k)."""
    points, a = _integer_rows(x)
    return _summed(points, table.mantissas, a[:, None] + table.exponents, lambda x, f: x @ f.T)


def _summed(
    points: Tensor,
    factors: Tensor,
    exponents: Tensor,
    product: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Return the phases of integer rows (n, d), by exact products of their digits."""
    widths = digit_widths(points.shape[1])
    f_digits = _balanced_digits(factors, widths.frequency)
    limbs = [torch.zeros(exponents.shape, dtype=torch.int64, device=points.device)] * 6
    for x_digit, x_unit in _balanced_digits(points, widths.x):
        for f_digit, f_unit in f_digits:
            # Exact whatever the order of summation: whole numbers that stay within 2**53.
            add_shifted(limbs, product(x_digit, f_digit).long(), x_unit + f_unit)
    return window(carried(limbs), 60 - exponents)


def _integer_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return rows of x as the integers of the definition, the nearest to x * 2**(62 - a), and a.

    2**a is the smallest power of two above every |x_j| of a row.
    """
    a = torch.frexp(x.abs().amax(dim=1)).exponent.long()
    # Two factors: a single power of two overflows for rows of denormal numbers.
    scale = (FrequencyTable.bits - a)[:, None]
    half = scale >> 1
    return (x * _power_of_two(half) * _power_of_two(scale - half)).round().long(), a


def _balanced_digits(integers: Tensor, width: int) -> list[tuple[Tensor, int]]:
    """Return the balanced digits of int64 numbers as float64, with the power of two of each."""
    n_digits = -(-(FrequencyTable.bits + 1) // width)
    digits, rest = [], integers
    for unit in digit_units(width, n_digits)[:-1]:
        digit = (rest + (1 << (unit - 1))) >> unit
        rest = rest - (digit << unit)
        digits.append((digit.double(), unit))
    return [*digits, (rest.double(), 0)]


def add_shifted(limbs: list[Tensor], value: Tensor, place: int) -> None:
    """Add value * 2**place to numbers in limbs of 32 bits, whose carries wait for `carried`."""
    at, shift = divmod(place, 32)
    low = (value & LOW32) << shift
    limbs[at] = limbs[at] + (low & LOW32)
    limbs[at + 1] = limbs[at + 1] + (low >> 32) + ((value >> 32) << shift)


def carried(limbs: Iterable[Tensor]) -> list[Tensor]:
    """Return limbs from 0 to 2**32 - 1 of the same numbers, the lowest first, in two's complement.

    What is carried out of the last one is lost: sums wrap.
    """
    found, carry = [], 0
    for limb in limbs:
        total = limb + carry
        found.append(total & LOW32)
        carry = total >> 32
    return found


def window(limbs: list[Tensor], start: Tensor) -> Tensor:
    """Return bits start .. start + 63 as int64; the last limb holds sign bits only.

    Of zeros start may be anything, else it is at least 0.
    """
    words = torch.stack((*limbs, limbs[-1], limbs[-1]))
    at, shift = (start >> 5).clamp(0, len(limbs) - 1), start & 31
    low, middle, high = (words.gather(0, (at + i)[None])[0] for i in range(3))
    # The highest in two shifts, because one by 64 is not defined.
    return (low >> shift) | (middle << (32 - shift)) | ((high << 32) << (32 - shift))


def round_turns(turns: Tensor) -> Tensor:
    """Return int64 turns in units of 2**-64 as int32 in units of 2**-32, the nearest."""
    return ((turns + (1 << 31)) >> 32).int()


def _power_of_two(exponent: Tensor) -> Tensor:
    return ((exponent + 1023) << 52).view(torch.float64)
