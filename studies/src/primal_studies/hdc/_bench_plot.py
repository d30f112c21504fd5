"""Pictures of ``primal hdc bench`` and ``primal hdc continual``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from primal_studies._pictures import PALETTE, label_ends, picture
from primal_studies.hdc._bench import Score
from primal_studies.hdc._continual import TaskRow

__all__ = ["plot_scores", "plot_tasks"]


def plot_scores(scores: Sequence[Score], path: Path) -> None:
    """Draw accuracy against time, one panel for each dataset."""
    names = list(dict.fromkeys(score.data for score in scores))
    contenders = list(dict.fromkeys(score.contender for score in scores))
    sizes = sorted({score.n_components for score in scores})
    with picture(path, (5.4 * len(names) + 2.6, 4.6)) as figure:
        axes = figure.subplots(1, len(names), squeeze=False)[0]
        for axis, name in zip(axes, names, strict=True):
            for place, contender in enumerate(contenders):
                rows = [s for s in scores if (s.data, s.contender) == (name, contender)]
                if not rows:
                    continue
                rows.sort(key=lambda score: score.n_components)
                x, y = [s.median_seconds for s in rows], [s.accuracy for s in rows]
                color = PALETTE[place % len(PALETTE)]
                theirs = contender.startswith("torchhd")
                line = "--" if theirs else "-"
                axis.errorbar(x, y, [s.standard_error for s in rows], fmt=line, color=color)
                areas = [30.0 * (1 + sizes.index(s.n_components)) for s in rows]
                marker = "^" if theirs else "s" if contender.startswith("random") else "o"
                label = contender if axis is axes[0] else None
                axis.scatter(x, y, areas, marker=marker, color=color, label=label)
            axis.set(xscale="log", xlabel="seconds, fit and predict", ylabel="accuracy", title=name)
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter("")  # its labels would overlap
            axis.grid(True)
        listed = ", ".join(str(size) for size in sizes)
        growing = " (larger marks)" if len(sizes) > 1 else ""
        figure.legend(title=f"D = {listed}{growing}", loc="outside right upper")


def plot_tasks(rows: Sequence[TaskRow], path: Path, title: str) -> None:
    """Draw accuracy on all classes seen after every task."""
    n_tasks = max(row.task for row in rows)
    with picture(path, (7.5, 4.6)) as figure:
        axis = figure.subplots()
        for name in dict.fromkeys(row.learner for row in rows):
            found = [row for row in rows if row.learner == name]
            mark = "*" if len(found) == 1 else "o--" if name.startswith("network") else "o-"
            axis.plot([r.task for r in found], [r.accuracy for r in found], mark, label=name)
        axis.set(xticks=range(1, n_tasks + 1), ylim=(0.0, 1.02), title=title)
        axis.set(xlabel="tasks learned", ylabel="accuracy on all classes seen")
        axis.grid(True)
        label_ends(axis)
