"""What the gallery compares with: orthogonal random features, datasets, the kernel error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import chi
from sklearn import datasets
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from primal.maps import median_gamma
from primal.sklearn import PrimeFeatures

N_SEEDS = 10
_N_ROWS = 400


def orthogonal_random_features(X: np.ndarray, D: int, gamma: float, seed: int) -> np.ndarray:
    """Return cosine and sine pairs with random orthogonal blocks of chi-distributed length.

    Orthogonal random features of Yu and others (2016), for the kernel exp(-gamma |t|**2).
    """
    generator = np.random.default_rng(seed)
    d, k = X.shape[1], D // 2
    blocks = []
    for _ in range(math.ceil(k / d)):
        q, r = np.linalg.qr(generator.standard_normal((d, d)))
        q *= np.where(np.diag(r) < 0.0, -1.0, 1.0)
        blocks.append(q.T * chi.rvs(d, size=(d, 1), random_state=generator))
    phases = X @ np.concatenate(blocks)[:k].T * math.sqrt(2.0 * gamma)
    return np.hstack([np.cos(phases), np.sin(phases)]) / math.sqrt(k)


def rbf_sampler(X: np.ndarray, D: int, gamma: float, seed: int) -> np.ndarray:
    """Return the features of scikit-learn's RBFSampler."""
    return RBFSampler(gamma=gamma, n_components=D, random_state=seed).fit_transform(X)


def kernel_errors(X: np.ndarray, D: int, gamma: float) -> dict[str, float]:
    """Return |Z Z' - K| / |K| of every contender; of random ones the mean over ten seeds."""
    K = rbf_kernel(X, gamma=gamma)

    def error(Z: np.ndarray) -> float:
        return float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))

    def mean(features: Callable[[np.ndarray, int, float, int], np.ndarray]) -> float:
        return float(np.mean([error(features(X, D, gamma, seed)) for seed in range(N_SEEDS)]))

    return {
        # The map that grows, at every d alike; few_inputs.py has quadrature.
        "PrimeFeatures": error(PrimeFeatures(D, gamma=gamma, method="growable").fit_transform(X)),
        "orthogonal random": mean(orthogonal_random_features),
        "RBFSampler": mean(rbf_sampler),
    }


def bundled() -> Iterator[tuple[str, np.ndarray]]:
    """Yield scikit-learn's bundled datasets: standardised, at most 400 rows."""
    for name in ("digits", "wine", "breast_cancer", "iris", "diabetes"):
        X = getattr(datasets, f"load_{name}")().data
        rows = np.linspace(0, len(X) - 1, min(_N_ROWS, len(X))).astype(int)
        yield name, StandardScaler().fit_transform(X)[rows]


def unnamed() -> Iterator[tuple[str, np.ndarray]]:
    """Yield datasets that no rule of the library was chosen on."""
    generator = np.random.default_rng(1)
    made = {
        "moons": datasets.make_moons(_N_ROWS, noise=0.1, random_state=1)[0],
        "friedman": datasets.make_friedman1(_N_ROWS, 10, random_state=1)[0],
        "swiss_roll": datasets.make_swiss_roll(_N_ROWS, random_state=1)[0],
        "linnerud": datasets.load_linnerud().data,
        "blobs": datasets.make_blobs(_N_ROWS, 7, random_state=1)[0],
        "low_rank": datasets.make_low_rank_matrix(_N_ROWS, 25, effective_rank=4, random_state=1),
        "clusters": datasets.make_classification(_N_ROWS, 16, n_informative=8, random_state=1)[0],
        "housing_like": _correlated_and_skewed(generator, 8),
        "normal": generator.standard_normal((_N_ROWS, 40)),
    }
    for name, X in made.items():
        yield name, StandardScaler().fit_transform(X)


def gammas(X: np.ndarray) -> dict[str, float]:
    """Return the two median rules in use: length scale m, and m / sqrt(2)."""
    median = median_gamma(X)
    return {"1/(2 m^2)": median, "1/m^2": 2.0 * median}


def _correlated_and_skewed(generator: np.random.Generator, d: int) -> np.ndarray:
    X = generator.standard_normal((_N_ROWS, 3)) @ generator.standard_normal((3, d))
    X += 0.4 * generator.standard_normal(X.shape)
    X[:, : d // 2] = np.exp(X[:, : d // 2] / 2.0)
    return X
