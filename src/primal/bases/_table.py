"""A table of frequencies as fixed-point integers, and what the exact products need of it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from primal.bases._arithmetic import fold_sum
from primal.turns._digits import (
    FREQUENCY_BITS,
    DigitWidths,
    digit_widths,
    frequency_digits,
    level_row_exponents,
)

__all__ = ["FrequencyTable"]


class FrequencyTable:
    """k rows of d frequencies in turns per unit of x, each row with its own exponent.

    Entry (i, j) is exactly ``mantissas[i, j] * 2**(exponents[i] - 62)``. A row depends on
    nothing but its own frequencies, so a shorter table is a prefix of a longer one.

    Attributes
    ----------
    mantissas : ndarray of shape (k, d), dtype=int64
        At most 2**62 in size; read-only.
    exponents : ndarray of shape (k,), dtype=int64
        Read-only.
    """

    def __init__(self, mantissas: np.ndarray, exponents: np.ndarray) -> None:
        self.mantissas = mantissas
        self.exponents = exponents
        mantissas.flags.writeable = False
        exponents.flags.writeable = False

    @classmethod
    def from_floats(cls, frequencies: np.ndarray) -> FrequencyTable:
        """Return the table of float64 frequencies; digits below 2**-62 of the row are cut."""
        exponents = largest_exponents(frequencies)
        scaled = np.ldexp(frequencies, (FREQUENCY_BITS - exponents)[:, None])
        return cls(np.floor(scaled).astype(np.int64), exponents)

    @property
    def shape(self) -> tuple[int, int]:
        k, d = self.mantissas.shape
        return k, d

    @cached_property
    def values(self) -> np.ndarray:
        """The frequencies rounded to float64, shape (k, d)."""
        shift = (self.exponents - FREQUENCY_BITS)[:, None]
        return np.ldexp(self.mantissas.astype(np.float64), shift)

    @cached_property
    def l1_norms(self) -> np.ndarray:
        """Sum of the sizes of each row: the most turns a row can make for |x_j| <= 1."""
        return fold_sum(np.abs(self.values))

    @cached_property
    def widths(self) -> DigitWidths:
        return digit_widths(self.shape[1])

    @cached_property
    def level_row_exponents(self) -> np.ndarray:
        """Largest exponent of a row of x that each level of the exact sums serves, but the last."""
        return level_row_exponents(self.l1_norms, self.exponents, self.shape[1], self.widths)

    @cached_property
    def near_digits(self) -> np.ndarray:
        """The first two digits side by side, shape (d, 2 k), ready for one matrix product."""
        return np.ascontiguousarray(np.concatenate(self._digits(2)).T)

    @cached_property
    def digits(self) -> tuple[np.ndarray, ...]:
        """Every digit, each of shape (d, k)."""
        digits = self._digits(max(b for _, b in self.widths.deep))
        return tuple(np.ascontiguousarray(digit.T) for digit in digits)

    @cached_property
    def transposed(self) -> np.ndarray:
        """The float64 frequencies of shape (d, k), for the fast matrix product."""
        return np.ascontiguousarray(self.values.T)

    def _digits(self, n_digits: int) -> list[np.ndarray]:
        return frequency_digits(self.mantissas, self.widths.frequency, n_digits)


def largest_exponents(frequencies: np.ndarray) -> np.ndarray:
    """Return for each row the smallest g with all |f| < 2**g."""
    return np.frexp(np.abs(frequencies).max(axis=1))[1].astype(np.int64)
