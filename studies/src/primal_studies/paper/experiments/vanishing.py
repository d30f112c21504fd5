"""Limitations: what happens to low frequencies, and what the paper's remedies do about it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from primal.errors import ConditioningWarning
from primal.exact import Basis
from primal.maps import DynamicPrime
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
from primal_studies.paper._stats import grade
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_D_IN = 16
SIZES: Sizes = {"outputs": (1024, 4096), "inputs": (200, 1000)}
_SPREAD_INPUTS = 500  # whose sizes span four decades
# Standard deviation of the sine of a uniform phase; below a twentieth of it a feature is dead.
_ALIVE = 1.0 / math.sqrt(2.0)
_DEAD_SHARE = 0.05
_REMEDIES: dict[str, dict[str, Any]] = {
    "one sigma": {},
    "adaptive scaling": {"adaptive": True},
    "log-spaced primes": {"primes": "log"},
    "layer norm": {"layer_norm": True},
    "adaptive and layer norm": {"adaptive": True, "layer_norm": True},
    "basis auto": {"basis": "auto"},
}


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure features with sigma at the edge of wrapping, for every remedy."""
    size, facts = sizes_of(SIZES, quick)
    D, n = size["outputs"], size["inputs"]
    x = generator().uniform(-1.0, 1.0, (n, _D_IN))
    summary: list[Row] = []
    deviations: list[Row] = []
    for number, (name, options) in enumerate(_REMEDIES.items()):
        row, curve = _remedy(name, x, D, **options)
        summary.append(row)
        deviations += curve
        progress(0.9 * (number + 1) / len(_REMEDIES))
    tables = {"remedies": summary, "deviations": deviations}
    facts |= _remedy_facts(summary) | _one_input_facts(D) | _norm_facts(D)
    progress(1.0)
    return Outcome(tables, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw how much each feature varies."""
    return {"deviations": _draw_deviations(outcome.tables["deviations"])}


def _remedy(name: str, x: np.ndarray, D: int, **options: Any) -> tuple[Row, list[Row]]:
    m = _calibrated(x, D, **options)
    z = m.encode(x)
    sines = z[:, D // 2 :].std(axis=0, dtype=np.float64)
    row: Row = {
        "remedy": name,
        "D": D,
        "first_over_last": float(sines[0] / sines[-1]),
        "share_dead": float((sines < _DEAD_SHARE * _ALIVE).mean()),
        "effective_dimension": _effective_dimension(z),
        "decades": _decades(m.basis.frequencies),
    }
    shown = np.unique(np.geomspace(1, D // 2, 200).astype(int)) - 1
    return row, [{"remedy": name, "row": int(i) + 1, "deviation": float(sines[i])} for i in shown]


def _calibrated(x: np.ndarray, D: int, *, adaptive: bool = False, **options: Any) -> DynamicPrime:
    """Return the map with the largest sigma at which no phase of x wraps."""

    def scaled(sigma: float) -> DynamicPrime:
        scale: Any = sigma
        if adaptive:  # the same length for all rows
            rows = Basis("paper", _D_IN, D // 2).frequencies
            scale = sigma / np.linalg.norm(rows, axis=1)
        with warnings.catch_warnings():  # the conditioning of this basis is the subject
            warnings.simplefilter("ignore", ConditioningWarning)
            return DynamicPrime(_D_IN, D, scale, **options)

    return scaled(0.4999 / scaled(1.0).regime(x).peak_turns)


def _effective_dimension(z: np.ndarray) -> float:
    """Return (sum of variances)**2 / sum of their squares, over principal directions."""
    centered = z - z.mean(axis=0, dtype=np.float64)
    gram = centered @ centered.T
    return float(np.trace(gram) ** 2 / np.square(gram).sum())


def _remedy_facts(rows: list[Row]) -> dict[str, Fact]:
    facts = {}
    for row in rows:
        for what in ("first_over_last", "share_dead", "effective_dimension", "decades"):
            facts[f"{what.replace('_', ' ')}, {row['remedy']}"] = Fact(float(row[what]))
    return facts


def _one_input_facts(D: int) -> dict[str, Fact]:
    """Return the decades of frequency for one input, where a row is a single root."""
    return {
        f"decades at d 1, {name}": Fact(
            _decades(Basis("paper", 1, D // 2, 1.0, sampling).frequencies)
        )
        for name, sampling in (("one sigma", "consecutive"), ("log-spaced primes", "log"))
    }


def _decades(frequencies: np.ndarray) -> float:
    """Return log10 of the longest over the shortest row."""
    return float(np.ptp(np.log10(np.linalg.norm(frequencies, axis=1))))


def _norm_facts(D: int) -> dict[str, Fact]:
    """Return what layer normalisation does to inputs whose sizes span four decades."""
    rng = generator(1)
    x = rng.uniform(-1.0, 1.0, (_SPREAD_INPUTS, _D_IN))
    x *= 10.0 ** rng.uniform(-2.0, 2.0, (_SPREAD_INPUTS, 1))
    plain = _calibrated(x, D)
    centered = x - x.mean(axis=1, keepdims=True)
    unit = centered / centered.std(axis=1, keepdims=True)
    # The same rows at unit size, with and without their mean: what centring takes away.
    sized = x / np.sqrt(np.square(x).mean(axis=1, keepdims=True))
    table = plain.basis.frequencies

    def decades(rows: np.ndarray) -> float:
        peaks = np.abs(rows @ table.T).max(axis=1)
        return float(np.ptp(np.quantile(np.log10(peaks), (0.05, 0.95))))

    kept = (unit @ table.T).var() / (sized @ table.T).var()
    return {
        "spread_inputs": Fact(_SPREAD_INPUTS),
        "decades of phase between inputs, plain": Fact(decades(x)),
        "decades of phase between inputs, layer norm": Fact(decades(unit)),
        "share of phase variance kept by layer norm": Fact(float(kept)),
    }


def _draw_deviations(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 4.0)
    panel = axes[0, 0]
    for color, name in zip(PALETTE, _REMEDIES, strict=False):
        curve = [row for row in rows if row["remedy"] == name]
        panel.loglog(
            [r["row"] for r in curve], [r["deviation"] for r in curve], color=color, label=name
        )
    panel.axhline(_DEAD_SHARE * _ALIVE, color="grey", ls=":")
    panel.set_xlabel("frequency, in order")
    panel.set_ylabel("standard deviation of its sine")
    panel.legend(fontsize=9, frameon=False)
    return figure


def _vanishes(facts: Mapping[str, Fact]) -> Judgement:
    first, dead = values_of(facts, "first over last, one sigma", "share dead, one sigma")
    return Judgement(
        grade(first < 0.05, first < 0.2),
        f"first feature {first:.3f} of the last, {dead:.1%} of frequencies dead",
        f"With sigma at the edge of wrapping and D = {facts['outputs']} the first sine varies by "
        f"{first:.3f} of the last one. Most frequencies are close to the largest, so only "
        f"{dead:.1%} of them are dead.",
    )


def _adaptive(facts: Mapping[str, Fact]) -> Judgement:
    dead, before, level, spanned, ours = values_of(
        facts,
        "share dead, adaptive scaling",
        "first over last, one sigma",
        "first over last, adaptive scaling",
        "effective dimension, adaptive scaling",
        "effective dimension, basis auto",
    )
    return Judgement(
        grade(dead == 0.0 and 0.9 < level < 1.1, dead == 0.0),
        f"first feature {before:.3f} of the last before, {level:.3f} after; {dead:.1%} dead",
        "Every row gets the same bandwidth, as the paper says. Rows keep their directions, which "
        f"are nearly the same: the features span {spanned:.1f} directions of {_D_IN} inputs, those "
        f"of the basis auto {ours:.1f}.",
    )


def _log_primes(facts: Mapping[str, Fact]) -> Judgement:
    one, one_log, many, many_log = values_of(
        facts,
        "decades at d 1, one sigma",
        "decades at d 1, log-spaced primes",
        "decades, one sigma",
        "decades, log-spaced primes",
    )
    shrinks = [one_log < 0.9 * one, many_log < 0.9 * many]
    return Judgement(
        grade(all(shrinks), any(shrinks)),
        f"{one:.2f} to {one_log:.2f} decades at d = 1, {many:.2f} to {many_log:.2f} at d = {_D_IN}",
        f"From first to last frequency {one:.2f} decades become {one_log:.2f} for one input. With "
        f"{_D_IN} inputs every row mixes small and large primes, and row lengths span "
        f"{many_log:.2f} decades where they spanned {many:.2f}.",
    )


def _layer_norm(facts: Mapping[str, Fact]) -> Judgement:
    before, after, kept = values_of(
        facts,
        "decades of phase between inputs, plain",
        "decades of phase between inputs, layer norm",
        "share of phase variance kept by layer norm",
    )
    return Judgement(
        grade(after < 0.5 * before, after < 0.9 * before),
        f"phases over {before:.1f} decades before, {after:.1f} after",
        "Normalising bounds x, as the paper says. A remark that it does not make: the mean of x is "
        "the direction that rows of W see best, and with it all but a share of "
        f"{kept:.1e} of the variance of phases goes.",
    )


EXPERIMENT = Experiment(
    "vanishing",
    "Low-frequency vanishing (Limitations)",
    "With sigma small enough that no phase wraps, the first frequencies hardly move. Here sigma is "
    f"set to that edge for uniform inputs of dimension {_D_IN}, with the remedies tried: "
    "one sigma for each frequency, primes on a logarithmic scale, and layer normalization. D is "
    "{outputs:,}, with {inputs:,} inputs.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "low-frequency-vanishing",
        "Section 4.3, limitations",
        "With sigma small enough for the largest prime, the first features are dead.",
        "Standard deviation of the sine of the first frequency over that of the last, D = "
        "{outputs}, "
        "{inputs:,} inputs.",
        "Holds below 0.05; in part below 0.2.",
        "vanishing",
        _vanishes,
        quote="the arguments for the lower dimensions approach zero, causing those features to "
        "stagnate near the linearization point of the activation function, effectively "
        "acting as “dead” components",
        figures=("deviations",),
        tables=("remedies",),
    ),
    Claim(
        "adaptive-scaling",
        "Section 4.3, limitations",
        "One sigma for each frequency levels the bandwidth, so that no feature vanishes.",
        "Standard deviation of the first feature over the last, and dead features, before and "
        "after; D = {outputs}, {inputs:,} inputs.",
        "Holds if none is dead and the first feature is within 10 % of the last; in part if none "
        "is dead.",
        "vanishing",
        _adaptive,
        quote="Adaptive Scaling (using a diagonal matrix Σ rather than scalar sigma) for "
        "ultra-high-dimensional tasks to normalize the effective bandwidth across the "
        "spectrum",
        weight=Weight.DETAIL,
        figures=("deviations",),
        tables=("remedies",),
    ),
    Claim(
        "log-spaced-primes",
        "Section 4.3, dynamic range",
        "Primes sampled on a logarithmic scale compress the dynamic range.",
        f"Decades between the shortest and the longest row of W, for d = 1 and {_D_IN}, D = "
        f"{{outputs}}.",
        "Holds if they shrink by 10 % in both cases; in part if in one.",
        "vanishing",
        _log_primes,
        quote="or by sampling primes on a logarithmic scale to compress the dynamic range",
        weight=Weight.DETAIL,
        figures=("deviations",),
        tables=("remedies",),
    ),
    Claim(
        "layer-normalisation",
        "Section 4.3, limitations",
        "Layer normalisation of x bounds the phases.",
        "Decades between the largest phases of {spread_inputs} inputs whose sizes span four "
        "decades, "
        "D = {outputs}.",
        "Holds if their number halves; in part if it falls by 10 %.",
        "vanishing",
        _layer_norm,
        quote="Input Layer Normalization can be utilized to bound the growth of x",
        weight=Weight.DETAIL,
        tables=("remedies",),
    ),
)
