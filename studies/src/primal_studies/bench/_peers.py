"""What people use today, written out as contenders.

The paper's recipe is the formula of its two algorithms in PyTorch: float64 product, float64
cosine and sine, cast to float32. It is here as a peer only. Each function prepares what a
user would prepare once and returns the part that is timed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

from primal.exact import primes

__all__ = [
    "has",
    "memory_fill",
    "nystroem",
    "paper_dynamic",
    "paper_inverse",
    "paper_static",
    "plain_sieve",
    "plain_worst_lag",
    "rbf_sampler",
]

Run = Callable[[], object]


def has(module: str) -> bool:
    """Whether an optional package is installed."""
    return importlib.util.find_spec(module) is not None


def memory_fill(out: np.ndarray) -> Run:
    """Return NumPy's fill of an array: no encoder can be faster."""
    return lambda: out.fill(1.0)


def paper_static(N: int, D: int) -> Run:
    """Return the paper's GenerateWaves."""
    import torch

    frequencies = torch.from_numpy(np.sqrt(primes(D // 2).astype(np.float64)))

    def run() -> object:
        times = torch.arange(N, dtype=torch.float64)
        angles = 2 * np.pi * (times[:, None] * frequencies)
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1).float()

    return run


def paper_dynamic(x: np.ndarray, D: int, sigma: float) -> Run:
    """Return the paper's Forward."""
    import torch

    d = x.shape[1]
    roots = np.sqrt(primes(d * D // 2).astype(np.float64)).reshape(D // 2, d)
    weights, inputs = torch.from_numpy(roots), torch.from_numpy(x)

    def run() -> object:
        angles = 2 * np.pi * sigma * (inputs.double() @ weights.T)
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1).float()

    return run


def paper_inverse(z: np.ndarray, d: int, sigma: float) -> Run:
    """Return the paper's Reverse, with the pseudoinverse made beforehand."""
    import torch

    k = z.shape[1] // 2
    roots = np.sqrt(primes(d * k).astype(np.float64)).reshape(k, d)
    inverse = torch.linalg.pinv(2 * np.pi * sigma * torch.from_numpy(roots)).T
    codes = torch.from_numpy(z)

    def run() -> object:
        wide = codes.double()
        return torch.atan2(wide[:, k:], wide[:, :k]) @ inverse

    return run


def rbf_sampler(x: np.ndarray, D: int, gamma: float) -> Run:
    """Return scikit-learn's RBFSampler.transform, fitted."""
    from sklearn.kernel_approximation import RBFSampler

    sampler = RBFSampler(n_components=D, gamma=gamma, random_state=0).fit(x)
    return lambda: sampler.transform(x)


def nystroem(x: np.ndarray, D: int, gamma: float) -> Run:
    """Return scikit-learn's Nystroem.transform, fitted."""
    from sklearn.kernel_approximation import Nystroem

    sampler = Nystroem(n_components=D, gamma=gamma, random_state=0).fit(x)
    return lambda: sampler.transform(x)


def plain_sieve(n: int) -> Run:
    """Return the sieve of a textbook: one array of flags for all numbers."""

    def run() -> np.ndarray:
        limit = int(n * (np.log(n) + np.log(np.log(n)))) + 1
        flags = np.ones(limit + 1, dtype=bool)
        flags[:2] = False
        for p in range(2, int(limit**0.5) + 1):
            if flags[p]:
                flags[p * p :: p] = False
        return np.flatnonzero(flags)[:n]

    return run


def plain_worst_lag(D: int, n_lags: int) -> Run:
    """Return the coherence scan as one would write it in NumPy, in float64."""
    frequencies = np.sqrt(primes(D // 2).astype(np.float64))

    def run() -> float:
        worst = 0.0
        for first in range(1, n_lags, 4096):
            lags = np.arange(first, min(first + 4096, n_lags), dtype=np.float64)
            g = np.cos(2 * np.pi * (lags[:, None] * frequencies)).mean(axis=1)
            worst = max(worst, float(np.abs(g).max()))
        return worst

    return run
