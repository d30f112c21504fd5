"""Arithmetic in the finite field of 2**n elements, as tables.

Elements are integers whose bits are the coefficients of polynomials over {0, 1}.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

__all__ = ["BinaryField", "binary_field"]


class BinaryField(NamedTuple):
    """exp[i] is the i-th power of a primitive element, log its inverse, trace in {0, 1}."""

    exp: np.ndarray  # int64 of shape (2**n - 1,)
    log: np.ndarray  # int64 of shape (2**n,); log[0] is not meaningful
    trace: np.ndarray  # uint8 of shape (2**n,)

    def scaled(self, a: int) -> np.ndarray:
        """Return a * y for every element y, as int64 of shape (2**n,)."""
        product = np.zeros(len(self.log), dtype=np.int64)
        if a:
            order = len(self.exp)
            product[1:] = self.exp[(self.log[1:] + self.log[a]) % order]
        return product

    def power(self, exponent: int) -> np.ndarray:
        """Return y**exponent for every element y."""
        result = np.zeros(len(self.log), dtype=np.int64)
        result[1:] = self.exp[self.log[1:] * exponent % len(self.exp)]
        return result


@cache
def binary_field(n: int) -> BinaryField:
    """Return the tables of the field of 2**n elements, n >= 1.

    The polynomial is the smallest primitive one, so that the tables are always the same.
    """
    size = 1 << n
    powers = next(found for tail in range(1, size, 2) if (found := _powers(size | tail, n)))
    exp = np.array(powers, dtype=np.int64)
    log = np.zeros(size, dtype=np.int64)
    log[exp] = np.arange(size - 1)
    # The trace of y is the sum of its conjugates y**(2**i): 0 or 1.
    trace = np.zeros(size, dtype=np.int64)
    for i in range(n):
        trace[1:] ^= exp[log[1:] * (1 << i) % (size - 1)]
    for table in (exp, log):
        table.flags.writeable = False
    return BinaryField(exp, log, trace.astype(np.uint8))


def _powers(polynomial: int, n: int) -> list[int]:
    """Return 1, x, x**2, ... modulo a polynomial, or nothing if x is not primitive."""
    size = 1 << n
    powers, element = [], 1
    for _ in range(size - 1):
        powers.append(element)
        element <<= 1
        if element & size:
            element ^= polynomial
        if element == 1:
            break
    return powers if element == 1 and len(powers) == size - 1 else []
