"""Figures of precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primal_studies.paper._experiment import Outcome
from primal_studies.paper._stats import COLORS, column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw errors against the phase, and similarities at the lags of float32."""
    return {
        "aliasing": _draw_aliasing(outcome),
        "repetition": _draw_lags(outcome),
    }


def _draw_aliasing(outcome: Outcome) -> Figure:
    figure = column(4.4)
    axis = figure.subplots()
    for table, marker, text in (("positions", "o", "StaticPrime"), ("inputs", "s", "DynamicPrime")):
        rows = outcome.tables[table]
        phases = [float(row["phase_turns"]) for row in rows]
        for name, color, kind in (
            ("float32_error", COLORS["gaussian"], "float32 recipe"),
            ("exact_error", COLORS["prime"], "exact phases"),
        ):
            axis.plot(
                phases,
                [float(row[name]) for row in rows],
                marker,
                color=color,
                markersize=4,
                alpha=0.7,
                label=f"{text}, {kind}",
            )
    axis.axhline(2.0, color=COLORS["welch"], linestyle=":")
    axis.set(xscale="log", yscale="log", ylim=(1e-8, 10.0))
    axis.set(xlabel="largest phase, turns", ylabel="largest error of a code's entry")
    axis.legend(fontsize=9, frameon=False, loc="center right")
    return figure


def _draw_lags(outcome: Outcome) -> Figure:
    figure = column(3.8)
    axis = figure.subplots()
    colors = (COLORS["golden"], COLORS["random"], COLORS["gaussian"])
    for D, color in zip((128, 1024, 4096), colors, strict=True):
        rows = [row for row in outcome.tables["lags"] if row["D"] == D]
        lags = [int(row["log2_lag"]) for row in rows]
        axis.plot(
            lags,
            [float(row["float32_similarity"]) for row in rows],
            "o-",
            color=color,
            label=f"float32 roots, D = {D}",
        )
        axis.plot(
            lags,
            [float(row["exact_similarity"]) for row in rows],
            "--",
            color=COLORS["prime"],
            label="exact roots" if D == 128 else None,
        )
    axis.set(xlabel="lag, powers of two", ylabel="similarity", ylim=(-0.5, 1.1))
    axis.set_xticks(range(10, 25, 2), [f"$2^{{{i}}}$" for i in range(10, 25, 2)])
    axis.legend(fontsize=9, frameon=False)
    return figure
