"""Four chaotic systems on arrays, and their largest Lyapunov exponents.

A trajectory has the shape (times, starts, sites, channels). Equations that are the same at every
site of a ring have many sites and one channel; Lorenz-63 and Mackey-Glass have one site.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from primal_studies._spectral import etdrk4

__all__ = ["SYSTEMS", "System", "lyapunov_exponent", "trajectory"]

Flow = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class System:
    """`step` takes states (starts, m) over `dt`; `start` makes one from normal numbers (n, m)."""

    sites: int
    channels: int
    dt: float
    step: Flow
    start: Flow
    transient: int
    reach: int  # neighbors on each side that a forecast of one site looks at
    delays: int
    spacing: int  # steps between delays
    state_size: int = 0  # numbers in a state, where that is more than is seen

    @property
    def size(self) -> int:
        """Numbers in one state."""
        return self.state_size or self.sites * self.channels


def _runge_kutta(flow: Flow, dt: float, substeps: int) -> Flow:
    h = dt / substeps

    def step(x: np.ndarray) -> np.ndarray:
        for _ in range(substeps):
            a = flow(x)
            b = flow(x + h / 2 * a)
            c = flow(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + flow(x + h * c))
        return x

    return step


def _lorenz63(x: np.ndarray) -> np.ndarray:
    a, b, c = x.T
    return np.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 8.0 / 3.0 * c], axis=1)


def _lorenz96(x: np.ndarray) -> np.ndarray:
    roll = np.roll
    return (roll(x, -1, 1) - roll(x, 2, 1)) * roll(x, 1, 1) - x + 8.0


# Mackey-Glass: x' = 0.2 x(t - 17) / (1 + x(t - 17)**10) - 0.1 x, in steps of 0.1.
_LAG, _SUBSTEPS = 170, 10


def _mackey_glass(x: np.ndarray) -> np.ndarray:
    """Take states of the last 171 values, newest first, over one unit of time."""
    for _ in range(_SUBSTEPS):
        late, later = x[:, _LAG], x[:, _LAG - 1]
        now = x[:, 0]
        feed, feed_later = (0.2 * v / (1.0 + v**10) for v in (late, later))
        middle = 0.5 * (feed + feed_later)
        a = feed - 0.1 * now
        b = middle - 0.1 * (now + 0.05 * a)
        c = middle - 0.1 * (now + 0.05 * b)
        d = feed_later - 0.1 * (now + 0.1 * c)
        new = now + 0.1 / 6.0 * (a + 2 * b + 2 * c + d)
        x = np.concatenate([new[:, None], x[:, :-1]], axis=1)
    return x


@cache
def _kuramoto_sivashinsky(sites: int, length: float, dt: float) -> Flow:
    """Return a step of u' = -u_xx - u_xxxx - u u_x, periodic."""
    k = 2.0 * math.pi / length * np.fft.rfftfreq(sites, 1.0 / sites)
    linear = k**2 - k**4
    slope = -0.5j * k
    slope[-1] = 0.0

    def bend(v: np.ndarray) -> np.ndarray:
        return slope * np.fft.rfft(np.fft.irfft(v, sites) ** 2)

    step = etdrk4(linear, bend, dt)
    return lambda u: np.fft.irfft(step(np.fft.rfft(u)), sites)


def _above(x: np.ndarray) -> np.ndarray:
    return x + np.array([0.0, 0.0, 25.0])


def _zero_mean(x: np.ndarray) -> np.ndarray:
    return 0.1 * (x - x.mean(axis=1, keepdims=True))


SYSTEMS = {
    "Lorenz-63": System(
        *(1, 3, 0.025, _runge_kutta(_lorenz63, 0.025, 2), _above, 800),
        *(0, 2, 1),
    ),
    "Mackey-Glass": System(
        *(1, 1, 1.0, _mackey_glass, lambda x: 0.9 + 0.1 * x[:, :1] + 0.0 * x, 1000, 0, 6, 3),
        state_size=_LAG + 1,
    ),
    "Lorenz-96": System(
        40, 1, 0.05, _runge_kutta(_lorenz96, 0.05, 2), lambda x: 8.0 + x, 400, 2, 2, 1
    ),
    # Every second site is seen: the fine grid holds no more, and only unsettles forecasts.
    "Kuramoto-Sivashinsky": System(
        *(16, 1, 0.25, _kuramoto_sivashinsky(32, 22.0, 0.25), _zero_mean, 800, 3, 1, 1),
        state_size=32,
    ),
}


def trajectory(system: System, seed: int, n_starts: int, n_steps: int) -> np.ndarray:
    """Return (n_steps, n_starts, sites, channels) on the attractor, from random starts."""
    rng = np.random.default_rng(seed)
    x = system.start(rng.standard_normal((n_starts, system.size)))
    for _ in range(system.transient):
        x = system.step(x)
    seen = system.sites * system.channels
    rows = np.empty((n_steps, n_starts, seen))
    for row in rows:
        row[:] = x[:, :: system.size // seen]
        x = system.step(x)
    return rows.reshape(n_steps, n_starts, system.sites, system.channels)


def lyapunov_exponent(system: System, n_steps: int = 20_000, seed: int = 0) -> float:
    """Return the largest Lyapunov exponent: how fast a small difference grows (Benettin)."""
    rng = np.random.default_rng(seed)
    size, n_pairs = 1e-7, 8
    x = system.start(rng.standard_normal((n_pairs, system.size)))
    for _ in range(system.transient):
        x = system.step(x)
    difference = rng.standard_normal(x.shape)
    total, every = 0.0, 10
    n_rounds = max(20, n_steps // (every * n_pairs))
    for number in range(n_rounds + 5):  # the first ones turn the difference into its direction
        difference *= size / np.linalg.norm(difference, axis=1, keepdims=True)
        other = x + difference
        for _ in range(every):
            x, other = system.step(x), system.step(other)
        difference = other - x
        if number >= 5:
            total += float(np.log(np.linalg.norm(difference, axis=1) / size).mean())
    return total / (n_rounds * every * system.dt)
