"""Kind ``alltop``: cubic phases modulo a prime k, k**2 phasors in k dimensions."""

from __future__ import annotations

import math

import numpy as np

from primal._checks import require_memory
from primal.codebooks._certificate import Evidence
from primal.codebooks._numbers import largest_order
from primal.codebooks._phase_codes import PhaseCodes, bases_rms
from primal.codebooks._rational import rational_turns

__all__ = ["Alltop"]


class Alltop(PhaseCodes):
    """Position a k + b has the phases ((n + a)**3 + b n) / k, n = 0, ..., k - 1, k >= 5 prime.

    Each a gives an orthonormal basis; between bases every |inner product| is 1 / sqrt(k). Real
    codes are z and i z.
    """

    kind = "alltop"

    def __init__(self, N: int, D: int, field: str) -> None:
        super().__init__(N, D, field)
        self.view = "phasor" if field == "complex" else "paired"
        self.k = largest_order(self.kind, N, D, field, lambda k: k * k, least=5)
        if self.view == "paired" and 2 * self.k < N:
            require_memory(96 * self.k**2, f"the products of two bases of {self.k} codes")

    @property
    def n_frequencies(self) -> int:
        return self.k

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
        out = np.empty((last - first, self.k), dtype=np.complex128)
        positions = np.arange(first, last, dtype=np.uint64)
        out.real = np.cos(angle := 2.0 * np.pi * (self.turns(positions) * 2.0**-64))
        out.imag = np.sin(angle)
        return out / math.sqrt(self.k)
