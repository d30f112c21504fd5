"""Figure 1: how cosine similarities are distributed, and their RMS over N and D."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from primal.codebooks import bounds, gram_statistics, toeplitz_statistics
from primal.maps import StaticPrime
from primal_studies.paper._draws import base_seed
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
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
    SURFACE_SIZES,
    TAIL_DEVIATIONS,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

RIDGE_DIMS = (16, 64, 256, 1024, 4096)
SURFACE_DIMS = (16, 64, 128, 256, 512, 1024)
LARGE_DRAWS = 2
BINS = 400


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure similarities of StaticPrime and of Gaussian codes.

    `quick` counts the pairs of fewer Gaussian codes for the density, and draws fewer seeds.
    """
    counted, ridge_seeds, surface_seeds = (2000, 1, 32) if quick else (RIDGE_N, 3, 64)
    ridge, densities = _ridge(counted, ridge_seeds, lambda share: progress(0.7 * share))
    surface = _surface(surface_seeds, lambda share: progress(0.7 + 0.3 * share))
    facts = _ridge_facts(ridge, ridge_seeds) | _surface_facts(surface, surface_seeds)
    progress(1.0)
    # One column for each seed would be noise in a table: their means are kept.
    tables = {
        "ridge": [_without_seeds(row) for row in ridge],
        "density": densities,
        "rms": [_without_seeds(row) for row in surface],
    }
    return Outcome(tables, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the two halves of the figure."""
    return {
        "figure-1": _draw_dashboard(outcome),
        "similarities": _draw_densities(outcome),
        "rms": _draw_surfaces(outcome),
    }


def _ridge(counted: int, n_seeds: int, progress: Progress) -> tuple[list[Row], list[Row]]:
    """Return RMS and shape of the similarities at the largest N, and their densities."""
    rows: list[Row] = []
    densities: list[Row] = []
    N, dims = RIDGE_N, RIDGE_DIMS
    for done, D in enumerate(dims):
        prime = toeplitz_statistics(StaticPrime(D).increments, N, bins=BINS)
        gaussian = gram_statistics(gaussian_codes(counted, D), bins=BINS, dtype="float32")
        seeds = [gaussian_rms(N, D, base_seed() + i) for i in range(n_seeds)]
        row: Row = {
            "N": N,
            "D": D,
            "welch": bounds.welch(N, D),
            "prime_rms": prime.rms,
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


def _surface(n_seeds: int, progress: Progress) -> list[Row]:
    rows: list[Row] = []
    for done, D in enumerate(SURFACE_DIMS):
        prime = toeplitz_rms(StaticPrime(D).increments, SURFACE_SIZES)
        random = [
            toeplitz_rms(random_increments(D // 2, base_seed() + i), SURFACE_SIZES)
            for i in range(n_seeds)
        ]
        for place, N in enumerate(SURFACE_SIZES):
            # One draw is off by 1/N: only small codebooks need many.
            draws = n_seeds if N < 1000 else min(n_seeds, LARGE_DRAWS)
            values = [gaussian_rms(N, D, base_seed() + i) for i in range(draws)]
            seeds = {f"seed {i}": values[i % draws] for i in range(n_seeds)}
            rows.append(
                {
                    "N": N,
                    "D": D,
                    "welch": bounds.welch(N, D),
                    "prime_rms": prime[place],
                    "gaussian_rms": float(np.mean(list(seeds.values()))),
                    "random_rms": float(np.sqrt(np.mean([v[place] ** 2 for v in random]))),
                    **{f"random seed {i}": v[place] for i, v in enumerate(random)},
                    **seeds,
                }
            )
        progress((done + 1) / len(SURFACE_DIMS))
    return rows


def _ridge_facts(rows: list[Row], n_seeds: int) -> dict[str, Fact]:
    high = [row for row in rows if _value(row, "D") >= HIGH_DIMS_FROM]
    quotients = [_value(row, "prime_tail") / _value(row, "gaussian_tail") for row in rows]
    return {
        "ridge_reduction": fact(_reductions(rows, n_seeds)),
        "ridge_reduction_possible": Fact(
            1.0 - _total(rows, "welch") / _total(rows, "gaussian_rms")
        ),
        "ridge_height_gain": Fact(
            float(
                np.mean(
                    [
                        _value(row, "prime_at_zero") / _value(row, "gaussian_at_zero") - 1.0
                        for row in rows
                    ]
                )
            )
        ),
        "tail_quotient": Fact(math.exp(float(np.mean(np.log(quotients))))),
        "high_dimension_reduction": fact(_reductions(high, n_seeds)),
        "high_dimension_possible": Fact(1.0 - _total(high, "welch") / _total(high, "gaussian_rms")),
    }


def _surface_facts(rows: list[Row], n_seeds: int) -> dict[str, Fact]:
    # The mean over seeds stands for "the" baseline of a cell; one seed is off by 1/N.
    lower = [row for row in rows if _value(row, "prime_rms") < _value(row, "gaussian_rms")]
    return {
        "surface_reduction": fact(_reductions(rows, n_seeds)),
        "surface_cells": Fact(len(rows)),
        "surface_cells_lower": Fact(len(lower)),
        **_chance_facts(rows, n_seeds),
        "largest_cell_reduction": Fact(max(_cell_reduction(row) for row in rows)),
        "smallest_cell_reduction": Fact(min(_cell_reduction(row) for row in rows)),
        "gaussian_growth": fact([_growth(rows, f"seed {i}") for i in range(n_seeds)]),
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


def _cell_reduction(row: Row) -> float:
    return 1.0 - _value(row, "prime_rms") / _value(row, "gaussian_rms")


def _growth(rows: list[Row], name: str) -> float:
    """Return by how much the RMS grows from the smallest to the largest N, averaged over D."""
    ends = {
        N: _total([row for row in rows if row["N"] == N], name)
        for N in (SURFACE_SIZES[0], SURFACE_SIZES[-1])
    }
    return ends[SURFACE_SIZES[-1]] / ends[SURFACE_SIZES[0]] - 1.0


def _total(rows: list[Row], name: str) -> float:
    return float(sum(_value(row, name) for row in rows))


def _value(row: Row, name: str) -> float:
    return float(row[name])


def _without_seeds(row: Row) -> Row:
    return {name: value for name, value in row.items() if "seed " not in name}


def _draw_dashboard(outcome: Outcome) -> Figure:
    """Draw the four surfaces of the paper's Figure 1 on common scales."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 8.4), layout="constrained")
    rows = outcome.tables["rms"]
    sizes, dims = (sorted({int(row[name]) for row in rows}) for name in ("N", "D"))
    for place, name in enumerate(("gaussian", "prime")):
        top = figure.add_subplot(2, 2, 1 + place, projection="3d")
        x, y, heights = _ridge_surface(outcome, name)
        top.plot_surface(x, y, heights, cmap="viridis", vmin=-5.0, vmax=1.5, rasterized=True)
        top.set(zlim=(-6.0, 2.0), title=f"{LABELS[name]}: log density of similarities")
        top.set(xlabel="cosine similarity", ylabel="log$_2$ D")
        bottom = figure.add_subplot(2, 2, 3 + place, projection="3d")
        values = np.empty((len(sizes), len(dims)))
        for row in rows:
            at = sizes.index(int(row["N"])), dims.index(int(row["D"]))
            values[at] = _value(row, f"{name}_rms") * math.sqrt(_value(row, "D"))
        D, N = np.meshgrid(np.log2(dims), np.log10(sizes))
        bottom.plot_surface(D, N, values, cmap="viridis", vmin=0.94, vmax=1.02, rasterized=True)
        bottom.set(zlim=(0.93, 1.03), title=f"{LABELS[name]}: RMS times $\\sqrt{{D}}$")
        bottom.set(xlabel="log$_2$ D", ylabel="log$_{10}$ N")
    return figure


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


def _draw_densities(outcome: Outcome) -> Figure:
    figure = column(3.8)
    axes = figure.subplots(1, 2, sharey=True)
    rows = outcome.tables["density"]
    dims = sorted({int(row["D"]) for row in rows})
    meshes = []
    for axis, name in zip(axes, ("gaussian", "prime"), strict=True):
        image = np.full((len(dims), BINS), np.nan)
        for row in rows:
            if row["code"] == name:
                place = min(int((_value(row, "cosine") + 1.0) / 2.0 * BINS), BINS - 1)
                image[dims.index(int(row["D"])), place] = _value(row, "log10_density")
        meshes.append(
            axis.pcolormesh(
                np.linspace(-1.0, 1.0, BINS + 1),
                np.arange(len(dims) + 1) - 0.5,
                image,
                cmap="viridis",
                vmin=-5.0,
                vmax=1.5,
                rasterized=True,
            )
        )
        axis.set(title=LABELS[name], xlabel="cosine similarity", xticks=(-1, 0, 1))
    axes[0].set_yticks(range(len(dims)), [str(D) for D in dims])
    axes[0].set_ylabel("dimension D")
    figure.colorbar(meshes[0], ax=axes, label="log$_{10}$ density", location="bottom", shrink=0.8)
    return figure


def _draw_surfaces(outcome: Outcome) -> Figure:
    figure = column(5.2)
    axes = figure.subplots(2, 1, sharex=True)
    rows = outcome.tables["rms"]
    sizes, dims = (sorted({int(row[name]) for row in rows}) for name in ("N", "D"))
    for axis, name in zip(axes, ("gaussian", "prime"), strict=True):
        image = np.empty((len(sizes), len(dims)))
        for row in rows:
            place = sizes.index(int(row["N"])), dims.index(int(row["D"]))
            image[place] = _value(row, f"{name}_rms") * math.sqrt(_value(row, "D"))
        axis.imshow(image, cmap="PuOr_r", vmin=0.9, vmax=1.1, aspect="auto", origin="lower")
        for (i, j), value in np.ndenumerate(image):
            axis.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=9, color="#1a1a1a")
        axis.set_title(f"{LABELS[name]}: RMS cosine times $\\sqrt{{D}}$")
        axis.set_yticks(range(len(sizes)), [f"{N:,}" for N in sizes])
        axis.set_ylabel("codes N")
    axes[1].set_xticks(range(len(dims)), [str(D) for D in dims])
    axes[1].set_xlabel("dimension D")
    return figure


EXPERIMENT = Experiment(
    name="landscape",
    title="Similarity landscape",
    about=(
        "Figure 1 of the paper shows the density of the cosine similarities of 10,000 codes, and "
        "their RMS over N and D, for StaticPrime and for normalised Gaussian codes. Here every "
        "pair is counted; the baseline is drawn with several seeds, and random frequencies of the "
        "same form are a control that the paper does not have."
    ),
    run=run,
    draw=draw,
)
