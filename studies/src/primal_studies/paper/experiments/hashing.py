"""The high-frequency regime: is it one-way, of maximal entropy, and does it separate neighbors?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from primal.decoding import Box
from primal.errors import ConditioningWarning
from primal.maps import DynamicPrime
from primal_studies.paper._claim import Claim, Judgement, Weight
from primal_studies.paper._draws import generator
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._shapes import noisy, spiral
from primal_studies.paper._stats import grade, span
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_D = 128
_SCALES = (1.0, 100.0)
_INPUTS = (2, 8, 16, 32)
_DISTANCES = tuple(10.0 ** (np.arange(-16, 5) / 4.0))
_BINS = 16


def run(quick: bool, progress: Progress) -> Outcome:
    """Decode hashed codes, measure the entropy of phases, and separate neighbors."""
    n = 50 if quick else 500
    recovery = [_recovery_row(d, sigma, n) for d in _INPUTS for sigma in _SCALES]
    facts = {
        f"recovered, d {row['d']} sigma {row['sigma']}": Fact(float(row["recovered"]))
        for row in recovery
    }
    progress(0.4)
    entropy = _entropy_rows(20_000)
    for row in entropy:
        facts[f"bits missing of {row['of']}, {row['inputs']}"] = Fact(float(row["missing_bits"]))
    progress(0.7)
    neighbors = [_neighbor_row(distance) for distance in _DISTANCES]
    facts |= _neighbor_facts(neighbors)
    progress(1.0)
    return Outcome({"recovery": recovery, "entropy": entropy, "neighbours": neighbors}, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the similarity of neighbours against their distance."""
    figure, axes = panels(1, 1, 3.5)
    panel = axes[0, 0]
    rows = outcome.tables["neighbours"]
    x = [row["distance"] for row in rows]
    lines = {"along": "along (1, 1)", "across": "along (1, -1)", "mean": "mean of all directions"}
    for color, (name, label) in zip(PALETTE, lines.items(), strict=False):
        panel.semilogx(x, [row[name] for row in rows], "o-", ms=3, color=color, label=label)
    panel.axhline(0.0, color="grey", lw=0.8)
    panel.set_xlabel("distance of two inputs, sigma = 1")
    panel.set_ylabel(f"similarity of their codes, D = {_D}")
    panel.legend(fontsize=9, frameon=False)
    return {"neighbours": figure}


def _recovery_row(d: int, sigma: float, n: int) -> Row:
    """Return the share of uniform inputs that a decoder with the basis gets back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        m = DynamicPrime(d, _D, sigma)
    x = generator().uniform(-1.0, 1.0, (n, d))
    z = m.encode(x)
    found = m.decode_plan(prior=Box(1.0)).decode(z)
    # Not decoded is NaN, which is not close.
    close = np.abs(found.x - x).max(axis=1) < 1e-3
    return {
        "d": d,
        "sigma": sigma,
        "recovered": float((close & (found.status == "unique")).mean()),
        "recovered_linear": float((np.abs(m.decode(z) - x).max(axis=1) < 1e-3).mean()),
        "largest_error": float(np.nan_to_num(np.abs(found.x - x), nan=np.inf).max()),
    }


def _entropy_rows(n: int) -> list[Row]:
    """Return how far the entropy of phases, in 16 cells, falls short of uniform."""
    sets = {
        "unit box": generator().uniform(-1.0, 1.0, (n, 2)),
        "noisy spiral": noisy(spiral(n), 1.5),
    }
    m = DynamicPrime(2, _D, 1.0)
    rows: list[Row] = []
    for name, x in sets.items():
        cells = (m.turns(x) >> np.uint32(28)).astype(np.int64)
        single = max(4.0 - _entropy_bits(cells[:, i]) for i in range(_D // 2))
        pairs = [
            8.0 - _entropy_bits(_BINS * cells[:, i] + cells[:, i + 1]) for i in range(_D // 2 - 1)
        ]
        rows.append({"inputs": name, "of": "one phase", "missing_bits": single})
        rows.append({"inputs": name, "of": "two phases", "missing_bits": max(pairs)})
    return rows


def _entropy_bits(cells: np.ndarray) -> float:
    """Return the entropy of cells, with Miller and Madow's correction for a finite sample."""
    counts = np.bincount(cells)
    counts = counts[counts > 0]
    shares = counts / counts.sum()
    plain = -float((shares * np.log2(shares)).sum())
    return plain + (len(counts) - 1) / (2.0 * counts.sum() * np.log(2.0))


