"""Outer-product memory: crosstalk, how much it holds, and decoding what comes out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.codebooks import bounds
from primal.decoding import Box
from primal.errors import ConditioningWarning
from primal.maps import DynamicPrime, StaticPrime
from primal_studies.paper._claim import Claim, Judgement, Weight
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
from primal_studies.paper._stats import COLORS, LABELS, fact, grade, log_slope, span
from primal_studies.paper.baselines import random_increments, toeplitz_rms
from primal_studies.paper.experiments._parts import (
    CODES,
    crossing,
    fact_rows,
    panels,
    unit_codes,
    values_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_N = 1000
SIZES: Sizes = {
    "random_draws": (5, 20),
    "key_draws": (2, 5),
    "retrieval_trials": (4, 24),
    "round_trips": (3, 20),
}
_CROSSTALK_KEYS = (50, 100, 200, 500, 1000, 2000, 5000)
_CROSSTALK_DIMENSIONS = (64, 128, 256, 512, 1024, 2048)
# Keys that are correlated, as the paper supposes: uniform in [0, 1]^d.
_CORRELATED_INPUTS = (16, 64)
_CAPACITY_DIMENSIONS = (128, 512, 2048)
_PAIR_GRID = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)  # pairs stored, in units of D²


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure crosstalk, pairs held, and a round trip through a memory."""
    size, sizes = sizes_of(SIZES, quick)
    crosstalk, facts = _crosstalk(size["random_draws"])
    facts |= sizes
    progress(0.1)
    capacity, more = _correlated_keys(size["key_draws"])
    facts |= more
    progress(0.3)
    retrieval, more = _retrieval(
        (16, 32, 64) if quick else (16, 32, 64, 128), size["retrieval_trials"]
    )
    progress(0.9)
    trips = _round_trip(size["round_trips"])
    facts |= more | trips
    progress(1.0)
    tables = {
        "crosstalk": crosstalk,
        "correlated_keys": capacity,
        "retrieval": retrieval,
        "round_trip": fact_rows(trips),
    }
    return Outcome(tables, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw retrieval against pairs stored."""
    figure, axes = panels(1, 1, 3.6)
    panel = axes[0, 0]
    styles = {"prime": "o-", "gaussian": "s--", "random": "^:"}
    for code in CODES:
        for D in sorted({int(row["D"]) for row in outcome.tables["retrieval"]}):
            rows = [r for r in outcome.tables["retrieval"] if (r["code"], r["D"]) == (code, D)]
            label = LABELS[code] if D == 64 else None
            panel.semilogx(
                [r["pairs"] for r in rows],
                [r["accuracy"] for r in rows],
                styles[code],
                ms=4,
                color=COLORS[code],
                label=label,
            )
            if code == "prime":
                panel.text(
                    float(rows[-1]["pairs"]), float(rows[-1]["accuracy"]), f" {D}", fontsize=9
                )
    panel.set_xlabel("pairs stored (D beside each curve)")
    panel.set_ylabel("values retrieved")
    panel.legend(fontsize=9)
    return {
        "crosstalk": _draw_crosstalk(outcome.tables["crosstalk"]),
        "capacity": _draw_capacity(outcome.tables["correlated_keys"]),
        "retrieval": figure,
    }


def _draw_crosstalk(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.4)
    image = np.array([float(row["prime"]) for row in rows]).reshape(
        len(_CROSSTALK_DIMENSIONS), len(_CROSSTALK_KEYS)
    )
    panel = axes[0, 0]
    panel.imshow(image, cmap="PuOr_r", vmin=0.8, vmax=1.2, aspect="auto", origin="lower")
    for (i, j), value in np.ndenumerate(image):
        panel.text(j, i, f"{value:.2f}", ha="center", va="center", color="#010101")
    panel.set_xticks(range(len(_CROSSTALK_KEYS)), [f"{K:,}" for K in _CROSSTALK_KEYS])
    panel.set_yticks(range(len(_CROSSTALK_DIMENSIONS)), [str(D) for D in _CROSSTALK_DIMENSIONS])
    panel.set(xlabel="keys stored", ylabel="dimension D")
    panel.set_title("energy of crosstalk, Gaussian keys = 1")
    return figure


def _draw_capacity(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, len(_CORRELATED_INPUTS), 3.0)
    for panel, d in zip(axes[0], _CORRELATED_INPUTS, strict=True):
        for name, style in (("prime", "o-"), ("gaussian", "s--")):
            curve = [r for r in rows if (r["map"], r["d"]) == (name, d)]
            x, y = ([float(r[n]) for r in curve] for n in ("D", "held"))
            label = "mapped by primes" if name == "prime" else "mapped by a random W"
            panel.loglog(x, y, style, color=COLORS[name], label=label)
        panel.axhline(float(curve[0]["held_raw"]), color=COLORS["welch"], ls=":", label="raw keys")
        panel.set(title=f"d = {d}", xlabel="dimension D")
        panel.set_xticks(_CAPACITY_DIMENSIONS, [str(D) for D in _CAPACITY_DIMENSIONS])
        panel.minorticks_off()
    axes[0, 0].set_ylabel("keys that fill a memory")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _crosstalk(draws: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return the energy of crosstalk over the (K - 1) / D of random keys, for every K and D.

    Independent Gaussian keys, and random frequencies, have 1 in expectation.
    """
    rows: list[Row] = []
    for D in _CROSSTALK_DIMENSIONS:
        prime = toeplitz_rms(StaticPrime(D).increments, _CROSSTALK_KEYS)
        random = [
            toeplitz_rms(random_increments(D // 2, base_seed() + i), _CROSSTALK_KEYS)
            for i in range(draws)
        ]
        for place, K in enumerate(_CROSSTALK_KEYS):
            drawn = fact([D * values[place] ** 2 for values in random])
            rows.append(
                {
                    "keys": K,
                    "D": D,
                    "prime": D * prime[place] ** 2,
                    "random_frequencies": drawn.value,
                    "random_spread": drawn.spread,
                    "least_possible": D * bounds.welch(K, D) ** 2 if K > D else 0.0,
                }
            )
    energies = np.array([float(row["prime"]) for row in rows])
    least = np.array([float(row["least_possible"]) for row in rows])
    crowded = least > 0.0
    return rows, {
        "cells": Fact(len(rows)),
        "cells below Gaussian keys": Fact(float((energies < 1.0).sum())),
        "cells within 5 % of the least possible": Fact(
            float((energies[crowded] < 1.05 * least[crowded]).sum())
        ),
        "cells with more keys than dimensions": Fact(float(crowded.sum())),
        "energy, mean of all cells": Fact(float(energies.mean())),
        "energy, least": Fact(float(energies.min())),
        "energy, most": Fact(float(energies.max())),
    }


def _energy(codes: np.ndarray) -> float:
    """Return the energy of crosstalk per other key, over the 1 / D of random directions."""
    gram = codes @ codes.T
    squares = float(np.square(gram, dtype=np.float64).sum()) - len(codes)
    return squares / len(codes) / ((len(codes) - 1) / codes.shape[1])


def _correlated_keys(draws: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return how many keys of [0, 1]^d fill a memory, raw and mapped.

    It is full when the energy of crosstalk is that of the signal.
    """
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for d in _CORRELATED_INPUTS:
        keys = [generator(i).uniform(0.0, 1.0, (_N, d)) for i in range(draws)]
        raw = fact([_capacity(u) for u in keys])
        facts[f"keys held, raw, d {d}"] = raw
        for name in ("prime", "gaussian"):
            held = []
            for D in _CAPACITY_DIMENSIONS:
                found = fact([_capacity(_mapped(name, u, D, i)) for i, u in enumerate(keys)])
                held.append(found.value)
                facts[f"keys held, {name}, d {d} D {D}"] = found
                rows.append(
                    {
                        "map": name,
                        "d": d,
                        "D": D,
                        "held": found.value,
                        "spread": found.spread,
                        "held_raw": raw.value,
                    }
                )
            slope, error = log_slope(_CAPACITY_DIMENSIONS, held)
            facts[f"exponent of keys held, {name}, d {d}"] = Fact(slope, error, len(held))
    return rows, facts


def _capacity(keys: np.ndarray) -> float:
    unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    return unit.shape[1] / _energy(unit)


def _mapped(name: str, u: np.ndarray, D: int, seed: int) -> np.ndarray:
    """Return features at sigma = 1, of the paper's W or of a Gaussian one of the same size."""
    d = u.shape[1]
    with warnings.catch_warnings():  # nothing is inverted here
        warnings.simplefilter("ignore", ConditioningWarning)
        m = DynamicPrime(d, D)
    if name == "prime":
        return m.encode(u)
    table = m.basis.frequencies
    random = generator(1000 + seed).standard_normal(table.shape)
    phases = 2.0 * np.pi * (u @ (random * np.linalg.norm(table) / np.linalg.norm(random)).T)
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)


def _retrieval(dimensions: Sequence[int], trials: int) -> tuple[list[Row], dict[str, Fact]]:
    """Store pairs in sum v u^T and read values back as the nearest of 1000."""
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for code in CODES:
        held = []
        for D in dimensions:
            grid = [max(2, round(share * D * D)) for share in _PAIR_GRID]
            keys, values = unit_codes(code, max(grid), D), unit_codes(code, _N, D, block=1)
            rng = generator()
            scores = [
                float(np.mean([_retrieved(keys, values, K, rng) for _ in range(trials)]))
                for K in grid
            ]
            rows += [
                {"code": code, "D": D, "pairs": K, "accuracy": score}
                for K, score in zip(grid, scores, strict=True)
            ]
            held.append(crossing(grid, scores, 0.9))
        slope, error = log_slope(dimensions, held)
        facts[f"exponent of pairs held, {code}"] = Fact(slope, error, len(dimensions))
        facts[f"pairs held at 90 % over D², {code}"] = Fact(held[-1] / dimensions[-1] ** 2)
    return rows, facts


def _retrieved(keys: np.ndarray, values: np.ndarray, K: int, rng: np.random.Generator) -> float:
    stored = rng.permutation(len(keys))[:K]
    meant = rng.integers(0, len(values), K)
    memory = values[meant].T @ keys[stored]
    answers = (values @ (memory @ keys[stored].T)).argmax(axis=0)
    return float((answers == meant).mean())


def _round_trip(draws: int) -> dict[str, Fact]:
    """Store ten codes at sigma = 1 under prime keys, retrieve, and decode them to inputs."""
    D, K = 512, 10
    m = DynamicPrime(2, D, 1.0)
    keys = unit_codes("prime", K, D).astype(np.float64)
    # Crosstalk of energy (K - 1) / D turns the phase of a unit wave by so many turns.
    noise_turns = math.sqrt((K - 1) / D / 2.0) / (2.0 * math.pi)
    plan = m.decode_plan(prior=Box(1.0), noise=noise_turns)
    errors = []
    for seed in range(draws):
        x = generator(seed).uniform(-1.0, 1.0, (K, 2))
        retrieved = (m.encode(x).T @ keys @ keys.T).T
        lattice = plan.decode(retrieved)
        errors.append((_largest_error(m.decode(retrieved), x), _largest_error(lattice.x, x)))
    linear, ours = np.array(errors).T
    return {
        "largest error from memory, linear inverse": fact(linear),
        "largest error from memory, lattice decoder": fact(ours),
    }


def _largest_error(found: np.ndarray, x: np.ndarray) -> float:
    return float(np.abs(np.nan_to_num(found) - x).max())


def _less_crosstalk(facts: Mapping[str, Fact]) -> Judgement:
    cells, below, optimal, crowded, mean, least, most = values_of(
        facts,
        "cells",
        "cells below Gaussian keys",
        "cells within 5 % of the least possible",
        "cells with more keys than dimensions",
        "energy, mean of all cells",
        "energy, least",
        "energy, most",
    )
    return Judgement(
        grade(optimal > 0.5 * crowded, mean < 1.0 and below > 0.5 * cells),
        f"{mean:.2f} of that of Gaussian keys on average, {least:.2f} to {most:.2f}",
        f"Below Gaussian keys in {below:.0f} of {cells:.0f} cells (50 to 5000 keys, D = 64 to "
        f"2048). Where keys outnumber dimensions, {optimal:.0f} of {crowded:.0f} cells are within "
        "5 % of the least energy possible.",
    )


def _eliminates(facts: Mapping[str, Fact]) -> Judgement:
    mean, least, most = (
        facts[f"energy, {name}"] for name in ("mean of all cells", "least", "most")
    )
    return Judgement(
        grade(most.value < 0.01, mean.value < 0.5),
        f"{least:.0%} to {most:.0%} of the crosstalk of Gaussian keys remains",
        f"The energy of the crosstalk term is {mean:.0%} of that of Gaussian keys on average over "
        f"{facts['cells']} cells. The Welch bound forbids its elimination when keys outnumber "
        "dimensions.",
    )


def _linear_capacity(facts: Mapping[str, Fact]) -> Judgement:
    slopes, random = (
        values_of(facts, *(f"exponent of keys held, {m}, d {d}" for d in _CORRELATED_INPUTS))
        for m in ("prime", "gaussian")
    )
    raw = values_of(facts, *(f"keys held, raw, d {d}" for d in _CORRELATED_INPUTS))
    most = values_of(
        facts,
        *(f"keys held, prime, d {d} D {_CAPACITY_DIMENSIONS[-1]}" for d in _CORRELATED_INPUTS),
    )
    (pairs,) = values_of(facts, "exponent of pairs held, prime")
    grows = [s > 0.9 and m > 10.0 * r for s, m, r in zip(slopes, most, raw, strict=True)]
    return Judgement(
        grade(all(grows), any(grows)),
        f"keys held grow as D^{span(slopes, '.2f')}",
        f"A memory is already full with {span(raw, '.1f')} correlated keys; after mapping at "
        f"sigma = 1 to D = {_CAPACITY_DIMENSIONS[-1]} it holds {span(most, ',.0f')}. A random W of "
        f"the same norm has the exponent {span(random, '.2f')}. The number of pairs read back as "
        f"the nearest of {_N} values grows as D^{pairs:.2f}.",
    )


def _decodable_memory(facts: Mapping[str, Fact]) -> Judgement:
    linear, lattice = values_of(
        facts,
        "largest error from memory, linear inverse",
        "largest error from memory, lattice decoder",
    )
    return Judgement(
        grade(linear < 0.05, lattice < 0.05),
        f"error up to {linear:.2f} by the paper's inverse, {lattice:.3f} by the lattice decoder",
        "Codes stored at sigma = 1 are wrapped. For ten inputs in [-1, 1] retrieved from a memory "
        f"the pseudoinverse is off by up to {linear:.2f}, the lattice decoder, which is not "
        "part of "
        f"the paper, by {lattice:.3f}.",
    )


EXPERIMENT = Experiment(
    "uses-memory",
    "Associative memory (Discussion)",
    "The paper expects memories made of outer products to gain from prime keys. Pairs are stored "
    "in such a sum and read back as the nearest of 1000 values, and codes of real inputs make the "
    "whole way through a memory and back. Gaussian codes and random frequencies are the controls.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "less-crosstalk",
        "Section 4.2, memory",
        "Prime codes minimise the crosstalk of an outer-product memory.",
        "Energy of crosstalk for a query: 50 to 5000 keys, D = 64 to 2048, 42 cells, against the "
        "expectation of Gaussian keys and the least that any keys can have (Welch). Draws of "
        "random frequencies: {random_draws}.",
        "Holds if within 5 % of the least in most cells where keys outnumber dimensions; in part "
        "if below Gaussian keys on average and in most cells.",
        "uses-memory",
        _less_crosstalk,
        quote="the method minimizes the cross-correlation ⟨Φ(u_j), Φ(u_i)⟩ for i ≠ j, driving "
        "the coherence towards the Welch lower bound",
        figures=("crosstalk",),
        tables=("crosstalk",),
    ),
    Claim(
        "eliminates-crosstalk",
        "Section 4.2, associative memory",
        "Storing at high sigma eliminates the crosstalk term.",
        "The same energies, as a fraction of those of Gaussian keys, in {cells} cells.",
        "Holds if below 1 % in every cell; in part if below 50 % on average; fails otherwise.",
        "uses-memory",
        _eliminates,
        quote="Data is stored in Regime II to eliminate the crosstalk term shown in Eq. (2), "
        "allowing for dense packing of memories.",
        weight=Weight.DETAIL,
        figures=("crosstalk",),
        tables=("crosstalk",),
    ),
    Claim(
        "linear-capacity",
        "Section 4.2, memory",
        "The map makes capacity grow linearly with D, where correlated inputs make it collapse.",
        "Keys uniform in [0, 1]^d, d = 16 and 64: how many fill a memory, raw and mapped at "
        "sigma = 1 to D = 128, 512, 2048; draws: {key_draws}.",
        "Holds if the number grows at least as D^0.9 and tenfold over raw keys at both d; in part "
        "at one.",
        "uses-memory",
        _linear_capacity,
        quote="This ensures that the memory capacity K scales linearly with the embedding "
        "dimension D rather than collapsing due to input correlations.",
        figures=("capacity",),
        tables=("correlated_keys",),
    ),
    Claim(
        "project-store-retrieve-decode",
        "Section 4.2, associative memory",
        "What is stored at high sigma can be retrieved and decoded to the input.",
        "Ten inputs in the square [-1, 1] x [-1, 1] through a memory of D = 512 at sigma = 1; "
        "repetitions: {round_trips}.",
        "Holds if the paper's inverse errs by less than 0.05; in part if a lattice decoder does.",
        "uses-memory",
        _decodable_memory,
        quote="the retrieved high-dimensional vector can be decoded back to the original space "
        "using the inverse properties of Regime I",
        tables=("round_trip",),
    ),
)
