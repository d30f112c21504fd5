"""Exact phases in plain PyTorch, by the definition in :mod:`primal.turns`.

PyTorch has no full set of unsigned operations; signed integers wrap in the same way, and are
compared as unsigned ones after a flip of their top bit.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from primal.engines import LARGEST_UNSURE
from primal.torch._tables import TableTensors
from primal.turns import FREQUENCY_BITS, digit_units, digit_widths

_BLOCK_PAIRS = 1 << 20


def rounded_turns(x: Tensor, a: Tensor, table: TableTensors) -> Tensor:
    """Return exact phases of float64 x (n, d), rounded to 2**-32 turn, int32 of shape (n, k).

    Mostly by one float64 product; where its error leaves the rounding open, exactly. `a` has the
    int64 exponents of the rows: 2**a is above every |x_j|.
    """
    lengths = torch.linalg.vector_norm(x, dim=1)
    errors = torch.outer(lengths, table.errors[0] * 2.0**32)
    if errors.numel() and not float(errors.max()) <= LARGEST_UNSURE:
        return round_turns(exact_turns(x, a, table))
    phases = x @ table.frequencies.T
    units = (phases - phases.round()) * 2.0**32  # both steps are exact
    turns = units.round().long().int()
    rows, columns = torch.nonzero((units - units.round()).abs() >= 0.5 - errors, as_tuple=True)
    step = max(1, _BLOCK_PAIRS // x.shape[1])
    for r, c in zip(rows.split(step), columns.split(step), strict=True):
        exponents = a[r] + table.exponents[c]
        pairs = _summed(
            _integer_rows(x[r], a[r]), table.mantissas[c], exponents, lambda x, f: (x * f).sum(1)
        )
        turns[r, c] = round_turns(pairs)
    return turns


def exact_turns(x: Tensor, a: Tensor, table: TableTensors) -> Tensor:
    """Return exact phases in units of 2**-64 turn, int64 of shape (n, k)."""
    exponents = a[:, None] + table.exponents
    return _summed(_integer_rows(x, a), table.mantissas, exponents, lambda x, f: x @ f.T)


def _summed(
    points: Tensor,
    factors: Tensor,
    exponents: Tensor,
    product: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Return the phases of integer rows (n, d), by exact products of their digits."""
    widths = digit_widths(points.shape[1])
    f_digits = _balanced_digits(factors, widths.frequency)
    zero = torch.zeros(exponents.shape, dtype=torch.int64, device=points.device)
    words = (zero, zero, zero)
    for x_digit, x_unit in _balanced_digits(points, widths.x):
        for f_digit, f_unit in f_digits:
            # Exact whatever the order of summation: whole numbers that stay within 2**53.
            words = _add(words, product(x_digit, f_digit).long(), x_unit + f_unit)
    return _window(words, 60 - exponents)


def _integer_rows(x: Tensor, a: Tensor) -> Tensor:
    """Return rows of x as the integers of the definition, the nearest to x * 2**(62 - a)."""
    # Two factors: a single power of two overflows for rows of denormal numbers.
    scale = (FREQUENCY_BITS - a)[:, None]
    half = scale >> 1
    return (x * _power_of_two(half) * _power_of_two(scale - half)).round().long()


def _balanced_digits(integers: Tensor, width: int) -> list[tuple[Tensor, int]]:
    """Return the balanced digits of int64 numbers as float64, with the power of two of each."""
    n_digits = -(-(FREQUENCY_BITS + 1) // width)
    digits, rest = [], integers
    for unit in digit_units(width, n_digits)[:-1]:
        digit = (rest + (1 << (unit - 1))) >> unit
        rest = rest - (digit << unit)
        digits.append((digit.double(), unit))
    return [*digits, (rest.double(), 0)]


Words = tuple[Tensor, Tensor, Tensor]


def _add(words: Words, value: Tensor, position: int) -> Words:
    """Return a 192-bit integer plus value * 2**position, position below 128."""
    low, middle, high = words
    sign = value >> 63
    shift = position % 64
    part = value << shift
    above = value >> (64 - shift) if shift else sign
    if position >= 64:
        middle, carry = _sum(middle, part)
        return low, middle, high + above + carry
    low, carry = _sum(low, part)
    above, carry = _sum(above, carry)
    middle, more = _sum(middle, above)
    return low, middle, high + sign + carry + more


def _sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return a + b as unsigned 64-bit numbers, and the carry."""
    total = a + b
    flip = -(1 << 63)
    return total, ((total ^ flip) < (b ^ flip)).long()


def _window(words: Words, start: Tensor) -> Tensor:
    """Return bits start .. start + 63 of 192-bit two's complement integers, start >= 0."""
    low, middle, high = words
    sign = high >> 63
    word, shift = start // 64, start % 64
    here = torch.where(word == 0, low, torch.where(word == 1, middle, high))
    above = torch.where(word == 0, middle, torch.where(word == 1, high, sign))
    here, above = torch.where(word > 2, sign, here), torch.where(word > 2, sign, above)
    # A logical shift: the sign bits that an arithmetic one brings in are masked off. Two
    # shifts to the left, because one by 64 is not defined.
    lower = (here >> shift) & ~((-1 << (63 - shift)) << 1)
    return lower | ((above << 1) << (63 - shift))


def round_turns(turns: Tensor) -> Tensor:
    """Return int64 turns in units of 2**-64 as int32 in units of 2**-32, the nearest."""
    return ((turns + (1 << 31)) >> 32).int()


def _power_of_two(exponent: Tensor) -> Tensor:
    return ((exponent + 1023) << 52).view(torch.float64)
