"""Phases of the basis ``hadamard`` in NumPy, by the definition in ``primal.exact._hadamard``."""

import numpy as np

from primal.exact._hadamard import HadamardTable


def hadamard_turns(table: HadamardTable, x: np.ndarray) -> np.ndarray:
    """Return the phases of float64 rows in 64-bit words, uint64 of shape (n, k)."""
    turns = table.word_turns(table.words(x)[0], table.signs, table.factors)
    return turns[:, table.skip : table.skip + table.shape[0]]


def hadamard_words(table: HadamardTable, x: np.ndarray) -> np.ndarray:
    """Return the phases of float64 rows to the nearest 2**-64 turn, by 128-bit words."""
    k, d = table.shape
    high, low = (np.zeros((len(x), table.m), dtype=np.uint64) for _ in range(2))
    high[:, :d], low[:, :d] = table.words(x, 128)
    words = _wide_transform(_wide_signed(high, low, table.signs[0]))
    for signs in (table.signs[1::2], table.signs[2::2]):  # of all blocks
        high, low = (part.reshape(len(x), -1, table.m) for part in words)
        words = _wide_transform(_wide_signed(high, low, signs))
    high, low = (part.reshape(len(x), -1) for part in words)
    return _rounded_products(high, low, table.factors)[:, table.skip : table.skip + k]


def _wide_signed(
    high: np.ndarray, low: np.ndarray, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    flipped = (low ^ signs) - signs
    # The borrow of minus zero is lost in the low word and kept in the high one.
    return (high ^ signs) + ((signs != 0) & (flipped == 0)), flipped


def _wide_transform(words: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    high, low = words
    shape, half = low.shape, 1
    while half < shape[-1]:
        (a, c), (b, d) = (np.moveaxis(part.reshape(-1, 2, half), 1, 0) for part in (high, low))
        high, low = (np.empty((len(a), 2, half), dtype=np.uint64) for _ in range(2))
        low[:, 0], low[:, 1] = b + d, b - d
        high[:, 0], high[:, 1] = a + c + (low[:, 0] < b), a - c - (b < d)
        half *= 2
    return high.reshape(shape), low.reshape(shape)


def _rounded_products(high: np.ndarray, low: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the high word of 128-bit words times small factors, rounded (halves up)."""
    shift, mask = np.uint64(32), np.uint64(2**32 - 1)
    bottom = (low & mask) * factors
    middle = (low >> shift) * factors + (bottom >> shift)
    carry, low = middle >> shift, (middle << shift) | (bottom & mask)
    return high * factors + carry + (low >> np.uint64(63))
