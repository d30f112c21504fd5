"""Products of cosines and sines of several inputs, made by halves and joined by matrix products.

A product of one wave of each input is the product of one for the first half of the inputs and one
for the second, so that sums over rows, and values at rows, are products of two real matrices. Only
some pairs of the halves occur, in a ball instead of a box: they are joined in steps, the waves with
most partners first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

_MOST_STEPS, _STEP_WAVES = 8, 32  # narrower matrices are slow
_gemm = get_blas_funcs("gemm", (np.empty(0),))


class Phases(NamedTuple):
    """Cosines and sines for a block of n rows.

    Attributes
    ----------
    halves, strides : ndarray of shape (2, n_multiples, d, n) and (2, n_multiples, n)
        At multiples of half a step; of the middle input alone, at multiples of a stride.
    quarters : ndarray of shape (2, n)
        At the quarter of a step that a frequency has more than m, in every input.
    """

    halves: np.ndarray
    strides: np.ndarray
    quarters: np.ndarray


class Factor(NamedTuple):
    """Cosines and sines of one input, at (first + e) * stride for e from 0 to n - 1."""

    input: int
    stride: int
    first: float  # 0 or 1/2
    n: int

    @property
    def size(self) -> int:
        return 2 * self.n - (not self.first)  # there is no sine of zero

    @property
    def last(self) -> float:
        return self.first + self.n - 1

    def waves(self, phases: Phases) -> np.ndarray:
        """Return the cosines and then the sines, (size, n_rows)."""
        if self.stride > 1:
            cos, sin = phases.strides[:, : self.n]
            return np.concatenate([cos, sin[1:]])
        low, end = int(2 * self.first), int(2 * self.last) + 1
        cos, sin = phases.halves[:, :end, self.input]
        return np.concatenate([cos[low::2], sin[low or 2 :: 2]])

    @property
    def signed(self) -> np.ndarray:
        """What makes exp(2 pi i f turns), f from -last to last, of cosines and sines."""
        f = np.arange(self.size) - self.last
        cos = (np.abs(f) - self.first).astype(np.int64)
        found = np.zeros((self.size, self.size), dtype=np.complex128)
        found[np.arange(self.size), cos] = 1.0
        some = np.flatnonzero(f)
        found[some, cos[some] + self.size - self.n] = 1j * np.sign(f[some])
        return found


@dataclass(frozen=True, eq=False)
class Grid:
    """Products of one wave of each factor, those of frequencies that occur.

    The middle one of an odd number of inputs has two factors, so that both halves are about as
    large. A spectrum has exp(2 pi i f . turns) for signed frequencies f in their place.

    Attributes
    ----------
    factors : tuple of Factor
    left, right : ndarray of int
        Which waves of the first and of the second half have a partner, those with most first.
    steps : list of (slice, int)
        Some of `left`, and how many of `right` they go with.
    """

    factors: tuple[Factor, ...]
    left: np.ndarray
    right: np.ndarray
    steps: list[tuple[slice, int]]

    @classmethod
    def of(cls, factors: tuple[Factor, ...], frequencies: np.ndarray) -> Grid:
        """Return that of products of factors for frequencies (..., d)."""
        shape = [factor.size for factor in factors]
        occurs = np.zeros(math.prod(shape))
        occurs[_places(factors, frequencies)] = 1.0
        waves = _changed(occurs.reshape(1, *shape), [np.abs(f.signed) for f in factors])
        pairs = waves.reshape(_sides(factors)) > 0.0
        left, right = (_most_first(pairs.sum(axis=axis)) for axis in (1, 0))
        pairs = pairs[np.ix_(left, right)]
        steps = []
        n_steps = min(max(len(left) // _STEP_WAVES, 1), _MOST_STEPS)
        for rows in np.array_split(np.arange(len(left)), n_steps):
            n_right = int(np.flatnonzero(pairs[rows].any(axis=0))[-1]) + 1
            steps.append((slice(rows[0], rows[-1] + 1), n_right))
        return cls(factors, left, right, steps)

    @property
    def size(self) -> int:
        """How many products are made."""
        return sum((rows.stop - rows.start) * n for rows, n in self.steps)

    @property
    def n_waves(self) -> int:
        """How many waves the two halves have before products are made."""
        return sum(_sides(self.factors))

    def places(self, frequencies: np.ndarray) -> np.ndarray:
        """Return where frequencies (..., d) are in a spectrum."""
        return _places(self.factors, frequencies)

    def waves(self, phases: Phases) -> tuple[np.ndarray, np.ndarray]:
        """Return the waves of `left` (n_left, n_rows) and of `right` (n_right, n_rows)."""
        axes = [factor.waves(phases) for factor in self.factors]
        middle = len(axes) // 2
        return reduce(_outer, axes[:middle])[self.left], reduce(_outer, axes[middle:])[self.right]

    def sums(self, n_targets: int) -> list[np.ndarray]:
        """Return zeros that :meth:`add` adds to, for every step."""
        return [
            np.zeros((n_targets * (rows.stop - rows.start), n_right), order="F")
            for rows, n_right in self.steps
        ]

    def add(self, sums: list[np.ndarray], phases: Phases, targets: np.ndarray | None) -> None:
        """Add products, times targets (n_targets, n_rows) if there are any, summed over rows."""
        left, right = self.waves(phases)
        for i, (rows, n_right) in enumerate(self.steps):
            part = left[rows]
            if targets is not None:
                part = (targets[:, None] * part).reshape(-1, part.shape[1])
            # BLAS takes rows for columns: both sides transposed are in its order.
            options = {"trans_a": 1, "beta": 1.0, "c": sums[i], "overwrite_c": 1}
            sums[i] = _gemm(1.0, part.T, right[:n_right].T, **options)

    def spectrum(self, sums: list[np.ndarray]) -> np.ndarray:
        """Return sums of exp(2 pi i f . turns) from those of products, (n_targets, n_places)."""
        n_targets = len(sums[0]) // self.steps[0][0].stop
        found = np.zeros((n_targets, *_sides(self.factors)))
        for part, (rows, n_right) in zip(sums, self.steps, strict=True):
            joined = self.left[rows, None], self.right[:n_right]
            found[:, *joined] = part.reshape(n_targets, -1, n_right)
        shape = (n_targets, *(factor.size for factor in self.factors))
        signed = [factor.signed.T for factor in self.factors]
        return _changed(found.reshape(shape), signed).reshape(n_targets, -1)

    def tables(self, places: np.ndarray, factors: np.ndarray) -> list[np.ndarray]:
        """Return the complex factors of products, for every step, that add up to factors (t, k)
        times exp(2 pi i f . turns) with f at places (k,) of a spectrum."""
        shape = [factor.size for factor in self.factors]
        found = np.empty((len(factors), math.prod(shape)), dtype=np.complex128)
        for total, row in zip(found, factors, strict=True):
            total.real = np.bincount(places, row.real, total.size)
            total.imag = np.bincount(places, row.imag, total.size)
        found = _changed(found.reshape(-1, *shape), [factor.signed for factor in self.factors])
        found = found.reshape(-1, *_sides(self.factors))
        return [
            found[:, self.left[rows, None], self.right[:n_right]] for rows, n_right in self.steps
        ]

    def values(self, phases: Phases, tables: list[np.ndarray]) -> np.ndarray:
        """Return sums of products times real factors, given for every step, (t, n_rows)."""
        left, right = self.waves(phases)
        found = np.zeros((len(tables[0]), left.shape[1]))
        for table, (rows, n_right) in zip(tables, self.steps, strict=True):
            part = left[rows]
            inner = (table.reshape(-1, n_right) @ right[:n_right]).reshape(-1, *part.shape)
            found += np.einsum("tln,ln->tn", inner, part)
        return found


def factors_for(last: np.ndarray, first: float, stride: int) -> tuple[Factor, ...]:
    """Return the factors for frequencies first + whole numbers from -last (d,) to last."""
    factors = [Factor(j, 1, first, int(f - first) + 1) for j, f in enumerate(last)]
    if len(factors) % 2:
        j = len(factors) // 2
        large = Factor(j, stride, 0.0, int(last[j] / stride + 0.5) + 1)
        small = Factor(j, 1, first, stride // 2 + (not first))
        factors[j : j + 1] = [large, small]
    return tuple(factors)


def _sides(factors: tuple[Factor, ...]) -> tuple[int, int]:
    sizes, middle = [factor.size for factor in factors], len(factors) // 2
    return math.prod(sizes[:middle]), math.prod(sizes[middle:])


def _places(factors: tuple[Factor, ...], frequencies: np.ndarray) -> np.ndarray:
    found = np.zeros(frequencies.shape[:-1], dtype=np.int64)
    rest = np.moveaxis(frequencies.astype(np.float64), -1, 0).copy()
    for factor in factors:
        j, digit = factor.input, rest[factor.input]
        if factor.stride > 1:
            digit = np.floor(digit / factor.stride + 0.5)
            rest[j] -= factor.stride * digit
        found = found * factor.size + (digit + factor.last).astype(np.int64)
    return found


def _changed(values: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
    """Return values (t, *sizes) with a matrix applied along each of the last axes."""
    for matrix in matrices:
        values = np.tensordot(values, matrix, (1, 0))
    return values


def _most_first(counts: np.ndarray) -> np.ndarray:
    """Return the indices of positive counts, the largest first."""
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] > 0]


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a[:, None] * b).reshape(-1, a.shape[1])
