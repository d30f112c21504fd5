"""Compiled loops over codes, each free of the interpreter lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

_kernel = njit(cache=True, nogil=True)
# Rows compared with every query before the next ones are read: 32 KB of 256-bit codes.
_ROWS_AT_ONCE = 1024


@intrinsic
def _popcount(typing_context: Any, word: Any) -> Any:
    """Count the bits of an unsigned word: one instruction of the processor."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = builder.ctpop(arguments[0])
        return context.cast(builder, count, word, types.int64)

    return types.int64(word), generate


@_kernel
def _distance(a, b):
    total = 0
    for i in range(a.shape[0]):
        total += _popcount(a[i] ^ b[i])  # type: ignore[missing-argument]
    return total


@_kernel
def hamming(a, b, out):
    """Write the number of bits in which rows of words differ, shape (len(a), len(b))."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i, j] = _distance(a[i], b[j])


@_kernel
def nearest_bits(queries, rows, first_index, distances, indices):
    """Merge rows into the nearest neighbors of every query.

    `distances` and `indices`, shape (n_queries, n), hold the nearest so far, nearest first;
    rows come in the order of their indices, so among equals the one already there stays ahead.
    """
    n = distances.shape[1]
    for first in range(0, rows.shape[0], _ROWS_AT_ONCE):
        last = min(first + _ROWS_AT_ONCE, rows.shape[0])
        for i in range(queries.shape[0]):
            query = queries[i]
            worst = distances[i, n - 1]
            for j in range(first, last):
                distance = _distance(query, rows[j])
                if distance < worst:
                    place = n - 1
                    while place > 0 and distances[i, place - 1] > distance:
                        distances[i, place] = distances[i, place - 1]
                        indices[i, place] = indices[i, place - 1]
                        place -= 1
                    distances[i, place] = distance
                    indices[i, place] = first_index + j
                    worst = distances[i, n - 1]


@_kernel
def lookup(a, b, table, out):
    """Write sum_j table[a_j - b_j], differences modulo the table's length (a power of two)."""
    mask = np.int64(table.shape[0] - 1)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = np.int64(0)
            for c in range(a.shape[1]):
                total += table[(np.int64(a[i, c]) - np.int64(b[j, c])) & mask]
            out[i, j] = total
