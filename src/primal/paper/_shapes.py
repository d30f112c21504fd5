"""The two shapes of the paper's visual experiments.

The paper names them without their equations. These have the size at which its scales make
sense: a spiral of radius 13.6 stays inside the no-wrap range at sigma = 0.007, D = 4.
"""

from __future__ import annotations

import numpy as np

__all__ = ["circles", "spiral"]


def spiral(n: int = 1000) -> np.ndarray:
    """Return n points of the spiral r = 1 + angle over two full rounds, shape (n, 2)."""
    angle = np.linspace(0.0, 4.0 * np.pi, n)
    return np.stack([(1.0 + angle) * np.cos(angle), (1.0 + angle) * np.sin(angle)], axis=1)


def circles(n: int = 1000) -> np.ndarray:
    """Return n points on two circles of radius 5 and 10, half on each, shape (n, 2)."""
    inner = n // 2
    angle = np.concatenate(
        [2 * np.pi * np.arange(inner) / inner, 2 * np.pi * np.arange(n - inner) / (n - inner)]
    )
    radius = np.repeat([5.0, 10.0], [inner, n - inner])
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
