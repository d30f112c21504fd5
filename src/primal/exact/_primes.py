"""The table of primes: any slice of it, cached and grown on demand.

A segmented sieve over the odd numbers. Segments of one megabyte stay in cache, and
a pattern of the smallest primes is stamped in instead of being sieved.
"""

import math

import numpy as np

from primal._checks import require_memory, whole_number
from primal._forks import ForkSafe
from primal.errors import ParameterError

# The table holds primes as uint32: PrimePi(2**32) = 203,280,221.
LARGEST_COUNT = 203_280_221
_SEGMENT = 1 << 20  # odd numbers in one segment
_STAMPED = (3, 5, 7, 11, 13)
# Peak bytes for one prime of the table while it grows: the old table, the new
# pieces and their concatenation, four bytes each.
_BYTES_PER_PRIME = 12


def primes(n: int, *, start: int = 0) -> np.ndarray:
    """Return the `n` primes from index `start` of the table 2, 3, 5, 7, ...

    Parameters
    ----------
    n : int
        How many, at least 0.
    start : int, default=0
        Index of the first one; index 0 is the prime 2.

    Returns
    -------
    primes : ndarray of shape (n,), dtype=uint64
        There are 203,280,221 below 2**32; beyond them is a ParameterError.

    Examples
    --------
    >>> import primal
    >>> primal.primes(5)
    array([ 2,  3,  5,  7, 11], dtype=uint64)
    >>> primal.primes(1, start=999_999)
    array([15485863], dtype=uint64)
    """
    n = whole_number("n", n)
    start = whole_number("start", start)
    return prime_slice(start, start + n).astype(np.uint64)


def prime_slice(start: int, stop: int) -> np.ndarray:
    """Return primes number start..stop-1 as a read-only uint32 view of the table."""
    if stop > LARGEST_COUNT:
        raise ParameterError(
            f"primes from start = {start} to {stop} were asked for; the table ends at "
            f"{LARGEST_COUNT:,}, the primes below 2**32."
        )
    return _table.first(stop)[start:stop]


class _PrimeTable:
    """Primes found so far; the array is replaced whole, so readers need no lock."""

    def __init__(self) -> None:
        self._growing = ForkSafe()
        self._primes = _read_only(np.array([2], dtype=np.uint32))
        self._limit = 3  # every prime below this number is in the table

    def first(self, n: int) -> np.ndarray:
        if len(self._primes) < n:
            with self._growing.lock:
                if len(self._primes) < n:
                    self._grow(n)
        return self._primes

    def _grow(self, n: int) -> None:
        require_memory(_BYTES_PER_PRIME * n, f"a table of {n:,} primes")
        limit = _nth_prime_bound(n)
        found = _sieve(self._limit, limit)
        table = _read_only(np.concatenate([self._primes, *found]))
        # Both fields change only when the work is done: an interrupt leaves the old table.
        self._primes, self._limit = table, limit


def _sieve(low: int, high: int) -> list[np.ndarray]:
    """Return the odd primes in [low, high), low odd, as uint32 pieces."""
    root, sieving = math.isqrt(high), []
    if root > _STAMPED[-1]:
        sieving = np.concatenate(_sieve(3, root + 1))[len(_STAMPED) :].tolist()
    pattern_length = math.prod(_STAMPED)
    pattern = np.ones(pattern_length + min(_SEGMENT, high - low), dtype=bool)
    for p in _STAMPED:
        pattern[p // 2 :: p] = False  # entry i stands for the odd number 2 i + 1
    pieces = []
    for first in range(low, high, 2 * _SEGMENT):
        last = min(first + 2 * _SEGMENT, high)
        size = (last - first + 1) // 2
        phase = (first // 2) % pattern_length
        is_prime = pattern[phase : phase + size].copy()
        for p in sieving:
            if p * p >= last:
                break
            multiple = max(p * p, (first + p - 1) // p * p)
            multiple += p * (multiple % 2 == 0)
            is_prime[(multiple - first) // 2 :: p] = False
        pieces.append((2 * np.flatnonzero(is_prime) + first).astype(np.uint32))
    if low <= _STAMPED[-1]:  # the stamp crossed out its own primes
        own = np.array([p for p in _STAMPED if low <= p < high], dtype=np.uint32)
        pieces[0] = np.union1d(own, pieces[0][pieces[0] > 1])
    return pieces


def _nth_prime_bound(n: int) -> int:
    """Return an odd number above the n-th prime (Rosser: p_n < n (ln n + ln ln n), n >= 6)."""
    if n < 6:
        return 15
    return int(n * (math.log(n) + math.log(math.log(n)))) // 2 * 2 + 3


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


_table = _PrimeTable()
