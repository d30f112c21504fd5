"""Exact phases in plain PyTorch, by the definition in ``primal.turns._digits``.

PyTorch has no full set of unsigned operations; signed integers wrap in the same way, and are
compared as unsigned ones after a flip of their top bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from primal.turns import FREQUENCY_BITS, digit_units, digit_widths

__all__ = ["exact_turns", "integer_rows", "rounded_turns"]

# When the error of a product reaches this many units of 2**-32 turn, one phase in ten is unsure
# and the exact sums are the better way.
_LARGEST_UNSURE = 0.05
_BLOCK_PAIRS = 1 << 20


def rounded_turns(
    x: Tensor,
    a: Tensor,
    mantissas: Tensor,
    exponents: Tensor,
    frequencies: Tensor,
    product_errors: Tensor,
) -> Tensor:
    """Return exact phases rounded to 2**-32 turn, int32 of shape (n, k).

    Mostly by one float64 product; where its error leaves the rounding open, exactly.

    Parameters
    ----------
    x : float64 tensor of shape (n, d)
    a : int64 tensor of shape (n,)
        Row exponents: 2**a is above every |x_j|.
    mantissas, exponents, frequencies
        The table, and its float64 values of shape (k, d).
    product_errors : float64 tensor of shape (k,)
        Error of the product for a row of length one, in turns.
    """
    lengths = torch.linalg.vector_norm(x, dim=1)
    errors = torch.outer(lengths, product_errors * 2.0**32)
    if errors.numel() and not float(errors.max()) <= _LARGEST_UNSURE:
        return _rounded(exact_turns(x, a, mantissas, exponents))
    phases = x @ frequencies.T
    units = (phases - phases.round()) * 2.0**32  # both steps are exact
    turns = units.round().long().int()
    rows, columns = torch.nonzero((units - units.round()).abs() >= 0.5 - errors, as_tuple=True)
    step = max(1, _BLOCK_PAIRS // x.shape[1])
    for r, c in zip(rows.split(step), columns.split(step), strict=True):
        points, table = integer_rows(x[r], a[r]), mantissas[c]
        turns[r, c] = _rounded(_pair_turns(points, table, a[r] + exponents[c]))
    return turns


def exact_turns(x: Tensor, a: Tensor, mantissas: Tensor, exponents: Tensor) -> Tensor:
    """Return exact phases in units of 2**-64 turn, int64 of shape (n, k)."""
    widths = digit_widths(x.shape[1])
    x_digits = _balanced_digits(integer_rows(x, a), widths.x)
    f_digits = _balanced_digits(mantissas, widths.frequency)
    words = _zero_words((x.shape[0], mantissas.shape[0]), x.device)
    for x_digit, x_unit in x_digits:
        for f_digit, f_unit in f_digits:
            # Exact whatever the order of summation: whole numbers that stay within 2**53.
            words = _add(words, (x_digit @ f_digit.T).long(), x_unit + f_unit)
    return _window(words, 60 - a[:, None] - exponents)


def integer_rows(x: Tensor, a: Tensor) -> Tensor:
    """Return rows of x as the integers of the definition, the nearest to x * 2**(62 - a)."""
    # Two factors: a single power of two overflows for rows of denormal numbers.
    scale = (FREQUENCY_BITS - a)[:, None]
    half = scale >> 1
    return (x * _power_of_two(half) * _power_of_two(scale - half)).round().long()


def _pair_turns(points: Tensor, table: Tensor, exponents: Tensor) -> Tensor:
    """Return the exact phases of pairs of integer rows, both of shape (n, d)."""
    low31, low32 = (1 << 31) - 1, (1 << 32) - 1
    xh, xl, fh, fl = points >> 31, points & low31, table >> 31, table & low31
    words = _zero_words((len(points),), points.device)
    for product, position in ((xl * fl, 0), (xh * fl + xl * fh, 31), (xh * fh, 62)):
        words = _add(words, (product & low32).sum(1), position)
        words = _add(words, (product >> 32).sum(1), position + 32)
    return _window(words, 60 - exponents)


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


def _zero_words(shape: tuple[int, ...], device: torch.device) -> Words:
    zero = torch.zeros(shape, dtype=torch.int64, device=device)
    return zero, zero, zero


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


def _rounded(turns: Tensor) -> Tensor:
    return ((turns + (1 << 31)) >> 32).int()


def _power_of_two(exponent: Tensor) -> Tensor:
    return ((exponent + 1023) << 52).view(torch.float64)
