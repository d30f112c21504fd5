"""How a chip turns sensor integers into phases: the tables it needs, and the same steps in NumPy.

Phases are in units of 2**-32 turn. With x_j = scale_j (n_j - zero_j), frequencies f_ij in turns
per unit of x, rounding to the nearest (halves up) and sums that wrap:

    q15, q31       round(2**32 sum_j f_ij x_j)       zero_j = 0, scale_j = 2**-f: as the map has it
    lsb16, lsb32   2**(32 - B) sum_j n_j inc_ij + off_i       inc_ij = round(2**B f_ij scale_j)
    hadamard32     k_i (H S3 H S2 H S1 X)_i + off_i      X_j = n_j word_j mod 2**B, B = 32 or 64
    hadamard64     the same, its product rounded to 32 bits

off_i = round(-2**32 sum_j f_ij scale_j zero_j), which `SensorMap` adds. All tables come from exact
integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import require_memory
from primal._parallel import row_blocks
from primal.errors import ParameterError
from primal.exact import FrequencyTable, HadamardTable, round_turns

ROUNDING = 2.0**-33  # of a phase, in turns


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

    def turns(self, bits: int) -> np.ndarray:
        """Return floor(value 2**bits + 1/2) mod 2**bits, uint64: turns in units of 2**-bits."""
        shifts = np.broadcast_to(np.asarray(self.exponents) + (bits + 1), self.integers.shape)
        flat = zip(self.integers.ravel().tolist(), shifts.ravel().tolist(), strict=True)
        halves = (v << s if s >= 0 else v >> -s for v, s in flat)
        wrapped = [((half + 1) >> 1) & ((1 << bits) - 1) for half in halves]
        return np.array(wrapped, dtype=np.uint64).reshape(self.integers.shape)


@dataclass(frozen=True, eq=False)
class ExactScheme:
    """Kinds q15 and q31: the bits of the map itself at x = n 2**-fraction_bits."""

    map: Any
    table: FrequencyTable | HadamardTable
    fraction_bits: int
    offsets: None = None

    def turns(self, n: np.ndarray) -> np.ndarray:
        return self.map.turns(np.ldexp(n.astype(np.float64), -self.fraction_bits))

    def error(self, largest: np.ndarray) -> float:
        return ROUNDING


class _ReadOnly:
    """Tables that cannot be written to: headers and Python would differ."""

    def __post_init__(self) -> None:
        for table in vars(self).values():
            if isinstance(table, np.ndarray):
                table.flags.writeable = False


@dataclass(frozen=True, eq=False)
class TableScheme(_ReadOnly):
    """Kinds lsb16 and lsb32: one product for each input and frequency.

    Attributes
    ----------
    increments : ndarray of shape (k, d), dtype=uint16 or uint32
        Phase moved by one unit of the sensor, in units of 2**-16 or 2**-32 turn.
    offsets : ndarray of shape (k,), dtype=uint32, or None
    """

    increments: np.ndarray
    offsets: np.ndarray | None

    @classmethod
    def make(
        cls, table: FrequencyTable | HadamardTable, scale: Exact, zero: Exact, bits: int
    ) -> TableScheme:
        k, d = table.shape
        require_memory(400 * k * d, f"exact products of {k} x {d} frequencies")
        exponents = table.exponents.astype(object)[:, None] - table.bits
        steps = Exact(table.mantissas.astype(object), exponents) * scale
        increments = steps.turns(bits).astype(f"uint{bits}")
        return cls(increments, _negative(steps * zero))

    def turns(self, n: np.ndarray) -> np.ndarray:
        turns = np.empty((len(n), len(self.increments)), dtype=np.uint32)
        transposed = np.ascontiguousarray(self.increments.T).astype(np.uint32)
        shift = np.uint32(32 - 8 * self.increments.itemsize)
        for rows in row_blocks(len(n), len(self.increments)):
            # Integers: no library of matrices is asked, and sums wrap.
            turns[rows] = (n[rows].astype(np.uint32) @ transposed) << shift
        return turns

    def error(self, largest: np.ndarray) -> float:
        half = 2.0 ** -(8 * self.increments.itemsize + 1)
        return float(largest.sum()) * half + (0.0 if self.offsets is None else ROUNDING)


@dataclass(frozen=True, eq=False)
class HadamardScheme(_ReadOnly):
    """Kinds hadamard32 and hadamard64: additions, and no table of frequencies.

    Attributes
    ----------
    words : ndarray of shape (d,), dtype=uint32 or uint64
        What one unit of each sensor adds, in units of 2**-32 or 2**-64.
    signs, factors : ndarray of shape (1 + 2 n_blocks, m) and (n_blocks m,), of that type
        As in the table of the basis; with 32-bit words factors have fewer fraction bits.
    offsets : ndarray of shape (k,), dtype=uint32, or None
    step_errors : ndarray of shape (k, d), dtype=float64
        How far one unit of a sensor moves a phase from where it should be, in turns.
    zero_errors : ndarray of shape (k,), dtype=float64
        How far the zero points do, by factors with fewer bits.
    """

    words: np.ndarray
    signs: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray | None
    step_errors: np.ndarray
    zero_errors: np.ndarray

    @classmethod
    def make(cls, table: HadamardTable, scale: Exact, zero: Exact, bits: int) -> HadamardScheme:
        k = table.shape[0]
        dropped = _dropped_bits(table, scale) if bits == 32 else 0
        half = (1 << dropped) >> 1
        factors = (table.factors.astype(object) + half) >> dropped
        factors = np.where(table.factors > 0, np.maximum(factors, 1), 0)
        c = Exact.from_floats(np.array(math.ldexp(table.scale, dropped)))
        steps = c * scale
        words = steps.turns(bits).astype(f"uint{bits}")
        # The phase of the zero point, by the transform of exact integers.
        points, minus = steps * zero, -(table.signs & np.uint64(1)).astype(object)
        phases = HadamardTable.word_turns(points.integers[None], minus, factors)[0, :k]
        at_zero = Exact(phases[:, None], points.exponents)
        # Frequencies as they are meant, as the words have them, and as the zero points do.
        meant = table.factors[:k, None] * np.float64(table.scale) * _floats(scale)
        held = factors[:k, None].astype(np.float64) * (words * 2.0**-bits)
        rows = np.abs(table.values) / (table.factors[:k, None] * np.float64(table.scale))
        at_zeros = factors[:k, None].astype(np.float64) * _floats(steps)
        return cls(
            words,
            table.signs.astype(words.dtype),
            factors.astype(words.dtype),
            _negative(at_zero),
            np.abs(held - meant) * rows,
            (np.abs(at_zeros - meant) * rows) @ np.abs(_floats(zero)),
        )

    def turns(self, n: np.ndarray) -> np.ndarray:
        turns = np.empty((len(n), len(self.step_errors)), dtype=np.uint32)
        for rows in row_blocks(len(n), len(self.factors)):
            words = n[rows].astype(self.words.dtype) * self.words
            sums = HadamardTable.word_turns(words, self.signs, self.factors)[:, : turns.shape[1]]
            turns[rows] = round_turns(sums) if sums.dtype == np.uint64 else sums
        return turns

    def error(self, largest: np.ndarray) -> float:
        n_roundings = (self.words.itemsize == 8) + (self.offsets is not None)
        # The differences above are rounded themselves, by less than a millionth.
        moved = float((self.step_errors @ largest + self.zero_errors).max())
        return moved * (1 + 1e-6) + n_roundings * ROUNDING


Scheme = ExactScheme | TableScheme | HadamardScheme


def _negative(values: Exact) -> np.ndarray | None:
    """Return minus the sums over the last axis in units of 2**-32 turn; None when all are zero."""
    exponents = values.exponents
    if isinstance(exponents, np.ndarray):  # the same along the last axis
        exponents = exponents[..., 0]
    turns = Exact(-values.integers.sum(axis=-1), exponents).turns(32).astype(np.uint32)
    return turns if turns.any() else None


def _floats(values: Exact) -> np.ndarray:
    return np.array([math.ldexp(float(v), int(values.exponents)) for v in values.integers])


def _dropped_bits(table: HadamardTable, scale: Exact) -> int:
    """Return how many bits 32-bit words leave no room for in the factors.

    Fewer bits in the factors leave more to the words: relative errors of 1 / factor and of
    1 / word should be alike, and their product is fixed.
    """
    word = 2.0**32 * table.scale * float(np.median(_floats(scale)))
    factor = float(np.median(table.factors[: table.shape[0]].astype(np.float64)))
    if word <= 0.0:
        raise ParameterError("the scale is too small for 32-bit words: use kind='hadamard64'.")
    return max(0, round(0.5 * (math.log2(factor) - math.log2(word))))
