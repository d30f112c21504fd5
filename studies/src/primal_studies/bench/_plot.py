"""The picture of a benchmark: time against size of the output, with the memory's own line."""

from __future__ import annotations

from pathlib import Path

from primal._files import written_figure
from primal_studies.bench._measure import GIVEN_MEMORY, OURS, Result

__all__ = ["plot"]

_STYLES = {
    OURS: ("o", "tab:blue"),
    GIVEN_MEMORY: ("s", "tab:cyan"),
    "RBFSampler": ("^", "tab:orange"),
    "Nystroem": ("v", "tab:green"),
    "paper's recipe": ("D", "tab:red"),
}


def plot(results: list[Result], path: Path) -> bool:
    """Draw StaticPrime and DynamicPrime against their peers; False if neither was measured."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    groups = [g for g in ("static", "dynamic") if any(r.group == g for r in results)]
    if not groups:
        return False
    figure, axes = plt.subplots(
        1, len(groups), figsize=(6.5 * len(groups), 5), layout="constrained", squeeze=False
    )
    for axis, group in zip(axes[0], groups, strict=True):
        rows = sorted((r for r in results if r.group == group), key=lambda r: r.output_bytes)
        for name, (marker, colour) in _STYLES.items():
            points = [
                (r.output_bytes / 1e6, 1e3 * r.median(name)) for r in rows if name in r.seconds
            ]
            if points:
                line = "-" if group == "static" else ""
                axis.plot(
                    *zip(*points, strict=True), marker + line, color=colour, label=name, alpha=0.8
                )
        fill = [(r.output_bytes / 1e6, 1e3 * r.median("memory fill")) for r in rows]
        axis.plot(*zip(*sorted(fill), strict=True), "k--", label="memory fill", linewidth=1)
        axis.set(xscale="log", yscale="log", xlabel="output, MB", ylabel="milliseconds")
        axis.set_title("StaticPrime" if group == "static" else "DynamicPrime, d = 2 ... 4096")
        axis.grid(True, which="both", alpha=0.2)
        axis.legend()
    written_figure(figure, path)
    plt.close(figure)
    return True
