"""Forecasters without gradients: ridge regression from features of the last states to a step.

All predict the increment of one site from what they see of its neighborhood, with one set of
weights for all sites. They differ in their features: products of pairs (next-generation reservoir
computing), cosines of prime or of random frequencies, or the state of an echo state network.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primal import KernelPrime
from primal.maps import median_gamma
from primal_studies.uses._chaos import System

__all__ = ["HYPER", "METHODS", "Forecaster", "n_features_of_products", "seen"]

# Settings of a method's own; each is combined with each penalty: 35 for every method.
HYPER: dict[str, tuple[Any, ...]] = {
    "products": (1, 2, 3, 4, 5),  # steps between delays, times that of the system
    # Cosines alone, or with offsets; gamma, times that of the median distance.
    "prime": (("even", 0.01), ("even", 0.05), ("even", 0.2), ("offset", 0.1), ("offset", 1.0)),
    "random": (("even", 0.01), ("even", 0.05), ("even", 0.2), ("offset", 0.1), ("offset", 1.0)),
    # Spectral radius, scale of the inputs, share of the state that is renewed.
    "echo state": (
        *((0.9, 0.1, 1.0), (0.9, 0.5, 1.0), (1.2, 0.1, 1.0), (0.5, 1.0, 1.0), (0.9, 0.5, 0.3)),
    ),
}
METHODS = tuple(HYPER)
PENALTIES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)  # relative to the features' variance
MOST_ROWS = 6000


def seen(history: np.ndarray, reach: int, delays: int, spacing: int) -> np.ndarray:
    """Return what a forecast of each site looks at: (times, ..., sites, inputs).

    `history` is (times, ..., sites, channels); the first (delays - 1) * spacing times have no
    complete past and are left out.
    """
    first = (delays - 1) * spacing
    parts = [
        np.roll(history, -shift, axis=-2)[first - lag * spacing : len(history) - lag * spacing]
        for lag in range(delays)
        for shift in range(-reach, reach + 1)
    ]
    return np.concatenate(parts, axis=-1)


def n_features_of_products(system: System) -> int:
    """Return the size of next-generation reservoir computing: 1, inputs, products of pairs."""
    n = system.channels * (2 * system.reach + 1) * system.delays
    return 1 + n + n * (n + 1) // 2


class Forecaster:
    """One method with one setting, fitted to a trajectory of shape (times, 1, sites, channels).

    Parameters
    ----------
    method : str
        Of `METHODS`.
    hyper : object
        One of its settings in `HYPER`.
    n_features : int
        How many features, constant and inputs included.
    seed : int
        Of random frequencies and of echo state networks.
    """

    def __init__(
        self, system: System, method: str, hyper: Any, n_features: int, seed: int, data: np.ndarray
    ) -> None:
        self.reach, self.delays, self.spacing = system.reach, system.delays, system.spacing
        self.method, self.hyper = method, hyper
        if method == "products":
            self.spacing *= hyper
        if method == "echo state":
            self.delays, self.spacing = 1, 1
        u = seen(data, self.reach, self.delays, self.spacing)
        n_inputs = u.shape[-1]
        self._features = self._feature_map(u.reshape(-1, n_inputs), n_features - 1 - n_inputs, seed)
        steps = np.diff(data[len(data) - len(u) :], axis=0)
        if method == "echo state":
            u = self._with_states(u)
        rows = u[100:-1].reshape(-1, u.shape[-1])
        target = steps[100:].reshape(len(rows), -1)
        picked = np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int)
        self._decompose(self._features(rows[picked]), target[picked])

    def _feature_map(
        self, u: np.ndarray, n_more: int, seed: int
    ) -> Callable[[np.ndarray], np.ndarray]:
        n_inputs = u.shape[1]
        if self.method == "products":
            first, second = np.triu_indices(n_inputs)
            return lambda v: np.concatenate([v, v[:, first] * v[:, second]], axis=1)
        if self.method == "echo state":
            self._make_reservoir(n_inputs, n_more, seed)
            return lambda v: v  # states have been appended
        form, share = self.hyper
        gamma = share * median_gamma(u[:: max(1, len(u) // 1000)])
        if self.method == "prime":
            m = KernelPrime(n_inputs, n_more, gamma=gamma, form="offset")
            frequencies = m.frequencies
            offsets = m.finish.offsets / 2.0**32  # type: ignore[operator]
        else:
            rng = np.random.default_rng([seed, 1])
            frequencies = rng.standard_normal((n_more, n_inputs)) * math.sqrt(2 * gamma)
            frequencies /= 2 * math.pi
            offsets = rng.random(n_more)

        if form == "even":
            offsets = np.zeros(n_more)  # the inputs beside them are odd

        def cosines(v: np.ndarray) -> np.ndarray:
            phases = v @ frequencies.T + offsets
            return np.concatenate([v, np.cos(2 * np.pi * phases)], axis=1)

        return cosines

    def _make_reservoir(self, n_inputs: int, n_nodes: int, seed: int) -> None:
        radius, scale, self._renewed = self.hyper
        rng = np.random.default_rng([seed, 2])
        inner = rng.standard_normal((n_nodes, n_nodes))
        inner *= rng.random((n_nodes, n_nodes)) < min(1.0, 10.0 / n_nodes)
        self._inner = inner * radius / np.abs(np.linalg.eigvals(inner)).max()
        self._inputs = scale * rng.uniform(-1.0, 1.0, (n_inputs, n_nodes))
        self._bias = scale * rng.uniform(-1.0, 1.0, n_nodes)

    def _renew(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        fresh = np.tanh(state @ self._inner.T + u @ self._inputs + self._bias)
        return (1.0 - self._renewed) * state + self._renewed * fresh

    def _with_states(self, u: np.ndarray) -> np.ndarray:
        """Return inputs (times, ..., n) with the state that has seen them appended."""
        state = np.zeros((*u.shape[1:-1], len(self._bias)))
        states = np.empty((*u.shape[:-1], len(self._bias)))
        for now, row in zip(states, u, strict=True):
            now[:] = state = self._renew(state, row)
        return np.concatenate([u, states], axis=-1)

    def _decompose(self, features: np.ndarray, target: np.ndarray) -> None:
        self._mean, self._std = features.mean(axis=0), features.std(axis=0) + 1e-300
        self._offset = target.mean(axis=0)
        left, self._sizes, self._right = np.linalg.svd(
            (features - self._mean) / self._std, full_matrices=False
        )
        self._target = left.T @ (target - self._offset)
        self._n_rows = len(features)

    def valid_steps(self, penalty: float, truth: np.ndarray, warm_up: int) -> np.ndarray:
        """Return how many steps each start is forecast to within 0.4 of the standard deviation.

        `truth` is (times, starts, sites, channels), of which `warm_up` times are known.
        """
        shrunk = self._sizes / (np.square(self._sizes) + penalty * self._n_rows)
        weights = (self._right.T * shrunk) @ self._target / self._std[:, None]
        constant = self._offset - self._mean @ weights
        past = truth[:warm_up]
        needed = (self.delays - 1) * self.spacing + 1
        state = None
        if self.method == "echo state":
            before = self._with_states(seen(past[:-1], self.reach, 1, 1))
            state = before[-1, ..., -len(self._bias) :]
        recent = list(past[-needed:])
        n_valid = np.zeros(truth.shape[1], dtype=int)
        alive = np.ones(truth.shape[1], dtype=bool)
        for actual in truth[warm_up:]:
            u = seen(np.array(recent), self.reach, self.delays, self.spacing)[-1]
            if state is not None:
                state = self._renew(state, u)
                u = np.concatenate([u, state], axis=-1)
            flat = u.reshape(-1, u.shape[-1])
            change = self._features(flat) @ weights + constant
            now = np.clip(recent[-1] + change.reshape(actual.shape), -1e3, 1e3)
            recent = [*recent[1:], now]
            error = np.sqrt(np.square(now - actual).mean(axis=(1, 2)))
            alive &= error < 0.4
            if not alive.any():
                break
            n_valid += alive
        return n_valid
