"""Which primes a basis takes: consecutive ones, or a sample on a logarithmic scale."""

from __future__ import annotations

import numpy as np

from primal.bases._arithmetic import exp
from primal.errors import ParameterError
from primal.turns import prime_slice

SAMPLINGS = ("consecutive", "log")
LOG_POOL = 1 << 21  # log sampling takes its primes from the first two million
_LN2 = float.fromhex("0x1.62e42fefa39efp-1")


def sampled_primes(sampling: str, n: int) -> np.ndarray:
    """Return n distinct primes as uint32; a shorter sample is a prefix of a longer one."""
    if sampling == "consecutive":
        return prime_slice(0, n)
    return prime_slice(0, LOG_POOL)[log_indices(n)]


def log_indices(n: int) -> np.ndarray:
    """Return n distinct indices below 2**21, spread evenly in their logarithm.

    The exponents follow the binary van der Corput sequence 0, 1/2, 1/4, 3/4, ..., which
    fills the scale evenly at every length; a taken index moves up to the next free one.
    """
    if n > LOG_POOL:
        raise ParameterError(
            f'primes="log" has {LOG_POOL:,} primes to offer and d * D / 2 = {n:,} were asked '
            'for: use a smaller D or primes="consecutive".'
        )
    exponents = 21.0 * _van_der_corput(n)
    wanted = np.floor(exp(exponents * _LN2)).astype(np.int64) - 1
    return np.array(_distinct(np.clip(wanted, 0, LOG_POOL - 1)), dtype=np.int64)


def _van_der_corput(n: int) -> np.ndarray:
    index = np.arange(n, dtype=np.uint64)
    value = np.zeros(n)
    for bit in range(21):
        value += ((index >> np.uint64(bit)) & np.uint64(1)).astype(np.float64) * 2.0 ** -(bit + 1)
    return value


def _distinct(wanted: np.ndarray) -> list[int]:
    next_free = list(range(LOG_POOL + 1))  # path-compressed: points at the next free index
    taken = []
    for index in wanted.tolist():
        found = index
        while next_free[found] != found:
            found = next_free[found]
        if found == LOG_POOL:  # the top is full: start again from the bottom
            found = 0
            while next_free[found] != found:
                found = next_free[found]
        while next_free[index] != index:
            next_free[index], index = found, next_free[index]
        next_free[found] = found + 1
        taken.append(found)
    return taken
