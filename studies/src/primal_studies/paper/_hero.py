"""The first picture of the page: a spiral through the map and back, by two decoders."""

from __future__ import annotations

import io

import numpy as np

from primal._pictures import COLORS, RC
from primal.decoding import Box
from primal.maps import DynamicPrime
from primal_studies.paper._shapes import spiral

__all__ = ["hero"]


def hero(points: int = 500) -> str:
    """Return an SVG of the paper's spiral: input, wrapped phases, and what two decoders read."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    x = spiral(points)
    m = DynamicPrime(2, 128, 1.0)
    z = m.encode(x)
    turns = m.turns(x)[:, [0, 20]] / 2.0**32
    panels = (
        ("x", x, COLORS["welch"], 16.0),
        ("wrapped phases", turns - 0.5, COLORS["prime"], 0.55),
        ("the paper's inverse", m.decode(z), COLORS["gaussian"], 16.0),
        ("lattice decoder", m.decode_plan(prior=Box(20.0)).decode(z).x, COLORS["random"], 16.0),
    )
    with mpl.rc_context(
        {**RC, "svg.fonttype": "path", "svg.hashsalt": "hero", "axes.facecolor": "none"}
    ):
        figure = Figure(figsize=(6.6, 1.95), layout="constrained")
        for panel, (title, at, colour, reach) in zip(figure.subplots(1, 4), panels, strict=True):
            panel.plot(*np.nan_to_num(at).T, ".", ms=2.2, color=colour)
            panel.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
            panel.set(xticks=(), yticks=(), title=title)
        file = io.StringIO()
        figure.savefig(file, format="svg", facecolor="none", metadata={"Date": None})
    return file.getvalue()
