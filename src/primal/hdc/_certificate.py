"""How similar codes are at worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import whole_number
from primal.codebooks import GramStatistics, bounds, gram_statistics, toeplitz_statistics
from primal.hdc._arrays import phasors, to_numpy

__all__ = ["SimilarityCertificate", "certify", "certify_numbers"]


@dataclass(frozen=True)
class SimilarityCertificate:
    """How similar the codes of n items are at worst: every pair is accounted for.

    Attributes
    ----------
    n : int
        Number of items.
    worst : float
        Largest |cosine similarity| between two of them; 0 for fewer than two.
    pair : tuple of int or None
        Places of two items that attain it.
    rms : float
        Root mean square of all of them; sqrt(1 / D) for independent codes.
    welch : float
        No n codes of this length have a smaller `worst`.
    """

    n: int
    worst: float
    pair: tuple[int, int] | None
    rms: float
    welch: float


def certify(codes: Any) -> SimilarityCertificate:
    """Return how similar any codes or bundles are; compares all pairs, in blocks."""
    if len(codes) < 2:
        return SimilarityCertificate(len(codes), 0.0, None, 0.0, 0.0)
    z = phasors(to_numpy(codes))
    return _certificate(gram_statistics(np.ascontiguousarray(z).view(z.real.dtype), bins=1))


def certify_numbers(increments: np.ndarray, n: int) -> SimilarityCertificate:
    """Return how similar the codes of 0, ..., n - 1 are, from the n - 1 differences."""
    if whole_number("n", n) < 2:
        return SimilarityCertificate(n, 0.0, None, 0.0, 0.0)
    return _certificate(toeplitz_statistics(increments, n, bins=1))


def _certificate(found: GramStatistics) -> SimilarityCertificate:
    welch = bounds.welch(found.N, found.D)
    return SimilarityCertificate(found.N, found.coherence, found.pair, found.rms, welch)
