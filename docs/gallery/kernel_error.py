"""Kernel error against RBFSampler and orthogonal random features, on fourteen datasets.

``python docs/gallery/kernel_error.py`` measures everything again, writes the numbers of the
random peers (means over ten seeds) to ``kernel_error.json`` and draws ``kernel_error.png``.
"""

from __future__ import annotations

import json
from pathlib import Path

from figures import COLORS, HERE, SOFT, panels

import peers

SIZES = (256, 1024)


def measure(names: set[str] | None = None, sizes: tuple[int, ...] = SIZES) -> list[dict]:
    """Return one row for each dataset, D and rule for gamma."""
    rows = []
    for name, X in [*peers.bundled(), *peers.unnamed()]:
        if names is not None and name not in names:
            continue
        for rule, gamma in peers.gammas(X).items():
            for D in sizes:
                errors = peers.kernel_errors(X, D, gamma)
                rows.append({"data": name, "d": X.shape[1], "D": D, "rule": rule, **errors})
    return rows


def draw(rows: list[dict], path: Path = HERE / "kernel_error.png") -> None:
    """Draw the ratio to RBFSampler of every row; below the line we are ahead."""
    styles = (
        ("PrimeFeatures", "o", COLORS["prime"]),
        ("orthogonal random", "x", COLORS["gaussian"]),
    )
    rows = sorted(rows, key=lambda row: (row["d"], row["data"], row["D"], row["rule"]))
    firsts = [i for i, row in enumerate(rows) if i == 0 or rows[i - 1]["data"] != row["data"]]
    labels = [f"{rows[i]['data']} ({rows[i]['d']})" for i in firsts]
    with panels(path, 1, 9.0, 4.4) as (axis,):
        for contender, marker, color in styles:
            ratios = [row[contender] / row["RBFSampler"] for row in rows]
            axis.plot(range(len(rows)), ratios, marker, color=color, label=contender, markersize=4)
        axis.axhline(1.0, color=SOFT, linewidth=1, label="RBFSampler")
        for first in firsts[1:]:
            axis.axvline(first - 0.5, color="#dedbd3", linewidth=0.8, zorder=0)
        axis.set_xticks(firsts, labels, rotation=40, ha="right")
        axis.set(ylabel="kernel error / RBFSampler's", ylim=(0, 1.1), xlim=(-1, len(rows)))
        axis.set_title("four points for each dataset (number of inputs): two D, two gammas")
        axis.figure.legend(loc="outside upper center", ncols=3)


if __name__ == "__main__":
    table = measure()
    (HERE / "kernel_error.json").write_text(json.dumps(table, indent=1) + "\n")
    draw(table)
