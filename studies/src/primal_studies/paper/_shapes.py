"""The two shapes of the paper's visual experiments, with and without noise.

The paper names them without their equations; those of the notebooks that its author published are
used here: a spiral of radius angle over 780 degrees, as many points to every unit of area, and two
closed circles of radius 5 and 10. The author draws the spiral's points at random; unless asked to
draw, we space them evenly. Cosines and sines are our own, so that the points have the same bits on
every machine.
"""

from __future__ import annotations

import numpy as np

from primal.exact import waves
from primal_studies.paper._draws import base_seed, generator

__all__ = ["circles", "noisy", "spiral"]

_SPIRAL_ROUNDS = 780.0 / 360.0


def spiral(n: int = 1000, *, seed: int | None = None) -> np.ndarray:
    """Return n points (-a cos a, a sin a) of a spiral, a = 780 degrees * sqrt(u), shape (n, 2).

    The shares u are evenly spaced, or drawn uniformly where a seed is given.
    """
    shares = (np.arange(n) + 0.5) / n if seed is None else _draws(n, seed)
    rounds = _SPIRAL_ROUNDS * np.sqrt(shares)
    return (2.0 * np.pi * rounds)[:, None] * _directions(rounds) * [-1.0, 1.0]


def circles(n: int = 1000) -> np.ndarray:
    """Return n points on two closed circles of radius 5 and 10, half on each, shape (n, 2)."""
    inner = n // 2
    counts = [inner, n - inner]
    rounds = np.concatenate([np.linspace(0.0, 1.0, count) for count in counts])
    return np.repeat([5.0, 10.0], counts)[:, None] * _directions(rounds)


def noisy(x: np.ndarray, noise: float, seed: int = 0) -> np.ndarray:
    """Return x with Gaussian noise of that standard deviation added to every coordinate."""
    return x + noise * generator(seed).standard_normal(x.shape)


def _draws(n: int, seed: int) -> np.ndarray:
    # A stream of its own: noise of the same seed must not repeat these numbers.
    return np.random.default_rng([base_seed() + seed, 1]).random(n)


def _directions(rounds: np.ndarray) -> np.ndarray:
    """Return unit vectors at angles in turns, shape (n, 2)."""
    fractions = rounds - np.floor(rounds)
    return np.stack(waves(np.ldexp(fractions, 64).astype(np.uint64)), axis=1)
