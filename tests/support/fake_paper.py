"""Two small experiments in place of the paper's, for the tests of the runner and of the page."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np

from primal_studies.paper import Claim, Experiment, Fact, Judgement, Outcome, Verdict, experiments

NAMES = ("shells", "tides")


def install(monkeypatch) -> None:
    """Put the two in the place of the registry."""
    for name in NAMES:
        monkeypatch.setitem(sys.modules, f"fake_{name}", _module(name))
    monkeypatch.setattr(experiments, "MODULES", {name: f"fake_{name}" for name in NAMES})


def runs(folder: Path) -> list[str]:
    """Return which experiments were measured, in order; each notes it in a file."""
    note = folder / "measured.txt"
    return note.read_text().split() if note.exists() else []


def _module(name: str) -> ModuleType:
    module = ModuleType(f"fake_{name}")
    module.EXPERIMENT = Experiment(
        name,
        f"The {name} of the <paper>",
        "What the paper shows & means.\n\nWhat is done here.",
        lambda quick, progress: _run(name, quick, progress),
        _draw,
    )
    module.CLAIMS = _claims(name)
    return module


def _run(name: str, quick: bool, progress) -> Outcome:
    note = os.environ.get("FAKE_NOTES")
    if note:
        with (Path(note) / "measured.txt").open("a") as file:
            file.write(f"{name}\n")
    n = 5 if quick else 40
    rows = []
    for i in range(n):
        rows.append({"step": i, "kind": "a" if i % 2 else "b,c", "y": np.sin(i), "odd": i % 2 == 1})
        progress((i + 1) / n)
    progress(0.1)  # as a second part might
    if name == os.environ.get("FAKE_HANG"):
        time.sleep(60)  # until it is killed
    facts = {"peak": Fact(np.float64(0.9999), 0.01, 3), "count": Fact(n), "unused": Fact(-0.5)}
    return Outcome({"steps": rows, "no rows": []}, facts)


def _draw(outcome: Outcome) -> dict:
    from matplotlib.figure import Figure

    figures = {}
    for name in ("curve", "some dots"):
        figure = Figure(figsize=(5, 3))
        axis = figure.subplots()
        steps = [row["step"] for row in outcome.tables["steps"]]
        axis.plot(steps, [row["y"] for row in outcome.tables["steps"]], "o-")
        axis.set(xlabel="step", ylabel="y", title=f"sine of steps ({name})")
        figures[name] = figure
    return figures


def _claims(name: str) -> tuple[Claim, ...]:
    def by_peak(verdict):
        return lambda facts: Judgement(
            verdict, f"peak {facts['peak'].value:.4f}", "The peak is where the rule says it is."
        )

    places = {
        "shells": ("Section 3.5, high-frequency regime", "Abstract", "Figure 2"),
        "tides": ("Section 2.3, inverse pass", "Conclusion", "Section 10.1"),
    }[name]
    verdicts = (Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS)
    judged = [
        Claim(
            f"{name}-{verdict.name.lower()}",
            where,
            f"The {name} rise to one whenever the moon is full & the wind is <calm>, as the "
            "figure shows for every grid.",
            "Sine of whole numbers, largest value.",
            "Holds at 0.99 or more, in part from 0.9, and does not hold below.",
            name,
            by_peak(verdict),
            quote=f"we show that {name} rise to one, as sigma & CDMA do",
            figures=("curve",),
            tables=("steps",),
        )
        for where, verdict in zip(places, verdicts, strict=True)
    ]
    untestable = Claim(
        f"{name}-later",
        "Discussion",
        f"The {name} will help.",
        "None.",
        "About the future.",
        quote="may help in future research",
    )
    return (*judged, untestable)
