"""Nearest neighbors over compact codes: 8-bit and 16-bit phases, sign bits, waves."""

from primal.search._accuracy import (
    expected_similarity,
    hamming_from_kernel,
    kernel_from_hamming,
    similarity_variance,
)
from primal.search._codes import similarity
from primal.search._index import Index, Neighbors

__all__ = [
    "Index",
    "Neighbors",
    "expected_similarity",
    "hamming_from_kernel",
    "kernel_from_hamming",
    "similarity",
    "similarity_variance",
]
