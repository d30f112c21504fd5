"""Codes on the air and in light: users who come and go (CDMA), and an optical correlator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from primal_studies.paper._claim import Claim, Judgement, Weight
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
from primal_studies.paper._stats import COLORS, fact, grade
from primal_studies.paper.experiments._parts import panels
from primal_studies.uses import optics
from primal_studies.uses._families import family
from primal_studies.uses.multiuser import RECEIVERS, SNR_DB, measure_bits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_FAMILIES = ("prime", "random", "gold")
_COLORS = dict(zip(_FAMILIES, map(COLORS.get, ("prime", "random", "golden")), strict=True))
_USERS = (8, 16, 32)
_SCENES = {"synchronous": "matched", "uncoordinated": "mmse"}  # with the receiver that is judged
_POOL = 4096  # users that may come
SIZES: Sizes = {"draws": (4, 8), "trials": (500, 2000), "reads": (200, 1000)}


def run(quick: bool, progress: Progress) -> Outcome:
    """Take the bit errors from the study of many users, with seeds of this run."""
    size, facts = sizes_of(SIZES, quick)
    draws, trials = size["draws"], size["trials"]
    rows: list[Row] = []
    for number, name in enumerate(_FAMILIES):
        for scene in _SCENES:
            for users in _USERS:
                condition = {"scene": scene, "family": name, "users": users, "snr_db": SNR_DB}
                found = [
                    measure_bits(condition | {"trials": trials, "seed": base_seed() + draw})[
                        "wrong"
                    ]
                    for draw in range(draws)
                ]
                for receiver in RECEIVERS:
                    rate = fact([wrong[receiver] / trials for wrong in found])
                    rows.append(
                        {"codes": name, "scene": scene, "users": users, "receiver": receiver}
                        | {"bit_errors": rate.value, "spread": rate.spread}
                    )
                    if receiver == _SCENES[scene]:
                        facts[f"bit errors, {scene}, {name}, {users} users"] = rate
        progress((number + 1) / (len(_FAMILIES) + 1))
    light, found = _light(draws, size["reads"])
    facts |= found
    make = family("prime").make
    few, many, alone = (make(np.arange(64)), make(np.arange(_POOL)), make(np.array(_POOL - 1)))
    facts["codes that change when users come"] = Fact(float((few != many[:64]).any(axis=1).sum()))
    facts["one code made alone is the same"] = Fact(float(np.array_equal(alone, many[-1])))
    progress(1.0)
    return Outcome({"bit_errors": rows, "correlator": light}, facts)


def _light(draws: int, trials: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return what an optical correlator reads through masks of three bits, in noise."""
    rows: list[Row] = []
    facts = {}
    for name in optics.FAMILIES:
        asked = {"bits": 3, "drift": 0.0, "noise": 8.0, "family": name, "trials": trials}
        found = [
            optics.measure_correlator(asked | {"seed": base_seed() + draw}) for draw in range(draws)
        ]
        read = fact([one["right"] / trials for one in found])
        coherence = fact([one["coherence"] for one in found])
        facts |= {f"read right, {name}": read, f"coherence of masks, {name}": coherence}
        rows.append({"codes": name, "read_right": read.value, "coherence": coherence.value})
    return rows, facts


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw bit errors against users, one panel for each scene."""
    figure, axes = panels(1, 2, 3.2)
    for panel, (scene, receiver) in zip(axes[0], _SCENES.items(), strict=True):
        for name in _FAMILIES:
            rows = [
                row
                for row in outcome.tables["bit_errors"]
                if (row["codes"], row["scene"], row["receiver"]) == (name, scene, receiver)
            ]
            x, y, e = ([float(r[n]) for r in rows] for n in ("users", "bit_errors", "spread"))
            panel.errorbar(x, y, e, fmt="o-", ms=4, color=_COLORS[name], label=name)
        panel.set(title=f"{scene}, {receiver}", xlabel="users at once")
    axes[0, 0].set_ylabel("share of wrong bits")
    axes[0, 0].legend()
    return {"bit-errors": figure}


def _dynamic(facts: Mapping[str, Fact]) -> Judgement:
    changed = facts["codes that change when users come"].value
    alone = facts["one code made alone is the same"].value
    kept = changed == 0.0 and alone == 1.0
    worse = dict.fromkeys(("random", "gold"), 0)
    for users in _USERS:
        ours = facts[f"bit errors, synchronous, prime, {users} users"]
        for peer in worse:
            theirs = facts[f"bit errors, synchronous, {peer}, {users} users"]
            error = math.hypot(ours.spread, theirs.spread) / math.sqrt(ours.n)
            worse[peer] += ours.value > theirs.value + 0.005 + 3.0 * error
    level = {peer: len(_USERS) - n for peer, n in worse.items()}
    together, own = (
        [facts[f"bit errors, {scene}, {name}, 32 users"].value for name in ("prime", peer)]
        for scene, peer in (("synchronous", "random"), ("uncoordinated", "gold"))
    )
    return Judgement(
        grade(kept and level["gold"] == len(_USERS), kept and level["random"] == len(_USERS)),
        f"{changed:.0f} codes change as users come; bit errors level with random codes at "
        f"{level['random']} of {len(_USERS)} loads, with Gold codes at {level['gold']}",
        f"Any user's code is made alone, from its number. Wrong bits of 32 users, matched filter: "
        f"{together[0]:.1%}, random codes {together[1]:.1%}. If 100,000 devices each use the "
        "code of "
        f"their own number and an MMSE receiver, {own[0]:.1%} of bits are wrong; Gold codes then "
        f"collide, {own[1]:.1%}.",
    )


def _interference(facts: Mapping[str, Fact]) -> Judgement:
    read, peer_read, coherence, peer = (
        facts[f"{what}, {name}"]
        for what in ("read right", "coherence of masks")
        for name in optics.FAMILIES
    )
    error = math.hypot(read.spread, peer_read.spread) / math.sqrt(read.n)
    return Judgement(
        grade(
            read.value > peer_read.value + 0.02 + 3.0 * error,
            coherence.value < peer.value - 2.0 * peer.spread / math.sqrt(peer.n),
        ),
        f"{read.value:.1%} of codes read right through masks of 3 bits, random phases "
        f"{peer_read.value:.1%}; coherence {coherence.value:.3f}, {peer.value:.3f}",
        f"1024 codes of 64 phases in noise of 8 times a pixel's power, {read.n} draws. Without "
        f"noise the worst two codes interfere with {coherence.value:.3f} of a code's own answer. "
        "Simulated: no optical hardware was used, and its speed was not judged.",
    )


EXPERIMENT = Experiment(
    "uses-radio",
    "Codes for many users and for light (Sections 4.1 and 4.4)",
    "The paper proposes prime codes for CDMA and for massive machine-type communications, where "
    "users come and go. The numbers are those of primal study multiuser: users send bits at once "
    "on 63 chips in noise, with codes that are dealt out, or each of 100,000 devices uses the code "
    "of its own number. Gold and random codes are the peers. Then an optical "
    "correlator, as primal study optics simulates it.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "dynamic-codebooks",
        "Section 4.1, codebook generation",
        "Codebooks can be regenerated as users come and go, with near-optimal codes.",
        "Codes before and after users come; wrong bits of 8 to 32 users on 63 chips, matched "
        "filter, as primal study multiuser measures them ({trials} trials, draws: {draws}).",
        "Holds if no code changes, each can be made alone, and bit errors are not above those of "
        "Gold codes by half a percent and three standard errors at any load; in part if not above "
        "those of random codes.",
        "uses-radio",
        _dynamic,
        quote="For telecommunications (CDMA/6G), the ability to generate near-optimal orthogonal "
        "codes ... allows for dynamic codebook regeneration. This capability is crucial for "
        "Massive Machine-Type Communications (mMTC) where user density fluctuates rapidly.",
        figures=("bit-errors",),
        tables=("bit_errors",),
    ),
    Claim(
        "optical-hardware",
        "Section 4.4, future research",
        "Optical hardware could process prime frequencies without interference, at high speed.",
        "How often an optical correlator reads codes through phase masks of three bits in noise, "
        "and their coherence, as primal study optics simulates it ({reads} codes read, draws: "
        "{draws}).",
        "Holds if prime codes are read more often than random phases by two percent and three "
        "standard errors; in part if their coherence is lower by two standard errors. Speed is "
        "not judged.",
        "uses-radio",
        _interference,
        quote="exploring hardware realizations in optical computing, where the analog "
        "generation of irrational prime frequencies offers potential for "
        "ultra-high-speed, interference-free processing",
        weight=Weight.DETAIL,
        tables=("correlator",),
    ),
)
