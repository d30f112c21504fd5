"""Gram-Schmidt in compiled loops, with the operations of ``primal.bases._orthonormal``."""

import math

import numpy as np
from numba import njit

from primal._parallel import over_rows

# 16 rows of 3000 numbers, and a row of the rest, stay in the second-level cache.
_PANEL = 16
_LEAST_ENTRIES = 1 << 16

_kernel = njit(cache=True, nogil=True)


def orthonormalize(block: np.ndarray) -> None:
    """Make the rows of one block (rows, d) orthonormal in place."""
    n_rows, d = block.shape
    for first in range(0, n_rows, _PANEL):
        panel, later = block[first : first + _PANEL], block[first + _PANEL :]
        _finish_panel(panel)
        over_rows(
            len(later),
            1 + _LEAST_ENTRIES // d,
            lambda i, j, panel=panel, later=later: _take_away(panel, later[i:j]),
        )


@_kernel
def _folded_product(a, b, folded):
    """Return ``fold_sum(a * b)``; the products and the first fold are made in one pass."""
    n = a.shape[0]
    half = (n + 1) // 2
    for i in range(n - half):
        folded[i] = a[i] * b[i] + a[half + i] * b[half + i]
    if n - half < half:
        folded[half - 1] = a[half - 1] * b[half - 1]
    while half > 1:
        n, half = half, (half + 1) // 2
        for i in range(n - half):
            folded[i] += folded[half + i]
    return folded[0]


@_kernel
def _subtract(factor, row, target):
    for i in range(row.shape[0]):
        target[i] -= factor * row[i]


@_kernel
def _finish_panel(panel):
    folded = np.empty(panel.shape[1])
    for a in range(panel.shape[0]):
        row = panel[a]
        length = math.sqrt(_folded_product(row, row, folded))
        for i in range(row.shape[0]):
            row[i] /= length
        for b in range(a + 1, panel.shape[0]):
            _subtract(_folded_product(panel[b], row, folded), row, panel[b])


@_kernel
def _take_away(panel, later):
    folded = np.empty(panel.shape[1])
    for b in range(later.shape[0]):
        target = later[b]
        for a in range(panel.shape[0]):
            _subtract(_folded_product(target, panel[a], folded), panel[a], target)
