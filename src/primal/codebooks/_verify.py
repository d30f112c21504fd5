"""Check a certificate against the codes themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from primal._checks import require_memory, require_work, whole_number
from primal.codebooks._certificate import Verification
from primal.codebooks._metrics import gram_statistics
from primal.codebooks._stored import sampled_pairs

if TYPE_CHECKING:
    from primal.codebooks._codebook import Codebook

__all__ = ["verify"]

DEFAULT_PAIRS = 10_000
# A cosine of two codes in float64 differs from the certificate by rounding only.
_TOLERANCE = 1e-9
_BLOCK_ENTRIES = 1 << 20


def verify(book: Codebook, n_pairs: int | None = None, *, full: bool = False) -> Verification:
    """Return the comparison of a codebook's certificate with cosines of its codes.

    See :meth:`Codebook.verify`.
    """
    claim = book.certificate
    if book.N < 2:
        return Verification(0, full, 0.0, None, claim.mu == 0.0)
    attained = True
    if claim.pair is not None:
        i, j = (np.array([index]) for index in claim.pair)
        attained = abs(_largest_cosine(book, i, j)[0] - claim.mu) < _TOLERANCE
    if full:
        found = gram_statistics(book, bins=1)
        same = not claim.exact or abs(found.coherence - claim.mu) < _TOLERANCE
        same = same and (not claim.exact or abs(found.rms - claim.rms) < _TOLERANCE)
        n_all = book.N * (book.N - 1) // 2
        return Verification(n_all, True, found.coherence, found.pair, attained and same)
    n_pairs = whole_number("n_pairs", DEFAULT_PAIRS if n_pairs is None else n_pairs, least=1)
    require_memory(64 * n_pairs, f"{n_pairs} pairs")
    require_work(4 * n_pairs * book.D, f"{n_pairs} pairs of codes")
    largest, pair = _largest_cosine(book, *sampled_pairs(book.N, n_pairs))
    within = not claim.exact or largest <= claim.mu + _TOLERANCE
    return Verification(n_pairs, False, largest, pair, attained and within)


def _largest_cosine(book: Codebook, i: np.ndarray, j: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Return the largest |cosine| among pairs of codes, and where it is."""
    wide = "complex128" if book.field == "complex" else "float64"
    largest, pair = -1.0, (0, 0)
    step = max(1, _BLOCK_ENTRIES // book.D)
    for first in range(0, len(i), step):
        a, b = i[first : first + step], j[first : first + step]
        left, right = book.encode(a, dtype=wide), book.encode(b, dtype=wide)
        cosines = np.abs(np.einsum("nd,nd->n", left.conj(), right))
        at = int(cosines.argmax())
        if cosines[at] > largest:
            largest = float(cosines[at])
            pair = (int(min(a[at], b[at])), int(max(a[at], b[at])))
    return largest, pair
