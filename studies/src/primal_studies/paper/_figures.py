"""Figures as SVG: files that stand alone, and the same inside a page."""

from __future__ import annotations

import io
import re
import sys
from typing import NamedTuple

from primal_studies._pictures import GRID, INK, RC, SOFT
from primal_studies.paper._experiment import Experiment, Outcome

__all__ = ["InlineFigure", "drawn", "inline"]

# What a page puts in the place of a color on a dark ground.
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
    "#56b4e9": "#9bd4f7",
    "#7a5c1e": "#c9a85c",
}
# Letters as shapes: as text, roots and wide labels come out wrong where DejaVu is missing.
_STYLE = {**RC, "svg.fonttype": "path"}


class InlineFigure(NamedTuple):
    """An SVG element for a page, and its natural width in CSS pixels."""

    svg: str
    width_px: float


def drawn(experiment: Experiment, outcome: Outcome) -> dict[str, str]:
    """Return the figures of an outcome as SVG documents; equal outcomes give equal bytes."""
    import matplotlib as mpl

    if mpl.get_backend().lower() != "agg":  # a switch would close figures that are open
        mpl.use("Agg")
    documents = {}
    with mpl.rc_context({**_STYLE, "svg.hashsalt": experiment.name}):
        for name, figure in experiment.draw(outcome).items():
            file = io.StringIO()
            figure.savefig(file, format="svg", metadata={"Date": None})
            documents[name] = file.getvalue()
            if "matplotlib.pyplot" in sys.modules:  # else nothing holds on to the figure
                sys.modules["matplotlib.pyplot"].close(figure)
    return documents


def inline(document: str, prefix: str, label: str) -> InlineFigure:
    """Return an SVG document as an element among others of one page.

    Names inside it get a prefix, for several figures use the same ones; the style sheet for all
    elements becomes attributes of this one.
    """
    body = document[document.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style type=\"text/css\">.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = _for_both_grounds(body)
    body = re.sub(r'\bid="', f'id="{prefix}-', body)
    body = re.sub(r"url\(#", f"url(#{prefix}-", body)
    body = re.sub(r'href="#', f'href="#{prefix}-', body)
    opening = body[: body.index(">") + 1]
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening)
    width_pt, height_pt = (float(found[1]), float(found[2])) if found else (460.8, 345.6)
    root = (
        f'<svg viewBox="0 0 {width_pt:g} {height_pt:g}" role="img" aria-label="{_escaped(label)}" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" stroke-linejoin="round" stroke-linecap="butt" '
        f'style="fill: light-dark({INK}, {DARK[INK]})">'
    )
    return InlineFigure(root + body[len(opening) :].strip(), width_pt * 96 / 72)


def _for_both_grounds(body: str) -> str:
    """Return an SVG whose colours follow the page: each has a partner for the dark."""
    partners = {light.lower(): dark for light, dark in DARK.items()}

    def both(match: re.Match[str]) -> str:
        dark = partners.get(match[0].lower())
        return f"light-dark({match[0]}, {dark})" if dark else match[0]

    # Inside styles only: attributes know no functions.
    return re.sub(
        r'style="[^"]*"', lambda style: re.sub(r"#[0-9a-fA-F]{6}\b", both, style[0]), body
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
