"""Figure 1: how cosine similarities are distributed, and their RMS over N and D."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from primal.codebooks import bounds, gram_statistics, toeplitz_statistics
from primal.maps import StaticPrime
from primal_studies.paper._draws import base_seed
from primal_studies.paper._experiment import (
    Experiment,
    Fact,
    Outcome,
    Progress,
    Row,
    Sizes,
    sizes_of,
)
from primal_studies.paper._stats import LABELS, column, fact
from primal_studies.paper.baselines import (
    gaussian_codes,
    gaussian_rms,
    random_increments,
    toeplitz_rms,
)
from primal_studies.paper.experiments._landscape_claims import (
    CLAIMS,
    HIGH_DIMS_FROM,
    RIDGE_N,
    SURFACE_CODES,
    SURFACE_DIMS,
    TAIL_DEVIATIONS,
    in_printed_grid,
    in_table_3,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

RIDGE_DIMS = (16, 64, 256, 1024, 4096)
BINS = 400
# `counted_codes` is the number of codes, of either kind, whose pairs make the densities.
SIZES: Sizes = {
    "counted_codes": (2000, RIDGE_N),
    "ridge_draws": (1, 3),
    "surface_draws": (8, 32),
    "random_draws": (16, 64),
}


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure similarities of StaticPrime and of Gaussian codes.

    `quick` counts the pairs of fewer codes for the densities, and draws fewer seeds.
    """
    size, facts = sizes_of(SIZES, quick)
    ridge, densities = _ridge(
        size["counted_codes"], size["ridge_draws"], lambda share: progress(0.6 * share)
    )
    surface = _surface(
        size["surface_draws"], size["random_draws"], lambda share: progress(0.6 + 0.4 * share)
    )
    facts |= _ridge_facts(ridge, size["ridge_draws"])
    facts |= _surface_facts(surface, size["surface_draws"], size["random_draws"])
    progress(1.0)
    # One column for each seed would be noise in a table: their means are kept.
    tables = {
        "ridge": [_without_seeds(row) for row in ridge],
        "density": densities,
        "rms": [_without_seeds(row) for row in surface],
    }
    return Outcome(tables, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the surfaces of the paper's figure, and its lower half in numbers."""
    return {"figure-1": _draw_dashboard(outcome), "rms": _draw_surfaces(outcome)}


def _ridge(counted: int, n_seeds: int, progress: Progress) -> tuple[list[Row], list[Row]]:
    """Return the RMS at the largest N, and densities from as many codes of both kinds."""
    rows: list[Row] = []
    densities: list[Row] = []
    N, dims = RIDGE_N, RIDGE_DIMS
    for done, D in enumerate(dims):
        prime = toeplitz_statistics(StaticPrime(D).increments, counted, bins=BINS)
        gaussian = gram_statistics(gaussian_codes(counted, D), bins=BINS, dtype="float32")
        seeds = [gaussian_rms(N, D, base_seed() + i) for i in range(n_seeds)]
        row: Row = {
            "N": N,
            "D": D,
            "welch": bounds.welch(N, D),
            "prime_rms": toeplitz_rms(StaticPrime(D).increments, [N])[0],
            "gaussian_rms": float(np.mean(seeds)),
            **{f"seed {i}": value for i, value in enumerate(seeds)},
        }
        for name, statistics in (("prime", prime), ("gaussian", gaussian)):
            centers = 0.5 * (statistics.edges[1:] + statistics.edges[:-1])
            share = statistics.counts / statistics.counts.sum()
            row[f"{name}_at_zero"] = float(statistics.density[BINS // 2 - 1 : BINS // 2 + 1].mean())
            row[f"{name}_tail"] = float(
                share[np.abs(centers) > TAIL_DEVIATIONS / math.sqrt(D)].sum()
            )
            densities += [
                {"code": name, "D": D, "cosine": float(x), "log10_density": math.log10(y)}
                for x, y in zip(centers, statistics.density, strict=True)
                if y > 0.0
            ]
        rows.append(row)
        progress((done + 1) / len(dims))
    return rows, densities


def _surface(gaussian_draws: int, random_draws: int, progress: Progress) -> list[Row]:
    rows: list[Row] = []
    for done, D in enumerate(SURFACE_DIMS):
        prime = toeplitz_rms(StaticPrime(D).increments, SURFACE_CODES)
        random = [
            toeplitz_rms(random_increments(D // 2, base_seed() + i), SURFACE_CODES)
            for i in range(random_draws)
        ]
        for place, N in enumerate(SURFACE_CODES):
            # Large cells follow the law 1 / sqrt(D) to a part in N: one draw shows that.
            draws = gaussian_draws if in_printed_grid(N, D) else 1
            seeds = [gaussian_rms(N, D, base_seed() + i) for i in range(draws)]
            rows.append(
                {
                    "N": N,
                    "D": D,
                    "welch": bounds.welch(N, D) if N > D else 0.0,
                    "prime_rms": prime[place],
                    "gaussian_rms": float(np.mean(seeds)),
                    "gaussian_draws": draws,
                    "random_rms": float(np.sqrt(np.mean([v[place] ** 2 for v in random]))),
                    **{f"random seed {i}": v[place] for i, v in enumerate(random)},
                    **{f"seed {i}": value for i, value in enumerate(seeds)},
                }
            )
        progress((done + 1) / len(SURFACE_DIMS))
    return rows


def _ridge_facts(rows: list[Row], n_seeds: int) -> dict[str, Fact]:
    high = [row for row in rows if _value(row, "D") >= HIGH_DIMS_FROM]
    facts = {
        "ridge_reduction": fact(_reductions(rows, n_seeds)),
        "high_dimension_reduction": fact(_reductions(high, n_seeds)),
        "high_dimension_possible": Fact(1.0 - _total(high, "welch") / _total(high, "gaussian_rms")),
    }
    for row in rows:
        gain = _value(row, "prime_at_zero") / _value(row, "gaussian_at_zero") - 1.0
        tail = _value(row, "prime_tail") / _value(row, "gaussian_tail")
        facts |= {f"ridge_gain_{row['D']}": Fact(gain), f"tail_quotient_{row['D']}": Fact(tail)}
    return facts


def _surface_facts(rows: list[Row], gaussian_draws: int, random_draws: int) -> dict[str, Fact]:
    printed, table_3 = (
        [row for row in rows if inside(int(row["N"]), int(row["D"]))]
        for inside in (in_printed_grid, in_table_3)
    )
    # The mean over seeds stands for "the" baseline of a cell; one seed is off by 1/N.
    lower = [row for row in rows if _value(row, "prime_rms") < _value(row, "gaussian_rms")]
    reductions = [1.0 - _value(row, "prime_rms") / _value(row, "gaussian_rms") for row in rows]
    return {
        "surface_reduction": fact(_reductions(printed, gaussian_draws)),
        "table_3_reduction": Fact(
            1.0 - _total(table_3, "prime_rms") / _total(table_3, "gaussian_rms")
        ),
        "surface_cells": Fact(len(rows)),
        "surface_cells_lower": Fact(len(lower)),
        **_chance_facts(rows, random_draws),
        "largest_cell_reduction": Fact(max(reductions)),
        "smallest_cell_reduction": Fact(min(reductions)),
        "gaussian_growth": Fact(_growth(rows, "gaussian_rms")),
        "prime_growth": Fact(_growth(rows, "prime_rms")),
    }


def _chance_facts(rows: list[Row], n_seeds: int) -> dict[str, Fact]:
    """Return the energy of all cells over its expectation 1 / D, of primes and of random draws.

    Random frequencies and Gaussian codes share this expectation.
    """

    def energy(name: str) -> float:
        return float(np.mean([_value(row, "D") * _value(row, name) ** 2 for row in rows]))

    prime = energy("prime_rms")
    random = np.array([energy(f"random seed {i}") for i in range(n_seeds)])
    return {
        "prime_energy": Fact(prime),
        "random_energy": fact(random),
        "share_of_random_lower": Fact(float((random < prime).mean())),
    }


def _reductions(rows: list[Row], n_seeds: int) -> list[float]:
    """Return how much lower the RMS of StaticPrime is, averaged over all cells, per seed."""
    return [1.0 - _total(rows, "prime_rms") / _total(rows, f"seed {i}") for i in range(n_seeds)]


def _growth(rows: list[Row], name: str) -> float:
    """Return by how much the RMS grows from the smallest to the largest N, averaged over D."""
    ends = {
        N: _total([row for row in rows if row["N"] == N], name)
        for N in (SURFACE_CODES[0], SURFACE_CODES[-1])
    }
    return ends[SURFACE_CODES[-1]] / ends[SURFACE_CODES[0]] - 1.0


def _total(rows: list[Row], name: str) -> float:
    return float(sum(_value(row, name) for row in rows))


def _value(row: Row, name: str) -> float:
    return float(row[name])


def _without_seeds(row: Row) -> Row:
    return {name: value for name, value in row.items() if "seed " not in name}


def _draw_dashboard(outcome: Outcome) -> Figure:
    """Draw the four surfaces of the paper's Figure 1, and the lower two without the trend in D."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 12.6), layout="constrained")
    for place, name in enumerate(("gaussian", "prime")):
        panel = figure.add_subplot(3, 2, 1 + place, projection="3d")
        x, y, heights = _ridge_surface(outcome, name)
        panel.plot_surface(x, y, heights, cmap="viridis", vmin=-5.0, vmax=1.5, rasterized=True)
        panel.set(zlim=(-6.0, 2.0), xticks=(-1, 0, 1), title=f"{LABELS[name]}: log density")
        panel.set(xlabel="cosine similarity", zlabel="log$_{10}$ density")
        panel.set_yticks(np.log2(RIDGE_DIMS), [str(D) for D in RIDGE_DIMS])
        panel.set_ylabel("dimension D", labelpad=8)
        for line, (scaled, low, high) in enumerate(((False, 0.0, 0.26), (True, 0.9, 1.03)), 1):
            panel = figure.add_subplot(3, 2, 1 + 2 * line + place, projection="3d")
            D, N, values = _rms_surface(outcome, name, scaled=scaled)
            panel.plot_surface(D, N, values, cmap="plasma", vmin=low, vmax=high, rasterized=True)
            label = "RMS times $\\sqrt{D}$" if scaled else "RMS similarity"
            panel.set(zlim=(low, high), title=f"{LABELS[name]}: {label}", zlabel=label)
            panel.set_xticks(np.log2(SURFACE_DIMS)[::2], [str(D) for D in SURFACE_DIMS[::2]])
            panel.set_yticks(np.log10(SURFACE_CODES), [f"{N:,}" for N in SURFACE_CODES])
            panel.set_xlabel("dimension D", labelpad=8)
            panel.set_ylabel("codes N", labelpad=8)
    return figure


def _rms_surface(
    outcome: Outcome, name: str, *, scaled: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log2 D, log10 N and the RMS, if `scaled` in units of 1 / sqrt(D), on the grid."""
    values = np.empty((len(SURFACE_CODES), len(SURFACE_DIMS)))
    for row in outcome.tables["rms"]:
        at = SURFACE_CODES.index(int(row["N"])), SURFACE_DIMS.index(int(row["D"]))
        values[at] = _value(row, f"{name}_rms") * (math.sqrt(_value(row, "D")) if scaled else 1.0)
    D, N = np.meshgrid(np.log2(SURFACE_DIMS), np.log10(SURFACE_CODES))
    return D, N, values


def _ridge_surface(outcome: Outcome, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return similarity, log2 D and log density on a grid; empty bins lie on the floor."""
    rows = [row for row in outcome.tables["density"] if row["code"] == name]
    dims = sorted({int(row["D"]) for row in rows})
    centers = (np.arange(BINS) + 0.5) / BINS * 2.0 - 1.0
    heights = np.full((len(dims), BINS), -6.0)
    for row in rows:
        place = min(int((_value(row, "cosine") + 1.0) / 2.0 * BINS), BINS - 1)
        heights[dims.index(int(row["D"])), place] = _value(row, "log10_density")
    x, y = np.meshgrid(centers, np.log2(dims))
    return x, y, heights


def _draw_surfaces(outcome: Outcome) -> Figure:
    figure = column(5.6)
    axes = figure.subplots(2, 1)
    for axis, name in zip(axes, ("gaussian", "prime"), strict=True):
        image = _rms_surface(outcome, name, scaled=True)[2]
        axis.imshow(image, cmap="PuOr_r", vmin=0.9, vmax=1.1, aspect="auto", origin="lower")
        for (i, j), value in np.ndenumerate(image):
            axis.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=9, color="#1a1a1a")
        axis.set_title(f"{LABELS[name]}: RMS similarity times $\\sqrt{{D}}$")
        axis.set_yticks(range(len(SURFACE_CODES)), [f"{N:,}" for N in SURFACE_CODES])
        axis.set_xticks(range(len(SURFACE_DIMS)), [str(D) for D in SURFACE_DIMS])
        axis.set(xlabel="dimension D", ylabel="codes N")
    return figure


EXPERIMENT = Experiment(
    name="landscape",
    title="Similarity landscape",
    about=(
        "Figure 1 of the paper shows the density of cosine similarities and their RMS over N and "
        "D, for StaticPrime and for normalized Gaussian codes. Here the densities come from all "
        "pairs of {counted_codes:,} codes of either kind. The RMS is compared at N = 10,000 "
        "(Gaussian draws: {ridge_draws}) and over a grid of N and D (Gaussian draws: "
        "{surface_draws}). Random frequencies of the same form (draws: {random_draws}) are a "
        "control that the paper does not have."
    ),
    run=run,
    draw=draw,
)
