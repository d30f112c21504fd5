"""Spreading codes: ours, and those that mobile radio and satellites use.

A family has a number of chips and of codes, and makes the codes of some users as unit vectors.
Gold, Kasami and m-sequences are the classical ones of 63 chips, x**6 + x + 1; Walsh codes exist
for powers of two and Zadoff-Chu ones are best for primes, so those have 64 and 61 chips.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from primal.codebooks import codebook
from primal.codebooks._numbers import tightest_shadow
from primal.exact import floor_roots, waves

__all__ = ["FAMILIES", "Family", "cyclic_correlations", "family"]

CHIPS = 63


@dataclass(frozen=True, eq=False)
class Family:
    """Codes of one kind: `make` takes whole numbers of any shape to unit vectors.

    `n_codes` is None where every whole number has a code of its own. Random codes are drawn anew
    for every user of every trial, so `make` takes a generator and a shape instead.
    """

    name: str
    chips: int
    n_codes: int | None
    make: Callable[..., np.ndarray]

    def draw(
        self, rng: np.random.Generator, n: int, n_users: int, n_devices: int | None = None
    ) -> np.ndarray:
        """Return the codes of random users, complex of shape (n, n_users, chips).

        By default they have different codes, as a base station would deal them out. With
        `n_devices` each of so many devices uses the code of its own number, modulo the number of
        codes: nobody deals them out, and two may meet.
        """
        if self.name == "random":
            return self.make(rng, (n, n_users))
        most = n_devices or self.n_codes or 1 << 16
        users = np.stack([rng.choice(most, n_users, replace=False) for _ in range(n)])
        return self.make(users % self.n_codes if self.n_codes else users)


@cache
def family(name: str) -> Family:
    """Return a family of `FAMILIES`."""
    if name == "prime":
        book = codebook(1 << 20, CHIPS, kind="static", field="complex")
        return Family(name, CHIPS, None, lambda users: book.encode(users, dtype="complex128"))
    if name == "random":
        return Family(name, CHIPS, None, _random_signs)
    codes = _STORED[name]()
    codes = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    return Family(name, codes.shape[1], len(codes), lambda users: codes[users])


def _random_signs(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    signs = 2.0 * rng.integers(0, 2, (*shape, CHIPS)) - 1.0
    return (signs / np.sqrt(CHIPS)).astype(np.complex128)


def m_sequence() -> np.ndarray:
    """Return the 63 bits of the shift register x**6 + x + 1."""
    bits = [1, 0, 0, 0, 0, 0]
    while len(bits) < CHIPS:
        bits.append(bits[-6] ^ bits[-5])
    return np.array(bits)


def gold() -> np.ndarray:
    """Return the 65 Gold codes: u, u decimated by 5, and their sums at every shift."""
    u, v = m_sequence(), m_sequence()[5 * np.arange(CHIPS) % CHIPS]
    bits = [u, v, *(u ^ np.roll(v, shift) for shift in range(CHIPS))]
    return 1.0 - 2.0 * np.array(bits)


def kasami() -> np.ndarray:
    """Return the 520 codes of the large set: Gold codes alone, and plus every shift of w.

    w is u decimated by 9 and has period 7.
    """
    w = m_sequence()[9 * np.arange(CHIPS) % CHIPS]
    codes = gold()
    return np.concatenate([codes, *(codes * (1 - 2 * np.roll(w, shift)) for shift in range(7))])


def walsh() -> np.ndarray:
    """Return the 64 rows of the Hadamard matrix."""
    x = np.arange(64, dtype=np.uint8)
    return 1.0 - 2.0 * (np.bitwise_count(x[:, None] & x) & 1)


def zadoff_chu() -> np.ndarray:
    """Return all 61 shifts of all 60 roots, 61 chips."""
    n = np.arange(61)
    roots = [np.exp(-1j * np.pi * (u * n * (n + 1) % 122) / 61) for u in range(1, 61)]
    return np.array([np.roll(root, shift) for root in roots for shift in range(61)])


def prime_chirp() -> np.ndarray:
    """Return 61 x 61 chirps of 61 chips, two of them zero behind, and the standard basis.

    Code (a, b) has the phases a sqrt(p_n) + b sqrt(q_n), for primes whose roots have nearly the
    fractions n**2 / 61 and n / 61: all |inner products| are close to 1 / sqrt(61) or 0.
    """
    k, shift = 61, 0.382  # next to no fraction that only very large primes have
    targets = [(m % k + shift) / k for m in (*(n * n for n in range(k)), *range(k))]
    roots = floor_roots(np.array(tightest_shadow(targets, k, signed=True)), 1.0, 64)
    a, b = np.divmod(np.arange(k * k, dtype=np.uint64), np.uint64(k))
    cos, sin = waves(a[:, None] * roots[:k] + b[:, None] * roots[k:])
    codes = np.concatenate([(cos + 1j * sin) / np.sqrt(k), np.eye(k)])
    return np.pad(codes, ((0, 0), (0, CHIPS - k)))


_STORED = {
    "prime chirp": prime_chirp,
    "gold": gold,
    "kasami": kasami,
    "walsh": walsh,
    "zadoff-chu": zadoff_chu,
}
FAMILIES = ("prime", *_STORED, "random")


def cyclic_correlations(codes: np.ndarray) -> np.ndarray:
    """Return the inner products of every two codes at every cyclic shift, (n, n, chips)."""
    spectra = np.fft.fft(codes)
    return np.fft.ifft(spectra[:, None] * spectra.conj()[None])
