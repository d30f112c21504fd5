"""Sums of codes: how many items and which histories they hold, in how many dimensions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.maps import StaticPrime
from primal_studies.paper._claim import Claim, Judgement, Weight
from primal_studies.paper._draws import generator
from primal_studies.paper._experiment import (
    Experiment,
    Fact,
    Outcome,
    Progress,
    Row,
    Sizes,
    sizes_of,
)
from primal_studies.paper._stats import COLORS, LABELS, fact, grade
from primal_studies.paper.experiments._parts import crossing, panels, unit_codes, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_N = 1000
SIZES: Sizes = {"sets": (40, 100), "code_draws": (3, 5)}
_GRIDS = {512: (8, 12, 16, 20, 24, 30), 10_000: (100, 200, 300, 400, 500)}
_HISTORY_DIMENSIONS = (256, 512, 1024)
_RUNS = (10, 20, 40, 80)


def run(quick: bool, progress: Progress) -> Outcome:
    """Add up codes of random items, and of consecutive positions, and read them back."""
    size, sizes = sizes_of(SIZES, quick)
    items, facts = _items(size["sets"])
    progress(0.8)
    history, more = _histories(size["code_draws"])
    progress(1.0)
    return Outcome({"items": items, "histories": history}, sizes | facts | more)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw items read back, and runs of consecutive positions kept, against their number."""
    return {
        "items": _draw_items(outcome.tables["items"]),
        "histories": _draw_histories(outcome.tables["histories"]),
    }


def _items(trials: int) -> tuple[list[Row], dict[str, Fact]]:
    """Bundle K of N codes and read the K most similar back."""
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for D, grid in _GRIDS.items():
        for code in ("prime", "gaussian"):
            codes = unit_codes(code, _N, D)
            scores = [_bundled(codes, sets) for sets in _random_sets(grid, trials)]
            rows += [
                {"code": code, "D": D, "items": K, "accuracy": score}
                for K, score in zip(grid, scores, strict=True)
            ]
            facts[f"items held at 99 %, {code} D {D}"] = Fact(crossing(grid, scores, 0.99))
    return rows, facts


def _random_sets(grid: Sequence[int], trials: int) -> Iterator[np.ndarray]:
    rng = generator()
    for K in grid:
        yield np.array([rng.permutation(_N)[:K] for _ in range(trials)])


def _bundled(codes: np.ndarray, sets: np.ndarray) -> float:
    """Return the share of items, over sets of shape (trials, K), among the K most similar."""
    members = np.zeros((len(sets), len(codes)), dtype=np.float32)
    np.put_along_axis(members, sets, 1.0, axis=1)
    scores = (members @ codes) @ codes.T
    best = np.argpartition(-scores, sets.shape[1] - 1, axis=1)[:, : sets.shape[1]]
    return float(np.take_along_axis(members, best, axis=1).mean())


