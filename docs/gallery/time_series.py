"""Time series: the time itself and the last values as features of a forecast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from figures import COLORS, HERE, SOFT, label_ends, panels

from primal.sklearn import PrimePositions, PrimeRidgeRegressor

N_LAGS = 24


def series(n: int) -> np.ndarray:
    """Return a chaotic series: Mackey and Glass, delay 17."""
    x = np.full(n + 200, 1.2)
    for t in range(17, n + 199):
        x[t + 1] = 0.9 * x[t] + 0.2 * x[t - 17] / (1.0 + x[t - 17] ** 10)
    return x[200:]


def windows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of consecutive values, and the value that follows each."""
    view = np.lib.stride_tricks.sliding_window_view(x, N_LAGS + 1)
    return view[:, :-1], view[:, -1]


def forecast(n: int = 3000, n_components: int = 512) -> dict[str, float]:
    """Return the error of one-step forecasts in standard deviations, and of "no change"."""
    X, y = windows(series(n))
    split = 2 * len(X) // 3
    model = PrimeRidgeRegressor(n_components).fit(X[:split], y[:split])
    spread = y.std()
    return {
        "PrimeRidgeRegressor": float(np.std(model.predict(X[split:]) - y[split:]) / spread),
        "no change": float(np.std(X[split:, -1] - y[split:]) / spread),
    }


def draw(path: Path = HERE / "time_series.png", *, quick: bool = False) -> None:
    """Draw a forecast that feeds on itself, and the similarity of time codes."""
    X, y = windows(series(600 if quick else 3000))
    split, n_ahead = 2 * len(X) // 3, 40 if quick else 250
    model = PrimeRidgeRegressor(128 if quick else 512).fit(X[:split], y[:split])
    state, free = X[split].copy(), []
    for _ in range(n_ahead):
        free.append(model.predict(state[None])[0])
        state = np.append(state[1:], free[-1])
    t = np.arange(200)[:, None]
    with panels(path, 2, 5.6) as (left, right):
        left.plot(y[split : split + n_ahead], color=SOFT, linewidth=4, alpha=0.45, label="series")
        left.plot(free, color=COLORS["prime"], linewidth=1.2, label="forecast")
        left.set(xlabel="steps ahead", title="a forecast fed with its own output")
        label_ends(left)
        _similarities(right, t)


def _similarities(axis: Any, t: np.ndarray) -> None:
    """Draw how similar codes of time are, for four spacings."""
    for label, options in (
        ("log", {}),
        ("raw", {"spacing": "raw"}),
        ("raw, sigma = 1e-3", {"spacing": "raw", "sigma": 1e-3}),
        ("raw, sigma = 1e-4", {"spacing": "raw", "sigma": 1e-4}),
    ):
        Z = PrimePositions(128, **options).fit_transform(t)
        axis.plot(Z @ Z[0] / 64.0, linewidth=1.3, label=label)
    axis.set(xlabel="distance in time", title="similarity of codes of time")
    label_ends(axis)


if __name__ == "__main__":
    draw()
