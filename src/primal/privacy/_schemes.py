"""Schemes to compare: functions from the number of a key to an encoder.

Closeness of codes is the match in all of them: rows have length 1, or hold -1 and 1, or are the
rows of the data themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import even_dimension, positive_scale, whole_number
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key
from primal.privacy._learned_attacks import Encoder

Scheme = Callable[[int], Any]


def keyed_scheme(
    d: int, D: int, sigma: float, *, basis: str = "hadamard", bits: int = 4
) -> Callable[[int], KeyedPrime]:
    """Return keyed maps by number. Their keys are for measurements: everybody can make them."""

    def scheme(number: int) -> KeyedPrime:
        key = Key(b"primal.privacy measurements, 32b", application="evaluate", version=number)
        return KeyedPrime(key, d, D, sigma, basis=basis, bits=bits)

    return scheme


def unprotected(number: int) -> Encoder:
    """Return the encoder that stores rows as they are: a baseline."""
    return np.asarray


def gaussian_features(d: int, D: int, sigma: float) -> Scheme:
    """Return random features with Gaussian frequencies and offsets by number: a baseline."""
    d, k, sigma = (
        whole_number("d", d, least=1),
        even_dimension(D) // 2,
        positive_scale("sigma", sigma),
    )

    def scheme(number: int) -> Encoder:
        rng = _drawn("gaussian", number)
        frequencies, offsets = sigma * rng.standard_normal((d, k)), rng.random(k)

        def encode(rows: np.ndarray) -> np.ndarray:
            angles = 2.0 * np.pi * (rows @ frequencies + offsets)
            return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(k)

        return encode

    return scheme


def biohash(d: int, n_bits: int) -> Scheme:
    """Return signs of projections on orthonormal directions by number: a baseline.

    Directions are orthonormal in groups of d, where more than d bits are asked for.
    """
    d, n_bits = whole_number("d", d, least=1), whole_number("n_bits", n_bits, least=1)

    def scheme(number: int) -> Encoder:
        rng = _drawn("biohash", number)
        groups = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(-(-n_bits // d))]
        directions = np.concatenate(groups, axis=1)[:, :n_bits]
        return lambda rows: np.where(rows @ directions > 0.0, 1.0, -1.0)

    return scheme


def _drawn(name: str, number: int) -> np.random.Generator:
    digest = hashlib.blake2b(f"{name}/{number}".encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
