"""The picture of a benchmark: times of every case, with that of a memory fill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from primal_studies._pictures import COLORS, SOFT, label_ends, picture
from primal_studies.bench._measure import GIVEN_MEMORY, OURS, Result

__all__ = ["plot"]

_STYLES = {
    OURS: ("o", COLORS["prime"]),
    GIVEN_MEMORY: ("s", "#56B4E9"),
    "RBFSampler": ("^", COLORS["gaussian"]),
    "Nystroem": ("v", COLORS["random"]),
    "paper's recipe": ("D", COLORS["sobol"]),
    "memory fill": ("|", SOFT),
}


def plot(results: list[Result], path: Path) -> bool:
    """Draw StaticPrime and DynamicPrime against their peers; False if neither was measured."""
    draws = {"static": _static, "dynamic": _dynamic}
    groups = [group for group in draws if any(r.group == group for r in results)]
    if not groups:
        return False
    with picture(path, (6.5 * len(groups), 5.2)) as figure:
        for axis, group in zip(
            figure.subplots(1, len(groups), squeeze=False)[0], groups, strict=True
        ):
            draws[group](axis, [r for r in results if r.group == group])
    return True


def _static(axis: Any, rows: list[Result]) -> None:
    """Draw times against the size of the output, one line for each contender."""
    rows = sorted(rows, key=lambda r: r.output_bytes)
    for name, (marker, color) in _STYLES.items():
        found = [(r.output_bytes / 1e6, 1e3 * r.median(name)) for r in rows if name in r.seconds]
        if found:
            axis.plot(*zip(*found, strict=True), marker + "-", color=color, label=name)
    axis.set(xscale="log", yscale="log", xlabel="output, MB", ylabel="milliseconds")
    axis.set_title("StaticPrime: time against size")
    label_ends(axis)


def _dynamic(axis: Any, rows: list[Result]) -> None:
    """Draw one line of marks for each case: they differ in N, d and D, so sizes are no axis."""
    rows = sorted(rows, key=lambda r: (r.sizes["d"], r.sizes["D"], r.sizes["N"]), reverse=True)
    for name, (marker, color) in _STYLES.items():
        found = [(1e3 * r.median(name), at) for at, r in enumerate(rows) if name in r.seconds]
        if found:
            size = 11 if marker == "|" else 6
            axis.plot(*zip(*found, strict=True), marker, color=color, label=name, markersize=size)
    labels = ["{N:,} x {d} -> {D}".format(**r.sizes) for r in rows]
    axis.set_yticks(range(len(rows)), labels)
    axis.set(xscale="log", xlabel="milliseconds", title="DynamicPrime: rows x inputs -> features")
    axis.grid(axis="y")
    axis.figure.legend(
        *axis.get_legend_handles_labels(), loc="outside lower center", ncols=len(_STYLES)
    )
