"""Products of floats as exact integers, rounded once: tables must not depend on a machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Exact:
    """Numbers ``integers * 2**exponents``: Python integers in an object array, and shifts."""

    integers: np.ndarray
    exponents: np.ndarray | int

    @classmethod
    def from_floats(cls, values: np.ndarray) -> Exact:
        """Return float64 values exactly, with one exponent for all of them."""
        fractions, exponents = np.frexp(np.asarray(values, dtype=np.float64))
        mantissas = np.ldexp(fractions, 53).astype(np.int64).astype(object)
        lowest = int(exponents.min(initial=0))
        return cls(mantissas << (exponents - lowest).astype(object), lowest - 53)

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.integers * other.integers, self.exponents + other.exponents)

    def sum(self) -> Exact:
        """Return the sums over the last axis, along which the exponents are the same."""
        exponents = self.exponents
        if isinstance(exponents, np.ndarray):
            exponents = exponents[..., 0]
        return Exact(self.integers.sum(axis=-1), exponents)

    def turns(self, bits: int) -> np.ndarray:
        """Return floor(value 2**bits + 1/2) mod 2**bits, uint64: turns in units of 2**-bits."""
        shifts = np.broadcast_to(np.asarray(self.exponents) + (bits + 1), self.integers.shape)
        flat = zip(self.integers.ravel().tolist(), shifts.ravel().tolist(), strict=True)
        halves = (v << s if s >= 0 else v >> -s for v, s in flat)
        wrapped = [((half + 1) >> 1) & ((1 << bits) - 1) for half in halves]
        return np.array(wrapped, dtype=np.uint64).reshape(self.integers.shape)
