"""One style for every picture: palette, type, sizes and labels.

Colors are Okabe and Ito's, which people with any color vision can tell apart. A color means the
same in all pictures: blue and light blue are primes, vermilion Gaussian, green random frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from primal._files import written_whole

__all__ = ["COLORS", "GRID", "INK", "PALETTE", "RC", "SOFT", "label_ends", "picture"]

INK = "#1d1f24"
SOFT = "#555b64"
GRID = "#dedbd3"
COLORS = {
    "prime": "#0072B2",
    "gaussian": "#D55E00",
    "random": "#009E73",
    "sobol": "#CC79A7",
    "golden": "#E69F00",
    "repaired": "#56B4E9",
    "welch": SOFT,
}
# For curves without a meaning of their own, in this order.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#555B64", "#56B4E9", "#7A5C1E")
RC = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.axisbelow": True,
    "axes.prop_cycle": f"cycler('color', {list(PALETTE)})",
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "lines.linewidth": 1.8,
    "figure.facecolor": "#ffffff",
    "savefig.facecolor": "#ffffff",
    "savefig.dpi": 110,
}


@contextmanager
def picture(path: Path, size_inches: tuple[float, float]) -> Iterator[Any]:
    """Give an empty figure in this style, and write it in the format of the suffix of its path.

    Its folder is made; an older figure stays as it was if anything fails.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(RC):
        figure = Figure(figsize=size_inches, layout="constrained")
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as stream:
            figure.savefig(stream, format=path.suffix[1:])


def label_ends(axis: Any, *, gap: float = 0.075) -> None:
    """Write the label of every line beside its end, in its color: a legend that covers nothing.

    Labels that would overlap are moved apart, to `gap` of the height of the axes. Call it last:
    limits and scales have to be final.
    """
    handles, labels = axis.get_legend_handles_labels()
    lines = [handle if hasattr(handle, "get_xdata") else handle[0] for handle in handles]
    axis.get_xlim(), axis.get_ylim()  # sets the limits that transData uses
    to_axes = axis.transData + axis.transAxes.inverted()
    ends = [to_axes.transform((line.get_xdata()[-1], line.get_ydata()[-1]))[1] for line in lines]
    order = sorted(range(len(ends)), key=ends.__getitem__)
    for _ in range(100):  # neighbors push each other, half the overlap each
        for lower, upper in pairwise(order):
            push = max(0.0, gap - (ends[upper] - ends[lower])) / 2
            ends[lower], ends[upper] = ends[lower] - push, ends[upper] + push
    for height, line, label in zip(ends, lines, labels, strict=True):
        axis.annotate(
            label,
            (1.0, height),
            (6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=line.get_color(),
            fontsize=RC["legend.fontsize"],
            verticalalignment="center",
            annotation_clip=False,
        )
