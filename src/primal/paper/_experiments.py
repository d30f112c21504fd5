"""Experiments of the paper that can be run so far; each returns rows of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from primal.codebooks import bounds, worst_lag
from primal.maps import DynamicPrime, StaticPrime
from primal.paper._shapes import circles, spiral

__all__ = ["EXPERIMENTS", "reconstruction", "welch_ratio"]

Row = dict[str, float | int | str]


def welch_ratio() -> Iterator[Row]:
    """Yield the worst similarity of StaticPrime over the Welch bound (the paper's figure 2)."""
    for D in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
        s = StaticPrime(D)
        for N in (100, 250, 500, 1000, 2000, 5000, 10_000):
            if N > D:
                worst = worst_lag(s, N)
                welch = bounds.welch(N, D)
                yield {
                    "N": N,
                    "D": D,
                    "worst_similarity": worst.coherence,
                    "lag": worst.lag,
                    "welch_bound": welch,
                    "ratio": worst.coherence / welch,
                }


def reconstruction() -> Iterator[Row]:
    """Yield the error of the linear inverse on noiseless shapes (the paper's figure 3)."""
    for name, x in (("spiral", spiral()), ("circles", circles())):
        for sigma, D in ((0.007, 4), (1.0, 4), (0.02, 128), (1.0, 128)):
            m = DynamicPrime(2, D, sigma)
            yield {
                "shape": name,
                "sigma": sigma,
                "D": D,
                "bound": m.bound,
                "fraction_wrapped": m.regime(x).fraction_wrapped,
                "mse": float(np.square(m.decode(m.encode(x)) - x).mean()),
            }


EXPERIMENTS: dict[str, Callable[[], Iterator[Row]]] = {
    "reconstruction": reconstruction,
    "welch-ratio": welch_ratio,
}
