"""Products of cosines and sines, made for two halves of the inputs and joined by matrix products.

The four products of cosine and sine at a, of the first inputs, and at b, of the others, make the
waves at a + b and at a - b, so that sums over rows, and values at rows, are products of two real
matrices. Only some pairs of a and b occur, in a ball instead of a box: sorted by the number of
partners they are joined in tiles that follow its surface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

# Frequencies in a tile, of the first inputs and of the others. OpenBLAS joins up to 1200 pairs of
# waves, four of each pair here, without a copy of them, and larger matrices at half that rate.
_TILE = 18, 16
_gemm = get_blas_funcs("gemm", (np.empty(0),))


class Phases(NamedTuple):
    """Waves exp(2 pi i f . turns) for a block of n rows, complex128.

    Attributes
    ----------
    halves : ndarray of shape (n_multiples, d, n)
        At multiples of half a step of every input.
    offsets : ndarray of shape (n,)
        At what a frequency has more than whole steps.
    scratch : ndarray of shape (4, n_waves, n)
        Memory to make the waves of two halves in: new memory is slower than they are.
    """

    halves: np.ndarray
    offsets: np.ndarray
    scratch: np.ndarray


class Half(NamedTuple):
    """Frequencies of some inputs, one of f and -f, by their place in a box of whole steps.

    Attributes
    ----------
    first : int
        The first of the inputs.
    sizes : tuple of int
        How many frequencies there are of every input, from -f to f.
    places : ndarray of int
        In the upper half of the box, since -f is where f is from its other end.
    """

    first: int
    sizes: tuple[int, ...]
    places: np.ndarray

    @property
    def opposite(self) -> np.ndarray:
        return math.prod(self.sizes) - 1 - self.places

    @property
    def shares(self) -> np.ndarray:
        """One over how often a sum over f and -f counts each."""
        return np.where(self.places == self.opposite, 0.5, 1.0)

    def waves(self, phases: Phases, found: np.ndarray) -> np.ndarray:
        """Return cosines and sines, (n, 2, n_rows), in the memory of `found`."""
        # Frequencies of the first input are never negative, and of the others they are both.
        axes = [phases.halves[1 - self.sizes[0] % 2 : self.sizes[0] : 2, self.first]]
        for j, size in enumerate(self.sizes[1:], self.first + 1):
            waves = phases.halves[1 - size % 2 : size : 2, j]
            axes.append(np.concatenate([waves[size % 2 :][::-1].conj(), waves]))
        *others, last = axes
        n, n_rows = len(self.places), last.shape[1]
        chosen = self.places - self.sizes[0] // 2 * math.prod(self.sizes[1:])
        waves, more = phases.scratch[:2, :n]
        # Whatever its name, "clip" only saves a copy.
        np.take(last, chosen % len(last), axis=0, out=waves, mode="clip")
        if others:
            table = reduce(lambda a, b: (a[:, None] * b).reshape(-1, n_rows), others)
            np.take(table, chosen // len(last), axis=0, out=more, mode="clip")
            waves *= more
        found = found[:n].view(np.float64).reshape(n, 2, n_rows)
        found[:, 0], found[:, 1] = waves.real, waves.imag
        return found


@dataclass(frozen=True, eq=False)
class Grid:
    """Products of the waves of two halves of the inputs, those of frequencies that occur.

    Attributes
    ----------
    places : ndarray of int
        Where the frequencies that were asked for are in a box of whole steps, any shape.
    left, right : Half
        Frequencies that have a partner, those with most first.
    tiles : list of (slice, slice)
        Some of `left` and some of `right`, multiplied each with each.
    """

    places: np.ndarray
    left: Half
    right: Half
    tiles: list[tuple[slice, slice]]

    @classmethod
    def of(cls, a: np.ndarray, b: np.ndarray, tile: tuple[int, int] = _TILE) -> Grid:
        """Return that of frequencies a[i] + b[j], (n_a, d) and (n_b, d), in steps."""
        sizes = sizes_for(a, b)
        strides = np.array([math.prod(sizes[j + 1 :]) for j in range(len(sizes))], dtype=float)
        places = np.add.outer(a @ strides + 0.5 * (math.prod(sizes) - 1), b @ strides)
        places = places.astype(np.int64)
        cut = min(range(1, len(sizes)), key=lambda n: math.prod(sizes[:n]) + math.prod(sizes[n:]))
        n_left, n_right = math.prod(sizes[:cut]), math.prod(sizes[cut:])
        occurs = np.zeros((n_left, n_right), dtype=bool)
        occurs.reshape(-1)[places] = True
        occurs |= occurs[::-1, ::-1]
        pairs = (occurs | occurs[::-1])[n_left // 2 :, n_right // 2 :]
        left, right = (_most_first(np.count_nonzero(pairs, axis=axis)) for axis in (1, 0))
        pairs, tiles = pairs[np.ix_(left, right)], []
        for others in _parts(len(right), tile[1]):
            n_some = int(np.flatnonzero(pairs[:, others].any(axis=1))[-1]) + 1
            tiles += [(some, others) for some in _parts(n_some, tile[0])]
        halves = (
            Half(0, sizes[:cut], n_left // 2 + left),
            Half(cut, sizes[cut:], n_right // 2 + right),
        )
        return cls(places, *halves, tiles)

    @property
    def size(self) -> int:
        """How many products are made."""
        return sum(4 * (a.stop - a.start) * (b.stop - b.start) for a, b in self.tiles)

    def waves(self, phases: Phases) -> tuple[np.ndarray, np.ndarray]:
        """Return the waves of both halves, (n_left, 2, n_rows) and (n_right, 2, n_rows)."""
        *_, a, b = phases.scratch
        return self.left.waves(phases, a), self.right.waves(phases, b)

    def sums(self, n_targets: int) -> list[np.ndarray]:
        """Return zeros that :meth:`add` adds to, for every tile."""
        return [
            np.zeros((2 * n_targets * (a.stop - a.start), 2 * (b.stop - b.start)), order="F")
            for a, b in self.tiles
        ]

    def add(self, sums: list[np.ndarray], phases: Phases, targets: np.ndarray | None) -> None:
        """Add products, times targets (n_targets, n_rows) if there are any, summed over rows."""
        left, right = self.waves(phases)
        if targets is not None:
            left = left[:, :, None] * targets
        n_rows = right.shape[2]
        for total, (a, b) in zip(sums, self.tiles, strict=True):
            some, others = left[a].reshape(-1, n_rows), right[b].reshape(-1, n_rows)
            # BLAS takes rows for columns: both sides transposed are in its order.
            _gemm(1.0, some.T, others.T, trans_a=1, beta=1.0, c=total, overwrite_c=1)

    def spectrum(self, sums: list[np.ndarray]) -> np.ndarray:
        """Return sums of exp(2 pi i f . turns) from those of products, (n_targets, *places)."""
        left, right = self.left, self.right
        a, b = self.tiles[0]
        n_targets = len(sums[0]) // (2 * (a.stop - a.start))
        products = np.zeros((n_targets, 2, 2, len(left.places), len(right.places)))
        for total, (a, b) in zip(sums, self.tiles, strict=True):
            parts = total.reshape(a.stop - a.start, 2, n_targets, b.stop - b.start, 2)
            products[..., a, b] = parts.transpose(2, 1, 4, 0, 3)
        (cos_cos, cos_sin), (sin_cos, sin_sin) = products.transpose(1, 2, 0, 3, 4)
        of_sum = cos_cos - sin_sin + 1j * (sin_cos + cos_sin)
        of_difference = cos_cos + sin_sin + 1j * (sin_cos - cos_sin)
        found = np.zeros(
            (n_targets, math.prod(left.sizes), math.prod(right.sizes)), dtype=np.complex128
        )
        found[:, left.places[:, None], right.places] = of_sum
        found[:, left.places[:, None], right.opposite] = of_difference
        found[:, left.opposite[:, None], right.opposite] = of_sum.conj()
        found[:, left.opposite[:, None], right.places] = of_difference.conj()
        return found.reshape(n_targets, -1)[:, self.places]

    def tables(self, factors: np.ndarray) -> list[np.ndarray]:
        """Return the complex factors of products, for every tile, that add up to factors (t,
        *places) times exp(2 pi i f . turns)."""
        left, right = self.left, self.right
        n_left, n_right = math.prod(left.sizes), math.prod(right.sizes)
        found = np.empty((len(factors), n_left * n_right), dtype=np.complex128)
        for total, row in zip(found, factors.reshape(len(factors), -1), strict=True):
            total.real = np.bincount(self.places.reshape(-1), row.real, total.size)
            total.imag = np.bincount(self.places.reshape(-1), row.imag, total.size)
        found = found.reshape(-1, n_left, n_right)
        shares = np.outer(left.shares, right.shares)
        (of_sum, of_difference), (minus_difference, minus_sum) = (
            [shares * found[:, a[:, None], b] for b in (right.places, right.opposite)]
            for a in (left.places, left.opposite)
        )
        sums, differences = of_sum + minus_sum, of_difference + minus_difference
        odd_sums, odd_differences = of_sum - minus_sum, of_difference - minus_difference
        products = np.array(
            [
                [differences + sums, 1j * (odd_sums - odd_differences)],
                [1j * (odd_sums + odd_differences), differences - sums],
            ]
        )
        return [products[..., a, b].transpose(3, 0, 2, 4, 1) for a, b in self.tiles]

    def values(self, phases: Phases, tables: list[np.ndarray]) -> np.ndarray:
        """Return sums of products times real factors, given for every tile, (t, n_rows)."""
        left, right = self.waves(phases)
        n_rows = right.shape[2]
        inner = np.zeros((len(left), 2, tables[0].shape[2], n_rows))
        for table, (a, b) in zip(tables, self.tiles, strict=True):
            total, others = inner[a].reshape(-1, n_rows), right[b].reshape(-1, n_rows)
            table = table.reshape(len(total), len(others))
            _gemm(1.0, others.T, table.T, beta=1.0, c=total.T, overwrite_c=1)
        return np.einsum("lptn,lpn->tn", inner, left)


def sizes_for(a: np.ndarray, b: np.ndarray) -> tuple[int, ...]:
    """Return how many frequencies a box of every input has for a[i] + b[j], from -f to f."""
    last = np.maximum(a.max(axis=0) + b.max(axis=0), -a.min(axis=0) - b.min(axis=0))
    return tuple(int(size) for size in 2.0 * last + 1.0)


def _most_first(counts: np.ndarray) -> np.ndarray:
    """Return the indices of positive counts, the largest first."""
    order = np.argsort(-counts, kind="stable")
    return order[counts[order] > 0]


def _parts(n: int, most: int) -> list[slice]:
    """Return parts of n things, about as large as each other."""
    n_parts = -(-n // most)
    ends = [n * i // n_parts for i in range(n_parts + 1)]
    return list(map(slice, ends, ends[1:]))
