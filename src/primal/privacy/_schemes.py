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
from primal.decoding import Gaussian, noise_turns, plan_matrix
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


class GaussianFeatures:
    """Random features with Gaussian frequencies and offsets: rows (n, d) to codes (n, D)."""

    def __init__(self, d: int, D: int, sigma: float, number: int) -> None:
        rng, k = _drawn("gaussian", number), D // 2
        self.frequencies = sigma * rng.standard_normal((k, d))
        self.offsets = rng.random(k)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        angles = 2.0 * np.pi * (rows @ self.frequencies.T + self.offsets)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(len(self.offsets))

    def decode(self, rows: np.ndarray, prior: Gaussian) -> np.ndarray:
        """Return what the lattice decoder recovers from codes of rows, of float32 precision."""
        cos, sin = np.split(self(rows).astype(np.float32).astype(np.float64), 2, axis=1)
        phases = np.arctan2(sin, cos) / (2.0 * np.pi) - self.offsets
        plan = plan_matrix(self.frequencies, prior=prior, noise=noise_turns("float32"))
        return plan.solve(phases).candidates[:, 0]


def gaussian_features(d: int, D: int, sigma: float) -> Callable[[int], GaussianFeatures]:
    """Return random features with Gaussian frequencies and offsets by number: a baseline."""
    d, D, sigma = whole_number("d", d, least=1), even_dimension(D), positive_scale("sigma", sigma)
    return lambda number: GaussianFeatures(d, D, sigma, number)


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
