"""A table of frequencies as fixed-point integers, and what the exact products need of it."""

from __future__ import annotations

import numpy as np

from primal._arithmetic import fold_sum
from primal._lazy import cached_property
from primal.exact._digits import (
    FREQUENCY_BITS,
    LARGEST_FAST_LOG2_TURNS,
    LARGEST_LOG2_TURNS,
    DigitWidths,
    balanced_digits,
    digit_widths,
    level_errors,
    product_error,
)


class Limits:
    """Limits that every table of frequencies has."""

    bits = FREQUENCY_BITS  # of a frequency, and of a number of x
    log2_turns = LARGEST_LOG2_TURNS  # up to which a phase is determined
    fast_log2_turns = LARGEST_FAST_LOG2_TURNS  # up to which one float64 product gives it
    largest_l1_norm: float

    @property
    def largest_input(self) -> float:
        """Largest |x_j| for which no phase can pass the turns up to which it is determined."""
        return 2.0**self.log2_turns / max(self.largest_l1_norm, 2.0**-900)


class FrequencyTable(Limits):
    """k rows of d frequencies in turns per unit of x, each row with its own exponent.

    Entry (i, j) is exactly ``mantissas[i, j] * 2**(exponents[i] - 62)``. A row depends on
    nothing but its own frequencies, so a shorter table is a prefix of a longer one.

    Parameters
    ----------
    mantissas : ndarray of shape (k, d), dtype=int64
        At most 2**62 in size; becomes read-only.
    exponents : ndarray of shape (k,), dtype=int64
        Becomes read-only.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.exact import FrequencyTable
    >>> table = FrequencyTable.from_floats(np.array([[0.75, 0.5], [3.0, -1.0]]))
    >>> table.exponents, table.values.tolist()
    (array([0, 2]), [[0.75, 0.5], [3.0, -1.0]])
    """

    def __init__(self, mantissas: np.ndarray, exponents: np.ndarray) -> None:
        self.mantissas = mantissas
        self.exponents = exponents
        self.shape: tuple[int, int] = mantissas.shape
        self.digest_arrays = mantissas, exponents  # what a fingerprint is taken over
        mantissas.flags.writeable = False
        exponents.flags.writeable = False

    @classmethod
    def from_floats(cls, frequencies: np.ndarray) -> FrequencyTable:
        """Return the table of float64 frequencies; digits below 2**-62 of the row are cut."""
        exponents = largest_exponents(frequencies)
        scaled = np.ldexp(frequencies, (FREQUENCY_BITS - exponents)[:, None])
        return cls(np.floor(scaled).astype(np.int64), exponents)

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
    def largest_l1_norm(self) -> float:  # type: ignore[bad-override]
        return float(self.l1_norms.max(initial=0.0))

    @cached_property
    def widths(self) -> DigitWidths:
        return digit_widths(self.shape[1])

    @cached_property
    def transposed(self) -> np.ndarray:
        """The float64 frequencies of shape (d, k), for a plain matrix product."""
        return np.ascontiguousarray(self.values.T)

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return x @ frequencies.T for float64 rows x (n, d), shape (n, k)."""
        return x @ self.transposed

    @cached_property
    def product_errors(self) -> np.ndarray:
        """Error of that product for a row of x of length one, in turns, shape (k,)."""
        # Lengths from mantissas within [-1, 1]: squares of frequencies could overflow.
        scaled = self.mantissas.astype(np.float64) * 2.0**-FREQUENCY_BITS
        lengths = np.ldexp(np.sqrt(fold_sum(scaled * scaled)), self.exponents)
        return product_error(self.shape[1], lengths)

    @cached_property
    def level_errors(self) -> np.ndarray:
        """Error of each approximate level for |x_j| < 1, in turns, shape (2, k)."""
        return np.stack(
            [
                level_errors(terms, self.l1_norms, self.exponents, self.shape[1], self.widths)
                for terms in self.widths.levels[:-1]
            ]
        )

    @cached_property
    def digits(self) -> tuple[np.ndarray, ...]:
        """Every digit of the frequencies, each of shape (d, k)."""
        digits = balanced_digits(self.mantissas, self.widths.frequency)
        return tuple(np.ascontiguousarray(digit.T) for digit in digits)


def largest_exponents(frequencies: np.ndarray) -> np.ndarray:
    """Return for each row the smallest g with all |f| < 2**g."""
    return np.frexp(np.abs(frequencies).max(axis=1))[1].astype(np.int64)
