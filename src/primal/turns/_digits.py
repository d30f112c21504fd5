"""Exact dot products: x and frequencies cut into digits that float64 multiplies exactly.

The phase of a frequency vector f at a point x is the real number sum_j x_j f_j, of which
only the fraction matters. Both factors are written in balanced digits,

    x_j = 2**a * (X1_j * 2**(1 - wx) + X2_j * 2**(1 - 2 wx) + ...),   2**a > max |x_j|
    f_j = 2**g * (F1_j * 2**(1 - wf) + F2_j * 2**(1 - 2 wf) + ...),   2**g > max |f_j|

with whole numbers |X| <= 2**(wx - 1) and |F| <= 2**(wf - 1). The widths are chosen so that
a sum of d products stays within 2**53: float64 then adds it without rounding, in any order
and with any library (this is the idea of Ozaki's scheme). Each sum is shifted to its place
in a 64-bit turn, where integer overflow takes the fraction.

How many products a phase needs grows with its length, so there are three levels: *near* has
two, *middle* four, *deep* all that can matter up to 2**32 turns. A phase gets the first level
whose error bound is below 2**-25 turn. That depends on its row of x and its row of
frequencies, never on the batch, the output size or the engine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = [
    "FREQUENCY_BITS",
    "LARGEST_LOG2_TURNS",
    "DigitWidths",
    "Terms",
    "digit_widths",
    "frequency_digits",
    "level_row_exponents",
    "row_exponents",
    "term_shift",
    "x_digits",
]

# A row of frequencies is held as integers in units of 2**(g - 62).
FREQUENCY_BITS = 62
# Beyond 2**32 turns the 62 bits of a frequency no longer fix the phase to 2**-25 turn.
LARGEST_LOG2_TURNS = 32
# Products of weight below 2**-66 are dropped from the deep sum.
_DEEP_BITS = 66
# What a phase may be off by, leaving room below 2**-25 for the rounding to 32 bits.
_LARGEST_ERROR = 2.0**-25 - 2.0**-30

Terms = tuple[tuple[int, int], ...]


class DigitWidths(NamedTuple):
    """Widths in bits of the digits for one input dimension, and the products of each level.

    A product (a, b) is digit a of x times digit b of the frequency, counted from 1.
    """

    x: int
    frequency: int
    levels: tuple[Terms, ...]

    @property
    def deep(self) -> Terms:
        return self.levels[-1]


def digit_widths(d: int) -> DigitWidths:
    """Return the widths for dot products of length d.

    A near phase needs about 26 + log2(turns) bits of x in one digit and as many of f in
    two, hence two thirds of the 55 - log2(d) bits go to x.
    """
    total = 55 - (d - 1).bit_length()
    frequency = (total + 2) // 3
    x = total - frequency
    n_digits = -(-FREQUENCY_BITS // frequency)
    near = ((1, 1), (1, 2))
    middle = ((1, 1), (1, 2), (1, 3), (2, 1))
    deep = tuple(
        (a, b)
        for a in (1, 2)
        for b in range(1, n_digits + 1)
        if (a - 1) * x + (b - 1) * frequency < _DEEP_BITS
    )
    return DigitWidths(x, frequency, (near, middle, deep))


def row_exponents(x: np.ndarray) -> np.ndarray:
    """Return for each row of x the smallest a with |x_j| < 2**a (0 for a row of zeros)."""
    largest = np.abs(x).max(axis=1, initial=0.0)
    return np.frexp(largest)[1].astype(np.int64)


def x_digits(x: np.ndarray, exponents: np.ndarray, width: int, n_digits: int) -> list[np.ndarray]:
    """Return the first balanced digits of each row of x, as whole float64 numbers."""
    # Every step is exact: scaling by a power of two, and a float64 less its nearest integer.
    rest = np.ldexp(x, (width - 1 - exponents)[:, None])
    digits = [np.rint(rest)]
    for _ in range(n_digits - 1):
        rest = np.ldexp(rest - digits[-1], width)
        digits.append(np.rint(rest))
    return digits


def frequency_digits(mantissas: np.ndarray, width: int, n_digits: int) -> list[np.ndarray]:
    """Return the first balanced digits of frequencies held as 62-bit integers.

    Parameters
    ----------
    mantissas : ndarray of int64
        At most 2**62 in size.

    Returns
    -------
    digits : list of ndarray of float64
        Whole numbers of at most 2**(width - 1).
    """
    digits = []
    rest = mantissas
    for b in range(1, n_digits + 1):
        unit = FREQUENCY_BITS + 1 - b * width  # a digit counts 2**unit
        if unit <= 0:
            digits.append((rest << np.int64(-unit)).astype(np.float64))
            break
        digit = (rest + np.int64(1 << (unit - 1))) >> np.int64(unit)
        rest = rest - (digit << np.int64(unit))
        digits.append(digit.astype(np.float64))
    return digits


def level_row_exponents(
    l1_norms: np.ndarray, exponents: np.ndarray, d: int, widths: DigitWidths
) -> np.ndarray:
    """Return the largest row exponent of x that each level but the last serves.

    Parameters
    ----------
    l1_norms : ndarray of shape (k,), dtype=float64
        sum_j |f_ij| of each frequency row.
    exponents : ndarray of shape (k,), dtype=int64
        The g of each frequency row.

    Returns
    -------
    row_exponents : ndarray of shape (2, k), dtype=int64
    """
    return np.stack(
        [_row_exponents_for(terms, l1_norms, exponents, d, widths) for terms in widths.levels[:-1]]
    )


def term_shift(widths: DigitWidths, term: tuple[int, int]) -> int:
    """Return the shift of the sum over one product to 2**-64 turn, for exponents of zero.

    A row adds the exponent of x, a frequency adds its own; a negative total shifts right,
    rounding down.
    """
    return 64 + 2 - term[0] * widths.x - term[1] * widths.frequency


def _row_exponents_for(
    terms: Terms, l1_norms: np.ndarray, exponents: np.ndarray, d: int, widths: DigitWidths
) -> np.ndarray:
    n_x, n_f = max(a for a, _ in terms), max(b for _, b in terms)
    # For |x_j| < 1: what lies below the last digit of x, below the last digit of f, and the
    # products left out although both of their digits are there.
    error = np.ldexp(l1_norms, -n_x * widths.x)
    error = error + np.ldexp(float(d), exponents - n_f * widths.frequency)
    for a in range(1, n_x + 1):
        for b in range(1, n_f + 1):
            if (a, b) not in terms:
                weight = (a - 1) * widths.x + (b - 1) * widths.frequency
                error = error + np.ldexp(float(d), exponents - weight)
    return np.frexp(_LARGEST_ERROR / error)[1].astype(np.int64) - 1
