"""Section 2: what the basis does to distances and directions, and how its frequencies lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.bases import Basis
from primal.maps import DynamicPrime
from primal.turns import primes
from primal_studies.paper._claim import Claim, Judgement
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._shapes import noisy, spiral
from primal_studies.paper._stats import COLOURS, fact, grade
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_INPUTS = (2, 8, 64)
_BASES = ("paper", "orthogonal")
_CODE_NOISE = 0.01
_RANGE_INPUTS = (1, 2, 16)
_RANGE_DIMENSIONS = (16, 64, 256, 1024, 4096, 16384, 65536)


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure conditioning, the stretching of distances, and the order of frequencies."""
    conditioning = [_condition_row(basis, d) for basis in _BASES for d in _INPUTS]
    facts: dict[str, Fact] = {}
    for row in conditioning:
        name = f"{row['basis']} d {row['d']}"
        facts[f"condition number, {name}"] = Fact(float(row["condition_number"]))
        facts[f"energy of one direction, {name}"] = Fact(float(row["energy_of_one_direction"]))
    progress(0.5)
    distances: list[Row] = []
    for basis in _BASES:
        ratios, rows = _stretching(basis, 150 if quick else 400)
        facts[f"distortion of the spiral, {basis}"] = Fact(float(ratios.max() / ratios.min()))
        distances += rows
        facts[f"relative error from noisy codes, {basis}"] = fact(
            [_noisy_decode(basis, seed) for seed in range(5)]
        )
    ranges = [_range_row(d, D) for d in _RANGE_INPUTS for D in _RANGE_DIMENSIONS]
    progress(1.0)
    return Outcome(
        {"conditioning": conditioning, "distances": distances, "range": ranges},
        facts | _octave_facts() | _range_facts(ranges),
    )


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw distances before and after, and the range of frequencies against D."""
    return {
        "distances": _draw_distances(outcome.tables["distances"]),
        "range": _draw_range(outcome.tables["range"]),
    }


def _condition_row(basis: str, d: int) -> Row:
    values = np.linalg.svd(Basis(basis, d, 8 * d).frequencies, compute_uv=False)
    return {
        "basis": basis,
        "d": d,
        "D": 16 * d,
        "condition_number": float(values[0] / values[-1]),
        "energy_of_one_direction": float(values[0] ** 2 / np.square(values).sum()),
    }


def _stretching(basis: str, n: int) -> tuple[np.ndarray, list[Row]]:
    """Return how much every pair of points of the spiral is stretched, and some of the pairs."""
    x = spiral(n)
    z = DynamicPrime(2, 4, 0.007, basis=basis).encode(x, dtype="float64")
    first, second = np.triu_indices(len(x), 1)
    before = np.linalg.norm(x[first] - x[second], axis=1)
    after = np.linalg.norm(z[first] - z[second], axis=1)
    step = len(before) // 800
    rows: list[Row] = [
        {"basis": basis, "before": float(a), "after": float(b)}
        for a, b in zip(before[::step], after[::step], strict=True)
    ]
    return after / before, rows


def _noisy_decode(basis: str, seed: int) -> float:
    """Return the RMS error over the RMS of the spiral when its codes are off by 0.01."""
    x = spiral()
    m = DynamicPrime(2, 4, 0.007, basis=basis)
    found = m.decode(noisy(m.encode(x, dtype="float64"), _CODE_NOISE, seed))
    return float(np.sqrt(np.square(found - x).mean() / np.square(x).mean()))


def _range_row(d: int, D: int) -> Row:
    """Return the largest over the smallest frequency beside the paper's estimate."""
    largest = int(primes(1, start=d * D // 2 - 1)[0])
    ratio, printed = math.sqrt(largest / 2.0), math.sqrt(D * math.log(D) / 2.0)
    return {
        "d": d,
        "D": D,
        "range": ratio,
        "printed": printed,
        "printed_over_range": printed / ratio,
    }


def _range_facts(rows: list[Row]) -> dict[str, Fact]:
    return {
        f"printed over true range, d {row['d']} D 4096": Fact(float(row["printed_over_range"]))
        for row in rows
        if row["D"] == 4096
    }


def _octave_facts() -> dict[str, Fact]:
    lengths = np.linalg.norm(Basis("paper", 2, 2048).frequencies, axis=1)
    return {
        "rows in rising order of frequency": Fact(float((np.diff(lengths) > 0.0).mean())),
        "share of rows in the top octave": Fact(float((lengths > lengths[-1] / 2.0).mean())),
        "octaves": Fact(float(np.log2(lengths[-1] / lengths[0]))),
    }


def _draw_distances(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, len(_BASES), 3.2)
    for panel, basis, colour in zip(axes[0], _BASES, PALETTE, strict=False):
        pairs = np.array([[r["before"], r["after"]] for r in rows if r["basis"] == basis])
        panel.plot(*pairs.T, ".", ms=3, color=colour, rasterized=True)
        panel.set_title(f"{basis} basis", fontsize=10)
        panel.set_xlabel("distance of inputs")
    axes[0, 0].set_ylabel("distance of features")
    return figure


def _draw_range(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.5)
    panel = axes[0, 0]
    for colour, d in zip(PALETTE, _RANGE_INPUTS, strict=False):
        curve = [row for row in rows if row["d"] == d]
        panel.loglog(
            [r["D"] for r in curve],
            [r["range"] for r in curve],
            "o-",
            color=colour,
            label=f"d = {d}",
        )
    panel.loglog(
        [r["D"] for r in curve],
        [r["printed"] for r in curve],
        "--",
        color=COLOURS["welch"],
        label="sqrt(D ln D / 2)",
    )
    panel.set_xlabel("D")
    panel.set_ylabel("largest / smallest frequency")
    panel.legend(fontsize=9, frameon=False)
    return figure


def _isometric(facts: Mapping[str, Fact]) -> Judgement:
    paper, ours, energy = values_of(
        facts,
        "distortion of the spiral, paper",
        "distortion of the spiral, orthogonal",
        "energy of one direction, paper d 64",
    )
    return Judgement(
        grade(paper < 1.1, paper < 2.0),
        f"distances are stretched unequally by a factor of {paper:.0f}",
        "Without wrapping the distortion is the condition number of W. One direction holds "
        f"{energy:.4%} of the energy of W at d = 64. An orthogonal basis of primes distorts by "
        f"{ours:.1f}.",
    )


def _robust(facts: Mapping[str, Fact]) -> Judgement:
    paper, ours = values_of(
        facts, *(f"relative error from noisy codes, {basis}" for basis in _BASES)
    )
    return Judgement(
        grade(paper < 0.05, paper < 0.5),
        f"{paper:.0%} of the size of x, for noise of {_CODE_NOISE} in the features",
        f"Rows of W that are nearly parallel amplify noise: the relative error is {paper:.2f} with "
        f"the paper's basis and {ours:.3f} with an orthogonal basis of primes.",
    )


def _hierarchical(facts: Mapping[str, Fact]) -> Judgement:
    rising, top, octaves = values_of(
        facts, "rows in rising order of frequency", "share of rows in the top octave", "octaves"
    )
    level = 2.0 / octaves
    return Judgement(
        grade(rising == 1.0 and top < level, rising == 1.0),
        f"{rising:.0%} rising; {top:.0%} of rows in the top one of {octaves:.1f} octaves",
        f"Frequencies rise from row to row. A multi-resolution basis has about {1.0 / octaves:.0%} "
        f"in each octave; here the top one holds {top:.0%} (D = 4096).",
    )


def _range_formula(facts: Mapping[str, Fact]) -> Judgement:
    one, two, many = values_of(
        facts, *(f"printed over true range, d {d} D 4096" for d in _RANGE_INPUTS)
    )
    near = [abs(ratio - 1.0) < 0.1 for ratio in (one, two, many)]
    return Judgement(
        grade(all(near), any(near)),
        f"printed / true = {one:.2f}, {two:.2f}, {many:.2f} at d = 1, 2, {_RANGE_INPUTS[-1]}",
        "The range is sqrt(p / 2) with p the last of d D / 2 primes; the printed form has no d and "
        f"is within 10 % for {sum(near)} of the three.",
    )


EXPERIMENT = Experiment(
    "geometry",
    "Distances and frequencies (Sections 2.2 and 2.3)",
    "The paper calls the map isometric at low sigma and its ordered frequencies a multi-resolution "
    "analysis. Here distances between points of the spiral are compared before and after, the "
    "directions that W sees are counted, and its rows are sorted into octaves.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "isometric",
        "Section 2.3, manifold regime",
        "At low sigma the map is an isometric embedding.",
        "Largest over smallest stretching of distances on the spiral, sigma = 0.007, D = 4.",
        "Holds below 1.1; in part below 2.",
        "geometry",
        _isometric,
    ),
    Claim(
        "robust-reconstruction",
        "Section 1, contributions",
        "The map gives robust signal reconstruction.",
        "Decode features of the spiral with Gaussian noise of 0.01, sigma = 0.007, D = 4.",
        "Holds if the relative error is below 0.05; in part below 0.5.",
        "geometry",
        _robust,
    ),
    Claim(
        "hierarchical",
        "Section 2.2, spectral bias",
        "Rows are ordered from coarse to fine, a multi-resolution analysis similar to wavelets.",
        "Order of the row lengths of W, and their share in the top octave (d = 2, D = 4096).",
        "Holds if rows rise and the top octave has less than twice its even share; in part if they "
        "only rise.",
        "geometry",
        _hierarchical,
    ),
    Claim(
        "dynamic-range",
        "Section 4.3, dynamic range",
        "Largest over smallest frequency grows as sqrt(D ln D / 2).",
        f"Exact ratio at D = 4096 for d = 1, 2 and {_RANGE_INPUTS[-1]}.",
        "Holds if all are within 10 % of the formula; in part if one is.",
        "geometry",
        _range_formula,
    ),
)
