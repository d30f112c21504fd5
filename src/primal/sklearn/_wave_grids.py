"""Products of cosines and sines of several inputs, made by halves and joined by matrix products.

A product of one wave of each input is the product of one for the first inputs and one for the
others, so that sums over rows, and values at rows, are products of two real matrices. Only some
pairs of the halves occur, in a ball instead of a box: sorted by the number of partners they are
joined in tiles, most of which are either full or left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

# Waves of a tile, left and right. OpenBLAS joins up to 1200 pairs without a copy of the waves, at
# almost twice the rate of the next larger matrices.
_TILE = 36, 32
_gemm = get_blas_funcs("gemm", (np.empty(0),))


class Phases(NamedTuple):
    """Cosines and sines for a block of n rows.

    Attributes
    ----------
    halves : ndarray of shape (2, n_multiples, d, n)
        At multiples of half a step of every input.
    offsets : ndarray of shape (2, n)
        At what a frequency has more than whole steps.
    """

    halves: np.ndarray
    offsets: np.ndarray


@dataclass(frozen=True, eq=False)
class Grid:
    """Products of one wave of each input, those of frequencies that occur.

    Waves of an input are in the place of its frequencies f from -last to last in whole steps: the
    cosine of f, or the sine of -f if f is negative. A spectrum has exp(2 pi i f . turns) instead.

    Attributes
    ----------
    sizes : tuple of int
        Waves of every input, 2 * last + 1.
    places : ndarray of int
        Where the frequencies that were asked for are in a spectrum, any shape.
    left, right : ndarray of int
        Which waves of the first inputs and of the others have a partner, those with most first.
    tiles : list of (slice, slice)
        Some of `left` and some of `right`, multiplied each with each.
    """

    sizes: tuple[int, ...]
    places: np.ndarray
    left: np.ndarray
    right: np.ndarray
    tiles: list[tuple[slice, slice]]

    @classmethod
    def of(cls, a: np.ndarray, b: np.ndarray, tile: tuple[int, int] = _TILE) -> Grid:
        """Return that of frequencies a[i] + b[j], (n_a, d) and (n_b, d), in steps.

        Tiles are for sums of products with `n_targets` targets.
        """
        sizes = sizes_for(a, b)
        strides = np.array([math.prod(sizes[j + 1 :]) for j in range(len(sizes))], dtype=float)
        of_a, of_b = (a + 0.25 * (np.array(sizes) - 1)) @ strides, (b + 0.25 * (np.array(sizes) - 1)) @ strides
        places = np.add.outer(of_a, of_b).astype(np.int64)
        occurs = np.zeros(sizes, dtype=bool)
        occurs.reshape(-1)[places] = True
        for j in range(len(sizes)):  # waves of f and of -f are made of the same cosine and sine
            occurs |= np.flip(occurs, j)
        pairs = occurs.reshape(_sides(sizes))
        left, right = (_most_first(np.count_nonzero(pairs, axis=axis)) for axis in (1, 0))
        pairs = pairs[np.ix_(left, right)]
        tiles = []
        for others in _parts(len(right), -(-len(right) // tile[1])):
            n_left = int(np.flatnonzero(pairs[:, others].any(axis=1))[-1]) + 1
            tiles += [(some, others) for some in _parts(n_left, -(-n_left // tile[0]))]
        return cls(sizes, places, left, right, tiles)

    @property
    def size(self) -> int:
        """How many products are made."""
        n_left, n_right = len(self.left), len(self.right)
        return sum(
            len(range(n_left)[some]) * len(range(n_right)[others]) for some, others in self.tiles
        )

    def waves(self, phases: Phases) -> tuple[np.ndarray, np.ndarray]:
        """Return the waves of `left` (n_left, n_rows) and of `right` (n_right, n_rows)."""
        axes = []
        for j, size in enumerate(self.sizes):
            cos, sin = phases.halves[:, 1 + size % 2 : size : 2, j]
            axes.append(np.concatenate([sin[::-1], phases.halves[0, : size % 2, j], cos]))
        first = _n_first(self.sizes)
        return _outer(axes[:first], self.left), _outer(axes[first:], self.right)

    def sums(self, n_targets: int) -> list[np.ndarray]:
        """Return zeros that :meth:`add` adds to, for every tile."""
        shapes = ((n_targets * (some.stop - some.start), others.stop - others.start) for some, others in self.tiles)
        return [np.zeros(shape, order="F") for shape in shapes]

    def add(self, sums: list[np.ndarray], phases: Phases, targets: np.ndarray | None) -> None:
        """Add products, times targets (n_targets, n_rows) if there are any, summed over rows."""
        left, right = self.waves(phases)
        if targets is not None:
            left = left[:, None] * targets
        for total, (some, others) in zip(sums, self.tiles, strict=True):
            part = left[some].reshape(-1, right.shape[1])
            # BLAS takes rows for columns: both sides transposed are in its order.
            _gemm(1.0, part.T, right[others].T, trans_a=1, beta=1.0, c=total, overwrite_c=1)

    def spectrum(self, sums: list[np.ndarray]) -> np.ndarray:
        """Return sums of exp(2 pi i f . turns) from those of products, (n_targets, *places)."""
        n_targets = len(sums[0]) // len(range(len(self.left))[self.tiles[0][0]])
        found = np.zeros((n_targets, *_sides(self.sizes)))
        for total, (some, others) in zip(sums, self.tiles, strict=True):
            joined = self.left[some, None], self.right[others]
            found[:, *joined] = np.moveaxis(total.reshape(-1, n_targets, total.shape[1]), 1, 0)
        found = _changed(found.reshape(n_targets, *self.sizes), [s.T for s in map(_signed, self.sizes)])
        return found.reshape(n_targets, -1)[:, self.places]

    def tables(self, factors: np.ndarray) -> list[np.ndarray]:
        """Return the complex factors of products, for every tile, that add up to factors (t,
        *places) times exp(2 pi i f . turns)."""
        n_targets, size = len(factors), math.prod(self.sizes)
        found = np.empty((n_targets, size), dtype=np.complex128)
        for total, row in zip(found, factors.reshape(n_targets, -1), strict=True):
            total.real = np.bincount(self.places.reshape(-1), row.real, size)
            total.imag = np.bincount(self.places.reshape(-1), row.imag, size)
        found = _changed(found.reshape(-1, *self.sizes), list(map(_signed, self.sizes)))
        found = found.reshape(-1, *_sides(self.sizes))
        parts = (found[:, self.left[some, None], self.right[others]] for some, others in self.tiles)
        return [np.moveaxis(part, 0, 1) for part in parts]

    def values(self, phases: Phases, tables: list[np.ndarray]) -> np.ndarray:
        """Return sums of products times real factors, given for every tile, (t, n_rows)."""
        left, right = self.waves(phases)
        inner = np.zeros((len(left), tables[0].shape[1], left.shape[1]))
        for table, (some, others) in zip(tables, self.tiles, strict=True):
            total = inner[some].reshape(-1, left.shape[1]).T
            table = table.reshape(-1, table.shape[-1]).T
            _gemm(1.0, right[others].T, table, beta=1.0, c=total, overwrite_c=1)
        return np.einsum("ltn,ln->tn", inner, left)


def sizes_for(a: np.ndarray, b: np.ndarray) -> tuple[int, ...]:
    """Return how many waves every input has for frequencies a[i] + b[j]."""
    last = np.maximum(a.max(axis=0) + b.max(axis=0), -a.min(axis=0) - b.min(axis=0))
    return tuple(int(size) for size in 2.0 * last + 1.0)


def _n_first(sizes: tuple[int, ...]) -> int:
    """Return of how many inputs the left half is: those with the fewest waves in both halves."""
    return min(range(1, len(sizes)), key=lambda n: math.prod(sizes[:n]) + math.prod(sizes[n:]))


def _sides(sizes: tuple[int, ...]) -> tuple[int, int]:
    first = _n_first(sizes)
    return math.prod(sizes[:first]), math.prod(sizes[first:])


def _signed(size: int) -> np.ndarray:
    """Return what makes exp(2 pi i f turns) of the waves of an input, for f from -last to last."""
    f = np.arange(size) - 0.5 * (size - 1)
    found = np.zeros((size, size), dtype=np.complex128)
    found[np.arange(size), (np.abs(f) + f[-1]).astype(int)] = 1.0
    some = np.flatnonzero(f)
    found[some, (f[-1] - np.abs(f[some])).astype(int)] = 1j * np.sign(f[some])
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


def _parts(n: int, n_parts: int) -> list[slice]:
    """Return the parts of n things, about as large as each other."""
    ends = [n * i // n_parts for i in range(n_parts + 1)]
    return list(map(slice, ends, ends[1:]))


def _outer(axes: list[np.ndarray], chosen: np.ndarray) -> np.ndarray:
    """Return the chosen products of one row of each axis, (n_chosen, n_rows)."""
    *others, last = axes
    if not others:
        return last[chosen]
    table = reduce(lambda a, b: (a[:, None] * b).reshape(-1, a.shape[1]), others)
    i, j = np.divmod(chosen, len(last))
    found = table[i]
    found *= last[j]
    return found
