"""The exact phase of a vector: an integer dot product, and ways to have it quickly.

**Definition.** A row x is taken as integers X_j, the nearest to x_j * 2**(62 - a), where 2**a is
the smallest power of two above all |x_j|. A row of frequencies is held as integers F_j in units
of 2**(g - 62). Their dot product S = sum_j X_j F_j is a whole number, and the phase is

    floor(S * 2**(a + g - 60)) mod 2**64     in units of 2**-64 turn,

rounded to the nearest 2**-32 turn for float32 output; 0 for a row of zeros, which has no a. Nothing
in this depends on a batch, an order of summation, an engine or a number of threads.

**How to compute it.** S has up to 136 bits. Both factors are cut into balanced digits,

    X_j = X1_j * 2**(63 - wx) + X2_j * 2**(63 - 2 wx) + ...,     |X| <= 2**(wx - 1)
    F_j = F1_j * 2**(63 - wf) + F2_j * 2**(63 - 2 wf) + ...,     |F| <= 2**(wf - 1)

(the last one counts 2**0) with widths such that a sum of d products of digits stays within
2**53: float64 then adds it without rounding, in any order and with any library (the idea of
Ozaki's scheme). All the sums, added up in 192-bit integers, are S.

Most phases need much less. An approximation with a proven error decides how a phase rounds to
32 bits unless it falls that close to the middle between two of them; only such a phase is
computed exactly. See `product_error` and `level_errors`.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

# Rows of frequencies are integers in units of 2**(g - 62), rows of x in units of 2**(a - 62).
FREQUENCY_BITS = 62
# Beyond 2**32 turns the 62 bits of a frequency no longer fix the phase to 2**-29 turn.
LARGEST_LOG2_TURNS = 32
# One float64 product leaves 2**-53 of the phase: float32 accuracy ends here.
LARGEST_FAST_LOG2_TURNS = 20
# Products of weight below 2**-66 are left out of the deep approximation.
DEEP_BITS = 66

Terms = tuple[tuple[int, int], ...]


class DigitWidths(NamedTuple):
    """Widths in bits of the digits for one input dimension, and the products of each level.

    A product (a, b) is digit a of x times digit b of the frequency, counted from 1. The last
    level has all of them and is exact; the ones before are approximations.
    """

    x: int
    frequency: int
    levels: tuple[Terms, ...]

    @property
    def all(self) -> Terms:
        return self.levels[-1]


def digit_widths(d: int) -> DigitWidths:
    """Return the widths for dot products of length d.

    Two thirds of the 55 - log2(d) bits go to x: two long digits of x with three short ones of
    the frequency then serve phases of thousands of turns with four products.
    """
    total = 55 - (d - 1).bit_length()
    frequency = (total + 2) // 3
    x = total - frequency
    every = tuple(product(range(1, _n_digits(x) + 1), range(1, _n_digits(frequency) + 1)))
    middle = ((1, 1), (1, 2), (1, 3), (2, 1))
    deep = tuple(
        (a, b) for a, b in every if a <= 2 and (a - 1) * x + (b - 1) * frequency < DEEP_BITS
    )
    return DigitWidths(x, frequency, (middle, deep, every))


def row_exponents(x: np.ndarray) -> np.ndarray:
    """Return for each row of x the smallest a with |x_j| < 2**a (0 for a row of zeros)."""
    largest = np.abs(x).max(axis=1, initial=0.0)
    return np.frexp(largest)[1].astype(np.int64)


def integer_rows(x: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return rows of x as the integers X of the definition, int64 of at most 2**62 in size."""
    # Two factors, because one can overflow: ldexp of every number takes seven times as long.
    half = (FREQUENCY_BITS - exponents) // 2
    scaled = x * np.ldexp(1.0, half)[:, None]
    scaled *= np.ldexp(1.0, FREQUENCY_BITS - exponents - half)[:, None]
    return np.rint(scaled, out=scaled).astype(np.int64)


def balanced_digits(integers: np.ndarray, width: int) -> list[np.ndarray]:
    """Return the balanced digits of int64 numbers of at most 2**62, the highest first, in float64.

    They are whole numbers of at most 2**(width - 1); together they are the number exactly.
    """
    digits = []
    rest = integers
    for b in range(1, _n_digits(width)):
        unit = _unit(width, b)
        digit = (rest + np.int64(1 << (unit - 1))) >> np.int64(unit)
        rest = rest - (digit << np.int64(unit))
        digits.append(digit.astype(np.float64))
    return [*digits, rest.astype(np.float64)]


