"""Codes kept as a matrix: kind ``gaussian``, and what polishing returns.

Only ``gaussian`` and ``random-frequency`` use random numbers in this library, and they need a seed.
"""

from collections.abc import Callable

import numpy as np

from primal._checks import callback, require_memory, require_work
from primal._lazy import cached_property
from primal._parallel import single_threaded_blas
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook
from primal.codebooks._phase_codes import checked_seed
from primal.codebooks.bounds import welch
from primal.errors import ParameterError, SpecError

# Up to this many codes every pair is computed; beyond, pairs are sampled.
LARGEST_FULL = 20_000
N_SAMPLED = 1 << 20
# Codes that can be polished.
_LARGEST_N = 4000


class StoredCodes(Codebook):
    """Rows of a matrix of unit vectors, real or complex."""

    def __init__(self, matrix: np.ndarray) -> None:
        N, D = matrix.shape
        super().__init__(N, D, "complex" if matrix.dtype.kind == "c" else "real")
        self.matrix = matrix

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.matrix[indices]

    @cached_property
    def _found(self) -> tuple[float, tuple[int, int] | None, float]:
        """Coherence, its pair and the RMS."""
        if self.N < 2:
            return 0.0, None, 0.0
        return self._statistics(None if self.N <= LARGEST_FULL else N_SAMPLED)

    def _evidence(self) -> Evidence:
        n_pairs = self.N * (self.N - 1) // 2
        proof = f"all pairs: each of the {n_pairs} was computed in float64"
        if self.N > LARGEST_FULL:
            proof = f"sampled pairs: {N_SAMPLED} of {n_pairs}"
        return Evidence(*self._found[:2], proof, exact=self.N <= LARGEST_FULL)

    def _rms(self) -> float:
        return self._found[2]


class _Polished(StoredCodes):
    """What :meth:`Codebook.polish` returns; it has no spec, only its matrix."""

    kind = "polished"

    @property
    def spec(self) -> dict[str, object]:
        raise SpecError(
            "a polished codebook has no spec, since its values come from the linear algebra of "
            "one machine: save its matrix, codebook.encode(range(N)), instead."
        )


class Gaussian(StoredCodes):
    """Normalized Gaussian vectors: the usual random codebook."""

    kind, _options = "gaussian", ("seed",)

    def __init__(self, N: int, D: int, field: str, seed: object) -> None:
        self.seed = checked_seed(self.kind, seed)
        rng = np.random.default_rng(self.seed)
        require_memory(24 * N * D, f"a matrix of {N} x {D}")
        matrix = rng.standard_normal((N, D))
        if field == "complex":
            matrix = matrix + 1j * rng.standard_normal((N, D))
        matrix /= np.linalg.norm(matrix, axis=1)[:, None]
        super().__init__(matrix)


def polished(
    book: Codebook, steps: int, progress: Callable[[int, int], None] | None = None
) -> Codebook:
    """Return codes of lower coherence by alternating projection: the best of all iterates.

    Between Gram matrices with all cosines at most tau, and Gram matrices of rank D.
    """
    N, D = book.N, book.D
    if N > _LARGEST_N:
        raise ParameterError(
            f"polish decomposes an N x N matrix in every step, got N = {N}: use N up to "
            f"{_LARGEST_N}, or kind='shadow'."
        )
    callback("progress", progress)
    require_work(steps * N**3, f"polishing with steps = {steps}")
    codes = book._wide(np.arange(N))
    target = 1.15 * welch(N, D)
    gram = codes.conj() @ codes.T
    best, lowest = codes, _coherence(gram)
    with single_threaded_blas():  # small matrices: more threads only wait for each other
        for number in range(steps):
            # For many codes 1.15 times Welch is out of reach, and aiming at it stalls.
            tau = target if N < 8 * D else max(target, 0.95 * lowest)
            gram *= np.minimum(1.0, tau / np.maximum(np.abs(gram), 1e-300))
            np.fill_diagonal(gram, 1.0)
            values, vectors = np.linalg.eigh(gram)
            top = np.sqrt(np.maximum(values[-D:], 0.0))
            # Rows u of the factor satisfy conj(u_i) . u_j = gram_ij.
            current = vectors[:, -D:].conj() * top
            current /= np.maximum(np.linalg.norm(current, axis=1), 1e-300)[:, None]
            gram = current.conj() @ current.T
            reached = _coherence(gram)
            if reached < lowest:
                best, lowest = current, reached
            if progress is not None:
                progress(number + 1, steps)
    return _Polished(best)


def _coherence(gram: np.ndarray) -> float:
    sizes = np.abs(gram)
    np.fill_diagonal(sizes, 0.0)
    return float(sizes.max())
