"""Products of features whose frequencies lie on a lattice: few sums instead of D x D of them.

The frequencies of quadrature are (m + 1/4) * step with whole m in a box. A product of two waves is
half the sum of those at the sum and at the difference of their frequencies, and on a lattice these
coincide: D**2 products of a row are linear in about 2**(d + 1) * D waves. These in turn are
made of products of a wave for each input (Greengard, Rachh and Barnett, Equispaced Fourier
representations for efficient Gaussian process regression, 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from primal.engines import row_blocks, wave_columns
from primal.maps import KernelPrime
from primal.sklearn._wave_grids import Grid, Phases, sizes_for

# More waves than D**2 over this are slower than products of features.
_LEAST_GAIN = 8
_MOST_PLACES = 1 << 22  # of a spectrum: 32 MB, for a while
_BLOCK_ROWS = 576
_SINGLE_TILE = 9, 8  # one target and ones, times cosines and sines, make four of it
_LARGEST_TURNS = 2.0**16  # of an input per step: a phase keeps 37 bits of its fraction


class Lattice(NamedTuple):
    """Features of frequencies (places + offsets) * steps.

    A single input is taken for two, whose steps are a multiple of its own and that itself.

    Attributes
    ----------
    steps, offsets : ndarray of shape (d,)
        In turns per unit of x, which is not divided by lengths; 1/4 of a step or nothing.
    places : ndarray of shape (k, d)
        Whole numbers, in float64.
    amplitudes, columns : ndarray of shape (k,) and (2, k)
        Factor of each frequency; where its cosine and its sine are among the features.
    apart, together, single : Grid
        Of differences and of sums of two frequencies, (k, k), and of places.
    """

    steps: np.ndarray
    offsets: np.ndarray
    places: np.ndarray
    amplitudes: np.ndarray
    columns: np.ndarray
    apart: Grid
    together: Grid
    single: Grid

    @classmethod
    def of(cls, m: KernelPrime, lengths: np.ndarray) -> Lattice | None:
        """Return that of x -> m.encode(x / lengths), or None if there is none that saves work."""
        if m.method not in ("lattice", "spectral"):
            return None
        steps = 4.0 * m.frequencies[0]  # the shortest one: every place is 0
        places, offsets = np.rint(m.frequencies / steps - 0.25), np.full(m.d, 0.25)
        assert np.allclose(m.frequencies, (places + 0.25) * steps, rtol=1e-12, atol=0.0)
        steps = steps / lengths
        if m.d == 1:
            # A power of two: multiples of turns are exact.
            many = 2.0 ** (len(places).bit_length() // 2)
            large = np.floor(places / many + 0.5)
            places, offsets = np.hstack([large, places - many * large]), np.array([0.0, 0.25])
            steps = steps * np.array([many, 1.0])
        whole = places + offsets
        if math.prod(sizes_for(whole, whole)) > _MOST_PLACES:
            return None
        apart, together = Grid.of(whole, -whole), Grid.of(whole, whole)
        if _LEAST_GAIN * (apart.size + together.size) > m.D**2:
            return None
        columns = np.array(wave_columns(np.arange(m.D), m.layout))
        single = Grid.of(places, np.zeros((1, len(steps))), tile=_SINGLE_TILE)
        return cls(steps, offsets, places, m.amplitudes, columns, apart, together, single)

    def serves(self, x: np.ndarray) -> bool:
        """Whether there are enough rows to gain, all within reach of float64 phases."""
        enough = len(x) >= 2 * len(self.places)
        return enough and float(np.abs(x * self.steps).max()) <= _LARGEST_TURNS

    def sums(self, x: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the upper triangle of Z' Z (D, D), and Z' Y (D, t), of rows x with features Z."""
        t, k = Y.shape[1], len(self.places)
        of_apart, of_together = self.apart.sums(1), self.together.sums(1)
        of_single = self.single.sums(2 * t)
        for rows, phases in self._blocks(x):
            self.apart.add(of_apart, phases, None)
            self.together.add(of_together, phases, None)
            targets = phases.offsets * Y[rows].T
            self.single.add(of_single, phases, np.concatenate([targets.real, targets.imag]))
        (apart,), (together,) = self.apart.spectrum(of_apart), self.together.spectrum(of_together)
        products = np.empty((2, k, 2, k))
        scale = 0.5 * np.multiply.outer(self.amplitudes, self.amplitudes)
        products[0, :, 0] = scale * (together.real + apart.real)
        products[0, :, 1] = scale * (together.imag - apart.imag)
        products[1, :, 0] = products[0, :, 1].T
        products[1, :, 1] = scale * (apart.real - together.real)
        order = self.columns.reshape(-1)
        gram = np.empty((2 * k, 2 * k))
        gram[order[:, None], order] = products.reshape(2 * k, 2 * k)
        of_cos, of_sin = self.single.spectrum(of_single).reshape(2, t, k)
        found = of_cos + 1j * of_sin
        cross = np.empty((2 * k, t))
        cross[self.columns[0]] = (self.amplitudes * found.real).T
        cross[self.columns[1]] = (self.amplitudes * found.imag).T
        # It is symmetric: transposed it has the order of columns.
        return np.tril(gram).T, cross

    def values(
        self, x: np.ndarray, weights: np.ndarray, form: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return z . weights (n, t), and z' form z (n,) of a symmetric form (D, D) if given."""
        cos, sin = self.columns
        factors = self.amplitudes * (weights[cos] - 1j * weights[sin]).T
        tables = self.single.tables(factors)
        linear = [np.concatenate([table.real, -table.imag], axis=2) for table in tables]
        squared = [] if form is None else self._squared(form)
        means, squares = np.empty((len(x), len(factors))), np.zeros(len(x) if squared else 0)
        for rows, phases in self._blocks(x):
            real, imag = self.single.values(phases, linear).reshape(2, len(factors), -1)
            means[rows] = (real * phases.offsets.real + imag * phases.offsets.imag).T
            for grid, tables in squared:
                squares[rows] += grid.values(phases, tables)[0]
        return means, squares

    def _squared(self, form: np.ndarray) -> list[tuple[Grid, list[np.ndarray]]]:
        """Return the factors of the waves of differences and of sums in z' form z."""
        cos, sin = self.columns
        scale = np.multiply.outer(self.amplitudes, self.amplitudes)
        of_cos, of_sin, mixed = (
            scale * form[a[:, None], b] for a, b in ((cos, cos), (sin, sin), (cos, sin))
        )
        factors = 0.5 * (of_cos + of_sin) + 1j * mixed, 0.5 * (of_cos - of_sin) - 1j * mixed
        found = []
        for grid, values in zip((self.apart, self.together), factors, strict=True):
            tables = grid.tables(values[None])
            found.append((grid, [np.ascontiguousarray(table.real) for table in tables]))
        return found

    def _blocks(self, x: np.ndarray) -> Iterator[tuple[slice, Phases]]:
        grids = self.apart, self.together, self.single
        halves = [half for grid in grids for half in (grid.left, grid.right)]
        n_multiples = max(max(half.sizes) for half in halves)
        n_waves, scratch = max(len(half.places) for half in halves), None
        for rows in row_blocks(len(x), 1, _BLOCK_ROWS):
            # A quarter of a step first: doubling a fraction of a turn is exact.
            turns = np.multiply(x[rows].T, 0.25 * self.steps[:, None], order="C")
            turns -= np.rint(turns)
            n = turns.shape[1]
            if scratch is None or scratch.shape[2] != n:
                scratch = np.empty((4, n_waves, n), dtype=np.complex128)
            offsets = _wave((4.0 * self.offsets) @ turns)
            yield rows, Phases(_powers(2.0 * turns, n_multiples), offsets, scratch)


def _wave(turns: np.ndarray) -> np.ndarray:
    """Return exp(2 pi i turns)."""
    radians = (2.0 * math.pi) * (turns - np.rint(turns))
    found = np.empty(radians.shape, dtype=np.complex128)
    np.cos(radians, out=found.real)
    np.sin(radians, out=found.imag)
    return found


def _powers(turns: np.ndarray, n: int) -> np.ndarray:
    """Return exp(2 pi i e turns) for e from 0 to n - 1, (n, ...), by few products."""
    found = np.empty((n, *turns.shape), dtype=np.complex128)
    found[0] = 1.0
    done = 1
    while done < n:
        more = min(done, n - done)
        # A square has twice the error of its root: a few times that is nothing.
        power = np.square(found[done // 2]) if done in (2, 4, 8) else _wave(done * turns)
        np.multiply(power, found[:more], out=found[done : done + more])
        done += more
    return found
