"""Sparse recovery: how many non-zeros come back from how few measurements.

Four dictionaries of N = 256 atoms with m entries each: StaticPrime as in the paper, the shadow
codebook (primes chosen for a small coherence), normal random numbers, and random rows of the
Fourier matrix. A trial draws the places and the normal values of s non-zeros, measures them and
asks scikit-learn for them back: orthogonal matching pursuit given s, or l1 (the lasso at a
vanishing penalty, by the LARS path). It succeeds when the relative error is below 1e-3.
The primes have no seed: their spread is that of the signals, which all dictionaries share.

    primal study sparse --out results
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning

from primal.codebooks import codebook
from primal_studies._pictures import COLORS, picture
from primal_studies.training._common import Settings, Study, mean_spread, select, table

N_ATOMS = 256
DICTIONARIES = ("static", "shadow", "gaussian", "partial Fourier")
_COLORS = dict(
    zip(DICTIONARIES, map(COLORS.get, ("prime", "repaired", "gaussian", "sobol")), strict=True)
)
_ALGORITHMS = {"omp": "matching pursuit", "l1": "l1"}
MEASUREMENTS = (32, 64, 96, 128)
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
SUCCESS = 1e-3


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure what is not on file, print the tables, draw."""
    study = Study(__file__, __doc__, argv)
    recovery = study.run("sparse", recovery_settings(study.chosen), recovery_rates)
    return study.finish((recovery_table(recovery),), partial(draw, recovery))


def recovery_settings(chosen) -> list[Settings]:
    """Return one run for each dictionary, number of measurements, algorithm and seed."""
    sizes = MEASUREMENTS[1:2] if chosen.quick else MEASUREMENTS
    return [
        {"dictionary": name, "m": m, "algorithm": algorithm, "seed": seed, "trials": trials}
        for algorithm, trials in (
            ("omp", 10 if chosen.quick else 100),
            ("l1", 4 if chosen.quick else 25),
        )
        for m in sizes
        for name in DICTIONARIES
        for seed in range(chosen.seeds)
    ]


def recovery_rates(run: Settings) -> Settings:
    """Return the share of signals that come back, for every number of non-zeros."""
    atoms = dictionary_atoms(run["dictionary"], run["m"], run["seed"])
    sparsities = sorted({max(1, round(share * run["m"])) for share in SHARES})
    generator = np.random.default_rng([run["seed"], run["m"]])  # the same signals for all
    rates = []
    for s in sparsities:
        signals = sparse_signals(generator, run["trials"], s)
        found = recovered(signals @ atoms, atoms, run["algorithm"], s)
        errors = np.linalg.norm(found - signals, axis=1) / np.linalg.norm(signals, axis=1)
        rates.append(float((errors < SUCCESS).mean()))
    cosines = np.abs(atoms @ atoms.T - np.eye(N_ATOMS))
    return {"sparsities": sparsities, "rates": rates, "coherence": float(cosines.max())}


@cache
def dictionary_atoms(name: str, m: int, seed: int) -> np.ndarray:
    """Return N_ATOMS unit vectors of m entries."""
    generator = np.random.default_rng(seed)
    if name in ("static", "shadow"):
        atoms = np.asarray(
            codebook(N_ATOMS, m, kind=name).encode(np.arange(N_ATOMS), dtype="float64")
        )
    elif name == "gaussian":
        atoms = generator.standard_normal((N_ATOMS, m))
    else:
        rows = generator.choice(np.arange(1, N_ATOMS // 2), m // 2, replace=False)
        angles = 2 * np.pi * np.outer(np.arange(N_ATOMS), rows) / N_ATOMS
        atoms = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def sparse_signals(generator: np.random.Generator, n: int, sparsity: int) -> np.ndarray:
    """Return n rows with normal values at `sparsity` places each."""
    signals = np.zeros((n, N_ATOMS))
    for row in signals:
        at = generator.choice(N_ATOMS, sparsity, replace=False)
        row[at] = generator.standard_normal(sparsity)
    return signals


def recovered(measured: np.ndarray, atoms: np.ndarray, algorithm: str, sparsity: int) -> np.ndarray:
    """Return what scikit-learn makes of the measurements."""
    with warnings.catch_warnings():  # beyond their capacity both say that they stop early
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        if algorithm == "omp":
            return sparse_encode(measured, atoms, algorithm="omp", n_nonzero_coefs=sparsity)
        return sparse_encode(measured, atoms, algorithm="lasso_lars", alpha=1e-6)


def half_point(run: Settings) -> float:
    """Return the number of non-zeros at which half of the signals come back, interpolated."""
    s, rates = np.array(run["sparsities"], float), np.array(run["rates"])
    below = np.flatnonzero(rates < 0.5)
    if not len(below):
        return float(s[-1])
    at = below[0]
    if at == 0:
        return float(s[0])
    return float(np.interp(0.5, [rates[at], rates[at - 1]], [s[at], s[at - 1]]))


def recovery_table(runs: list[Settings]) -> str:
    """Return non-zeros at a half, for every dictionary and number of measurements."""
    sizes = sorted({run["m"] for run in runs})
    rows = []
    for algorithm in ("omp", "l1"):
        for name in DICTIONARIES:
            mine = [select(runs, dictionary=name, m=m, algorithm=algorithm) for m in sizes]
            cells = [mean_spread(map(half_point, part), 1) for part in mine]
            coherence = [mean_spread((run["coherence"] for run in part), 3) for part in mine]
            rows.append([algorithm, name, *cells, *coherence])
    header = [f"non-zeros, m = {m}" for m in sizes] + [f"coherence, m = {m}" for m in sizes]
    return table(["algorithm", "dictionary", *header], rows)


def draw(recovery: list[Settings], out: Path) -> None:
    """Draw success against sparsity."""
    sizes = sorted({run["m"] for run in recovery})
    with picture(out / "sparse.png", (2.9 * len(sizes), 5.2)) as figure:
        axes = figure.subplots(2, len(sizes), sharey=True, squeeze=False)
        for line, algorithm in zip(axes, ("omp", "l1"), strict=True):
            for axis, m in zip(line, sizes, strict=True):
                for name in DICTIONARIES:
                    runs = select(recovery, dictionary=name, m=m, algorithm=algorithm)
                    mean = np.mean([run["rates"] for run in runs], axis=0)
                    axis.plot(runs[0]["sparsities"], mean, ".-", color=_COLORS[name], label=name)
                axis.set(title=f"{_ALGORITHMS[algorithm]}, {m} measurements", xlabel="non-zeros")
            line[0].set_ylabel("share recovered")
        handles = axes[0][0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=len(DICTIONARIES))


if __name__ == "__main__":
    main()
