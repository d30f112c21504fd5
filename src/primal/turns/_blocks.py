"""Primes dealt out to blocks, so that codes of different roles can be bound.

Codes of one block of primes form a group: the product of two of them is the code of the sum of
their positions, a valid code that has nothing to do with either. Roles that are bound with each
other therefore take disjoint blocks. Blocks are interleaved, block b of n having the primes number
b, b + n, b + 2 n, ...: fewer frequencies are then a prefix of more, which blocks of consecutive
primes would not allow, and primes far out in the table, whose roots lie too close together, are
not needed. Within a block the primes are shuffled, the same way for every number of frequencies:
frequency j of one block and of the next would otherwise be almost the same.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from primal._checks import require_memory
from primal.errors import ParameterError
from primal.turns._increments import floor_roots
from primal.turns._primes import LARGEST_COUNT, prime_slice

N_BLOCKS = 16
_GOLDEN = (math.sqrt(5.0) + 1.0) / 2.0
# At the paper's scale, 1, frequencies near whole numbers are missing: sqrt(p) is near m only if
# the prime p is near the square m**2. Of this scale the square is the number that rationals
# approximate worst, and the hole is gone.
BLOCK_SCALE = math.sqrt(1.0 / _GOLDEN)


def require_blocks(k: int, n_blocks: int) -> None:
    """Raise ParameterError or MemoryLimitError where there are too few primes or bytes."""
    # Shuffled within an octave, the last one may be as far as the next power of two.
    n_primes = n_blocks << (k - 1).bit_length()
    if n_primes > LARGEST_COUNT:
        raise ParameterError(
            f"D = {2 * k} and n_blocks = {n_blocks} need {n_primes:,} primes, and there are "
            f"{LARGEST_COUNT:,} below 2**32: use a smaller D."
        )
    # The table of primes while it grows (12 bytes each), and the increments of a block.
    require_memory(12 * n_primes + 40 * k, f"the primes of a space of D = {2 * k}")


@lru_cache(maxsize=64)
def block_increments(
    k: int, block: int, n_blocks: int = N_BLOCKS, sigma: float = BLOCK_SCALE
) -> np.ndarray:
    """Return the increments of the first k primes of a block, uint64, read-only."""
    places = _shuffled(k, block) * n_blocks + block
    values = floor_roots(prime_slice(0, int(places.max()) + 1)[places], sigma, 64)
    values.flags.writeable = False
    return values


def _shuffled(k: int, block: int) -> np.ndarray:
    """Return the first k of all whole numbers, shuffled within each octave, for every block anew.

    An octave 2**m, ..., 2**(m + 1) - 1 is multiplied by an odd number near a multiple of the
    golden ratio, which spreads neighbors far.
    """
    numbers = np.arange(k, dtype=np.int64)
    for m in range(1, max(k - 1, 0).bit_length()):
        size = 1 << m
        factor = int(size * ((block * _GOLDEN) % 1.0)) | 1
        octave = slice(size, min(2 * size, k))
        numbers[octave] = size + (numbers[octave] - size) * factor % size
    return numbers
