"""``paper`` and ``signed``: square roots of primes, as the paper prints them and with signs."""

from __future__ import annotations

import numpy as np

from primal.bases._sampling import sampled_primes
from primal.bases._table import FrequencyTable, largest_exponents
from primal.turns import FREQUENCY_BITS, floor_roots

# Neighbouring prime roots differ by far less than one, so their fractions form a ramp.
# Times a prime well above 2 sqrt(p) they jump about instead; this is 2**20 + 7.
SIGN_MULTIPLIER = 1_048_583


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
