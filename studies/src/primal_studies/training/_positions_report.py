"""Tables and pictures of the study of positions, from its runs alone."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

from primal_studies._pictures import PALETTE, picture
from primal_studies.training._common import Settings, table

__all__ = ["draw", "report", "scores"]

YARN = "{}, YaRN at evaluation"
MEASURES = {"loss": "nats per byte", "passkey": "pass keys found", "copy": "letters copied"}
# What the picture shows, of the methods: others lie on one of these.
_DRAWN = {
    YARN.format("prime log"): "-",
    YARN.format("rotary"): "--",
    "prime log, three quarters": "-",
    "HoPE": "-",
    "ALiBi": "-",
    "prime raw": ":",
    "rotary": "-",
    YARN.format("prime log, three quarters"): "--",
}
# Two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom.
_T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


_ENOUGH = 5


def scores(runs: list[Settings], size: str, length: int, measure: str) -> dict[str, dict]:
    """Return {method: {factor: one value for each seed}} at the best rate, YaRN as a method."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for run in _at_best_rate(runs, size, length):
        for method, name in (
            (run["method"], measure),
            (YARN.format(run["method"]), f"yarn_{measure}"),
        ):
            for factor, value in run.get(name, {}).items():
                found.setdefault(method, {}).setdefault(factor, {})[run["seed"]] = value
    return found


def interval(values: list[float]) -> float:
    """Return half of the 95 % interval of a mean, NaN for one value."""
    n = len(values)
    return _T95[n - 2] * statistics.stdev(values) / math.sqrt(n) if n > 1 else math.nan


def report(runs: list[Settings]) -> str:
    """Return one table for each size, length and measure; the best at four times comes first.

    Beside a mean stands half of its 95 % interval over seeds, of fewer than five their range.
    """
    parts = []
    for size, length in sorted({(run["size"], run["length"]) for run in runs}):
        for measure, unit in MEASURES.items():
            found = scores(runs, size, length, measure)
            sign = 1 if measure == "loss" else -1
            order = sorted(found, key=lambda m: sign * statistics.fmean(found[m]["4"].values()))
            factors = list(found[order[0]])
            rows = [
                [method, *(_cell(found[method][f]) for f in factors), len(found[method]["1"])]
                for method in order
            ]
            header = ["positions", *(str(length * int(f)) for f in factors), "seeds"]
            title = f"### {size}, trained at {length}: {unit}"
            parts.append(f"{title}\n\n{table(header, rows)}")
    tokens = sum(run["tokens"] for run in runs)
    seconds = sum(run["seconds"] / run["workers"] for run in runs)
    machines = ", ".join(sorted({run["machine"] for run in runs}))
    parts.append(
        f"{len(runs)} runs, {tokens / 1e6:,.0f} million bytes trained on, {seconds:,.0f} s on "
        f"{machines}."
    )
    return "\n\n".join(parts)


def draw(runs: list[Settings], folder: Path) -> None:
    """Draw the loss by length, of every size and trained length one picture; needs matplotlib.

    Bars are 95 % intervals over seeds; one seed has none.
    """
    for size, length in sorted({(run["size"], run["length"]) for run in runs}):
        found = scores(runs, size, length, "loss")
        path = folder / f"positions-loss-{size}-{length}.png"
        with picture(path, (7.4, 3.9)) as figure:
            axes = figure.subplots()
            for (name, style), color in zip(_DRAWN.items(), PALETTE * 2, strict=False):
                points = found.get(name, {})
                lengths = [length * int(factor) for factor in points]
                each = [list(values.values()) for values in points.values()]
                axes.errorbar(
                    lengths,
                    [statistics.fmean(values) for values in each],
                    [interval(values) for values in each],
                    fmt=style,
                    color=color,
                    capsize=2,
                    label=name,
                )
            axes.set_xscale("log", base=2)
            axes.set_xticks([length * factor for factor in (1, 2, 4, 8, 16)])
            axes.xaxis.set_major_formatter("{x:.0f}")
            axes.set(xlabel=f"length of text, trained at {length}", ylabel="loss, nats per byte")
            axes.set_ylim(0.9, 2.2)
            figure.legend(loc="outside right center")


def _cell(values: dict[int, float]) -> str:
    listed = list(values.values())
    mean = f"{statistics.fmean(listed):.3f}"
    if len(listed) >= _ENOUGH:
        return f"{mean} ± {interval(listed):.3f}"
    return mean if len(listed) < 2 else f"{mean} ({min(listed):.3f} to {max(listed):.3f})"


def _at_best_rate(runs: list[Settings], size: str, length: int) -> list[Settings]:
    """Return one run for each method and seed: of several rates the one with the least loss."""
    best: dict[tuple[str, int], Settings] = {}
    for run in runs:
        if (run["size"], run["length"]) == (size, length):
            key = run["method"], run["seed"]
            if key not in best or run["loss"]["1"] < best[key]["loss"]["1"]:
                best[key] = run
    return list(best.values())
