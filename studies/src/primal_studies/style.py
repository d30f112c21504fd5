"""One style for every picture: palette, type, sizes, and what becomes of them in the dark.

Pages draw with it inside ``with matplotlib.rc_context(RC):``; scripts may call :func:`use` once.
Colours are Okabe and Ito's, which people with any colour vision can tell apart. A colour means the
same thing in all pictures: blue is primes, vermilion Gaussian, green random frequencies.
"""

from __future__ import annotations

__all__ = ["COLOURS", "DARK", "GRID", "INK", "PALETTE", "RC", "SOFT", "use"]

INK = "#1d1f24"
SOFT = "#555b64"
GRID = "#dedbd3"
COLOURS = {
    "prime": "#0072B2",
    "gaussian": "#D55E00",
    "random": "#009E73",
    "sobol": "#CC79A7",
    "golden": "#E69F00",
    "welch": SOFT,
}
# For curves without a meaning of their own, in this order.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#555B64")
# What a page puts in the place of a colour on a dark ground.
DARK = {
    INK: "#e4e2dc",
    SOFT: "#a3a7ae",
    GRID: "#363a41",
    "#ffffff": "#1d2025",
    "#000000": "#e4e2dc",
    "#808080": "#a3a7ae",
    "#0072b2": "#5fb4ee",
    "#d55e00": "#f0864a",
    "#009e73": "#3cc79d",
    "#cc79a7": "#e09bc4",
    "#e69f00": "#f2b63c",
}
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
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "lines.linewidth": 1.8,
    "figure.facecolor": "#ffffff",
    "savefig.facecolor": "#ffffff",
    "savefig.dpi": 160,
}


def use() -> None:
    """Draw everything that follows in this style."""
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcParams.update(RC)
    mpl.rcParams["axes.prop_cycle"] = cycler(color=PALETTE)
