"""Figures of the winding on the torus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from primal.exact import waves
from primal_studies.paper._experiment import Outcome
from primal_studies.paper._stats import COLORS, column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the winding, its returns and its evenness."""
    return {
        "trajectory": _draw_trajectory(outcome),
        "returns": _draw_returns(outcome),
        "evenness": _draw_evenness(outcome),
    }


def _draw_trajectory(outcome: Outcome) -> Figure:
    figure = column(6.6)
    rows = outcome.tables["trajectory"]
    phases = np.array([[float(row["first_turns"]), float(row["second_turns"])] for row in rows])
    grid = figure.add_gridspec(2, 1, height_ratios=(3, 2))
    flat = figure.add_subplot(grid[0])
    flat.scatter(*phases.T, c=np.arange(len(rows)), s=8, cmap="viridis")
    flat.set(
        xlabel="phase of $\\sqrt{2}$, turns", ylabel="phase of $\\sqrt{3}$, turns", aspect="equal"
    )
    flat.set_title(f"codes t = 0 ... {len(rows) - 1}, D = 4")
    ring = figure.add_subplot(grid[1], projection="3d")
    cos, sin = waves(np.ldexp(phases, 64).astype(np.uint64))
    away = 1.0 + 0.45 * cos[:, 1]
    ring.scatter(
        away * cos[:, 0],
        away * sin[:, 0],
        0.45 * sin[:, 1],
        c=np.arange(len(rows)),
        s=6,
        cmap="viridis",
    )
    ring.set_box_aspect((1.45, 1.45, 0.45), zoom=1.25)
    ring.set_axis_off()
    ring.set_title("the same points on a ring")
    return figure


def _draw_returns(outcome: Outcome) -> Figure:
    figure = column(4.0)
    axis = figure.subplots()
    rows = outcome.tables["returns"]
    n = np.array([float(row["n"]) for row in rows])
    exact = np.array([float(row["exact_turns"]) for row in rows])
    rounded = np.array([float(row["float32_turns"]) for row in rows])
    # Zero has no logarithm: the closed path is drawn at the bottom.
    floor = 1e-9
    axis.step(n, exact, where="post", color=COLORS["prime"], linewidth=2, label="exact roots")
    axis.step(
        n,
        np.maximum(rounded, floor),
        where="post",
        color=COLORS["gaussian"],
        linestyle="--",
        label="float32 roots",
    )
    axis.plot(n, n**-0.5, ":", color="black", label="never above ($n^{-1/2}$)")
    axis.plot(
        n,
        [float(row["proved_turns"]) for row in rows],
        "-.",
        color=COLORS["welch"],
        label="never below (proved)",
    )
    axis.text(2.0**22.5, 0.6 * floor, "closed: 0", fontsize=9, ha="right", va="center")
    axis.set(xscale="log", yscale="log", ylim=(floor / 4.0, 30.0))
    axis.set(xlabel="steps n", ylabel="nearest return, turns")
    axis.legend(fontsize=9, frameon=False, ncols=2, loc="upper center")
    return figure


def _draw_evenness(outcome: Outcome) -> Figure:
    figure = column(3.6)
    axis = figure.subplots()
    rows = outcome.tables["evenness"]
    n = [float(row["n"]) for row in rows]
    for name, label in (("prime", "StaticPrime, D = 4"), ("random", "random points")):
        axis.errorbar(
            n,
            [float(row[f"{name}_discrepancy"]) for row in rows],
            yerr=[float(row["random_sd"]) if name == "random" else 0.0 for row in rows],
            fmt="o-",
            color=COLORS[name if name == "prime" else "gaussian"],
            label=label,
        )
    axis.set(xscale="log", yscale="log", xlabel="points n", ylabel="L2 star discrepancy")
    axis.legend(fontsize=9, frameon=False)
    return figure
