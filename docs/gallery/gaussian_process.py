"""A Gaussian process on 100,000 rows in seconds, beside the exact one on 2,000.

The truth has two scales, and no data lie in a gap: the band opens there, in both alike.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from figures import HERE, panels
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

from primal.sklearn import PrimeGaussianProcessRegressor

NOISE = 0.3
GAP = (5.0, 7.0)


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(x) + 0.3 * np.sin(4.0 * x + 1.0)


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x (n, 1) in [0, 10] outside of the gap and noisy values (n,)."""
    random = np.random.default_rng(0)
    x = random.uniform(0.0, 10.0 - (GAP[1] - GAP[0]), size=n)
    x += np.where(x > GAP[0], GAP[1] - GAP[0], 0.0)
    return x[:, None], truth(x) + NOISE * random.normal(size=n)


def fitted(model: Any, n: int) -> tuple[Any, float]:
    """Return a model with known noise, its length and signal chosen, and the seconds it took."""
    x, y = data(n)
    kernel = 1.0 * Matern(1.0, (0.1, 10.0), nu=1.5) + WhiteKernel(NOISE**2, "fixed")
    start = time.perf_counter()
    return model.set_params(kernel=kernel).fit(x, y), time.perf_counter() - start


def draw(path: Path = HERE / "gaussian_process.png", quick: bool = False) -> None:
    """Draw both processes, with bands of two standard deviations of the function."""
    n_exact, n_ours, n_points = (100, 400, 200) if quick else (2_000, 100_000, 100_000)
    D = 64 if quick else 256
    grid = np.linspace(0.0, 10.0, n_points)[:, None]
    models = {
        f"exact, {n_exact:,} rows": (GaussianProcessRegressor(), n_exact, grid[:: n_points // 200]),
        f"prime features, {n_ours:,} rows": (
            PrimeGaussianProcessRegressor(n_components=D),
            n_ours,
            grid,
        ),
    }
    with panels(path, 2, width=5.6) as axes:
        for axis, (title, (model, n, new)) in zip(axes, models.items(), strict=True):
            model, fit_s = fitted(model, n)
            start = time.perf_counter()
            mean, std = model.predict(new, return_std=True)
            predict_s = time.perf_counter() - start
            std = np.sqrt(std**2 - NOISE**2)  # of the function, without the noise of a measurement
            x, y = data(n)
            axis.axvspan(*GAP, color="0.95")
            axis.plot(
                x[:2000, 0], y[:2000], ".", color="0.75", markersize=2, label="some of the data"
            )
            band = (mean - 2.0 * std, mean + 2.0 * std)
            axis.fill_between(new[:, 0], *band, color="tab:blue", alpha=0.3, linewidth=0)
            axis.plot(
                new[:, 0], mean, color="tab:blue", linewidth=1.5, label="mean, two deviations"
            )
            axis.plot(grid[:, 0], truth(grid[:, 0]), "k--", linewidth=0.8, label="truth")
            if isinstance(model, PrimeGaussianProcessRegressor):
                samples = model.sample_y(new, 3, random_state=0)
                axis.plot(new[:, 0], samples, color="tab:orange", linewidth=0.6)
                axis.plot([], [], color="tab:orange", linewidth=0.6, label="three functions drawn")
            axis.set(xlabel="x", ylim=(-3.2, 3.2))
            axis.set_title(
                f"{title}\nfit {fit_s:.1f} s, {len(new):,} predictions {predict_s:.1f} s",
                fontsize=9,
            )
            axis.legend(fontsize=7, loc="lower left", ncols=2)


if __name__ == "__main__":
    draw()
