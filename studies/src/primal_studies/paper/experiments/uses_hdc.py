"""Sums of codes: how many items and which histories they hold, in how many dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal_studies.paper._claim import Claim, Judgement
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._stats import COLOURS, LABELS, fact, grade
from primal_studies.paper.experiments._parts import CODES, crossing, panels, unit_codes, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_N = 1000
_DRAWS = 5  # of random codes
_GRIDS = {512: (8, 12, 16, 20, 24, 30), 10_000: (100, 200, 300, 400, 500)}
_RUN = 40


def run(quick: bool, progress: Progress) -> Outcome:
    """Add up codes of random items, and of consecutive positions, and read them back."""
    items, facts = _items(10 if quick else 100)
    progress(0.8)
    history, more = _histories()
    progress(1.0)
    return Outcome({"items": items, "histories": history}, facts | more)


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
    generator = np.random.default_rng(42)
    for K in grid:
        yield np.array([generator.permutation(_N)[:K] for _ in range(trials)])


def _bundled(codes: np.ndarray, sets: np.ndarray) -> float:
    """Return the share of items, over sets of shape (trials, K), among the K most similar."""
    members = np.zeros((len(sets), len(codes)), dtype=np.float32)
    np.put_along_axis(members, sets, 1.0, axis=1)
    scores = (members @ codes) @ codes.T
    best = np.argpartition(-scores, sets.shape[1] - 1, axis=1)[:, : sets.shape[1]]
    return float(np.take_along_axis(members, best, axis=1).mean())


def _histories() -> tuple[list[Row], dict[str, Fact]]:
    """Return how much of a run of consecutive positions a sum of 512 numbers keeps."""
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for code in CODES:
        books = [unit_codes(code, _N, 512, seed=s) for s in range(1 if code == "prime" else _DRAWS)]
        for length in (10, 20, 30, _RUN, 50):
            runs = np.array([np.arange(first, first + length) for first in (0, 150, 377)])
            found = fact([_bundled(book, runs) for book in books])
            rows.append(
                {"code": code, "length": length, "kept": found.value, "spread": found.spread}
            )
            if length == _RUN:
                facts[f"consecutive positions kept, {code}"] = found
    return rows, facts


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
                color=COLOURS[code],
                label=f"{LABELS[code]}, D = {D}",
            )
    panel.axhline(0.99, color="grey", ls=":")
    panel.set_xlabel(f"items in one sum, of {_N}")
    panel.set_ylabel("items read back")
    panel.legend(fontsize=9)
    return figure


def _draw_histories(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.2)
    panel = axes[0, 0]
    for code in CODES:
        chosen = [row for row in rows if row["code"] == code]
        length, kept, spread = ([r[n] for r in chosen] for n in ("length", "kept", "spread"))
        panel.errorbar(length, kept, spread, fmt="o-", color=COLOURS[code], label=LABELS[code])
    panel.set_xlabel("consecutive positions in one sum, D = 512")
    panel.set_ylabel("positions read back")
    panel.set_ylim(0.0, 1.03)
    panel.legend(fontsize=9)
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
    prime, gaussian, random = values_of(facts, *(f"consecutive positions kept, {c}" for c in CODES))
    return Judgement(
        grade(prime > gaussian + 0.02 and prime > random - 0.02, prime > gaussian - 0.02),
        f"{prime:.0%} of 40 consecutive events kept, Gaussian {gaussian:.0%}",
        f"D = 512: prime codes keep {prime:.0%}, Gaussian codes {gaussian:.0%}, random waves "
        f"{random:.0%}. No prime is a square, so few roots lie near whole numbers, where the codes "
        "of a run would add up.",
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
        f"Items of {_N} held in one sum at 99 %: prime codes at D = 512, Gaussian at D = 10,000.",
        "Holds if as many; in part if half as many.",
        "uses-hdc",
        _fewer_dimensions,
    ),
    Claim(
        "longer-history",
        "Section 4.2, implicit state memory",
        "A state that adds up prime codes keeps a longer history of events.",
        "Read 40 consecutive positions back from their sum, D = 512.",
        "Holds if prime codes beat Gaussian ones by 0.02 and are level with random frequencies; in "
        "part if level with Gaussian ones.",
        "uses-hdc",
        _longer_history,
    ),
    Claim(
        "edge-power",
        "Section 4.1, hyperdimensional computing",
        "Smaller codes cut memory traffic and power on edge devices.",
        "Needs such a device and its power meter.",
        "Not tested: no edge device here. Whether the codes can be smaller is tested above.",
    ),
)