def _neighbor_row(distance: float) -> Row:
    """Return the mean cosine of codes of inputs at a distance, which does not depend on x."""
    table = DynamicPrime(2, _D, 1.0).basis.frequencies
    angles = np.linspace(0.0, np.pi, 180, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    diagonals = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    cosines = np.cos(2.0 * np.pi * distance * np.concatenate([diagonals, around]) @ table.T)
    similar = cosines.mean(axis=1)
    return {
        "distance": distance,
        "along": float(similar[0]),
        "across": float(similar[1]),
        "mean": float(similar[2:].mean()),
    }


def _neighbor_facts(rows: list[Row]) -> dict[str, Fact]:
    near = next(row for row in rows if abs(float(row["distance"]) - 1e-3) < 1e-9)
    facts = {"similarity at distance 0.001": Fact(float(near["mean"]))}
    for name in ("along", "across"):
        low = next(row for row in rows if float(row[name]) < 0.5)
        facts[f"distance of half similarity, {name}"] = Fact(float(low["distance"]))
    return facts


def _one_way(facts: Mapping[str, Fact]) -> Judgement:
    shares = values_of(facts, *(f"recovered, d {d} sigma {s}" for d in _INPUTS for s in _SCALES))
    return Judgement(
        grade(max(shares) < 0.01, min(shares) < 0.01),
        f"{span(shares, '.0%')} of inputs recovered, with proof",
        f"A lattice decoder that knows the basis and |x| < 1 gets back {span(shares, '.0%')} "
        f"of uniform inputs of dimension 2 to {max(_INPUTS)} at sigma 1 and 100, D = {_D}.",
    )


def _max_entropy(facts: Mapping[str, Fact]) -> Judgement:
    sets = ("unit box", "noisy spiral")
    one = values_of(facts, *(f"bits missing of one phase, {s}" for s in sets))
    two = values_of(facts, *(f"bits missing of two phases, {s}" for s in sets))
    return Judgement(
        grade(max(one) < 0.05 and max(two) < 0.05, min(one) < 0.05),
        f"missing {max(one):.3f} of 4 bits in one phase, {max(two):.2f} of 8 in two neighbours",
        f"In the worst phase {one[0]:.3f} (unit box) and {one[1]:.3f} (spiral) bits of 4 are "
        f"missing, in the worst pair of neighbours {two[0]:.2f} and {two[1]:.3f} of 8: "
        "neighbouring rows of W are nearly equal, and so are their phases.",
    )


def _cryptographic(facts: Mapping[str, Fact]) -> Judgement:
    near, along, across = values_of(
        facts,
        "similarity at distance 0.001",
        "distance of half similarity, along",
        "distance of half similarity, across",
    )
    return Judgement(
        grade(near < 0.1, near < 0.5),
        f"similarity {near:.4f} at distance 0.001",
        "Inputs 0.001 apart have nearly the same code when this is near 1. The similarity falls "
        f"below one half from a distance of {along:.3g} along (1, 1), {across:.2g} along (1, -1).",
    )


EXPERIMENT = Experiment(
    "hashing",
    "The high-frequency regime (Sections 2.3 and 3.5)",
    "At sigma = 1 and above, phases wrap. The paper calls the result one-way, of maximal entropy, "
    "and orthogonal for any two inputs, however close. Each is measured: inputs are decoded, the "
    "entropy of phases and of pairs of phases is counted in 16 cells, and the similarity of "
    "neighbours is computed from the frequencies.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "one-way",
        "Abstract; Section 4.1, privacy",
        "High sigma makes the projection a one-way hash.",
        f"Decode uniform inputs of dimension 2 to {max(_INPUTS)} at sigma 1 and 100, D = {_D}.",
        "Holds if under 1 % are recovered in every setting; in part if in some.",
        "hashing",
        _one_way,
        quote="the high-frequency regime induces chaotic phase wrapping, transforming the "
        "projection into a maximum-entropy one-way hash",
        weight=Weight.CENTRAL,
        tables=("recovery",),
    ),
    Claim(
        "maximum-entropy",
        "Abstract; Section 3.5, high-frequency regime",
        "Wrapped phases have maximal entropy.",
        f"Entropy of single phases and of neighbouring pairs in {_BINS} cells, 20,000 inputs.",
        "Holds if no phase and no pair misses 0.05 bit; in part if single phases of one of the "
        "inputs do not.",
        "hashing",
        _max_entropy,
        quote="transforming the projection into a maximum-entropy one-way hash suitable for "
        "Hyperdimensional Computing and privacy-preserving Split Learning",
        tables=("entropy",),
    ),
    Claim(
        "parts-neighbours",
        "Section 3.5, high-frequency regime",
        "Distinct inputs, however close, get orthogonal codes, as from a cryptographic function.",
        "Mean similarity of the codes of inputs 0.001 apart at sigma = 1.",
        "Holds below 0.1; in part below 0.5.",
        "hashing",
        _cryptographic,
        quote="distinct inputs — no matter how close — follow diverging phase trajectories that"
        " effectively orthogonalize the projection",
        figures=("neighbours",),
        tables=("neighbours",),
    ),
)
