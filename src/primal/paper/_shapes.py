"""The two shapes of the paper's visual experiments.

The paper names them without their equations. These have the size at which its scales make
sense: a spiral of radius 13.6 stays inside the no-wrap range at sigma = 0.007, D = 4. Cosines and
sines are our own, so that the points have the same bits on every machine.
"""

from __future__ import annotations

import numpy as np

from primal.turns import waves

__all__ = ["circles", "spiral"]


def spiral(n: int = 1000) -> np.ndarray:
    """Return n points of the spiral r = 1 + angle over two full rounds, shape (n, 2)."""
    rounds = 2.0 * np.arange(n) / max(n - 1, 1)
    return (1.0 + 2.0 * np.pi * rounds)[:, None] * _directions(rounds)


def circles(n: int = 1000) -> np.ndarray:
    """Return n points on two circles of radius 5 and 10, half on each, shape (n, 2)."""
    inner = n // 2
    counts = [inner, n - inner]
    rounds = np.concatenate([np.arange(count) / max(count, 1) for count in counts])
    return np.repeat([5.0, 10.0], counts)[:, None] * _directions(rounds)


def _directions(rounds: np.ndarray) -> np.ndarray:
    """Return unit vectors at angles in turns, shape (n, 2)."""
    fractions = rounds - np.floor(rounds)
    return np.stack(waves(np.ldexp(fractions, 64).astype(np.uint64)), axis=1)
