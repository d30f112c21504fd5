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
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    channels = sorted({run["channels"] for run in runs})
    for cell in dict.fromkeys(run["cell"] for run in runs):
        mine = select(runs, cell=cell)
        line = _spread(axes, channels, [run["measured"] for run in mine], cell)
        predicted = [statistics.fmean(run["predicted"]) for run in mine]
        axes.plot(channels, predicted, "x", color=line.get_color(), markersize=8)
    axes.plot(channels, [2 * n - 1 for n in channels], ":", color="grey", label="most possible")
    axes.set(xlabel="channels n", ylabel="inputs recalled (x: predicted)", xscale="log")
    axes.set(yscale="log")
    axes.set_xticks(channels, channels)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize="small")
    _save(figure, path)


def draw_tasks(runs: list[Settings], path: Path) -> None:
    """Draw the accuracy of every seed, one panel for each task."""
    tasks = list(dict.fromkeys(run["task"] for run in runs))
    cells = list(dict.fromkeys(run["cell"] for run in runs))
    channels = sorted({run["channels"] for run in runs})
    figure, panels = plt.subplots(1, len(tasks), figsize=(4 * len(tasks), 3.6), squeeze=False)
    figure.set_layout_engine("constrained")
    for axes, task in zip(panels[0], tasks, strict=True):
        for marker, n in zip(".x+*", channels, strict=False):
            for place, cell in enumerate(cells):
                for run in select(runs, task=task, cell=cell, channels=n):
                    places = np.full(len(run["accuracy"]), place + 0.2 * channels.index(n))
                    axes.plot(places, run["accuracy"], marker, color=f"C{place}")
            axes.plot([], [], marker, color="grey", label=f"{n} channels")
        axes.set(title=task, ylabel="accuracy", ylim=(0, 1.03))
        axes.set_xticks(range(len(cells)), cells, rotation=30, ha="right", fontsize="small")
    panels[0][0].legend(frameon=False, fontsize="small")
    _save(figure, path)


def _spread(axes, x: list, values: list[list[float]], label: str):
    mean = [statistics.fmean(row) for row in values]
    size = [statistics.stdev(row) if len(row) > 1 else 0.0 for row in values]
    return axes.errorbar(x, mean, yerr=size, label=label, marker="o", markersize=3, capsize=2)[0]


def _save(figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(f"wrote {path}")
