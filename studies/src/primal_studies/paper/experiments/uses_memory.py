"""Outer-product memory: crosstalk, how much it holds, and decoding what comes out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.decoding import Box
from primal.maps import DynamicPrime
from primal_studies.paper._claim import Claim, Judgement
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._stats import COLOURS, LABELS, fact, grade, log_slope
from primal_studies.paper.experiments._parts import CODES, crossing, panels, unit_codes, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_N = 1000
_DRAWS = 5  # of random codes
_CROSSTALK_DIMENSIONS = (64, 128, 256, 512)
_PAIR_GRID = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)  # pairs stored, in units of D**2


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure crosstalk, pairs held, and a round trip through a memory."""
    crosstalk, facts = _crosstalk()
    progress(0.2)
    retrieval, more = _retrieval((16, 32, 64) if quick else (16, 32, 64, 128), 4 if quick else 24)
    progress(0.9)
    facts |= more | _round_trip()
    progress(1.0)
    return Outcome({"crosstalk": crosstalk, "retrieval": retrieval}, facts)


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
                color=COLOURS[code],
                label=label,
            )
            if code == "prime":
                panel.text(
                    float(rows[-1]["pairs"]), float(rows[-1]["accuracy"]), f" {D}", fontsize=9
                )
    panel.set_xlabel("pairs stored (D beside each curve)")
    panel.set_ylabel("values retrieved")
    panel.legend(fontsize=9)
    return {"retrieval": figure}


def _crosstalk() -> tuple[list[Row], dict[str, Fact]]:
    """Return the energy of crosstalk with all codes stored, over the (N - 1) / D of random ones."""
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for D in _CROSSTALK_DIMENSIONS:
        for code in CODES:
            found = fact(
                [
                    _energy(unit_codes(code, _N, D, seed=s))
                    for s in range(1 if code == "prime" else _DRAWS)
                ]
            )
            rows.append({"code": code, "D": D, "energy": found.value, "spread": found.spread})
            facts[f"crosstalk energy, {code} D {D}"] = found
    return rows, facts


def _energy(codes: np.ndarray) -> float:
    gram = codes @ codes.T
    squares = float(np.square(gram, dtype=np.float64).sum()) - len(codes)
    return squares / len(codes) / ((len(codes) - 1) / codes.shape[1])


def _retrieval(dimensions: Sequence[int], trials: int) -> tuple[list[Row], dict[str, Fact]]:
    """Store pairs in sum v u^T and read values back as the nearest of 1000."""
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for code in CODES:
        held = []
        for D in dimensions:
            grid = [max(2, round(share * D * D)) for share in _PAIR_GRID]
            keys, values = unit_codes(code, max(grid), D), unit_codes(code, _N, D, block=1)
            generator = np.random.default_rng(42)
            scores = [
                float(np.mean([_retrieved(keys, values, K, generator) for _ in range(trials)]))
                for K in grid
            ]
            rows += [
                {"code": code, "D": D, "pairs": K, "accuracy": score}
                for K, score in zip(grid, scores, strict=True)
            ]
            held.append(crossing(grid, scores, 0.9))
        slope, error = log_slope(dimensions, held)
        facts[f"exponent of pairs held, {code}"] = Fact(slope, error, len(dimensions))
        facts[f"pairs held at 90 % over D**2, {code}"] = Fact(held[-1] / dimensions[-1] ** 2)
    return rows, facts


def _retrieved(
    keys: np.ndarray, values: np.ndarray, K: int, generator: np.random.Generator
) -> float:
    stored = generator.permutation(len(keys))[:K]
    meant = generator.integers(0, len(values), K)
    memory = values[meant].T @ keys[stored]
    answers = (values @ (memory @ keys[stored].T)).argmax(axis=0)
    return float((answers == meant).mean())


