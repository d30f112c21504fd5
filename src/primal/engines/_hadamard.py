"""Phases of the basis ``hadamard`` in NumPy, by the definition in ``primal.bases._hadamard``."""

from __future__ import annotations

import numpy as np

from primal.bases import HadamardTable, transform


def hadamard_turns(table: HadamardTable, x: np.ndarray) -> np.ndarray:
    """Return the phases of float64 rows in 64-bit words, uint64 of shape (n, k)."""
    turns = word_turns(table.words(x)[0], table.signs, table.factors)
    return turns[:, table.skip : table.skip + table.shape[0]]


def word_turns(words: np.ndarray, signs: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return k_j (H S3 H S2 H S1 X)_j for words X (n, d), of all rows of the blocks.

    All arguments are unsigned integers of the same type, in which sums wrap.
    """
    padded = np.zeros((len(words), signs.shape[1]), dtype=words.dtype)
    padded[:, : words.shape[1]] = words
    first = transform(_signed(padded, signs[0]))
    parts = []
    for second, third in zip(signs[1::2], signs[2::2], strict=True):
        parts.append(transform(_signed(transform(_signed(first, second)), third)))
    return np.concatenate(parts, axis=1) * factors


def hadamard_words(table: HadamardTable, x: np.ndarray) -> np.ndarray:
    """Return the phases of float64 rows to the nearest 2**-64 turn, by 128-bit words."""
    k, d = table.shape
    high, low = (np.zeros((len(x), table.m), dtype=np.uint64) for _ in range(2))
    high[:, :d], low[:, :d] = table.words(x, 128)
    first = _wide_transform(_wide_signed(high, low, table.signs[0]))
    parts = []
    for b in range(table.n_blocks):
        once = _wide_transform(_wide_signed(*first, table.signs[1 + 2 * b]))
        factors = table.factors[b * table.m : (b + 1) * table.m]
        twice = _wide_transform(_wide_signed(*once, table.signs[2 + 2 * b]))
        parts.append(_rounded_products(*twice, factors))
    return np.concatenate(parts, axis=1)[:, table.skip : table.skip + k]


def _signed(words: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return (words ^ signs) - signs


def _wide_signed(
    high: np.ndarray, low: np.ndarray, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    flipped = (low ^ signs) - signs
    # The borrow of minus zero is lost in the low word and kept in the high one.
    return (high ^ signs) + ((signs != 0) & (flipped == 0)), flipped


def _wide_transform(words: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    high, low = words
    n, m = low.shape
    half = 1
    while half < m:
        shape = (n, m // (2 * half), 2, half)
        a, b, c, d = (
            part.reshape(shape)[:, :, i] for part, i in ((high, 0), (low, 0), (high, 1), (low, 1))
        )
        high, low = np.empty(shape, dtype=np.uint64), np.empty(shape, dtype=np.uint64)
        low[:, :, 0], low[:, :, 1] = b + d, b - d
        high[:, :, 0], high[:, :, 1] = a + c + (low[:, :, 0] < b), a - c - (b < d)
        high, low = high.reshape(n, m), low.reshape(n, m)
        half *= 2
    return high, low


def _rounded_products(high: np.ndarray, low: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the high word of 128-bit words times small factors, rounded (halves up)."""
    shift, mask = np.uint64(32), np.uint64(2**32 - 1)
    bottom = (low & mask) * factors
    middle = (low >> shift) * factors + (bottom >> shift)
    carry, low = middle >> shift, (middle << shift) | (bottom & mask)
    return high * factors + carry + (low >> np.uint64(63))
