"""Kind ``orthonormal``: N <= D codes with all cosines zero."""

from __future__ import annotations

import math

import numpy as np

from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook
from primal.codebooks._phase_codes import write_phases
from primal.codebooks._rational import rational_turns
from primal.errors import ParameterError
from primal.turns import round_turns, waves

__all__ = ["Orthonormal"]


class Orthonormal(Codebook):
    """Rows of a Walsh matrix (D a power of two), of a cosine transform, or of a Fourier matrix.

    The first is bipolar; the last one is for complex codes.
    """

    kind = "orthonormal"

    def __init__(self, N: int, D: int, field: str) -> None:
        if N > D:
            raise ParameterError(
                f"at most D = {D} codes can be orthogonal in D dimensions, got N = {N}: "
                f"use N up to {D} or D = {N}."
            )
        super().__init__(N, D, field)
        self.bipolar = field == "real" and D & (D - 1) == 0

    def _signs(self, indices: np.ndarray) -> np.ndarray:
        if not self.bipolar:
            return super()._signs(indices)
        x = np.arange(self.D, dtype=np.uint64)
        bits = np.bitwise_count(indices.astype(np.uint64)[:, None] & x) & np.uint8(1)
        return 1 - 2 * bits.astype(np.int8)

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        if self.bipolar:
            out[:] = self._signs(indices) * out.dtype.type(1.0 / math.sqrt(self.D))
            return
        t, n = indices.astype(np.uint64)[:, None], np.arange(self.D, dtype=np.uint64)
        if self.field == "complex":
            write_phases(rational_turns(t * n % np.uint64(self.D), self.D), out, None)
            return
        # Cosine transform: cos(2 pi t (2 n + 1) / (4 D)), the constant row by itself.
        period = np.uint64(4 * self.D)
        turns = rational_turns(t * (np.uint64(2) * n + np.uint64(1)) % period, 4 * self.D)
        cos, _ = waves(round_turns(turns) if out.dtype == np.float32 else turns)
        scale = np.where(t == 0, math.sqrt(1.0 / self.D), math.sqrt(2.0 / self.D))
        out[:] = cos * scale.astype(cos.dtype)

    def _evidence(self) -> Evidence:
        return Evidence(0.0, None, 0.0, "closed form: rows of an orthogonal matrix")
