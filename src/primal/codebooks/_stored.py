"""Codes kept as a matrix: the reference ``gaussian``, and ``polished`` codebooks.

The references ``gaussian`` and ``random-frequency`` are what other constructions are compared
with. They are the only place in the library that uses random numbers, and they need a seed.
"""

from __future__ import annotations

import numpy as np

from primal._checks import require_memory, whole_number
from primal.codebooks._certificate import Evidence
from primal.codebooks._codes import Codes, PhaseCodes, lag_evidence
from primal.codebooks._metrics import gram_statistics
from primal.codebooks._numbers import scrambled
from primal.codebooks._prime_codes import n_primes
from primal.errors import ParameterError, SpecError

__all__ = ["Polished", "RandomFrequencies", "StoredCodes", "gaussian", "sampled_pairs"]

# Up to this many codes every pair is computed; beyond, pairs are sampled.
LARGEST_FULL = 20_000
N_SAMPLED = 1 << 20


class StoredCodes(Codes):
    """Rows of a matrix of unit vectors, real or complex."""

    def __init__(self, kind: str, matrix: np.ndarray, options: dict[str, object]) -> None:
        self.kind, self.matrix, self._options = kind, matrix, options
        self.N, self.D = matrix.shape
        self.field = "complex" if matrix.dtype.kind == "c" else "real"

    def write(self, indices: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.matrix[indices]

    def options(self) -> dict[str, object]:
        return self._options

    def evidence(self) -> Evidence:
        if self.N < 2:
            return Evidence(0.0, None, None, 0.0, True, "all pairs: there is none")
        if self.N <= LARGEST_FULL:
            found = gram_statistics(self.matrix, bins=1)
            n_pairs = self.N * (self.N - 1) // 2
            proof = f"all pairs: each of the {n_pairs} was computed in float64"
            return Evidence(found.coherence, found.pair, None, found.rms, True, proof)
        i, j = sampled_pairs(self.N, N_SAMPLED)
        cosines = np.concatenate(
            [
                np.abs(np.einsum("nd,nd->n", self.matrix[a].conj(), self.matrix[b]))
                for a, b in zip(np.array_split(i, 256), np.array_split(j, 256), strict=True)
            ]
        )
        at = int(cosines.argmax())
        rms = float(np.sqrt(np.square(cosines).mean()))
        proof = f"sampled pairs: {N_SAMPLED} of {self.N * (self.N - 1) // 2}"
        pair = (int(min(i[at], j[at])), int(max(i[at], j[at])))
        return Evidence(float(cosines[at]), pair, None, rms, False, proof)


class Polished(StoredCodes):
    """What :meth:`Codebook.polish` returns; it has no spec, only its matrix."""

    def __init__(self, matrix: np.ndarray) -> None:
        super().__init__("polished", matrix, {})

    def options(self) -> dict[str, object]:
        raise SpecError(
            "a polished codebook has no spec, since its values come from the linear algebra of "
            "one machine: save its matrix, codebook.encode(range(N)), instead."
        )


def gaussian(N: int, D: int, field: str, seed: object) -> StoredCodes:
    """Return N normalised Gaussian vectors: the usual random codebook, as a reference."""
    rng = np.random.default_rng(_checked_seed("gaussian", seed))
    require_memory(24 * N * D, f"a matrix of {N} x {D}")
    matrix = rng.standard_normal((N, D))
    if field == "complex":
        matrix = matrix + 1j * rng.standard_normal((N, D))
    matrix /= np.linalg.norm(matrix, axis=1)[:, None]
    return StoredCodes("gaussian", matrix, {"seed": seed})


class RandomFrequencies(PhaseCodes):
    """Toeplitz codes with uniform frequencies, as a reference: StaticPrime without primes."""

    kind = "random-frequency"

    def __init__(self, N: int, D: int, field: str, seed: object) -> None:
        self.N, self.D, self.field = N, D, field
        self.view = "phasor" if field == "complex" else "real"
        self.seed = _checked_seed(self.kind, seed)
        require_memory(16 * n_primes(D, field), f"{n_primes(D, field)} frequencies")
        rng = np.random.default_rng(self.seed)
        self.increments = rng.integers(0, 2**64, n_primes(D, field), dtype=np.uint64)

    @property
    def n_frequencies(self) -> int:
        return len(self.increments)

    def turns(self, positions: np.ndarray) -> np.ndarray:
        return positions[:, None] * self.increments

    def evidence(self) -> Evidence:
        return lag_evidence(self.increments, self.N, self.view)

    def options(self) -> dict[str, object]:
        return {"seed": self.seed}


def sampled_pairs(N: int, n_pairs: int, *, counter: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of different indices below N that look unordered, the same every time."""
    first = scrambled(2 * counter, n_pairs) % np.uint64(N)
    step = scrambled(2 * counter + (1 << 40), n_pairs) % np.uint64(N - 1) + np.uint64(1)
    return first.astype(np.int64), ((first + step) % np.uint64(N)).astype(np.int64)


def _checked_seed(kind: str, seed: object) -> int:
    if seed is None:
        raise ParameterError(
            f"kind {kind!r} is a random reference and needs a seed: for instance seed=42."
        )
    return whole_number("seed", seed)
