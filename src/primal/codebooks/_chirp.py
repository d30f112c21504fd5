"""Kind ``chirp``: PrimeChirp, two indices and two lists of primes for each code.

Position a k + b has the phases a sqrt(p_n) + b sqrt(q_n), where the fractions of sqrt(p_n) and
sqrt(q_n) shadow n**2 / k and n / k: quadratic chirps modulo an odd prime k. The k**2 phasors
then have |inner products| close to 1 / sqrt(k) or 0. Real codes are z and i z; the standard
basis comes last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from primal._checks import require_memory
from primal.codebooks._alltop import chirp_size
from primal.codebooks._certificate import Evidence
from primal.codebooks._codes import PhaseCodes, split_view
from primal.codebooks._metrics import rms_from_energy
from primal.codebooks._shadow import tightest_shadow
from primal.codebooks._toeplitz import dirichlet
from primal.turns import floor_roots, waves

__all__ = ["PrimeChirp", "design_chirp"]

# A common shift of the targets, in units of 1 / k. One half would put a target next to the
# fraction 1/2, which only very large primes have.
_SHIFT = 0.382
_ROWS = 64


def design_chirp(N: int, D: int, field: str) -> PrimeChirp:
    """Return chirp codes for the largest prime k that D has room for, with primes found for it.

    Raises
    ------
    ParameterError
        If N is beyond the 2 k**2 + 2 k real or k**2 + k complex codes.
    """
    k = chirp_size("chirp", N, D, field, least=3, n_bases=lambda k: k + 1)
    # What the certificate takes: the frame operator and its factors.
    require_memory(96 * k**2, f"a certificate of chirps of {k} phases")
    squares = [((n * n % k) + _SHIFT) / k for n in range(k)]
    lines = [(n + _SHIFT) / k for n in range(k)]
    (first, second), _ = tightest_shadow([squares, lines], k, signed=True)
    return PrimeChirp(N, D, field, first, second)


class PrimeChirp(PhaseCodes):
    """Codes of two lists of k primes; see :func:`design_chirp`."""

    kind = "chirp"

    def __init__(
        self, N: int, D: int, field: str, primes_a: Sequence[int], primes_b: Sequence[int]
    ) -> None:
        self.N, self.D, self.field = N, D, field
        self.view = "phasor" if field == "complex" else "paired"
        self.primes_a, self.primes_b = list(primes_a), list(primes_b)
        self.k = len(self.primes_a)
        self._f = floor_roots(np.array(self.primes_a, dtype=np.uint64), 1.0, 64)
        self._g = floor_roots(np.array(self.primes_b, dtype=np.uint64), 1.0, 64)

    @property
    def n_frequencies(self) -> int:
        return self.k

    def options(self) -> dict[str, object]:
        return {"primes_a": self.primes_a, "primes_b": self.primes_b}

    def turns(self, positions: np.ndarray) -> np.ndarray:
        k = np.uint64(self.k)
        return positions[:, None] // k * self._f + positions[:, None] % k * self._g

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        super()._write_block(indices, out)
        positions, quarters = split_view(indices, self.view)
        for row in np.flatnonzero(positions >= np.uint64(self.k**2)).tolist():
            n = int(positions[row]) - self.k**2
            out[row] = 0
            out[row, n if self.view == "phasor" else 2 * n + int(quarters[row])] = 1

    def evidence(self) -> Evidence:
        mu, pair = self._worst_chirp_pair()
        if self._n_positions > self.k**2 and 1.0 / math.sqrt(self.k) > mu:
            # Code 0 has all phases zero: its product with a basis vector is 1 / sqrt(k).
            mu, pair = 1.0 / math.sqrt(self.k), (0, self.k**2 * (1 + (self.view == "paired")))
        rms = rms_from_energy(self._energy(), self.N)
        n_lags = min(self._n_positions, self.k**2) - 1
        proof = f"all lags: every (a, b) difference among {n_lags + 1} positions, in float64"
        return Evidence(mu, pair, None, rms, True, proof)

    @property
    def _n_positions(self) -> int:
        return -(-self.N // 2) if self.view == "paired" else self.N

    def _worst_chirp_pair(self) -> tuple[float, tuple[int, int] | None]:
        mu, pair = 0.0, None
        for first_da, products in self._differences():
            if self.view == "phasor":
                sizes, turned = np.abs(products), np.zeros(products.shape, dtype=bool)
            else:
                sizes = np.maximum(np.abs(products.real), np.abs(products.imag))
                turned = np.abs(products.imag) > np.abs(products.real)
            row, column = np.unravel_index(int(sizes.argmax()), sizes.shape)
            if sizes[row, column] > mu + 1e-12:
                mu = float(sizes[row, column])
                da, db = first_da + int(row), int(column) - (self.k - 1)
                low, high = max(0, -db), da * self.k + max(0, db)
                pair = (low, high)
                if self.view == "paired":
                    pair = (2 * low + int(turned[row, column]), 2 * high)
        return mu, pair

    def _differences(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the products at differences (da, db) that occur, in rows da = first, ...

        Column c stands for db = c - (k - 1). Differences that no two positions have, and those
        that repeat others with the sign turned, are zero.
        """
        k = self.k
        last_a, last_b = divmod(min(self._n_positions, k * k) - 1, k)
        db = np.arange(-(k - 1), k).astype(np.int64).view(np.uint64)
        fine = _phasors(db[:, None] * self._g) / k
        for first in range(0, last_a + 1, _ROWS):
            da = np.arange(first, min(first + _ROWS, last_a + 1), dtype=np.uint64)
            products = _phasors(da[:, None] * self._f) @ fine.T
            if first == 0:
                products[0, :k] = 0
                if last_a == 0:
                    products[0, k + last_b :] = 0
            if da[-1] == last_a and last_a > 0:
                products[-1, k + last_b :] = 0
            yield first, products

    def _energy(self) -> float:
        """Return the sum of squares of the Gram matrix, from the k x k frame operator."""
        if self.view == "phasor":
            return float(np.square(np.abs(self._frame_operator(self.N))).sum())
        operator = self._frame_operator(self.N // 2)
        energy = 2.0 * float(np.square(np.abs(operator)).sum())
        if self.N % 2:  # one code without its turned twin
            z = np.zeros((1, 2 * self.k))
            self._write_block(np.array([self.N - 1], dtype=np.uint64), z)
            code = z[0, 0::2] + 1j * z[0, 1::2]
            energy += 2.0 * float((code.conj() @ operator @ code).real) + 1.0
        return energy

    def _frame_operator(self, n_positions: int) -> np.ndarray:
        """Return the sum of z z^H over the first positions: geometric sums in both indices."""
        k = self.k
        n_chirps = min(n_positions, k * k)
        whole, rest = divmod(n_chirps, k)
        f = self._f[:, None] - self._f[None, :]
        g = self._g[:, None] - self._g[None, :]
        total = dirichlet(f, whole) * dirichlet(g, k)
        total += _phasors(f * np.uint64(whole)) * dirichlet(g, rest)
        total = total / k
        n_basis = n_positions - n_chirps
        total[np.arange(n_basis), np.arange(n_basis)] += 1.0
        return total


def _phasors(turns: np.ndarray) -> np.ndarray:
    result = np.empty(turns.shape, dtype=np.complex128)
    result.real, result.imag = waves(turns)
    return result
