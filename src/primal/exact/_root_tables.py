"""``paper`` and ``signed``: square roots of primes, as the paper prints them and with signs.

They take consecutive primes, or a sample on a logarithmic scale.
"""

import numpy as np

from primal._arithmetic import exp
from primal.errors import ParameterError
from primal.exact._digits import FREQUENCY_BITS
from primal.exact._increments import floor_roots
from primal.exact._primes import prime_slice
from primal.exact._table import FrequencyTable, largest_exponents

# Neighbouring prime roots differ by far less than one, so their fractions form a ramp.
# Times a prime well above 2 sqrt(p) they jump about instead; this is 2**20 + 7.
SIGN_MULTIPLIER = 1_048_583
# "log" takes its primes from the first 2**21, "log-12" from the first 2**12.
LOG_BITS = 21
_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_POOLS = {"log": LOG_BITS} | {f"log-{bits}": bits for bits in range(1, LOG_BITS)}


def paper_table(d: int, k: int, sigma: float | np.ndarray, sampling: str) -> FrequencyTable:
    """Return sigma * sqrt(p_n), n = (i - 1) d + j: equation 1 of the paper, exact to 2**-62."""
    p = sampled_primes(sampling, k * d).reshape(k, d)
    return root_table(p, sigma)


def signed_table(d: int, k: int, sigma: float | np.ndarray, sampling: str) -> FrequencyTable:
    """Return the paper's frequencies with the sign of {M sqrt(p)} - 1/2."""
    p = sampled_primes(sampling, k * d).reshape(k, d)
    table = root_table(p, sigma)
    negative = scrambled_fractions(p) < np.uint64(1 << 63)
    return FrequencyTable(np.where(negative, -table.mantissas, table.mantissas), table.exponents)


def scrambled_fractions(p: np.ndarray) -> np.ndarray:
    """Return the first 56 bits of the fraction of M sqrt(p), as turns in uint64."""
    return floor_roots(p, float(SIGN_MULTIPLIER), 56) << np.uint64(8)


def root_table(p: np.ndarray, sigma: float | np.ndarray) -> FrequencyTable:
    column = np.broadcast_to(np.asarray(sigma, dtype=np.float64), len(p))
    # Only the exponent of each row comes from rounded roots; the digits are exact.
    exponents = largest_exponents(column[:, None] * np.sqrt(p.astype(np.float64)))
    mantissas = floor_roots(p, column, FREQUENCY_BITS - exponents)
    return FrequencyTable(mantissas.view(np.int64), exponents)


def checked_sampling(primes: object) -> str:
    """Return the name of a sampling: "consecutive", "log", or "log-1" to "log-20"."""
    if isinstance(primes, str) and (primes == "consecutive" or primes in _POOLS):
        return primes
    raise ParameterError(
        f'primes must be "consecutive", "log" or "log-b" with b from 1 to {LOG_BITS - 1}, which '
        f"takes its primes from the first 2**b, got {primes!r}."
    )


def sampled_primes(sampling: str, n: int) -> np.ndarray:
    """Return n distinct primes as uint32; a shorter sample is a prefix of a longer one."""
    if sampling == "consecutive":
        return prime_slice(0, n)
    bits = _POOLS[sampling]
    return prime_slice(0, 1 << bits)[log_indices(n, bits)]


def log_indices(n: int, bits: int = LOG_BITS) -> np.ndarray:
    """Return n distinct indices below 2**bits, spread evenly in their logarithm.

    The exponents follow the binary van der Corput sequence 0, 1/2, 1/4, 3/4, ..., which
    fills the scale evenly at every length; a taken index moves up to the next free one.
    """
    pool = 1 << bits
    if n > pool:
        enough = max(1, (n - 1).bit_length())
        larger = f'primes="log-{enough}", ' if enough < LOG_BITS else ""
        raise ParameterError(
            f"log primes from a pool of {pool:,} cannot give the d * D / 2 = {n:,} asked for: use "
            f'{larger}a smaller D or primes="consecutive".'
        )
    exponents = float(bits) * _van_der_corput(n)
    wanted = np.floor(exp(exponents * _LN2)).astype(np.int64) - 1
    return np.array(_distinct(np.clip(wanted, 0, pool - 1), pool), dtype=np.int64)


def _van_der_corput(n: int) -> np.ndarray:
    index = np.arange(n, dtype=np.uint64)
    value = np.zeros(n)
    for bit in range(LOG_BITS):
        value += ((index >> np.uint64(bit)) & np.uint64(1)).astype(np.float64) * 2.0 ** -(bit + 1)
    return value


def _distinct(wanted: np.ndarray, pool: int) -> list[int]:
    next_free = list(range(pool + 1))  # path-compressed: points at the next free index
    taken = []
    for index in wanted.tolist():
        found = index
        while next_free[found] != found:
            found = next_free[found]
        if found == pool:  # the top is full: start again from the bottom
            found = 0
            while next_free[found] != found:
                found = next_free[found]
        while next_free[index] != index:
            next_free[index], index = found, next_free[index]
        next_free[found] = found + 1
        taken.append(found)
    return taken
