"""Schemes to compare: functions from the number of a key to an encoder.

Closeness of codes is the match in all of them: rows have length 1, or hold -1 and 1, or are the
rows of the data themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import (
    even_dimension,
    positive_scale,
    real_array,
    require_memory,
    whole_number,
)
from primal.decoding import Gaussian, noise_turns, plan_matrix
from primal.errors import ParameterError
from primal.maps import DynamicPrime, KernelPrime
from primal.privacy._inputs import Encoder
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key

Scheme = Callable[[int], Any]


def keyed_scheme(
    d: int, D: int, sigma: float, *, basis: str = "hadamard", bits: int = 4
) -> Callable[[int], KeyedPrime]:
    """Return keyed maps by number. Their keys are for measurements: everybody can make them.

    Parameters
    ----------
    d, D, sigma, basis, bits
        As of :class:`KeyedPrime`.

    Returns
    -------
    scheme : callable
        From the number of a key to its map.

    Examples
    --------
    >>> from primal.privacy import keyed_scheme
    >>> keyed_scheme(8, 64, 0.5)(3).template([[0.1] * 8]).shape
    (1, 16)
    """

    def scheme(number: int) -> KeyedPrime:
        key = Key(b"primal.privacy measurements, 32b", application="evaluate", version=number)
        return KeyedPrime(key, d, D, sigma, basis=basis, bits=bits)

    return scheme


def unprotected(number: int) -> Encoder:
    """Return the encoder that stores rows as they are: a baseline.

    Parameters
    ----------
    number : int
        Of a key, which makes no difference here.

    Returns
    -------
    encode : callable
        From rows (n, d) to the same rows.

    Examples
    --------
    >>> from primal.privacy import unprotected
    >>> unprotected(0)([[1.0, 2.0]]).tolist()
    [[1.0, 2.0]]
    """
    return np.asarray


class GaussianFeatures:
    """Random features with Gaussian frequencies and offsets: rows (n, d) to codes (n, D)."""

    def __init__(self, d: int, D: int, sigma: float, number: int) -> None:
        rng, k = _drawn("gaussian", number), D // 2
        self.frequencies = sigma * rng.standard_normal((k, d))
        self.offsets = rng.random(k)

    def __call__(self, rows: object) -> np.ndarray:
        rows = real_array("rows", rows, last=self.frequencies.shape[1])
        angles = 2.0 * np.pi * (rows @ self.frequencies.T + self.offsets)
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(len(self.offsets))

    def decode(self, rows: np.ndarray, prior: Gaussian) -> np.ndarray:
        """Return what the lattice decoder recovers from codes of rows, of float32 precision."""
        cos, sin = np.split(self(rows).astype(np.float32).astype(np.float64), 2, axis=1)
        phases = np.arctan2(sin, cos) / (2.0 * np.pi) - self.offsets
        plan = plan_matrix(self.frequencies, prior=prior, noise=noise_turns("float32"))
        return plan.solve(phases).candidates[:, 0]


def gaussian_features(d: int, D: int, sigma: float) -> Callable[[int], GaussianFeatures]:
    """Return random features with Gaussian frequencies and offsets by number: a baseline.

    Parameters
    ----------
    d, D : int
        Numbers of inputs and of features, which is even.
    sigma : float
        Standard deviation of the frequencies, turns per unit.

    Returns
    -------
    scheme : callable
        From a number to an encoder of rows (n, d), whose codes (n, D) have length 1.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import gaussian_features
    >>> gaussian_features(2, 64, 0.3)(0)(np.ones((5, 2))).shape
    (5, 64)
    """
    d, D, sigma = whole_number("d", d, least=1), even_dimension(D), positive_scale("sigma", sigma)
    require_memory(8 * 2 * d * D, f"frequencies of d = {d} and D = {D}")
    return lambda number: GaussianFeatures(d, D, sigma, number)


def biohash(d: int, n_bits: int) -> Scheme:
    """Return signs of projections on orthonormal directions by number: a baseline.

    Directions are orthonormal in groups of d, where more than d bits are asked for.

    Parameters
    ----------
    d, n_bits : int
        Numbers of inputs and of bits.

    Returns
    -------
    scheme : callable
        From a number to an encoder of rows (n, d) to signs (n, n_bits), -1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import biohash
    >>> codes = biohash(4, 6)(0)(np.eye(4))
    >>> codes.shape, np.unique(codes).tolist()
    ((4, 6), [-1.0, 1.0])
    """
    d, n_bits = whole_number("d", d, least=1), whole_number("n_bits", n_bits, least=1)
    require_memory(8 * 4 * d * (d + n_bits), f"directions of {d} inputs for {n_bits} bits")

    def scheme(number: int) -> Encoder:
        rng = _drawn("biohash", number)
        groups = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(-(-n_bits // d))]
        directions = np.concatenate(groups, axis=1)[:, :n_bits]
        return lambda rows: np.where(real_array("rows", rows, last=d) @ directions > 0.0, 1.0, -1.0)

    return scheme


def encoder(made: Any) -> Encoder:
    """Return what a map, or whatever else is given, does with rows."""
    if isinstance(made, KeyedPrime):
        return made.features
    if isinstance(made, (DynamicPrime, KernelPrime)):
        return made.encode
    if not callable(made):
        raise ParameterError(f"an encoder must be a map or a callable, got {made!r}.")
    return made


def _drawn(name: str, number: int) -> np.random.Generator:
    digest = hashlib.blake2b(f"{name}/{number}".encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
