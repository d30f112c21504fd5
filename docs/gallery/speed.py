"""How long `transform` takes beside RBFSampler's: both in turn, ratios round by round.

``python docs/gallery/speed.py`` prints the median ratio; above 1 PrimeFeatures is faster.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from primal.sklearn import PrimeFeatures

CASES = (
    (10_000, 64, 1024),
    (20_000, 16, 2048),
    (10_000, 8, 256),
    (5_000, 512, 2048),
    (10_000, 64, 64),
)


def ratio(n: int, d: int, D: int, dtype: str, precision: str, rounds: int = 9) -> float:
    """Return how many times longer RBFSampler.transform takes, median over rounds."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
    ours = PrimeFeatures(D, precision=precision).fit(X)
    peer = RBFSampler(n_components=D, gamma=1.0 / d, random_state=0).fit(X)
    ours.transform(X)
    peer.transform(X)
    return float(np.median([_seconds(peer, X) / _seconds(ours, X) for _ in range(rounds)]))


def _seconds(features: PrimeFeatures | RBFSampler, X: np.ndarray) -> float:
    # Threads of the peer's matrix product spin on for a while after it: let them rest first.
    time.sleep(0.1)
    start = time.perf_counter()
    features.transform(X)
    return time.perf_counter() - start


if __name__ == "__main__":
    for n, d, D in CASES:
        for dtype in ("float32", "float64"):
            found = [f"{p} {ratio(n, d, D, dtype, p):.2f}" for p in ("exact", "fast")]
            print(f"{n} x {d} -> {D} {dtype}:", *found, flush=True)