def _histories(draws: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return how much of a run of consecutive positions a sum of D numbers keeps.

    Every code has its own frequencies, and for primes two scales: the paper's Algorithm 2, and
    1 / sqrt(golden ratio), for sigma is free in its Algorithm 1 with one input.
    """
    rows: list[Row] = []
    for D in _HISTORY_DIMENSIONS:
        books = {
            "prime": [unit_codes("prime", _N, D)],
            "scaled": [_scaled_codes(D)],
            "gaussian": [unit_codes("gaussian", _N, D, seed=s) for s in range(draws)],
            "random": [unit_codes("random", _N, D, seed=s) for s in range(draws)],
        }
        for name, of in books.items():
            for length in _RUNS:
                runs = np.array([np.arange(first, first + length) for first in (0, 150, 377)])
                found = fact([_bundled(book, runs) for book in of])
                rows.append(
                    {
                        "code": name,
                        "D": D,
                        "length": length,
                        "kept": found.value,
                        "spread": found.spread,
                    }
                )
    kept = {
        name: np.array([float(row["kept"]) for row in rows if row["code"] == name])
        for name in ("prime", "scaled", "gaussian", "random")
    }
    facts = {f"consecutive positions kept, {name}": fact(of) for name, of in kept.items()}
    facts["cells"] = Fact(len(kept["prime"]))
    for name in ("prime", "scaled"):
        behind = kept[name] < np.maximum(kept["gaussian"], kept["random"]) - 0.02
        facts[f"cells behind a control, {name}"] = Fact(float(behind.sum()))
    return rows, facts


def _scaled_codes(D: int) -> np.ndarray:
    scale = ((math.sqrt(5.0) - 1.0) / 2.0) ** 0.5
    codes = StaticPrime(D, sigma=scale).waves(_N)
    return codes / np.float32(math.sqrt(D / 2))


def _draw_items(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.2)
    panel = axes[0, 0]
    for code in ("prime", "gaussian"):
        for D, style in zip(_GRIDS, ("o-", "s--"), strict=True):
            chosen = [r for r in rows if (r["code"], r["D"]) == (code, D)]
            panel.semilogx(
                [r["items"] for r in chosen],
                [r["accuracy"] for r in chosen],
                style,
                color=COLORS[code],
                label=f"{LABELS[code]}, D = {D}",
            )
    panel.axhline(0.99, color="grey", ls=":")
    panel.set_xlabel(f"items in one sum, of {_N}")
    panel.set_ylabel("items read back")
    panel.legend(fontsize=9)
    return figure


def _draw_histories(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, len(_HISTORY_DIMENSIONS), 3.2)
    labels = {**LABELS, "scaled": "StaticPrime, sigma 0.79"}
    colors = {**COLORS, "scaled": COLORS["golden"]}
    for panel, D in zip(axes[0], _HISTORY_DIMENSIONS, strict=True):
        for code in ("prime", "scaled", "gaussian", "random"):
            chosen = [row for row in rows if (row["code"], row["D"]) == (code, D)]
            length, kept, spread = ([r[n] for r in chosen] for n in ("length", "kept", "spread"))
            # A fraction: spreads do not reach beyond 1.
            above = np.minimum(spread, 1.0 - np.array(kept))
            panel.errorbar(
                *(length, kept, [spread, above]),
                fmt="o-",
                ms=3,
                color=colors[code],
                label=labels[code],
            )
        panel.set_title(f"D = {D}")
        panel.set_xlabel("events in a run")
        panel.set_ylim(0.0, 1.05)
    axes[0, 0].set_ylabel("positions read back")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _fewer_dimensions(facts: Mapping[str, Fact]) -> Judgement:
    small, same, large = values_of(
        facts,
        "items held at 99 %, prime D 512",
        "items held at 99 %, gaussian D 512",
        "items held at 99 %, gaussian D 10000",
    )
    return Judgement(
        grade(small >= large, small >= large / 2.0),
        f"{small:.0f} items at D = 512, {large:.0f} at D = 10,000",
        f"A sum of prime codes at D = 512 holds {small:.1f} of {_N} items at 99 %, of Gaussian "
        f"codes {same:.1f}; Gaussian codes at D = 10,000 hold {large:.0f}.",
    )


def _longer_history(facts: Mapping[str, Fact]) -> Judgement:
    prime, scaled, gaussian, random = values_of(
        facts,
        *(f"consecutive positions kept, {c}" for c in ("prime", "scaled", "gaussian", "random")),
    )
    cells, behind, scaled_behind, ours, theirs = values_of(
        facts,
        "cells",
        "cells behind a control, prime",
        "cells behind a control, scaled",
        "items held at 99 %, prime D 512",
        "items held at 99 %, gaussian D 512",
    )
    control = max(gaussian, random)
    return Judgement(
        grade(
            behind == 0.0 and prime > control,
            (scaled_behind == 0.0 and scaled > control) or ours > theirs,
        ),
        f"{prime:.0%} kept at sigma = 1, {scaled:.0%} at 0.79; Gaussian codes {gaussian:.0%}, "
        f"random frequencies {random:.0%}",
        f"Runs of 10 to 80 consecutive events, D = 256 to 1024. At the printed scale a control is "
        f"ahead in {behind:.0f} of {cells:.0f} cells (few roots lie near whole numbers, so the "
        f"codes of a run cancel), at 0.79 in {scaled_behind:.0f}. Of events in random order "
        f"{ours:.1f} are held against {theirs:.1f}.",
    )


EXPERIMENT = Experiment(
    "uses-hdc",
    "Hyperdimensional computing (Discussion)",
    "The paper suggests D = 500 in place of 10,000, and longer histories in states that add up "
    "codes. Random sets of 1000 items, and runs of consecutive positions, are added up and read "
    "back as the most similar codes. Gaussian codes and random frequencies are the controls.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "five-hundred-dimensions",
        "Section 4.1, hyperdimensional computing",
        "D of about 500 can replace the usual 10,000.",
        f"Items of {_N} held in one sum at 99 %: prime codes at D = 512, Gaussian at D = 10,000; "
        "{sets} random sets of each size.",
        "Holds if as many; in part if half as many.",
        "uses-hdc",
        _fewer_dimensions,
        quote="neuro-symbolic reasoning on edge devices could be achieved with significantly "
        "compressed dimensions (e.g., D ≈ 500)",
        weight=Weight.CENTRAL,
        figures=("items",),
        tables=("items",),
    ),
    Claim(
        "longer-history",
        "Section 4.2, implicit state memory",
        "A state that adds up prime codes keeps a longer history of events.",
        "Read runs of 10 to 80 consecutive positions back from their sum, D = 256, 512, 1024; and "
        "{sets} random sets of events. Draws of Gaussian and random codes: {code_draws}.",
        "Holds if at the printed scale prime codes lead on average and are behind no control by "
        "0.02 in any cell; in part if so at another scale, or if they hold more random events.",
        "uses-hdc",
        _longer_history,
        quote="allowing the model to retain longer dependencies and higher-resolution history "
        "within the same parameter budget by preventing feature collision in the hidden "
        "state",
        figures=(
            "histories",
            "items",
        ),
        tables=(
            "histories",
            "items",
        ),
    ),
    Claim(
        "edge-power",
        "Section 4.1, hyperdimensional computing",
        "Smaller codes cut memory traffic and power on edge devices.",
        "Needs such a device and its power meter.",
        "Not tested: no edge device here. Whether the codes can be smaller is tested above.",
        quote="drastically reducing memory bandwidth and power consumption for IoT applications",
        weight=Weight.DETAIL,
    ),
)
