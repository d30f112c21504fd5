"""Check a certificate against the codes themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from primal._checks import require_memory, require_work, whole_number
from primal.codebooks._certificate import Verification
from primal.codebooks._metrics import gram_statistics
from primal.codebooks._numbers import scrambled
from primal.engines import row_blocks

__all__ = ["sampled_pairs", "verify"]

_DEFAULT_PAIRS = 10_000
# A cosine of two codes in float64 differs from the certificate by rounding only.
_TOLERANCE = 1e-9
_BLOCK_ENTRIES = 1 << 20


def verify(book: Any, n_pairs: int | None, *, full: bool) -> Verification:
    """Return the comparison of a codebook's certificate with cosines of its codes."""
    claim = book.certificate
    if book.N < 2:
        return Verification(0, full, 0.0, None, claim.coherence == 0.0)
    attained = True
    if claim.pair is not None:
        reached, _ = _largest_cosine(book, *np.array(claim.pair)[:, None])
        attained = abs(reached - claim.coherence) < _TOLERANCE
    if full:
        found = gram_statistics(book, bins=1)
        off = max(abs(found.coherence - claim.coherence), abs(found.rms - claim.rms))
        same = not claim.exact or off < _TOLERANCE
        n_all = book.N * (book.N - 1) // 2
        return Verification(n_all, True, found.coherence, found.pair, attained and same)
    n_pairs = whole_number("n_pairs", _DEFAULT_PAIRS if n_pairs is None else n_pairs, least=1)
    require_memory(64 * n_pairs, f"{n_pairs} pairs")
    require_work(4 * n_pairs * book.D, f"{n_pairs} pairs of codes")
    largest, pair = _largest_cosine(book, *sampled_pairs(book.N, n_pairs))
    within = not claim.exact or largest <= claim.coherence + _TOLERANCE
    return Verification(n_pairs, False, largest, pair, attained and within)


def sampled_pairs(N: int, n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of different indices below N that look unordered, the same every time."""
    first = scrambled(0, n_pairs) % np.uint64(N)
    step = scrambled(1 << 40, n_pairs) % np.uint64(N - 1) + np.uint64(1)
    return first.astype(np.int64), ((first + step) % np.uint64(N)).astype(np.int64)


def _largest_cosine(book: Any, i: np.ndarray, j: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Return the largest |cosine| among pairs of codes, and where it is."""
    wide = "complex128" if book.field == "complex" else "float64"
    largest, pair = -1.0, (0, 0)
    for rows in row_blocks(len(i), book.D, _BLOCK_ENTRIES):
        a, b = i[rows], j[rows]
        left, right = book.encode(a, dtype=wide), book.encode(b, dtype=wide)
        cosines = np.abs(np.einsum("nd,nd->n", left.conj(), right))
        at = int(cosines.argmax())
        if cosines[at] > largest:
            largest = float(cosines[at])
            pair = (int(min(a[at], b[at])), int(max(a[at], b[at])))
    return largest, pair
