"""How similar codes are at worst, and how far from the similarity that is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import whole_number
from primal.codebooks import GramStatistics, bounds, gram_statistics, toeplitz_statistics
from primal.errors import DataError
from primal.hdc._arrays import side_by_side
from primal.hdc._codes import Codes, operand, phasors
from primal.hdc._convert import float32_rows, to_numpy


@dataclass(frozen=True)
class SimilarityCertificate:
    """How similar the codes of n items are at worst: every pair is accounted for.

    Attributes
    ----------
    n : int
        Number of items.
    coherence : float
        Largest |cosine similarity| between two of them; 0 for fewer than two.
    pair : tuple of int or None
        Places of two items that attain it.
    rms : float
        Root mean square of all of them; sqrt(1 / D) for independent codes.
    welch : float
        No n codes of this length have a smaller coherence.
    """

    n: int
    coherence: float
    pair: tuple[int, int] | None
    rms: float
    welch: float


@dataclass(frozen=True)
class LawCertificate:
    """How far the similarities of n codes are from the law they are made for.

    Attributes
    ----------
    n : int
        Number of codes; all pairs of them were compared.
    worst : float
        Largest |similarity - law| of two of them; 0 for fewer than two.
    pair : tuple of int or None
        Places of two codes that attain it.
    rms : float
        Root mean square over all pairs. Phases drawn at random would have about sqrt(1 / D).
    """

    n: int
    worst: float
    pair: tuple[int, int] | None
    rms: float


def certify(codes: Any) -> SimilarityCertificate:
    """Return how similar codes or bundles of shape (n, k) are; compares all pairs, in blocks."""
    if operand(codes).ndim != 2:
        raise DataError(f"certify takes rows of shape (n, k), got {tuple(codes.shape)}.")
    if len(codes) < 2:
        return SimilarityCertificate(len(codes), 0.0, None, 0.0, 0.0)
    z = phasors(to_numpy(codes))
    return _certificate(gram_statistics(side_by_side(z, z.dtype), bins=1))


def certify_numbers(increments: np.ndarray, n: int) -> SimilarityCertificate:
    """Return how similar the codes of 0, ..., n - 1 are, from the n - 1 differences."""
    if whole_number("n", n, most=2**40) < 2:
        return SimilarityCertificate(n, 0.0, None, 0.0, 0.0)
    return _certificate(toeplitz_statistics(increments, n, bins=1))


def certify_law(codes: Codes, law: np.ndarray) -> LawCertificate:
    """Return how far the similarities of codes (n, k) are from a matrix (n, n)."""
    n = len(codes)
    if n < 2:
        return LawCertificate(n, 0.0, None, 0.0)
    rows = float32_rows(codes)
    gaps = np.abs(rows @ rows.T - law)
    np.fill_diagonal(gaps, 0.0)
    i, j = np.unravel_index(gaps.argmax(), gaps.shape)
    rms = float(np.sqrt(np.square(gaps).sum() / (n * (n - 1))))
    return LawCertificate(n, float(gaps[i, j]), (int(i), int(j)), rms)


def _certificate(found: GramStatistics) -> SimilarityCertificate:
    welch = bounds.welch(found.N, found.D)
    return SimilarityCertificate(found.N, found.coherence, found.pair, found.rms, welch)
