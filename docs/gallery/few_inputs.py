"""Kernel error against D in one to eight inputs, beside five peers.

``python docs/gallery/few_inputs.py`` measures 300 normal points at gamma = 1 / median squared
distance and draws ``few_inputs.png``; of random maps it takes the mean of two seeds.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
from figures import HERE, panels
from scipy.stats import norm, qmc
from sklearn.kernel_approximation import Nystroem

import peers
import primal

_N_SEEDS = 2


def sobol(X: np.ndarray, D: int, gamma: float, seed: int) -> np.ndarray:
    """Return pairs at normal quantiles of scrambled Sobol points."""
    points = qmc.Sobol(X.shape[1], seed=seed).random(D // 2)
    phases = X @ norm.ppf(points).T * math.sqrt(2.0 * gamma)
    return np.hstack([np.cos(phases), np.sin(phases)]) / math.sqrt(D // 2)


def gauss_hermite(X: np.ndarray, D: int, gamma: float, seed: int) -> np.ndarray:
    """Return pairs at the nodes of the largest tensor rule that fits, with its weights."""
    d = X.shape[1]
    n = int((D + 0.5) ** (1.0 / d))  # of n**d nodes every second is the negative of another
    nodes, weights = np.polynomial.hermite_e.hermegauss(max(n, 1))
    grid = np.array(list(itertools.product(nodes, repeat=d)))
    mass = np.prod(list(itertools.product(weights / weights.sum(), repeat=d)), axis=1)
    half = (len(grid) + 1) // 2
    mass = np.where(np.arange(len(grid)) == len(grid) - 1 - np.arange(len(grid)), mass, 2 * mass)
    phases = X @ grid[:half].T * math.sqrt(2.0 * gamma)
    return np.hstack([np.cos(phases), np.sin(phases)]) * np.sqrt(np.tile(mass[:half], 2))


def nystroem(X: np.ndarray, D: int, gamma: float, seed: int) -> np.ndarray:
    """Return Nystroem's features of points of the same law; it would be exact on those it saw."""
    others = np.random.default_rng(1000 + seed).standard_normal((1000, X.shape[1]))
    made = Nystroem(gamma=gamma, n_components=D, random_state=seed).fit(others)
    return made.transform(X)


RANDOM = {
    "RBFSampler": peers.rbf_sampler,
    "orthogonal random": peers.orthogonal_random_features,
    "Sobol": sobol,
    "Nystroem": nystroem,
}


def measure(d: int, sizes: list[int], seeds: int = _N_SEEDS) -> dict[str, list[float]]:
    """Return the relative error of every map at every size."""
    X = np.random.default_rng(d).standard_normal((300, d))
    squares = np.square(X[:, None] - X).sum(axis=-1)
    gamma = 1.0 / float(np.median(squares[np.triu_indices(len(X), 1)]))
    K = np.exp(-gamma * squares)

    def error(Z: np.ndarray) -> float:
        return max(float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K)), 1e-15)

    found: dict[str, list[float]] = {}
    for method in ("growable", "lattice"):
        maps = [
            primal.KernelPrime(d, D, gamma=gamma, method=method, width=X.std(axis=0), form="pair")
            for D in sizes
        ]
        found[method] = [error(m.encode(X, dtype="float64")) for m in maps]
    found["Gauss-Hermite"] = [error(gauss_hermite(X, D, gamma, 0)) for D in sizes]
    for name, features in RANDOM.items():
        found[name] = [
            float(np.mean([error(features(X, D, gamma, seed)) for seed in range(seeds)]))
            for D in sizes
        ]
    return found


def draw(path: Path = HERE / "few_inputs.png", quick: bool = False) -> None:
    """Draw one panel for each number of inputs."""
    inputs, sizes = ((1,), [16, 32]) if quick else ((1, 2, 3, 4, 6, 8), [32, 128, 512])
    with panels(path, len(inputs), 3.2, 3.8) as axes:
        for axis, d in zip(axes, inputs, strict=True):
            for name, errors in measure(d, sizes, 1 if quick else _N_SEEDS).items():
                ours = name in ("growable", "lattice")
                axis.loglog(sizes, errors, "o-" if ours else "--", label=name)
            axis.set(title=f"d = {d}", xlabel="D")
            axis.set_xticks(sizes, [str(D) for D in sizes])
            axis.minorticks_off()
        axes[0].set_ylabel("relative error of the kernel")
        axes[0].figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=8
        )


if __name__ == "__main__":
    draw()
