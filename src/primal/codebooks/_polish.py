"""Alternating projection: lower the coherence of a stored matrix of codes.

Between two sets: Gram matrices with all cosines at most tau, and Gram matrices of rank D.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal._parallel import single_threaded_blas
from primal.codebooks._codebook import Codebook
from primal.codebooks._stored import Polished
from primal.codebooks.bounds import welch
from primal.errors import ParameterError

__all__ = ["polished"]

_LARGEST_N = 4000


def polished(
    book: Codebook, steps: int, progress: Callable[[int, int], None] | None = None
) -> Polished:
    """Return the best of all iterates; the steps themselves are not monotone.

    Raises
    ------
    ParameterError
        If N is too large for an N x N eigendecomposition in every step.
    """
    N, D = book.N, book.D
    if N > _LARGEST_N:
        raise ParameterError(
            f"polish decomposes an N x N matrix in every step, got N = {N}: use N up to "
            f"{_LARGEST_N}, or kind='shadow'."
        )
    codes = book.encode(np.arange(N), dtype="complex128" if book.field == "complex" else "float64")
    target = 1.15 * welch(N, D)
    best, lowest = codes, _coherence(codes.conj() @ codes.T)
    current = codes
    with single_threaded_blas():  # small matrices: more threads only wait for each other
        for number in range(steps):
            gram = current.conj() @ current.T
            # For many codes 1.15 times Welch is out of reach, and aiming at it stalls.
            tau = target if N < 8 * D else max(target, 0.95 * lowest)
            sizes = np.abs(gram)
            gram *= np.minimum(1.0, tau / np.maximum(sizes, 1e-300))
            np.fill_diagonal(gram, 1.0)
            values, vectors = np.linalg.eigh(gram)
            top = np.sqrt(np.maximum(values[-D:], 0.0))
            # Rows u of the factor satisfy conj(u_i) . u_j = gram_ij.
            current = vectors[:, -D:].conj() * top
            current /= np.maximum(np.linalg.norm(current, axis=1), 1e-300)[:, None]
            reached = _coherence(current.conj() @ current.T)
            if reached < lowest:
                best, lowest = current, reached
            if progress is not None:
                progress(number + 1, steps)
    return Polished(best)


def _coherence(gram: np.ndarray) -> float:
    sizes = np.abs(gram)
    np.fill_diagonal(sizes, 0.0)
    return float(sizes.max())