def _round_trip() -> dict[str, Fact]:
    """Store ten codes at sigma = 1 under prime keys, retrieve, and decode them to inputs."""
    D, K = 512, 10
    m = DynamicPrime(2, D, 1.0)
    x = np.random.default_rng(42).uniform(-1.0, 1.0, (K, 2))
    keys = unit_codes("prime", K, D).astype(np.float64)
    retrieved = (m.encode(x).T @ keys @ keys.T).T
    # Crosstalk of energy (K - 1) / D turns the phase of a unit wave by so many turns.
    noise_turns = math.sqrt((K - 1) / D / 2.0) / (2.0 * math.pi)
    lattice = m.decode_plan(prior=Box(1.0), noise=noise_turns).decode(retrieved)
    return {
        "largest error from memory, linear inverse": Fact(_largest_error(m.decode(retrieved), x)),
        "largest error from memory, lattice decoder": Fact(_largest_error(lattice.x, x)),
    }


def _largest_error(found: np.ndarray, x: np.ndarray) -> float:
    return float(np.abs(np.nan_to_num(found) - x).max())


def _less_crosstalk(facts: Mapping[str, Fact]) -> Judgement:
    prime, gaussian, random = values_of(facts, *(f"crosstalk energy, {c} D 512" for c in CODES))
    spread = facts["crosstalk energy, random D 512"].spread
    return Judgement(
        grade(prime < 0.95 * gaussian and prime < random - 2.0 * spread, prime < 0.95 * gaussian),
        f"{prime / gaussian - 1.0:+.0%} against Gaussian keys at D = 512",
        f"With {_N} keys the energy of crosstalk is {prime:.3f} of (K - 1) / D for primes, "
        f"{gaussian:.3f} for Gaussian keys and {random:.2f} +- {spread:.2f} for random waves.",
    )


def _linear_capacity(facts: Mapping[str, Fact]) -> Judgement:
    prime, gaussian = values_of(facts, *(f"exponent of pairs held, {c}" for c in CODES[:2]))
    ours, theirs = values_of(facts, *(f"pairs held at 90 % over D**2, {c}" for c in CODES[:2]))
    return Judgement(
        grade(prime > 0.9 and gaussian < prime - 0.5, prime > 0.9),
        f"pairs held grow as D**{prime:.2f}, with Gaussian keys as D**{gaussian:.2f}",
        f"Read back as the nearest of {_N} values, {ours:.3f} D**2 pairs are held at 90 % with "
        f"prime codes and {theirs:.3f} D**2 with Gaussian ones. At a fixed ratio of crosstalk to "
        "signal the number is proportional to D for any such codes.",
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
        "Codes stored at sigma = 1 are wrapped. Of ten inputs in [-1, 1] retrieved from a memory, "
        f"the pseudoinverse misses by up to {linear:.2f}, the lattice decoder by {lattice:.3f}.",
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
        f"Energy of crosstalk for a query, {_N} keys stored, D = 512.",
        "Holds if 5 % below Gaussian keys and beyond two deviations below random frequencies; in "
        "part if only below Gaussian keys.",
        "uses-memory",
        _less_crosstalk,
    ),
    Claim(
        "linear-capacity",
        "Section 4.2, memory",
        "Prime codes make the capacity grow linearly with D, where others collapse.",
        "Exponent of the pairs held at 90 % against D, and the same with Gaussian keys.",
        "Holds if it exceeds 0.9 and that of Gaussian keys is lower by 0.5; in part if it exceeds "
        "0.9 for both.",
        "uses-memory",
        _linear_capacity,
    ),
    Claim(
        "project-store-retrieve-decode",
        "Section 4.2, associative memory",
        "What is stored at high sigma can be retrieved and decoded to the input.",
        "Ten inputs in [-1, 1]**2 through a memory of D = 512 at sigma = 1.",
        "Holds if the paper's inverse errs by less than 0.05; in part if a lattice decoder does.",
        "uses-memory",
        _decodable_memory,
    ),
)
