"""Spreading codes for many users who come and go (CDMA): bit errors against load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from primal.maps import StaticPrime
from primal_studies.paper._claim import Claim, Judgement
from primal_studies.paper._draws import generator
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._stats import COLORS, LABELS, fact, grade
from primal_studies.paper.experiments._parts import CODES, panels, unit_codes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_CHIPS = 128
_USERS = (16, 32, 64, 128, 256)
_SNR_DB = 10.0
_POOL = 4096  # users that may come


def run(quick: bool, progress: Progress) -> Outcome:
    """Send bits of all users at once and read each with their code."""
    draws, symbols = (8, 100) if quick else (24, 200)
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for number, code in enumerate(CODES):
        for users in _USERS:
            found = fact([_bit_errors(code, users, symbols, seed) for seed in range(draws)])
            facts[f"bit errors, {code}, {users} users"] = found
            rows.append(
                {"code": code, "users": users, "bit_errors": found.value, "spread": found.spread}
            )
        progress((number + 1) / len(CODES))
    few, many = StaticPrime(_CHIPS).waves(64), StaticPrime(_CHIPS).waves(_POOL)
    alone = StaticPrime(_CHIPS).encode(_POOL - 1)
    facts["codes that change when users come"] = Fact(float((few != many[:64]).any(axis=1).sum()))
    facts["one code made alone is the same"] = Fact(float(np.array_equal(alone, many[-1])))
    return Outcome({"bit_errors": rows}, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw bit errors against users."""
    figure, axes = panels(1, 1, 3.2)
    panel = axes[0, 0]
    for code in CODES:
        rows = [r for r in outcome.tables["bit_errors"] if r["code"] == code]
        x, y, e = ([float(r[n]) for r in rows] for n in ("users", "bit_errors", "spread"))
        panel.errorbar(x, y, e, fmt="o-", ms=4, color=COLORS[code], label=LABELS[code])
    panel.set_xscale("log", base=2)
    panel.set_xticks(_USERS, [str(users) for users in _USERS])
    panel.set(xlabel=f"users at once, {_CHIPS} chips", ylabel="share of wrong bits")
    panel.legend()
    return {"bit-errors": figure}


def _bit_errors(code: str, users: int, symbols: int, seed: int) -> float:
    """Return the share of wrong bits when random users of the pool send at once."""
    rng = generator(seed)
    active = rng.permutation(_POOL)[:users]
    if code == "gaussian":
        book = unit_codes("gaussian", users, _CHIPS, seed=seed)
    else:
        book = unit_codes(code, _POOL, _CHIPS, seed=seed)[active]
    bits = rng.choice((-1.0, 1.0), (symbols, users))
    noise = rng.standard_normal((symbols, _CHIPS)) * math.sqrt(10.0 ** (-_SNR_DB / 10.0) / 2.0)
    return float((np.sign((bits @ book + noise) @ book.T) != bits).mean())


def _dynamic(facts: Mapping[str, Fact]) -> Judgement:
    changed = facts["codes that change when users come"].value
    alone = facts["one code made alone is the same"].value
    kept = changed == 0.0 and alone == 1.0
    worse = 0
    loads = []
    for users in _USERS:
        ours, theirs = (facts[f"bit errors, {code}, {users} users"] for code in CODES[:2])
        error = math.hypot(ours.spread, theirs.spread) / math.sqrt(ours.n)
        worse += ours.value > theirs.value + 0.002 + 2.0 * error
        loads.append(f"{ours.value:.1%} against {theirs.value:.1%} at {users}")
    return Judgement(
        grade(kept and worse == 0, kept),
        f"{changed:.0f} codes change as users come; bit errors no worse than of Gaussian codes at "
        f"{len(_USERS) - worse} of {len(_USERS)} loads",
        f"Any user's code is made alone, from its number. Wrong bits of primes against Gaussian "
        f"codes ({_CHIPS} chips, {_SNR_DB:.0f} dB): {', '.join(loads[1::2])} users. Orthogonal "
        f"codes have none up to {_CHIPS} users.",
    )


EXPERIMENT = Experiment(
    "uses-radio",
    "Codes for many users (Section 4.1)",
    "The paper proposes prime codes for CDMA and for massive machine-type communications, where "
    "users come and go. Users taken at random from a pool send bits at once, and each is read "
    "with its own code (a matched filter) in noise. Gaussian codes and random frequencies are "
    "the controls.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "dynamic-codebooks",
        "Section 4.1, codebook generation",
        "Codebooks can be regenerated as users come and go, with near-optimal codes.",
        f"Codes before and after users come; wrong bits of 16 to 256 users on {_CHIPS} chips.",
        "Holds if no code changes, each can be made alone, and bit errors are not above those of "
        "Gaussian codes at any load; in part if only codes stay.",
        "uses-radio",
        _dynamic,
        quote="For telecommunications (CDMA/6G), the ability to generate near-optimal orthogonal "
        "codes ... allows for dynamic codebook regeneration. This capability is crucial for "
        "Massive Machine-Type Communications (mMTC) where user density fluctuates rapidly.",
        figures=("bit-errors",),
        tables=("bit_errors",),
    ),
)
