"""Fingerprints in the hash regime: collisions, avalanche, uniformity, and the way back.

A fingerprint is the signs of the cosines and sines of 32 phases: 64 bits of a vector of 8 numbers.
Inputs are uniform, or numbered: 16 x 16 x ... grid points, the case that weak hashes fail on. For
2**16 of them: pairs whose first 24 bits are equal (128 are expected by chance), the share of bits
that changes when one number changes by 2**-20, chi-squared of the values of every byte, the largest
correlation of two bits. Scores are in standard deviations of an ideal hash. The paper's basis and
`auto`; beside them frequencies drawn at random, and BLAKE2b. Last: how many inputs come back from
what the fingerprint is made of.

    primal study fingerprints --out results
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from primal import Box, DynamicPrime
from primal.exact import Basis, pack, waves
from primal_studies._pictures import COLORS, SOFT, picture
from primal_studies.training._common import Settings, Study, mean_spread, select, table

INPUTS = 8
PHASES = 32
SIGMAS = (0.1, 1.0, 1e2, 1e4, 1e6)
KINDS = ("paper", "auto", "random", "blake2b")  # the first two are bases of ours
TESTS = ("collisions", "avalanche", "bytes", "correlation")
STEP = 2.0**-20
COMPARED_BITS = 24
_COLORS = {
    "paper": COLORS["prime"],
    "auto": COLORS["repaired"],
    "random": COLORS["random"],
    "blake2b": SOFT,
}


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure, print the tables, draw, and return the runs."""
    study = Study(__file__, __doc__, argv)
    runs = study.run("fingerprints", hash_settings(study.chosen), measure_hash)
    back = study.run("fingerprints-back", back_settings(study.chosen), measure_back)
    return study.finish((score_table(runs), back_table(back)), partial(draw, runs))


def hash_settings(chosen) -> list[Settings]:
    """Return one run for each kind, sigma, inputs and seed; BLAKE2b has no sigma."""
    sigmas = SIGMAS[2:3] if chosen.quick else SIGMAS
    return [
        {"kind": kind, "sigma": sigma, "inputs": inputs, "n": 1 << (12 if chosen.quick else 16)}
        | {"seed": seed}
        for inputs in ("uniform", "grid")
        for kind in KINDS
        for sigma in ((None,) if kind == "blake2b" else sigmas)
        for seed in range(chosen.seeds)
    ]


def measure_hash(run: Settings) -> Settings:
    """Return the scores of one kind of fingerprint, and the share of bits that a step changes."""
    rng = np.random.default_rng(run["seed"])
    fingerprint = hasher(run["kind"], run["sigma"], run["seed"])
    x = points(run["inputs"], run["n"], rng)
    moved = x.copy()
    moved[np.arange(len(x)), rng.integers(0, INPUTS, len(x))] += STEP
    prints = fingerprint(x)
    flipped = np.unpackbits(np.bitwise_xor(prints, fingerprint(moved)), axis=1).mean(axis=1)
    return scores(prints) | {
        "flipped": float(flipped.mean()),
        "avalanche": float((flipped.mean() - 0.5) / (0.5 / math.sqrt(64 * len(x)))),
    }


def points(inputs: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n different points in the unit cube: uniform, or a part of the grid of 16ths."""
    if inputs == "uniform":
        return rng.random((n, INPUTS))
    first = int(rng.integers(0, 1 << 24))
    numbers = first + np.arange(n)
    return (numbers[:, None] >> (4 * np.arange(INPUTS)) & 15) / 16.0


def hasher(kind: str, sigma: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return what takes points (n, 8) to fingerprints (n, 8), uint8."""
    if kind == "blake2b":
        return lambda x: np.frombuffer(
            b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in x), np.uint8
        ).reshape(-1, 8)
    if kind not in ("random", "matched"):
        m = DynamicPrime(INPUTS, 2 * PHASES, sigma, basis=kind)
        return lambda x: signs(m.turns(x))
    drawn = np.random.default_rng([seed, 3]).standard_normal((INPUTS, PHASES)) * sigma
    if kind == "matched":  # as long as the paper's W, whose entries reach 40
        drawn *= (
            np.linalg.norm(Basis("paper", INPUTS, PHASES).frequencies)
            * sigma
            / np.linalg.norm(drawn)
        )

    def random_phases(x: np.ndarray) -> np.ndarray:
        turns = x @ drawn
        fractions = np.floor((turns - np.floor(turns)) * 2.0**32)
        return signs(np.minimum(fractions, 2.0**32 - 1).astype(np.uint32))

    return random_phases


def signs(turns: np.ndarray) -> np.ndarray:
    """Return the signs of cosines and sines of phases, one bit each, in bytes."""
    bits = np.stack(waves(turns), axis=-1).reshape(len(turns), -1) >= 0.0
    return np.packbits(bits, axis=1, bitorder="little")


