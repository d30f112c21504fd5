"""Nearest neighbors over compact codes: 8-bit and 16-bit phases, sign bits, waves."""

from primal.search._accuracy import (
    expected_similarity,
    hamming_from_kernel,
    kernel_from_hamming,
    similarity_variance,
)
from primal.search._codes import COMPACT as COMPACT
from primal.search._codes import STORED as STORED
from primal.search._codes import n_columns as n_columns
from primal.search._codes import similarity
from primal.search._index import Index, Neighbors

# The other names are for rooms of this package.
__all__ = [
    "Index",
    "Neighbors",
    "expected_similarity",
    "hamming_from_kernel",
    "kernel_from_hamming",
    "similarity",
    "similarity_variance",
]
