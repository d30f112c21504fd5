"""Pictures of ``primal hdc bench`` and ``primal hdc continual``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from primal._files import written_figure
from primal_studies.hdc._bench import Score
from primal_studies.hdc._continual import TaskRow

__all__ = ["plot_scores", "plot_tasks"]


def plot_scores(scores: Sequence[Score], path: Path) -> None:
    """Draw accuracy against time, one panel for each dataset."""
    plt = _pyplot()
    names = list(dict.fromkeys(score.data for score in scores))
    contenders = list(dict.fromkeys(score.contender for score in scores))
    figure, axes = plt.subplots(
        1, len(names), figsize=(6.2 * len(names), 4.6), layout="constrained", squeeze=False
    )
    sizes = sorted({score.n_components for score in scores})
    colours = plt.get_cmap("tab20").colors
    for axis, name in zip(axes[0], names, strict=True):
        for place, contender in enumerate(contenders):
            rows = [s for s in scores if (s.data, s.contender) == (name, contender)]
            if not rows:
                continue
            rows.sort(key=lambda score: score.n_components)
            x, y = [s.median_seconds for s in rows], [s.accuracy for s in rows]
            style: dict[str, Any] = {"color": colours[place % 20], "alpha": 0.9}
            theirs = contender.startswith("torchhd")
            line = "--" if theirs else "-"
            axis.errorbar(x, y, [s.standard_error for s in rows], fmt=line, **style)
            areas = [30.0 * (1 + sizes.index(s.n_components)) for s in rows]
            marker = "^" if theirs else "s" if contender.startswith("random") else "o"
            axis.scatter(x, y, areas, marker=marker, label=contender, **style)
        axis.set(xscale="log", xlabel="seconds, fit and predict", ylabel="accuracy", title=name)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("")  # its labels would overlap
        axis.grid(True, which="both", alpha=0.2)
    listed = ", ".join(str(size) for size in sizes)
    growing = " (larger marks)" if len(sizes) > 1 else ""
    axes[0][-1].legend(title=f"D = {listed}{growing}", fontsize=8)
    written_figure(figure, path)
    plt.close(figure)


def plot_tasks(rows: Sequence[TaskRow], path: Path, title: str) -> None:
    """Draw accuracy on all classes seen after every task."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
    for place, name in enumerate(dict.fromkeys(row.learner for row in rows)):
        found = [row for row in rows if row.learner == name]
        x, y = [row.task for row in found], [row.accuracy for row in found]
        if len(found) == 1:
            axis.plot(x, y, "k*", markersize=14, label=name, zorder=5)
            continue
        line = "--" if name.startswith("network") else "-"
        axis.plot(x, y, "o" + line, color=f"C{place}", label=name, alpha=0.8)
    n_tasks = max(row.task for row in rows)
    axis.set(xticks=range(1, n_tasks + 1), ylim=(0.0, 1.02), title=title)
    axis.set(xlabel="tasks learned", ylabel="accuracy on all classes seen")
    axis.grid(True, alpha=0.2)
    axis.legend()
    written_figure(figure, path)
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
