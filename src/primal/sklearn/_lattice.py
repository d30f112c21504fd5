"""Products of features whose frequencies lie on a lattice: few sums instead of D x D of them.

The frequencies of quadrature are (m + 1/4) * step with whole m in a box. A product of two waves is
half the sum of those at the sum and at the difference of their frequencies, and on a lattice these
coincide: D**2 products of a row are linear in fewer than 2**d * D waves. These in turn are products
of a wave for each input, so that sums over rows, and values at rows, are small matrix products
(Greengard, Rachh and Barnett, Equispaced Fourier representations for efficient Gaussian process
regression, 2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np

from primal.engines import row_blocks, wave_columns
from primal.maps import KernelPrime

# A box of more waves than D**2 over this is slower than products of features.
_LEAST_GAIN = 32
_BLOCK_WAVES = 1 << 18  # complex numbers: 4 MB
_LARGEST_TURNS = 2.0**16  # of an input per step: a phase keeps 37 bits of its fraction


class Lattice(NamedTuple):
    """Waves exp(2 pi i e . turns) for whole e from 0 to sizes - 1, turns = x * steps.

    Attributes
    ----------
    steps : ndarray of shape (d,)
        In turns per unit of x, which is not divided by lengths.
    lows, sizes : ndarray of shape (d,), dtype=int64
        Of the m, and of the box that holds differences and sums of two of them.
    places : ndarray of shape (k, d), dtype=int64
        The m of every frequency, less the lowest.
    amplitudes, columns : ndarray of shape (k,) and (2, k)
        Factor of each frequency; where its cosine and its sine are among the features.
    """

    steps: np.ndarray
    lows: np.ndarray
    sizes: np.ndarray
    places: np.ndarray
    amplitudes: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, m: KernelPrime, lengths: np.ndarray) -> Lattice | None:
        """Return that of x -> m.encode(x / lengths), or None if there is none that saves work."""
        if m.method != "lattice":
            return None
        steps = 4.0 * m.frequencies[0]  # the shortest one: every m is 0
        whole = np.rint(m.frequencies / steps - 0.25)
        assert np.allclose(m.frequencies, (whole + 0.25) * steps, rtol=1e-12, atol=0.0)
        places = whole.astype(np.int64)
        lows = places.min(axis=0)
        sizes = 2 * (places.max(axis=0) - lows) + 1
        if _LEAST_GAIN * math.prod(sizes.tolist()) > m.D**2:
            return None
        columns = np.array(wave_columns(np.arange(m.D), m.layout))
        return cls(steps / lengths, lows, sizes, places - lows, m.amplitudes, columns)

    def serves(self, x: np.ndarray) -> bool:
        """Whether there are enough rows to gain, all within reach of float64 phases."""
        enough = len(x) >= 2 * len(self.places)
        return enough and float(np.abs(x * self.steps).max()) <= _LARGEST_TURNS

    def sums(self, x: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the upper triangle of Z' Z (D, D), and Z' Y (D, t), of rows x with features Z."""
        total: np.ndarray | float = 0.0
        for rows, waves in self._blocks(x):
            factors = np.concatenate([waves.pairs, waves.quarter * Y[rows].T])
            left = (factors[:, None] * waves.left).reshape(-1, factors.shape[1])
            total = total + left @ waves.right.T
        t, k = Y.shape[1], len(self.places)
        found = np.reshape(total, (2 + t, -1))
        apart, together = found[0, self._apart], found[1, self._together]
        products = np.empty((2, k, 2, k))
        scale = 0.5 * np.multiply.outer(self.amplitudes, self.amplitudes)
        products[0, :, 0] = scale * (together.real + apart.real)
        products[0, :, 1] = scale * (together.imag - apart.imag)
        products[1, :, 0] = products[0, :, 1].T
        products[1, :, 1] = scale * (apart.real - together.real)
        order = self.columns.reshape(-1)
        gram = np.empty((2 * k, 2 * k))
        gram[order[:, None], order] = products.reshape(2 * k, 2 * k)
        cross = np.empty((2 * k, t))
        at_frequencies = found[2:, self._flat(self.places)].T * self.amplitudes[:, None]
        cross[self.columns[0]], cross[self.columns[1]] = at_frequencies.real, at_frequencies.imag
        return np.triu(gram), cross

    def values(
        self, x: np.ndarray, weights: np.ndarray, form: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return z . weights (n, t), and z' form z (n,) of a symmetric form (D, D) if given."""
        t, quadratic = weights.shape[1], form is not None
        n_left, n_right = self._shape
        table = np.zeros((t + 2 * quadratic, n_left * n_right), dtype=np.complex128)
        cos, sin = self.columns
        linear = self.amplitudes[:, None] * (weights[cos] - 1j * weights[sin])
        table[:t, self._flat(self.places)] = linear.T
        if form is not None:
            scale = np.multiply.outer(self.amplitudes, self.amplitudes)
            both, mixed = form[cos[:, None], cos], form[cos[:, None], sin]
            other = form[sin[:, None], sin]
            parts = (
                (self._apart, 0.5 * (both + other), mixed),
                (self._together, 0.5 * (both - other), -mixed),
            )
            for row, (places, real, imaginary) in zip(table[t:], parts, strict=True):
                for out, values in ((row.real, real), (row.imag, imaginary)):
                    flat = (scale * values).reshape(-1)
                    out += np.bincount(places.reshape(-1), flat, minlength=len(row))
        table = table.reshape(-1, n_right)
        means, squares = np.empty((len(x), t)), np.empty(len(x) if quadratic else 0)
        for rows, waves in self._blocks(x):
            inner = (table @ waves.right).reshape(t + 2 * quadratic, n_left, -1)
            found = np.einsum("cln,ln->cn", inner, waves.left)
            means[rows] = (found[:t] * waves.quarter).real.T
            if quadratic:
                squares[rows] = (found[t:] * waves.pairs).real.sum(axis=0)
        return means, squares

    @property
    def _factors(self) -> list[tuple[int, int, int]]:
        """Input, stride and number of the waves that those of the box are products of.

        The middle one of an odd number of inputs has two, so that two halves are about as large.
        """
        found = [(j, 1, n) for j, n in enumerate(self.sizes.tolist())]
        if len(found) % 2:
            j, _, n = found[len(found) // 2]
            stride = 1 << (n.bit_length() // 2)  # a power of two: multiples of turns are exact
            found[j : j + 1] = [(j, stride, -(-n // stride)), (j, 1, stride)]
        return found

    @property
    def _shape(self) -> tuple[int, int]:
        counts = [n for _, _, n in self._factors]
        half = len(counts) // 2
        return math.prod(counts[:half]), math.prod(counts[half:])

    def _flat(self, e: np.ndarray) -> np.ndarray:
        """Return where waves e (..., d) are in the box, whose last input changes fastest."""
        factors = np.array(self._factors)
        digits = e[..., factors[:, 0]] // factors[:, 1]
        repeated = factors[:-1, 0] == factors[1:, 0]
        digits[..., 1:][..., repeated] %= factors[1:, 2][repeated]
        return np.ravel_multi_index(tuple(np.moveaxis(digits, -1, 0)), factors[:, 2])

    @property
    def _apart(self) -> np.ndarray:
        """Places of the differences of two frequencies in the box, (k, k)."""
        return self._flat(self.places[:, None] - self.places + self.sizes // 2)

    @property
    def _together(self) -> np.ndarray:
        return self._flat(self.places[:, None] + self.places)

    def _blocks(self, x: np.ndarray) -> Iterator[tuple[slice, _Waves]]:
        n_left, n_right = self._shape
        starts = [self._flat(e).item() for e in (self.sizes // 2, -2 * self.lows, -self.lows)]
        for rows in row_blocks(len(x), n_left + n_right, _BLOCK_WAVES):
            # A quarter of a step first: doubling a fraction of a turn is exact.
            quarters = 0.25 * (x[rows] * self.steps).T
            quarters -= np.rint(quarters)
            axes = [_powers(4.0 * stride * quarters[j], n) for j, stride, n in self._factors]
            half = len(axes) // 2
            left, right = reduce(_outer, axes[:half]), reduce(_outer, axes[half:])
            middle, sums, single = (
                (left[start // n_right] * right[start % n_right]).conj() for start in starts
            )
            quarter = _wave(quarters.sum(axis=0))
            pairs = np.stack([middle, sums * (quarter * quarter)])
            yield rows, _Waves(left, right, pairs, single * quarter)


class _Waves(NamedTuple):
    """Factors of a block of rows: waves of the box are left[l] * right[r], (n_left, n) and so on.

    `pairs` (2, n) move the box to the differences and to the sums of two frequencies, `quarter`
    (n,) to the frequencies.
    """

    left: np.ndarray
    right: np.ndarray
    pairs: np.ndarray
    quarter: np.ndarray


def _wave(turns: np.ndarray) -> np.ndarray:
    return np.exp((2j * math.pi) * (turns - np.rint(turns)))


def _powers(turns: np.ndarray, n: int) -> np.ndarray:
    """Return exp(2 pi i e turns) for e from 0 to n - 1, (n, rows), each from few products."""
    found = np.ones((n, len(turns)), dtype=np.complex128)
    done = 1
    while done < n:
        more = min(done, n - done)
        np.multiply(found[:more], _wave(done * turns), out=found[done : done + more])
        done += more
    return found


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a[:, None] * b).reshape(-1, a.shape[1])