def scores(prints: np.ndarray) -> Settings:
    """Return how far fingerprints (n, 8) are from an ideal hash, in its standard deviations."""
    n = len(prints)
    words = prints[:, : COMPARED_BITS // 8].astype(np.int64) @ (256 ** np.arange(3))
    counts = np.unique(words, return_counts=True)[1].astype(np.float64)
    pairs, expected = (counts * (counts - 1) / 2).sum(), n * (n - 1) / 2 / 2.0**COMPARED_BITS
    chi = [
        (np.square(np.bincount(column, minlength=256) - n / 256) / (n / 256)).sum()
        for column in prints.T
    ]
    bits = np.unpackbits(prints, axis=1).astype(np.float64)
    centered = bits - bits.mean(axis=0)
    lengths = np.maximum(np.linalg.norm(centered, axis=0), 1e-12)
    correlations = (centered.T @ centered) / np.outer(lengths, lengths) - np.eye(64)
    return {
        "pairs": float(pairs),
        "collisions": float((pairs - expected) / math.sqrt(expected)),
        "bytes": float((max(chi) - 255) / math.sqrt(510)),
        "correlation": float(np.abs(correlations).max() * math.sqrt(n)),
    }


def back_settings(chosen) -> list[Settings]:
    """Return one run for each sigma and way of keeping phases."""
    return [
        {"basis": basis, "sigma": sigma, "kept": kept, "phases": phases}
        | {"n": 10 if chosen.quick else 200}
        for basis in (KINDS[1:2] if chosen.quick else KINDS[:2])
        for sigma in (SIGMAS[2:3] if chosen.quick else SIGMAS[:4])
        for kept, phases in (("uint32", 32), ("uint8", 32))
    ]


def measure_back(run: Settings) -> Settings:
    """Return which share of uniform points comes back, and which share is called unique."""
    m = DynamicPrime(INPUTS, 2 * run["phases"], run["sigma"], basis=run["basis"])
    x = np.random.default_rng(run.get("seed", 0)).random((run["n"], INPUTS))
    turns = m.turns(x)
    plan = m.decode_plan(prior=Box(0.5, 0.5), noise=run["kept"])
    found = plan.decode(pack(turns, 8) if run["kept"] == "uint8" else turns)
    unique = found.status == "unique"
    # With every whole turn right, x is off by the rounding of phases alone.
    std = plan.certificate.x_std
    right = (np.abs(found.x - x) < 6.0 * std).all(axis=1)
    return {
        "deviation": float(std.max()),
        "right": float(right.mean()),
        "unique": float(unique.mean()),
        "wrong_but_unique": int((unique & ~right).sum()),
    }


def score_table(runs: list[Settings]) -> str:
    """Return scores by inputs, kind and sigma, mean and spread of the seeds."""
    rows = []
    for inputs, kind, sigma in dict.fromkeys((r["inputs"], r["kind"], r["sigma"]) for r in runs):
        mine = select(runs, inputs=inputs, kind=kind, sigma=sigma)
        shown = [mean_spread((run[name] for run in mine), 1) for name in TESTS]
        flipped = mean_spread((100 * run["flipped"] for run in mine), 2)
        rows.append([inputs, kind, "" if sigma is None else f"{sigma:g}", flipped, *shown])
    return table(["inputs", "kind", "sigma", "bits changed, %", *TESTS], rows)


def back_table(runs: list[Settings]) -> str:
    """Return what comes back."""
    rows = [
        [
            *(run["basis"], f"{run['sigma']:g}", f"{run['phases']} x {run['kept']}"),
            *(f"{100 * run['right']:.1f}", f"{100 * run['unique']:.1f}", run["wrong_but_unique"]),
            f"{run['deviation']:.1e}",
        ]
        for run in runs
    ]
    header = ["basis", "sigma", "kept", "right, %", "called unique, %", "wrong but unique"]
    return table([*header, "deviation of x"], rows)


def draw(runs: list[Settings], out: Path) -> None:
    """Draw the share of bits that a step changes and pairs of equal prints against sigma."""
    with picture(out / "fingerprints.png", (7.6, 3.4)) as figure:
        left, right = figure.subplots(1, 2)
        for kind in KINDS:
            for inputs, style in (("uniform", "-"), ("grid", ":")):
                mine = select(runs, kind=kind, inputs=inputs)
                sigmas = [s for s in dict.fromkeys(r["sigma"] for r in mine) if s is not None]
                for axis, name in ((left, "flipped"), (right, "pairs")):
                    label = f"{kind}, {inputs}" if axis is left else None
                    if kind == "blake2b":
                        mean = float(np.mean([run[name] for run in mine]))
                        axis.axhline(mean, color=SOFT, linestyle=style, linewidth=1, label=label)
                        continue
                    means = [np.mean([r[name] for r in select(mine, sigma=s)]) for s in sigmas]
                    axis.plot(sigmas, means, style, marker=".", color=_COLORS[kind], label=label)
        left.set(xscale="log", xlabel="sigma", ylabel="bits changed by a step of 2**-20")
        right.set(xscale="log", xlabel="sigma", ylabel="pairs with 24 equal bits")
        right.set_yscale("log")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)


if __name__ == "__main__":
    main()
