"""Does one scalar, sigma, switch the map between a manifold and a hash?

Question: the abstract calls this switch the central novelty of DynamicPrime. If it holds, the
paper's two scales name the regime whatever the input dimension d and the output dimension D are.

Method: inputs are uniform in the cube that the paper's spiral spans. A phase wraps where
sigma * |W x| reaches half a turn, so the largest |W x| of an input gives the sigma at which it
wraps. That is done for every d and D of a grid. The spiral itself is encoded and decoded.

Result: the edge between the regimes depends on d and D as much as on sigma.

Control: the same grid with the scale divided by max_i |W_i|_1, which d and D enter.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from primal.errors import ConditioningWarning, ParameterError
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
from primal_studies.paper._shapes import spiral
from primal_studies.paper._stats import grade

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT", "SIZES"]

SIZES: Sizes = {"inputs": (500, 4000), "points": (300, 1000)}
_LOW, _HIGH = 0.007, 1.0  # the paper's two scales
_INPUTS = (1, 2, 8, 32)
_OUTPUTS = (4, 16, 128, 1024, 4096)
_SPIRAL_OUTPUTS = (4, 16, 128)  # of the spiral, d = 2
_REACH = 13.6  # largest coordinate of the spiral
_SIGMAS = np.geomspace(1e-6, 3.0, 53)
_ALL = 0.95  # fraction of inputs that counts as "the inputs wrap"
_SHAPES = ((4096, 16), (1, 2), (100, 2000), (2, 4096))


def run(quick: bool, progress: Progress) -> Outcome:
    """Find the sigma at which inputs wrap, for every d and D, and decode the spiral."""
    size, facts = sizes_of(SIZES, quick)
    edges: list[Row] = []
    wrapped: list[Row] = []
    switching = {"sigma": 0, "control": 0}
    for number, d in enumerate(_INPUTS):
        x = generator(d).uniform(-_REACH, _REACH, (size["inputs"], d))
        for D in _OUTPUTS:
            frequencies = _map(d, D, 1.0).basis.frequencies
            peaks = np.sort(np.abs(x @ frequencies.T).max(axis=1))
            # The scale at which a corner of the cube wraps first.
            first = 0.5 / (_REACH * float(np.abs(frequencies).sum(axis=1).max()))
            half = 0.5 / float(np.median(peaks))
            edges.append({"d": d, "D": D, "none_wraps_below": first, "half_wrap_at": half})
            for s in _SIGMAS:
                share = float((s * peaks >= 0.5).mean())
                wrapped.append({"d": d, "D": D, "sigma": float(s), "wrapped": share})
            at = [float((s * peaks >= 0.5).mean()) for s in (_LOW, _HIGH, first, 1e3 * first)]
            switching["sigma"] += at[0] == 0.0 and at[1] >= _ALL
            switching["control"] += at[2] == 0.0 and at[3] >= _ALL
        progress(0.8 * (number + 1) / len(_INPUTS))
    low = [float(row["half_wrap_at"]) for row in edges]
    facts |= {
        "cells": Fact(len(edges)),
        "cells_switched": Fact(switching["sigma"]),
        "cells_switched_by_control": Fact(switching["control"]),
        "lowest_edge": Fact(min(low)),
        "highest_edge": Fact(max(low)),
    }
    round_trips = [_round_trip(spiral(size["points"]), D) for D in _SPIRAL_OUTPUTS]
    for row in round_trips:
        facts |= {f"{name}_{row['D']}": Fact(float(row[name])) for name in ("wrapped", "mse")}
    progress(0.95)
    facts |= _dimension_facts()
    progress(1.0)
    return Outcome({"edges": edges, "wrapped": wrapped, "spiral": round_trips}, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the fraction of inputs that wrap over sigma and D, one panel for each d."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.6), layout="constrained")
    axes = figure.subplots(1, len(_INPUTS), sharey=True)
    for axis, d in zip(axes, _INPUTS, strict=True):
        rows = [row for row in outcome.tables["wrapped"] if row["d"] == d]
        image = np.array([float(row["wrapped"]) for row in rows]).reshape(len(_OUTPUTS), -1)
        mesh = axis.pcolormesh(
            _SIGMAS,
            np.arange(len(_OUTPUTS)),
            image,
            cmap="viridis",
            vmin=0,
            vmax=1,
            rasterized=True,
        )
        edge = [row for row in outcome.tables["edges"] if row["d"] == d]
        axis.plot(
            [float(row["none_wraps_below"]) for row in edge], range(len(edge)), "o-", color="white"
        )
        for sigma in (_LOW, _HIGH):
            axis.axvline(sigma, color="#e8590c", linestyle="--")
        axis.set(xscale="log", xlabel="sigma", title=f"d = {d}", xlim=(_SIGMAS[0], _SIGMAS[-1]))
        axis.set_yticks(range(len(_OUTPUTS)), [str(D) for D in _OUTPUTS])
    axes[0].set_ylabel("outputs D")
    figure.colorbar(mesh, ax=axes, label="fraction of inputs that wrap")
    return {"edge": figure}


def _map(d: int, D: int, sigma: float) -> DynamicPrime:
    with warnings.catch_warnings():  # D < 2 d is part of the grid
        warnings.simplefilter("ignore", ConditioningWarning)
        return DynamicPrime(d, D, sigma)


def _round_trip(x: np.ndarray, D: int) -> Row:
    m = _map(2, D, _LOW)
    wrapped = float((m.regime(x).wraps > 0).mean())
    return {"D": D, "wrapped": wrapped, "mse": float(np.square(m.decode(m.encode(x)) - x).mean())}


def _dimension_facts() -> dict[str, Fact]:
    """Return for how many pairs (d, D) a map of the right shape exists; odd D must be refused."""
    right = [_map(d, D, 1.0).encode(np.zeros((3, d))).shape == (3, D) for d, D in _SHAPES]
    try:
        DynamicPrime(2, 5, 1.0)
    except ParameterError:
        refused = 1
    else:
        refused = 0
    return {
        "shapes": Fact(len(_SHAPES)),
        "shapes_right": Fact(sum(right)),
        "odd_refused": Fact(refused),
    }


def _switches(facts: Mapping[str, Fact]) -> Judgement:
    cells, switched = facts["cells"].value, facts["cells_switched"].value
    shares = ", ".join(f"{facts[f'wrapped_{D}']:.0%} at D = {D}" for D in _SPIRAL_OUTPUTS)
    errors = ", ".join(f"{facts[f'mse_{D}']:.1g}" for D in _SPIRAL_OUTPUTS)
    return Judgement(
        grade(switched == cells, switched > 0.5 * cells),
        f"at sigma = {_LOW} these fractions of the spiral wrap: {shares}",
        f"The mean squared errors of the paper's inverse are {errors}. Over d = {_INPUTS[0]} to "
        f"{_INPUTS[-1]} and D = {_OUTPUTS[0]} to {_OUTPUTS[-1]} the sigma at which half of the "
        f"inputs wrap runs from {facts['lowest_edge']:.1e} to {facts['highest_edge']:.1e}, so the "
        f"paper's two scales give its two regimes in {switched} of {cells} cells. For one fixed d "
        "and D a suitable sigma does move the map across the edge: divided by the largest row sum "
        f"of W it does so in {facts['cells_switched_by_control']} of {cells} cells.",
    )


def _decoupled(facts: Mapping[str, Fact]) -> Judgement:
    shapes, right = facts["shapes"].value, facts["shapes_right"].value
    refused = facts["odd_refused"].value == 1
    pairs = ", ".join(f"({d}, {D})" for d, D in _SHAPES)
    return Judgement(
        grade(right == shapes and refused, right == shapes),
        f"{right} of {shapes} pairs (d, D) work; odd D is {'rejected' if refused else 'accepted'}",
        f"The pairs {pairs} give codes of D numbers. Other properties do depend on both: whether "
        f"an inverse exists, and where phases wrap ({facts['cells_switched']} of "
        f"{facts['cells']} cells keep the paper's regimes).",
    )


EXPERIMENT = Experiment(
    "sigma",
    "One scalar and two regimes (Abstract, Section 2.3)",
    "The abstract calls it a central novelty that a single scaling parameter sigma switches "
    "the map "
    "from a manifold, at 0.007, to a hash, at 1.0. Here {inputs:,} inputs, uniform in the cube "
    "that "
    "the paper's spiral spans, show for every d and D the sigma at which their phases wrap, and "
    "{points:,} points of the spiral are encoded and decoded at sigma = 0.007.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "one-scalar-switches",
        "Abstract; Introduction, second contribution; Conclusion",
        "A single scalar, sigma, switches the map between manifold and hash.",
        "{inputs:,} inputs, uniform in the cube of the paper's spiral, at sigma = 0.007 and "
        "1.0, for "
        "{cells} pairs of d and D; {points:,} points of the spiral decoded at sigma = 0.007.",
        "Holds if no input wraps at 0.007 and 95 % do at 1.0 for every d and D; in part for most; "
        "fails otherwise.",
        "sigma",
        _switches,
        quote="A central novelty of the dynamic framework is its ability to unify two disparate "
        "mathematical utility classes through a single scaling parameter sigma.",
        weight=Weight.CENTRAL,
        figures=("edge",),
        tables=("edges", "spiral"),
    ),
    Claim(
        "decoupled-dimensions",
        "Section 2.3, decoupled dimensions",
        "D can be chosen freely for any d, as long as it is even.",
        "Encode inputs for {shapes} pairs (d, D) from (1, 2) to (4096, 16), and ask for an odd D.",
        "Holds if every pair gives codes of D numbers and an odd D is rejected; in part if "
        "only the "
        "first.",
        "sigma",
        _decoupled,
        quote="A key advantage of the Primal framework is the complete decoupling of the input "
        "dimension d from the embedding dimension D. ... The only constraint is that D must be "
        "even",
        weight=Weight.DETAIL,
        tables=("edges",),
    ),
)