def digit_units(width: int, digit: int) -> list[int]:
    """Return the powers of two that the digits up to `digit` count."""
    return [_unit(width, b) for b in range(1, digit + 1)]


def combine_sums(
    sums: dict[tuple[int, int], np.ndarray], exponents: np.ndarray, widths: DigitWidths
) -> np.ndarray:
    """Return the phases, uint64 in units of 2**-64 turn, from all sums of digit products.

    For every product (a, b) of ``widths.all`` there is its exact sum, whole numbers within 2**53;
    exponents are a + g of each phase, int64, broadcastable to the sums.
    """
    shape = np.broadcast_shapes(exponents.shape, next(iter(sums.values())).shape)
    words = [np.zeros(shape, dtype=np.uint64) for _ in range(3)]
    for term, total in sums.items():
        _add_shifted(words, total.astype(np.int64), 60 + term_shift(widths, term))
    return _window(words, 60 - np.broadcast_to(exponents, shape))


def product_error(d: int, row_norms: np.ndarray) -> np.ndarray:
    """Return the error of a float64 dot product with a row of x of length one, in turns.

    For any order of summation, fused or not, sum_j x_j f_j is off by at most d * 2**-53 times
    sum_j |x_j f_j|, and that sum is at most |x| |f|. Two more units cover the rounding of the
    frequencies to float64, and of x to its integers. Norms are lengths of rows of frequencies.
    """
    return row_norms * ((d + 2) * 2.0**-53 * (1.0 + 2.0**-20))


def level_errors(
    terms: Terms, l1_norms: np.ndarray, exponents: np.ndarray, d: int, widths: DigitWidths
) -> np.ndarray:
    """Return the error of a level for rows of x within (-1, 1), in turns.

    It grows in proportion to 2**a. Three parts: what lies below the last digit of x, below the
    last digit of f, and the products left out although both of their digits are there. Norms
    are sum_j |f_ij|, exponents the g of each frequency row.
    """
    n_x, n_f = max(a for a, _ in terms), max(b for _, b in terms)
    error = np.ldexp(l1_norms, -n_x * widths.x)
    error = error + np.ldexp(float(d), exponents - n_f * widths.frequency)
    for a, b in product(range(n_x), range(n_f)):
        if (a + 1, b + 1) not in terms:
            error = error + np.ldexp(float(d), exponents - a * widths.x - b * widths.frequency)
    return error


def term_shift(widths: DigitWidths, term: tuple[int, int]) -> int:
    """Return the shift of one sum of products to 2**-64 turn, for exponents of zero.

    A row adds the exponent of x, a frequency adds its own; a negative total shifts right.
    """
    return _unit(widths.x, term[0]) + _unit(widths.frequency, term[1]) - 60


def _unit(width: int, digit: int) -> int:
    """Return the power of two that a digit counts."""
    return max(FREQUENCY_BITS + 1 - digit * width, 0)


def _n_digits(width: int) -> int:
    return -(-(FREQUENCY_BITS + 1) // width)


def _add_shifted(words: list[np.ndarray], value: np.ndarray, position: int) -> None:
    """Add value * 2**position to 192-bit integers in place; value is int64."""
    first, shift = divmod(position, 64)
    low = value.view(np.uint64) << np.uint64(shift)
    high = value >> np.int64(63) if shift == 0 else value >> np.int64(64 - shift)
    carry = np.zeros(low.shape, dtype=np.uint64)
    sign = (value >> np.int64(63)).view(np.uint64)
    parts = [low, high.view(np.uint64), sign][: 3 - first]
    for word, part in zip(words[first:], parts, strict=True):
        total = part + carry
        carried = total < carry
        word += total
        carry = (carried | (word < total)).astype(np.uint64)


def _window(words: list[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return bits start .. start + 63 of 192-bit two's complement integers.

    A negative start occurs for rows of zeros only, which have no exponent of their own.
    """
    start = np.maximum(start, 0)
    sign = (words[2].view(np.int64) >> np.int64(63)).view(np.uint64)
    first, shift = np.divmod(np.minimum(start, 191), 64)
    shift = shift.astype(np.uint64)
    low = np.where(first == 0, words[0], np.where(first == 1, words[1], words[2]))
    high = np.where(first == 0, words[1], np.where(first == 1, words[2], sign))
    # Two shifts: one by 64 is not defined.
    joined = (low >> shift) | ((high << np.uint64(1)) << (np.uint64(63) - shift))
    return np.where(start > 191, sign, joined)
