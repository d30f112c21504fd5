"""Figure 2: worst similarities against the Welch bound, over N and D."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from primal.codebooks import (
    bounds,
    codebook,
    gram_statistics,
    predict_coherence,
)
from primal.maps import StaticPrime
from primal_studies.paper._draws import base_seed, generator
from primal_studies.paper._experiment import (
    Experiment,
    Fact,
    Outcome,
    Progress,
    Row,
    Sizes,
    sizes_of,
)
from primal_studies.paper._stats import COLORS, LABELS, column, density, density_peak, fact
from primal_studies.paper.baselines import (
    gaussian_codes,
    golden_increments,
    nonsquare_root_increments,
    prefix_coherences,
    random_increments,
    rational_increments,
    sobol_increments,
    toeplitz_coherences,
    toeplitz_rms,
)
from primal_studies.paper.experiments._optimality_claims import CLAIMS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

CODES = (100, 250, 500, 1000, 2000, 5000, 10_000)
DIMS = tuple(2**i for i in range(4, 13))
# How often random codes are drawn: Gaussian codes of large D take nearly all of the time.
SIZES: Sizes = {
    "gaussian_draws": (1, 3),
    "control_draws": (8, 32),
}
_NORMALIZED_CODES = 500
# Kerdock codes exist for D = 4**i; they are the yardstick for "best" and "near-optimal".
KERDOCK_DIMS = (16, 64, 256, 1024)

# From D, a seed and sizes to the coherences of as many codes.
Draw = Callable[[int, int, list[int]], list[float]]


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure the worst similarity in every cell; `quick` draws the controls less often."""
    size, facts = sizes_of(SIZES, quick)
    cells = [(N, D) for D in DIMS for N in CODES if N > D]
    # coherences[code][draw, cell]
    coherences = {
        name: np.empty((size[f"{drawn}_draws"] if drawn else 1, len(cells)))
        for name, drawn in _DRAWN.items()
    }
    for done, D in enumerate(DIMS):
        places = [i for i, cell in enumerate(cells) if cell[1] == D]
        above = [cells[i][0] for i in places]
        for name, draw_codes in _DRAWS.items():
            for seed, row in enumerate(coherences[name]):
                row[places] = draw_codes(D, base_seed() + seed, above)
        # The dense products grow with D: so does their share of the time.
        progress(sum(DIMS[: done + 1]) / sum(DIMS))
    welch = np.array([bounds.welch(*cell) for cell in cells])
    ratios = {name: values / welch for name, values in coherences.items()}
    excesses = {name: values - welch for name, values in coherences.items()}
    rows = [_cell_row(cell, i, coherences) for i, cell in enumerate(cells)]
    tables = {
        "cells": rows,
        "kerdock": _kerdock_rows(rows),
        "density": [
            *_density_rows("ratio", ratios, np.linspace(1.0, 12.0, 221)),
            *_density_rows("excess", excesses, np.linspace(0.0, 1.0, 201)),
        ],
    }
    return Outcome(tables, facts | _facts(ratios, excesses, rows, tables["kerdock"]))


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the two densities, and the ratios that they are made from."""
    return {
        "densities": _draw_densities(outcome),
        "ratios": _draw_ratios(outcome),
        "predicted": _draw_predicted(outcome),
    }


# The size that says how often each is drawn; the others are not random.
_DRAWN = {
    **dict.fromkeys(("prime", "golden", "roots"), ""),
    "gaussian": "gaussian",
    **dict.fromkeys(("random", "sobol", "rational"), "control"),
}
_DRAWS: dict[str, Draw] = {
    "prime": lambda D, seed, sizes: toeplitz_coherences(StaticPrime(D).increments, sizes),
    "gaussian": lambda D, seed, sizes: prefix_coherences(
        gaussian_codes(max(sizes), D, seed), sizes
    ),
    "random": lambda D, seed, sizes: toeplitz_coherences(random_increments(D // 2, seed), sizes),
    "sobol": lambda D, seed, sizes: toeplitz_coherences(sobol_increments(D // 2, seed), sizes),
    "golden": lambda D, seed, sizes: toeplitz_coherences(golden_increments(D // 2), sizes),
    "rational": lambda D, seed, sizes: toeplitz_coherences(
        rational_increments(D // 2, seed), sizes
    ),
    "roots": lambda D, seed, sizes: toeplitz_coherences(nonsquare_root_increments(D // 2), sizes),
}


def _cell_row(cell: tuple[int, int], place: int, coherences: Mapping[str, np.ndarray]) -> Row:
    N, D = cell
    middle = {name: float(np.median(values[:, place])) for name, values in coherences.items()}
    row: Row = {"N": N, "D": D, "welch": bounds.welch(N, D), "best_bound": bounds.best(N, D).value}
    for name, value in middle.items():
        row[f"{name}_coherence"] = value
        row[f"{name}_ratio"] = value / bounds.welch(N, D)
        row[f"{name}_excess"] = value - bounds.welch(N, D)
    row["prime_rms_over_welch"] = toeplitz_rms(StaticPrime(D).increments, [N])[0] / bounds.welch(
        N, D
    )
    row["predicted_prime"] = predict_coherence(N, D)
    row["predicted_gaussian"] = predict_coherence(N, D, model="gaussian")
    return row


def _kerdock_rows(rows: list[Row]) -> list[Row]:
    """Return what Kerdock codes reach in the cells where they exist and are not the wrong choice.

    Beyond D**2 / 2 + D codes there is none, and near N = D others are better.
    """
    return [
        {
            "N": N,
            "D": D,
            "kerdock_ratio": mu / bounds.welch(N, D),
            "prime_over_kerdock": float(row["prime_coherence"]) / mu,
        }
        for row in rows
        for N, D in ((int(row["N"]), int(row["D"])),)
        if D in KERDOCK_DIMS and 1.9 * D <= N <= D * D // 2 + D
        for mu in (codebook(N, D, kind="kerdock").certificate.coherence,)
    ]


def _density_rows(statistic: str, values: Mapping[str, np.ndarray], at: np.ndarray) -> list[Row]:
    """Return the kernel density of each code, averaged over its draws.

    No coherence is below the Welch bound, so mass that smoothing puts there is reflected at it.
    """
    limit = at[0]
    rows: list[Row] = []
    for name, draws in values.items():
        curve = np.mean(
            [density(cells, at) + density(cells, 2.0 * limit - at) for cells in draws], axis=0
        )
        rows += [
            {"statistic": statistic, "code": name, "x": float(x), "density": float(y)}
            for x, y in zip(at, curve, strict=True)
        ]
    return rows


def _facts(
    ratios: Mapping[str, np.ndarray],
    excesses: Mapping[str, np.ndarray],
    rows: list[Row],
    kerdock: list[Row],
) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for name, draws in ratios.items():
        facts[f"{name}_ratio_peak"] = fact([density_peak(cells) for cells in draws])
        facts[f"{name}_ratio_mean"] = fact(draws.mean(axis=1))
        facts[f"{name}_ratio_sd"] = fact(draws.std(axis=1, ddof=1))
        facts[f"{name}_excess_peak"] = fact([density_peak(cells) for cells in excesses[name]])
    prime, gaussian = ratios["prime"][0], ratios["gaussian"]
    table_3 = np.array([int(row["N"]) >= 1000 for row in rows])
    for name in ("prime", "gaussian"):
        peaks = [density_peak(cells[table_3]) for cells in ratios[name]]
        facts[f"{name}_ratio_peak_table_3"] = fact(peaks)
    facts["cells"] = Fact(len(rows))
    facts["prime_ratio_least"] = Fact(float(prime.min()))
    facts["prime_ratio_most"] = Fact(float(prime.max()))
    facts["random_rms_over_welch"] = Fact(_rms_of_random_over_welch(rows))
    facts["cells_below_gaussian"] = fact((prime < gaussian).sum(axis=1))
    facts["coherence_quotient"] = fact(np.exp(np.log(prime / gaussian).mean(axis=1)))
    facts["gaussian_excess_largest"] = fact(excesses["gaussian"].max(axis=1))
    facts |= _normalization_facts() | _prediction_facts(rows)
    facts["gaussian_ratio_peak_predicted"] = Fact(
        density_peak([float(row["predicted_gaussian"]) / float(row["welch"]) for row in rows])
    )
    facts["prime_rms_over_welch_median"] = Fact(
        float(np.median([float(row["prime_rms_over_welch"]) for row in rows]))
    )
    facts["kerdock_cells"] = Fact(len(kerdock))
    facts["kerdock_quotient"] = Fact(
        math.exp(float(np.mean([math.log(float(row["prime_over_kerdock"])) for row in kerdock])))
    )
    return facts


def _rms_of_random_over_welch(rows: list[Row]) -> float:
    """Return 1 / sqrt(D), the RMS that any random codes have, over the bound: median cell."""
    return float(np.median([float(row["D"]) ** -0.5 / float(row["welch"]) for row in rows]))


def _prediction_facts(rows: list[Row]) -> dict[str, Fact]:
    """Return how far the closed forms for the coherence are from the measured values."""
    facts = {}
    for name in ("prime", "gaussian"):
        quotients = [
            float(row[f"predicted_{name}"]) / float(row[f"{name}_coherence"]) for row in rows
        ]
        facts[f"{name}_predicted_least"] = Fact(min(quotients))
        facts[f"{name}_predicted_most"] = Fact(max(quotients))
        within = np.abs(np.array(quotients) - 1.0) <= 0.1
        facts[f"{name}_predicted_within"] = Fact(int(within.sum()))
    return facts


def _normalization_facts() -> dict[str, Fact]:
    """Return coherence and RMS of Gaussian codes with and without normalizing their rows.

    Cosines divide by the lengths, so normalizing changes nothing about them.
    """
    raw = generator().standard_normal((_NORMALIZED_CODES, 64))
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    both = {"raw": gram_statistics(raw), "normalised": gram_statistics(unit)}
    # Without dividing by lengths at all, in units of the mean square length.
    gram = raw @ raw.T / float(np.square(raw).sum(axis=1).mean())
    off = gram[~np.eye(len(gram), dtype=bool)]
    return {
        "normalized_codes": Fact(_NORMALIZED_CODES),
        **{f"coherence of Gaussian codes, {name}": Fact(s.coherence) for name, s in both.items()},
        "rms of Gaussian inner products, raw": Fact(float(np.sqrt(np.square(off).mean()))),
        "rms of Gaussian codes, normalised": Fact(both["normalised"].rms),
    }


def _draw_densities(outcome: Outcome) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    axes = figure.subplots(1, 2)
    settings = {
        "ratio": ("optimality ratio: coherence / Welch bound", 1.0),
        "excess": ("excess coherence: coherence - Welch bound", 0.0),
    }
    for axis, (statistic, (label, limit)) in zip(axes, settings.items(), strict=True):
        for name in ("prime", "gaussian", "random", "rational", "sobol", "golden"):
            rows = [
                row
                for row in outcome.tables["density"]
                if row["statistic"] == statistic and row["code"] == name
            ]
            main = name in ("prime", "gaussian")
            axis.plot(
                [float(row["x"]) for row in rows],
                [float(row["density"]) for row in rows],
                color=COLORS.get(name, COLORS["welch"]),
                linewidth=2.4 if main else 1.2,
                linestyle="-" if main else "--",
                label=LABELS[name],
            )
        axis.axvline(limit, color="black", linestyle="--", label="Welch bound")
        axis.set(xlabel=label, ylabel="density", ylim=(0.0, None))
    axes[0].set_xlim(0.5, 12.0)
    axes[1].set_xlim(-0.05, 1.0)
    axes[0].legend(frameon=False)
    return figure


def _draw_ratios(outcome: Outcome) -> Figure:
    figure = column(4.0)
    axis = figure.subplots()
    rows = outcome.tables["cells"]
    aside = {"gaussian": 0.9, "random": 1.1, "prime": 1.0}  # so that no point hides another
    for name in aside:
        axis.plot(
            [int(row["D"]) * aside[name] for row in rows],
            [float(row[f"{name}_ratio"]) for row in rows],
            "o",
            color=COLORS[name],
            markersize=4,
            alpha=0.8,
            label=LABELS[name],
        )
    axis.plot(
        [int(row["D"]) for row in outcome.tables["kerdock"]],
        [float(row["kerdock_ratio"]) for row in outcome.tables["kerdock"]],
        "x",
        color="black",
        label="Kerdock codes",
    )
    axis.axhline(1.0, color=COLORS["welch"], linestyle=":", label="Welch bound")
    axis.set(xscale="log", xlabel="dimension D", ylabel="optimality ratio", ylim=(0.0, None))
    dims = sorted({int(row["D"]) for row in rows})
    axis.set_xticks(dims[::2], [str(D) for D in dims[::2]])
    axis.minorticks_off()
    axis.legend(fontsize=9, frameon=False)
    return figure


def _draw_predicted(outcome: Outcome) -> Figure:
    figure = column(3.6)
    axis = figure.subplots()
    rows = outcome.tables["cells"]
    for name, marker in (("gaussian", "s"), ("prime", "o")):
        axis.loglog(
            [float(row[f"predicted_{name}"]) for row in rows],
            [float(row[f"{name}_coherence"]) for row in rows],
            marker,
            color=COLORS[name],
            markersize=4,
            alpha=0.8,
            label=LABELS[name],
        )
    ends = (0.05, 1.0)
    axis.plot(ends, ends, color=COLORS["welch"], linestyle=":", label="equal")
    axis.set(xlabel="coherence by the closed form", ylabel="coherence measured")
    axis.legend(frameon=False)
    return figure


EXPERIMENT = Experiment(
    name="optimality",
    title="Welch optimality",
    about=(
        "Figure 2 of the paper compares the coherence, the largest similarity of two codes, with "
        "the Welch bound over {cells} cells: N = 100 to 10,000 and D = 16 to 4096 with N > D. It "
        "shows kernel densities (Scott's bandwidth). In addition to the Gaussian baseline "
        "(draws: {gaussian_draws}) this study has controls of the same form as StaticPrime: "
        "random, Sobol and rational (draws: {control_draws}), golden-ratio frequencies, and roots "
        "of all non-squares. A codebook of smaller N consists of the first rows of a larger one."
    ),
    run=run,
    draw=draw,
)
