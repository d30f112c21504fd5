"""``table``, ``kronecker`` and ``orthogonal``: frequencies that follow a Gaussian law.

A feature map approximates the kernel exp(-|x - y|**2 / (2 l**2)) when its frequencies look
like Gaussian draws. Here they are quantiles of equidistributed fractions of prime roots:
as even as quasi-random points, and with nothing random in them.
"""

from __future__ import annotations

import numpy as np

from primal.bases._arithmetic import log, normal_quantile, radial_quantile, unit_fractions
from primal.bases._orthonormal import orthonormalize
from primal.bases._roots import scrambled_fractions
from primal.turns import floor_roots, prime_slice, static_turns

# For d <= 8, primes whose sequences i sqrt(q) fill the cube well for every number of rows
# from 32 to 512; ``tools/kronecker_primes.py`` finds them. Order matters.
KRONECKER_PRIMES = {
    1: (1699,),
    2: (1699, 3169),
    3: (1699, 3169, 863),
    4: (1699, 3169, 863, 1579),
    5: (1699, 3169, 863, 1579, 3301),
    6: (1699, 3169, 3187, 457, 359, 5147),
    7: (3797, 5279, 5261, 4721, 2579, 3491, 4283),
    8: (3323, 271, 4259, 79, 3919, 761, 2719, 1487),
}
_HALF_TURN = np.uint64(1 << 63)
# Arrays of this many entries stay in cache through the hundred steps of a quantile.
_CHUNK = 1 << 14


def table(d: int, k: int) -> np.ndarray:
    """Return normal quantiles of {M sqrt(p_n)}, one prime for every entry, shape (k, d)."""
    return normal_entries(prime_slice(0, k * d)).reshape(k, d)


def normal_entries(p: np.ndarray) -> np.ndarray:
    """Return the normal quantile of {M sqrt(p)} for primes of shape (n,)."""
    values = np.empty(len(p))
    for first in range(0, len(p), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        values[chunk] = normal_quantile(unit_fractions(scrambled_fractions(p[chunk])))
    return values


def kronecker(d: int, k: int) -> np.ndarray:
    """Return normal quantiles of {i sqrt(q_j) + 1/2}, one prime for every column."""
    primes = KRONECKER_PRIMES.get(d)
    columns = prime_slice(0, d) if primes is None else np.array(primes, dtype=np.uint32)
    return normal_quantile(unit_fractions(_row_turns(columns, k)))


def orthogonal(d: int, k: int) -> np.ndarray:
    """Return `table` made orthogonal in blocks of d rows, with row lengths of a chi_d law."""
    directions = table(d, k)
    whole = k // d * d
    orthonormalize(directions[:whole].reshape(-1, d, d))
    orthonormalize(directions[whole:].reshape(1, -1, d))
    return chi_lengths(d, k, prime_index=d)[:, None] * directions


def _row_turns(columns: np.ndarray, k: int) -> np.ndarray:
    """Return i sqrt(q_j) + 1/2 for i = 1..k in 64-bit turns, shape (k, len(columns))."""
    rows = np.arange(1, k + 1, dtype=np.uint64)
    return static_turns(rows, floor_roots(columns, 1.0, 64)) + _HALF_TURN


def chi_lengths(d: int, k: int, *, prime_index: int) -> np.ndarray:
    """Return the chi_d quantiles of {i sqrt(p) + 1/2}, i = 1..k, p the prime of an index."""
    u = unit_fractions(_row_turns(prime_slice(prime_index, prime_index + 1), k)[:, 0])
    mode_squared = np.float64(max(d - 1, 0))
    center = np.sqrt(np.float64(d))

    def log_density(r: np.ndarray) -> np.ndarray:
        scaled = log(r) if d == 1 else log(r / np.sqrt(mode_squared))
        return (d - 1) * scaled - 0.5 * (r * r - mode_squared)

    return radial_quantile(log_density, max(0.0, float(center) - 9.0), float(center) + 9.0, u)
