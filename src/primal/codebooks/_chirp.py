"""Kinds ``chirp`` and ``alltop``: quadratic and cubic phases modulo a prime k.

Position a k + b of a chirp has the phases a sqrt(p_n) + b sqrt(q_n), where the fractions of
sqrt(p_n) and sqrt(q_n) shadow n**2 / k and n / k: quadratic chirps modulo an odd prime k. The k**2
phasors then have |inner products| close to 1 / sqrt(k) or 0. Real codes are z and i z; the
standard basis comes last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from primal._checks import require_memory
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._metrics import rms_from_energy
from primal.codebooks._numbers import largest_order
from primal.codebooks._phase_codes import PhaseCodes, bases_rms, sizes_in_view, split_view
from primal.codebooks._prime_codes import checked_primes
from primal.codebooks._rational import rational_turns
from primal.codebooks._shadow import tightest_shadow
from primal.codebooks._toeplitz import dirichlet, phasors
from primal.errors import SpecError
from primal.turns import floor_roots

# A common shift of the targets, in units of 1 / k. One half would put a target next to the
# fraction 1/2, which only very large primes have.
_SHIFT = 0.382
_ROWS = 64


class PrimeChirp(PhaseCodes):
    """Codes of two lists of k primes, for the largest prime k that D has room for.

    There are 2 k**2 + 2 k real or k**2 + k complex codes.
    """

    kind, real_view, _options = "chirp", "paired", ("primes_a", "primes_b")

    def __init__(self, N: int, D: int, field: str, primes_a: object, primes_b: object) -> None:
        super().__init__(N, D, field)
        copies = 1 if field == "complex" else 2
        self.primes_a, self.primes_b = (
            checked_primes(primes, D // copies) for primes in (primes_a, primes_b)
        )
        self.k = k = len(self.primes_a)
        if len(self.primes_b) != k or copies * (k * k + k) < N:
            raise SpecError(
                f"a chirp needs two lists of primes of one length, long enough for N = {N}."
            )
        self._f = floor_roots(np.array(self.primes_a, dtype=np.uint64), 1.0, 64)
        self._g = floor_roots(np.array(self.primes_b, dtype=np.uint64), 1.0, 64)

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> PrimeChirp:
        k = largest_order("chirp", N, D, field, lambda k: k * (k + 1), least=3)
        # What the certificate takes: the frame operator and its factors.
        require_memory(96 * k**2, f"a certificate of chirps of {k} phases")
        squares = [((n * n % k) + _SHIFT) / k for n in range(k)]
        lines = [(n + _SHIFT) / k for n in range(k)]
        first, second = tightest_shadow([squares, lines], k, signed=True)
        return cls(N, D, field, first, second)

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

    def _evidence(self) -> Evidence:
        coherence, pair = 0.0, None
        for first_da, products in self._differences():
            sizes, turned = sizes_in_view(products, self.view)
            row, column = np.unravel_index(int(sizes.argmax()), sizes.shape)
            if sizes[row, column] > coherence + 1e-12:
                coherence = float(sizes[row, column])
                da, db = first_da + int(row), int(column) - (self.k - 1)
                pair = (max(0, -db), da * self.k + max(0, db))
                if self.view == "paired":
                    pair = (2 * pair[0] + int(turned[row, column]), 2 * pair[1])
        if self.n_positions > self.k**2 and 1.0 / math.sqrt(self.k) > coherence:
            # Code 0 has all phases zero: its product with a basis vector is 1 / sqrt(k).
            coherence = 1.0 / math.sqrt(self.k)
            pair = (0, self.k**2 * (1 + (self.view == "paired")))
        rms = rms_from_energy(self._energy(), self.N)
        n_chirps = min(self.n_positions, self.k**2)
        proof = f"all lags: every (a, b) difference among {n_chirps} positions, in float64"
        return Evidence(coherence, pair, rms, proof)

    def _differences(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the products at differences (da, db) that occur, in rows da = first, ...

        Column c stands for db = c - (k - 1). Differences that no two positions have, and those
        that repeat others with the sign turned, are zero.
        """
        k = self.k
        last_a, last_b = divmod(min(self.n_positions, k * k) - 1, k)
        db = np.arange(-(k - 1), k).astype(np.int64).view(np.uint64)
        fine = phasors(db[:, None] * self._g) / k
        for first in range(0, last_a + 1, _ROWS):
            da = np.arange(first, min(first + _ROWS, last_a + 1), dtype=np.uint64)
            products = phasors(da[:, None] * self._f) @ fine.T
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
        total += phasors(f * np.uint64(whole)) * dirichlet(g, rest)
        total /= k
        basis = np.arange(n_positions - n_chirps)
        total[basis, basis] += 1.0
        return total


class Alltop(PhaseCodes):
    """Position a k + b has the phases ((n + a)**3 + b n) / k, n = 0, ..., k - 1, k >= 5 prime.

    Each a gives an orthonormal basis; between bases every |inner product| is 1 / sqrt(k). Real
    codes are z and i z.
    """

    kind, real_view = "alltop", "paired"

    def __init__(self, N: int, D: int, field: str) -> None:
        super().__init__(N, D, field)
        self.k = largest_order(self.kind, N, D, field, lambda k: k * k, least=5)
        if self.view == "paired" and 2 * self.k < N:
            require_memory(96 * self.k**2, f"the products of two bases of {self.k} codes")

    def turns(self, positions: np.ndarray) -> np.ndarray:
        k = np.uint64(self.k)
        a, b = positions[:, None] // k, positions[:, None] % k
        n = np.arange(self.k, dtype=np.uint64)
        m = (n + a) % k
        return rational_turns((m * m % k * m + b * n) % k, self.k)

    def _evidence(self) -> Evidence:
        size = 2 * self.k if self.view == "paired" else self.k
        rms = bases_rms(self.N, size)
        if size >= self.N:
            return Evidence(0.0, None, rms, "closed form: one orthonormal basis")
        phasor = self.view == "phasor"
        worst, pair = (1.0 / math.sqrt(self.k), (0, size)) if phasor else self._worst_part()
        return Evidence(worst, pair, rms, f"closed form: quadratic Gauss sums modulo {self.k}")

    def _worst_part(self) -> tuple[float, tuple[int, int]]:
        """Return the largest |real or imaginary part| of a product, and two codes with it.

        No part can exceed 1 / sqrt(k), so the first that reaches it ends the search; about
        every second pair of bases has one.
        """
        worst, pair = 0.0, (0, 0)
        for high in range(1, -(-self.n_positions // self.k)):
            upper = self._phasors(high * self.k, min((high + 1) * self.k, self.n_positions))
            for low in range(high):
                products = self._phasors(low * self.k, (low + 1) * self.k).conj() @ upper.T
                for turned, part in enumerate((products.real, products.imag)):
                    i, j = np.unravel_index(int(np.abs(part).argmax()), part.shape)
                    if abs(part[i, j]) > worst + 1e-12:
                        worst = float(abs(part[i, j]))
                        first, second = low * self.k + int(i), high * self.k + int(j)
                        pair = (2 * first + turned, 2 * second)
                if worst > 1.0 / math.sqrt(self.k) - 1e-12:
                    return worst, pair
        return worst, pair

    def _phasors(self, first: int, last: int) -> np.ndarray:
        angles = 2.0 * np.pi * (self.turns(np.arange(first, last, dtype=np.uint64)) * 2.0**-64)
        out = np.empty(angles.shape, dtype=np.complex128)
        out.real, out.imag = np.cos(angles), np.sin(angles)
        return out / math.sqrt(self.k)
