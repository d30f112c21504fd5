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
        box = self._box
        totals: list[np.ndarray | float] = [0.0, 0.0, 0.0]
        for rows, waves in self._blocks(x, box):
            parts = (
                (waves.left[box.half :] * waves.apart) @ waves.right.T,
                (waves.left * waves.together) @ waves.right.T,
                (waves.left[box.low_left] * (waves.single * Y[rows].T)[:, None])
                @ waves.right[box.low_right].T,
            )
            totals = [total + part for total, part in zip(totals, parts, strict=True)]
        t, k = Y.shape[1], len(self.places)
        differences, mirrored = self._differences(box)
        apart, together = np.ravel(totals[0])[differences], np.ravel(totals[1])[self._sums(box)]
        turning = np.where(mirrored, -apart.imag, apart.imag)
        products = np.empty((2, k, 2, k))
        scale = 0.5 * np.multiply.outer(self.amplitudes, self.amplitudes)
        products[0, :, 0] = scale * (together.real + apart.real)
        products[0, :, 1] = scale * (together.imag - turning)
        products[1, :, 0] = products[0, :, 1].T
        products[1, :, 1] = scale * (apart.real - together.real)
        order = self.columns.reshape(-1)
        gram = np.empty((2 * k, 2 * k))
        gram[order[:, None], order] = products.reshape(2 * k, 2 * k)
        cross = np.empty((2 * k, t))
        found = np.reshape(totals[2], (t, -1))[:, box.flat(self.places, low=True)].T
        cross[self.columns[0]] = self.amplitudes[:, None] * found.real
        cross[self.columns[1]] = self.amplitudes[:, None] * found.imag
        return np.triu(gram), cross

    def values(
        self, x: np.ndarray, weights: np.ndarray, form: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return z . weights (n, t), and z' form z (n,) of a symmetric form (D, D) if given."""
        box, t = self._box, weights.shape[1]
        cos, sin = self.columns
        linear = np.zeros((t, len(box.low_left) * len(box.low_right)), dtype=np.complex128)
        linear[:, box.flat(self.places, low=True)] = (
            self.amplitudes * (weights[cos] - 1j * weights[sin]).T
        )
        linear = linear.reshape(-1, len(box.low_right))
        tables = None if form is None else self._tables(form, box)
        means, squares = np.empty((len(x), t)), np.empty(0 if tables is None else len(x))
        for rows, waves in self._blocks(x, box):
            inner = (linear @ waves.right[box.low_right]).reshape(t, len(box.low_left), -1)
            found = np.einsum("tln,ln->tn", inner, waves.left[box.low_left])
            means[rows] = (found * waves.single).real.T
            if tables is not None:
                apart = np.einsum("ln,ln->n", tables[0] @ waves.right, waves.left[box.half :])
                together = np.einsum("ln,ln->n", tables[1] @ waves.right, waves.left)
                squares[rows] = (apart * waves.apart + together * waves.together).real
        return means, squares

    def _tables(self, form: np.ndarray, box: _Box) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of the waves of differences and of sums in z' form z."""
        cos, sin = self.columns
        scale = np.multiply.outer(self.amplitudes, self.amplitudes)
        of_cos, of_sin, mixed = (
            scale * form[a[:, None], b] for a, b in ((cos, cos), (sin, sin), (cos, sin))
        )
        differences, mirrored = self._differences(box)
        parts = (
            (
                differences,
                of_cos + of_sin,
                np.where(mirrored, -mixed, mixed),
                box.n_left - box.half,
            ),
            (self._sums(box), of_cos - of_sin, -mixed, box.n_left),
        )
        tables = []
        for places, real, imaginary, n_left in parts:
            flat, size = places.reshape(-1), n_left * box.n_right
            table = 0.5j * np.bincount(flat, 2.0 * imaginary.reshape(-1), size)
            table += 0.5 * np.bincount(flat, real.reshape(-1), size)
            tables.append(table.reshape(n_left, -1))
        return tables[0], tables[1]

    @property
    def _box(self) -> _Box:
        factors = [(j, 1, n, n // 2 + 1) for j, n in enumerate(self.sizes.tolist())]
        if len(factors) % 2:
            j, _, n, n_low = factors[len(factors) // 2]
            stride = 1 << (n.bit_length() // 2)  # a power of two: multiples of turns are exact
            large = (j, stride, -(-n // stride), -(-n_low // stride))
            factors[j : j + 1] = [large, (j, 1, stride, stride)]
        half = np.zeros_like(self.sizes)
        half[0] = self.sizes[0] // 2
        box = _Box(factors, 0)
        return box._replace(half=int(box.flat(half)) // box.n_right)

    def _differences(self, box: _Box) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of differences of two frequencies (k, k), and which are mirrored.

        The wave of the opposite difference is the conjugate one: of each two the box keeps one.
        """
        apart = self.places[:, None] - self.places
        mirrored = apart[..., 0] < 0
        apart[mirrored] *= -1
        return box.flat(apart + self.sizes // 2) - box.half * box.n_right, mirrored

    def _sums(self, box: _Box) -> np.ndarray:
        return box.flat(self.places[:, None] + self.places)

    def _blocks(self, x: np.ndarray, box: _Box) -> Iterator[tuple[slice, _Waves]]:
        starts = [int(box.flat(e)) for e in (self.sizes // 2, -2 * self.lows, -self.lows)]
        for rows in row_blocks(len(x), box.n_left + box.n_right, _BLOCK_WAVES):
            # A quarter of a step first: doubling a fraction of a turn is exact.
            quarters = 0.25 * (x[rows] * self.steps).T
            quarters -= np.rint(quarters)
            axes = [_powers(4.0 * stride * quarters[j], n) for j, stride, n, _ in box.factors]
            middle = len(axes) // 2
            left, right = reduce(_outer, axes[:middle]), reduce(_outer, axes[middle:])
            apart, together, single = (
                (left[start // box.n_right] * right[start % box.n_right]).conj() for start in starts
            )
            quarter = _wave(quarters.sum(axis=0))
            yield rows, _Waves(left, right, apart, together * quarter**2, single * quarter)


class _Box(NamedTuple):
    """How waves of a box are products of two: that at flat place p is left[p // n_right] times
    right[p % n_right].

    Attributes
    ----------
    factors : list of (input, stride, n, n_low)
        Waves of one input each, whose products the first and the second half of them make. The
        middle one of an odd number of inputs has two factors, so that both halves are about as
        large. Frequencies themselves, unlike their sums, need the first n_low only.
    half : int
        Where rows of `left` begin that differences need.
    """

    factors: list[tuple[int, int, int, int]]
    half: int

    @property
    def n_left(self) -> int:
        return math.prod(n for _, _, n, _ in self.factors[: len(self.factors) // 2])

    @property
    def n_right(self) -> int:
        return math.prod(n for _, _, n, _ in self.factors[len(self.factors) // 2 :])

    @property
    def low_left(self) -> np.ndarray:
        return _low(self.factors[: len(self.factors) // 2])

    @property
    def low_right(self) -> np.ndarray:
        return _low(self.factors[len(self.factors) // 2 :])

    def flat(self, e: np.ndarray, *, low: bool = False) -> np.ndarray:
        """Return the places of waves e (..., d), among all or among the low ones."""
        found = np.zeros(e.shape[:-1], dtype=np.int64)
        stride_before = 1
        for j, stride, n, n_low in self.factors:
            digit = e[..., j] % stride_before if stride_before > 1 else e[..., j]
            stride_before = stride
            found = found * (n_low if low else n) + digit // stride
        return found


def _low(factors: list[tuple[int, int, int, int]]) -> np.ndarray:
    places = np.arange(math.prod(n for _, _, n, _ in factors))
    places = places.reshape([n for _, _, n, _ in factors])
    return places[tuple(slice(n_low) for *_, n_low in factors)].reshape(-1)


class _Waves(NamedTuple):
    """Factors of a block of n rows, (n_left, n) and (n_right, n), and for each row (n,) what moves
    the box to the differences of two frequencies, to their sums, and to the frequencies."""

    left: np.ndarray
    right: np.ndarray
    apart: np.ndarray
    together: np.ndarray
    single: np.ndarray


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
