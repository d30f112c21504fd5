"""Products of features whose frequencies lie on a lattice: few sums instead of D x D of them.

The frequencies of quadrature are (m + 1/4) * step with whole m in a box. A product of two waves is
half the sum of those at the sum and at the difference of their frequencies, and on a lattice these
coincide: D**2 products of a row are linear in about 2**(d + 1) * D waves. These in turn are
products of a cosine or a sine for each input, so that sums over rows, and values at rows, are small
products of real matrices (Greengard, Rachh and Barnett, Equispaced Fourier representations for
efficient Gaussian process regression, 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np

from primal.engines import row_blocks, wave_columns
from primal.maps import KernelPrime

# More waves than D**2 over this are slower than products of features.
_LEAST_GAIN = 8
_BLOCK_WAVES = 1 << 18  # real numbers: 2 MB
_LARGEST_TURNS = 2.0**16  # of an input per step: a phase keeps 37 bits of its fraction


class Lattice(NamedTuple):
    """Features of frequencies (m + 1/4) * steps.

    Attributes
    ----------
    steps : ndarray of shape (d,)
        In turns per unit of x, which is not divided by lengths.
    places : ndarray of shape (k, d), dtype=int64
        The m of every frequency.
    amplitudes, columns : ndarray of shape (k,) and (2, k)
        Factor of each frequency; where its cosine and its sine are among the features.
    apart, together, single : _Grid
        Of the m - m', of the m + m' + 1/2 and of the m.
    """

    steps: np.ndarray
    places: np.ndarray
    amplitudes: np.ndarray
    columns: np.ndarray
    apart: _Grid
    together: _Grid
    single: _Grid

    @classmethod
    def of(cls, m: KernelPrime, lengths: np.ndarray) -> Lattice | None:
        """Return that of x -> m.encode(x / lengths), or None if there is none that saves work."""
        if m.method != "lattice":
            return None
        steps = 4.0 * m.frequencies[0]  # the shortest one: every m is 0
        whole = np.rint(m.frequencies / steps - 0.25)
        assert np.allclose(m.frequencies, (whole + 0.25) * steps, rtol=1e-12, atol=0.0)
        low, high = whole.min(axis=0), whole.max(axis=0)
        # A power of two: multiples of turns are exact.
        stride = 1 << max(int(2 * (high - low)[m.d // 2] + 1).bit_length() // 2, 1)
        apart = _Grid.of(high - low, 0.0, stride)
        together = _Grid.of(np.maximum(2.0 * high + 0.5, -0.5 - 2.0 * low), 0.5, stride)
        if _LEAST_GAIN * (math.prod(apart.shape) + math.prod(together.shape)) > m.D**2:
            return None
        columns = np.array(wave_columns(np.arange(m.D), m.layout))
        single = _Grid.of(np.maximum(high, -low), 0.0, stride)
        places = whole.astype(np.int64)
        return cls(steps / lengths, places, m.amplitudes, columns, apart, together, single)

    def serves(self, x: np.ndarray) -> bool:
        """Whether there are enough rows to gain, all within reach of float64 phases."""
        enough = len(x) >= 2 * len(self.places)
        return enough and float(np.abs(x * self.steps).max()) <= _LARGEST_TURNS

    def sums(self, x: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the upper triangle of Z' Z (D, D), and Z' Y (D, t), of rows x with features Z."""
        grids = self.apart, self.together, self.single
        totals: list[np.ndarray | float] = [0.0, 0.0, 0.0]
        t, k = Y.shape[1], len(self.places)
        for rows, phases in self._blocks(x):
            (apart, of_apart), (together, of_together), (left, right) = (
                grid.waves(phases) for grid in grids
            )
            targets = phases.quarters[:, None] * np.ascontiguousarray(Y[rows].T)
            parts = (
                apart @ of_apart.T,
                together @ of_together.T,
                (targets[:, :, None] * left).reshape(-1, left.shape[1]) @ right.T,
            )
            totals = [total + part for total, part in zip(totals, parts, strict=True)]
        apart, together = (
            grid.spectrum(np.asarray(total))[0][places]
            for grid, total, places in zip(grids, totals, self._pairs, strict=False)
        )
        products = np.empty((2, k, 2, k))
        scale = 0.5 * np.multiply.outer(self.amplitudes, self.amplitudes)
        products[0, :, 0] = scale * (together.real + apart.real)
        products[0, :, 1] = scale * (together.imag - apart.imag)
        products[1, :, 0] = products[0, :, 1].T
        products[1, :, 1] = scale * (apart.real - together.real)
        order = self.columns.reshape(-1)
        gram = np.empty((2 * k, 2 * k))
        gram[order[:, None], order] = products.reshape(2 * k, 2 * k)
        of_cos, of_sin = np.reshape(totals[2], (2, t, -1))
        found = self.single.spectrum(of_cos + 1j * of_sin)[:, self.single.flat(self.places)]
        cross = np.empty((2 * k, t))
        cross[self.columns[0]] = (self.amplitudes * found.real).T
        cross[self.columns[1]] = (self.amplitudes * found.imag).T
        return np.triu(gram), cross

    def values(
        self, x: np.ndarray, weights: np.ndarray, form: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return z . weights (n, t), and z' form z (n,) of a symmetric form (D, D) if given."""
        cos, sin = self.columns
        factors = self.amplitudes * (weights[cos] - 1j * weights[sin]).T
        found = self.single.factors_of(self.single.flat(self.places), factors)
        linear = np.concatenate([found.real, -found.imag])
        squared = [] if form is None else self._squared(form)
        means, squares = np.empty((len(x), len(factors))), np.zeros(len(x) if squared else 0)
        for rows, phases in self._blocks(x):
            parts = self.single.values(phases, linear).reshape(2, len(factors), -1)
            means[rows] = (parts * phases.quarters[:, None]).sum(axis=0).T
            for grid, table in squared:
                squares[rows] += grid.values(phases, table)[0]
        return means, squares

    def _squared(self, form: np.ndarray) -> list[tuple[_Grid, np.ndarray]]:
        """Return the factors of the waves of differences and of sums in z' form z."""
        cos, sin = self.columns
        scale = np.multiply.outer(self.amplitudes, self.amplitudes)
        of_cos, of_sin, mixed = (
            scale * form[a[:, None], b] for a, b in ((cos, cos), (sin, sin), (cos, sin))
        )
        factors = 0.5 * (of_cos + of_sin) + 1j * mixed, 0.5 * (of_cos - of_sin) - 1j * mixed
        return [
            (grid, grid.factors_of(places.reshape(-1), values.reshape(1, -1)).real)
            for grid, places, values in zip(
                (self.apart, self.together), self._pairs, factors, strict=True
            )
        ]

    @property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the differences and the sums of every two frequencies are, (k, k)."""
        m = self.places
        return self.apart.flat(m[:, None] - m), self.together.flat(m[:, None] + m + 0.5)

    def _blocks(self, x: np.ndarray) -> Iterator[tuple[slice, _Phases]]:
        factors = [f for grid in (self.apart, self.together, self.single) for f in grid.factors]
        n_halves = 1 + max(int(2 * f.last) for f in factors if f.stride == 1)
        n_strides = max((f.n for f in factors if f.stride > 1), default=0)
        middle, stride = len(self.steps) // 2, max(f.stride for f in factors)
        for rows in row_blocks(len(x), sum(self.together.sides), _BLOCK_WAVES):
            # A quarter of a step first: doubling a fraction of a turn is exact.
            turns = np.multiply(x[rows].T, 0.25 * self.steps[:, None], order="C")
            turns -= np.rint(turns)
            yield (
                rows,
                _Phases(
                    _powers(2.0 * turns, n_halves),
                    _powers((4.0 * stride) * turns[middle], n_strides),
                    _wave(turns.sum(axis=0)),
                ),
            )


class _Phases(NamedTuple):
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


class _Factor(NamedTuple):
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

    def waves(self, phases: _Phases) -> np.ndarray:
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


class _Grid(NamedTuple):
    """Products of one wave of each factor; those of the first and of the second half of the factors
    are made, and their products are left to matrix products.

    The middle one of an odd number of inputs has two factors, so that both halves are about as
    large.
    """

    factors: list[_Factor]

    @classmethod
    def of(cls, last: np.ndarray, first: float, stride: int) -> _Grid:
        """Return that of frequencies first + whole numbers from -last (d,) to last."""
        factors = [_Factor(j, 1, first, int(f - first) + 1) for j, f in enumerate(last)]
        if len(factors) % 2:
            j = len(factors) // 2
            large = _Factor(j, stride, 0.0, int(last[j] / stride + 0.5) + 1)
            small = _Factor(j, 1, first, stride // 2 + (not first))
            factors[j : j + 1] = [large, small]
        return cls(factors)

    @property
    def shape(self) -> list[int]:
        return [factor.size for factor in self.factors]

    @property
    def sides(self) -> tuple[int, int]:
        middle = len(self.factors) // 2
        return math.prod(self.shape[:middle]), math.prod(self.shape[middle:])

    def waves(self, phases: _Phases) -> tuple[np.ndarray, np.ndarray]:
        """Return the products of each half, of the shapes (side, n_rows)."""
        axes = [factor.waves(phases) for factor in self.factors]
        middle = len(axes) // 2
        return reduce(_outer, axes[:middle]), reduce(_outer, axes[middle:])

    def values(self, phases: _Phases, tables: np.ndarray) -> np.ndarray:
        """Return sums of waves times their factors in `tables` (t, *sides), (t, n_rows)."""
        left, right = self.waves(phases)
        inner = (tables.reshape(-1, len(right)) @ right).reshape(len(tables), *left.shape)
        return np.einsum("tln,ln->tn", inner, left)

    def flat(self, f: np.ndarray) -> np.ndarray:
        """Return the places of frequencies f (..., d) in a spectrum."""
        found = np.zeros(f.shape[:-1], dtype=np.int64)
        rest = np.moveaxis(f.astype(np.float64), -1, 0).copy()
        for factor in self.factors:
            j, digit = factor.input, rest[factor.input]
            if factor.stride > 1:
                digit = np.floor(digit / factor.stride + 0.5)
                rest[j] -= factor.stride * digit
            found = found * factor.size + (digit + factor.last).astype(np.int64)
        return found

    def spectrum(self, sums: np.ndarray) -> np.ndarray:
        """Return sums of exp(2 pi i f . turns) over signed frequencies from those of real waves."""
        found = sums.reshape(-1, *self.shape)
        for factor in self.factors:
            found = np.tensordot(found, factor.signed, (1, 1))
        return found.reshape(len(found), -1)

    def factors_of(self, places: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Return those of real waves (t, *sides) that add up to factors (t, k) times
        exp(2 pi i f . turns) with f at `places` (k,) of a spectrum."""
        size = math.prod(self.shape)
        found = np.empty((len(factors), size), dtype=np.complex128)
        for total, row in zip(found, factors, strict=True):
            total.real = np.bincount(places, row.real, size)
            total.imag = np.bincount(places, row.imag, size)
        found = found.reshape(-1, *self.shape)
        for factor in self.factors:
            found = np.tensordot(found, factor.signed, (1, 0))
        return found.reshape(-1, *self.sides)


def _wave(turns: np.ndarray) -> np.ndarray:
    """Return cosine and sine, (2, ...)."""
    radians = (2.0 * math.pi) * (turns - np.rint(turns))
    return np.stack([np.cos(radians), np.sin(radians)])


def _powers(turns: np.ndarray, n: int) -> np.ndarray:
    """Return cosines and sines of e * turns for e from 0 to n - 1, (2, n, ...), by few products."""
    cos, sin = found = np.empty((2, n, *turns.shape))
    cos[:1], sin[:1] = 1.0, 0.0
    done = 1
    while done < n:
        more = min(done, n - done)
        c, s = _wave(done * turns)
        np.subtract(c * cos[:more], s * sin[:more], out=cos[done : done + more])
        np.add(s * cos[:more], c * sin[:more], out=sin[done : done + more])
        done += more
    return found


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a[:, None] * b).reshape(-1, a.shape[1])
