"""Figures of the experiments on positions and on state; they need matplotlib."""

from __future__ import annotations

import statistics
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch

from primal_studies.training._common import Settings, select

mpl.use("Agg")
import matplotlib.pyplot as plt

from primal.torch import PrimePositions
from primal_studies._pictures import COLORS, PALETTE, SOFT, label_ends, picture

__all__ = ["draw_capacity", "draw_nearness", "draw_tasks"]

NEARNESS = (
    ("raw", {"spacing": "raw"}),
    ("raw, sigma = 1e-4", {"spacing": "raw", "sigma": 1e-4}),
    ("log (base 10000)", {"spacing": "log"}),
)


def nearness(lags: np.ndarray, **options: object) -> np.ndarray:
    """Return the cosine similarity of codes of 128 columns that are `lags` positions apart."""
    positions = PrimePositions(128, dtype=torch.float64, **options)  # type: ignore[bad-argument-type]
    codes = positions(torch.from_numpy(lags))
    return (codes @ positions(torch.tensor(0)) / 64).numpy()


def draw_nearness(path: Path) -> None:
    """Draw how similar codes are against how far apart their positions lie."""
    lags = np.unique(np.geomspace(1, 10_000, 400).astype(np.int64))
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for label, chosen in NEARNESS:
        axes.plot(lags, nearness(lags, **chosen), label=label, linewidth=1.2)
    axes.axhline(0.0, color="grey", linewidth=0.5)
    axes.set(xscale="log", xlabel="lag (positions)", ylabel="similarity of codes, D = 128")
    axes.legend(frameon=False)
    _save(figure, path)


def draw_capacity(runs: list[Settings], path: Path) -> None:
    """Draw how many inputs are recalled against the number of channels."""
    channels = sorted({run["channels"] for run in runs})
    with picture(path, (6.6, 4.2)) as figure:
        axis = figure.subplots()
        most = [2 * n - 1 for n in channels]
        axis.plot(channels, most, color=SOFT, linewidth=7, alpha=0.3, label="most possible")
        others = (color for color in PALETTE if color != COLORS["random"])
        for cell in dict.fromkeys(run["cell"] for run in runs):
            mine = select(runs, cell=cell)
            color = COLORS["random"] if cell == "random" else next(others)
            _spread(axis, channels, [run["measured"] for run in mine], cell, color)
            predicted = [statistics.fmean(run["predicted"]) for run in mine]
            axis.plot(channels, predicted, "x", color=color, markersize=8)
        axis.set(xlabel="channels n", ylabel="inputs recalled (x: predicted)")
        axis.set(xscale="log", yscale="log")
        axis.set_xticks(channels, channels)
        axis.minorticks_off()
        label_ends(axis)
    print(f"wrote {path}")


def draw_tasks(runs: list[Settings], path: Path) -> None:
    """Draw the accuracy of every seed, one panel for each task."""
    tasks = list(dict.fromkeys(run["task"] for run in runs))
    cells = list(dict.fromkeys(run["cell"] for run in runs))
    channels = sorted({run["channels"] for run in runs})
    with picture(path, (4 * len(tasks), 4.0)) as figure:
        panels = figure.subplots(1, len(tasks), squeeze=False)[0]
        for axis, task in zip(panels, tasks, strict=True):
            for marker, n in zip(".x+*", channels, strict=False):
                for place, cell in enumerate(cells):
                    for run in select(runs, task=task, cell=cell, channels=n):
                        places = np.full(len(run["accuracy"]), place + 0.2 * channels.index(n))
                        axis.plot(places, run["accuracy"], marker, color=PALETTE[place])
                label = f"{n} channels" if axis is panels[0] else None
                axis.plot([], [], marker, color=SOFT, label=label)
            axis.set(title=task, ylabel="accuracy", ylim=(0, 1.03))
            axis.set_xticks(range(len(cells)), cells, rotation=30, ha="right")
        figure.legend(loc="outside upper center", ncols=len(channels))
    print(f"wrote {path}")


def _spread(axes, x: list, values: list[list[float]], label: str, color: str | None = None) -> None:
    mean = [statistics.fmean(row) for row in values]
    size = [statistics.stdev(row) if len(row) > 1 else 0.0 for row in values]
    style = {"color": color, "marker": "o", "markersize": 3, "capsize": 2}
    axes.errorbar(x, mean, yerr=size, label=label, **style)


def _save(figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"wrote {path}")
