"""Products of features whose frequencies lie on a lattice: few sums instead of D x D of them.

The frequencies of quadrature are (m + 1/4) * step with whole m in a box. A product of two waves is
half the sum of those at the sum and at the difference of their frequencies, and on a lattice these
coincide: D**2 products of a row are linear in about 2**(d + 1) * D waves. These in turn are
products of a cosine or a sine for each input (Greengard, Rachh and Barnett, Equispaced Fourier
representations for efficient Gaussian process regression, 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from primal.engines import row_blocks, wave_columns
from primal.maps import KernelPrime
from primal.sklearn._wave_grids import Grid, Phases, factors_for

# More waves than D**2 over this are slower than products of features.
_LEAST_GAIN = 8
_MOST_PLACES = 1 << 22  # of a spectrum: 32 MB, for a while
_BLOCK_WAVES = 1 << 18  # real numbers: 2 MB
_LARGEST_TURNS = 2.0**16  # of an input per step: a phase keeps 37 bits of its fraction


class Lattice(NamedTuple):
    """Features of frequencies (m + 1/4) * steps.

    Attributes
    ----------
    steps : ndarray of shape (d,)
        In turns per unit of x, which is not divided by lengths.
    places : ndarray of shape (k, d)
        The m of every frequency, whole numbers in float64.
    amplitudes, columns : ndarray of shape (k,) and (2, k)
        Factor of each frequency; where its cosine and its sine are among the features.
    apart, together, single : Grid
        Of the m - m', of the m + m' + 1/2 and of the m.
    """

    steps: np.ndarray
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
        steps = 4.0 * m.frequencies[0]  # the shortest one: every m is 0
        whole = np.rint(m.frequencies / steps - 0.25)
        assert np.allclose(m.frequencies, (whole + 0.25) * steps, rtol=1e-12, atol=0.0)
        low, high = whole.min(axis=0), whole.max(axis=0)
        # A power of two: multiples of turns are exact.
        stride = 1 << max(int(2 * (high - low)[m.d // 2] + 1).bit_length() // 2, 1)
        apart = factors_for(high - low, 0.0, stride)
        together = factors_for(np.maximum(2.0 * high + 0.5, -0.5 - 2.0 * low), 0.5, stride)
        if math.prod(factor.size for factor in together) > _MOST_PLACES:
            return None
        grids = (
            Grid.of(apart, whole[:, None] - whole),
            Grid.of(together, whole[:, None] + whole + 0.5),
            Grid.of(factors_for(np.maximum(high, -low), 0.0, stride), whole),
        )
        if _LEAST_GAIN * (grids[0].size + grids[1].size) > m.D**2:
            return None
        columns = np.array(wave_columns(np.arange(m.D), m.layout))
        return cls(steps / lengths, whole, m.amplitudes, columns, *grids)

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
            targets = phases.quarters[:, None] * np.ascontiguousarray(Y[rows].T)
            self.single.add(of_single, phases, targets.reshape(2 * t, -1))
        at_apart, at_together = self._pairs
        apart = self.apart.spectrum(of_apart)[0][at_apart]
        together = self.together.spectrum(of_together)[0][at_together]
        products = np.empty((2, k, 2, k))
        scale = 0.5 * np.multiply.outer(self.amplitudes, self.amplitudes)
        products[0, :, 0] = scale * (together.real + apart.real)
        products[0, :, 1] = scale * (together.imag - apart.imag)
        products[1, :, 0] = products[0, :, 1].T
        products[1, :, 1] = scale * (apart.real - together.real)
        order = self.columns.reshape(-1)
        gram = np.empty((2 * k, 2 * k))
        gram[order[:, None], order] = products.reshape(2 * k, 2 * k)
        of_cos, of_sin = self.single.spectrum(of_single).reshape(2, t, -1)
        found = (of_cos + 1j * of_sin)[:, self.single.places(self.places)]
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
        tables = self.single.tables(self.single.places(self.places), factors)
        linear = [np.concatenate([table.real, -table.imag]) for table in tables]
        squared = [] if form is None else self._squared(form)
        means, squares = np.empty((len(x), len(factors))), np.zeros(len(x) if squared else 0)
        for rows, phases in self._blocks(x):
            parts = self.single.values(phases, linear).reshape(2, len(factors), -1)
            means[rows] = (parts * phases.quarters[:, None]).sum(axis=0).T
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
        for grid, places, values in zip(
            (self.apart, self.together), self._pairs, factors, strict=True
        ):
            tables = grid.tables(places.reshape(-1), values.reshape(1, -1))
            found.append((grid, [np.ascontiguousarray(table.real) for table in tables]))
        return found

    @property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the differences and the sums of every two frequencies are, (k, k)."""
        m = self.places
        return self.apart.places(m[:, None] - m), self.together.places(m[:, None] + m + 0.5)

    def _blocks(self, x: np.ndarray) -> Iterator[tuple[slice, Phases]]:
        factors = [f for grid in (self.apart, self.together, self.single) for f in grid.factors]
        n_halves = 1 + max(int(2 * f.last) for f in factors if f.stride == 1)
        n_strides = max((f.n for f in factors if f.stride > 1), default=0)
        middle, stride = len(self.steps) // 2, max(f.stride for f in factors)
        for rows in row_blocks(len(x), self.together.n_waves, _BLOCK_WAVES):
            # A quarter of a step first: doubling a fraction of a turn is exact.
            turns = np.multiply(x[rows].T, 0.25 * self.steps[:, None], order="C")
            turns -= np.rint(turns)
            yield (
                rows,
                Phases(
                    _powers(2.0 * turns, n_halves),
                    _powers((4.0 * stride) * turns[middle], n_strides),
                    _wave(turns.sum(axis=0)),
                ),
            )


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
