"""The claims about the geometry of codes and the rules that judge them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from primal_studies.paper._claim import Claim, Judgement, Verdict, Weight
from primal_studies.paper._experiment import Fact
from primal_studies.paper._stats import grade

__all__ = ["CELLS", "CLAIMS", "RELATION_HEIGHT", "RELATION_PRIMES"]

Judge = Callable[[Mapping[str, Fact]], Judgement]

CELLS = 64  # per side of the square of phases
# Coefficients of a searched integer relation among 1 and the first roots.
RELATION_PRIMES, RELATION_HEIGHT = 4, 12


def _judge_on_torus(facts: Mapping[str, Fact]) -> Judgement:
    error = facts["radius_error"].value
    return Judgement(
        grade(error <= 2.0**-22, error <= 1e-3),
        f"{error:.1e}",
        f"Every pair of cosine and sine lies on the unit circle to {error:.1e}; the whole code has "
        "length sqrt(D / 2), so it is on the unit sphere after division by that.",
    )


def _judge_never_repeats(facts: Mapping[str, Fact]) -> Judgement:
    steps, nearest = facts["steps"].value, facts["nearest_return"].value
    margin = facts["least_over_proved"].value
    return Judgement(
        grade(nearest > 0.0 and margin >= 1.0),
        f"no return in {steps:,.0f} steps",
        f"With exact roots the nearest return within {steps:,.0f} steps is {nearest:.1e} turn off, "
        f"{margin:.1f} times what is proved for every step.",
    )


def _judge_float32_period(facts: Mapping[str, Fact]) -> Judgement:
    period = facts["float32_period"].value
    return Judgement(
        Verdict.HOLDS if math.isinf(period) else Verdict.ERRATUM,
        f"all codes repeat after {period:,.0f} steps",
        "A float32 above 1 is a multiple of 2^-23, so rounded roots are rational. The map is not "
        "at fault: with exact roots no code repeats. Inputs beyond a million steps need them.",
    )


def _judge_independent(facts: Mapping[str, Fact]) -> Judgement:
    nearest, expected = facts["relation_nearest"].value, facts["relation_expected"].value
    height = facts["float32_relation_height"].value
    return Judgement(
        grade(nearest > 1e-15 and nearest > 0.001 * expected, nearest > 1e-15),
        f"{nearest:.1e} turn",
        f"No combination of the first {RELATION_PRIMES} roots with coefficients up to "
        f"{RELATION_HEIGHT} comes nearer to an integer than {nearest:.1e} (chance would give about "
        f"{expected:.1e}); rounded to float32, sqrt(2) and sqrt(3) are related by coefficients up "
        f"to {height:,.0f}.",
    )


def _judge_dense(facts: Mapping[str, Fact]) -> Judgement:
    prime, random = facts["prime_discrepancy_exponent"], facts["random_discrepancy_exponent"]
    coverage = facts["prime_coverage"].value
    return Judgement(
        grade(coverage >= 0.95 and prime.value <= random.value - 0.1, prime.value < -0.3),
        f"discrepancy n^{prime.value:.2f}, {100 * coverage:.1f} % visited",
        f"For D = 4 the discrepancy of the path falls as n^{prime.value:.2f} (random points: "
        f"n^{random.value:.2f}), and {facts['coverage_points']:,} codes visit "
        f"{100 * coverage:.1f} % of {CELLS}**2 "
        "squares.",
    )


def _judge_fills(facts: Mapping[str, Fact]) -> Judgement:
    quotient = facts["discrepancy_quotient"].value
    prime, random = facts["prime_wide_coverage"].value, facts["random_wide_coverage"]
    wide = prime > random.value + 2.0 * random.spread
    return Judgement(
        grade(quotient < 0.9 and wide, quotient < 0.9),
        f"discrepancy {quotient:.2f} times that of random points at D = 4; at D = 32 "
        f"{prime:.1%} of "
        f"the half turns visited, random {random:.1%}",
        f"For D = 4 the discrepancy is {quotient:.2f} times that of random points; for D = 32, "
        f"{facts['coverage_points']:,} codes reach {prime:.1%} of all combinations of half "
        "turns and "
        f"random ones {random:.1%±} (draws: {random.n}).",
    )


def _claim(
    name: str, where: str, says: str, test: str, rule: str, judge: Judge, **said: Any
) -> Claim:
    return Claim(name, where, says, test, rule, "torus", judge, **said)


CLAIMS = (
    _claim(
        "clifford-torus",
        "Geometric interpretation",
        "Codes lie on a product of circles within the sphere.",
        "Distance of every pair (cos, sin) of {codes:,} codes from the unit circle, as stored in "
        "float32.",
        "Holds within 2**-22, in part within 0.001, fails otherwise.",
        _judge_on_torus,
        quote="the embedding ... is constrained to the surface of a high-dimensional Clifford "
        "Torus",
        weight=Weight.DETAIL,
        figures=("trajectory",),
        tables=("trajectory",),
    ),
    _claim(
        "never-repeats",
        "Abstract; Geometric interpretation",
        "Prime roots guarantee phase trajectories that never repeat.",
        "Nearest return for D = 4 in exact integers, against what is proved.",
        "Holds if no return is nearer than what is proved for irrational roots, fails otherwise.",
        _judge_never_repeats,
        quote="create irrational frequency modulations that guarantee infinite non-repeating "
        "phase trajectories",
        weight=Weight.CENTRAL,
        figures=("returns",),
        tables=("returns",),
    ),
    _claim(
        "float32-period",
        "Section 3.7, implementation",
        "In the author's code roots are float32, and codes do repeat.",
        "The exact period of the recipe with roots rounded to float32, PyTorch's default.",
        "An erratum of the code if the period is finite.",
        _judge_float32_period,
        quote="All experiments were implemented using the PyTorch framework.",
        weight=Weight.DETAIL,
        figures=("returns",),
        tables=("returns",),
    ),
    _claim(
        "besicovitch-independence",
        "Irrational prime basis",
        "Square roots of primes are linearly independent over the rationals.",
        "All integer combinations of the first four roots and 1 with small coefficients.",
        "Holds if none vanishes and none is a thousand times nearer than chance, in part if only "
        "none vanishes, fails otherwise. A finite search cannot prove the theorem, only refute it.",
        _judge_independent,
        quote="the Besicovitch Property, which states that the square roots of square-free "
        "integers (including primes) are linearly independent over the rationals",
        weight=Weight.DETAIL,
        figures=("returns",),
        tables=("returns",),
    ),
    _claim(
        "dense-winding",
        "Geometric interpretation",
        "The path is dense on the torus (Kronecker), an ergodic flow.",
        "Discrepancy of the first n phases for D = 4, n up to {longest:,}, and visited squares.",
        "Holds if the discrepancy falls faster than that of random points and 95 % of the squares "
        "are visited, in part if it falls at all (below n^-0.3), fails otherwise.",
        _judge_dense,
        quote="By Kronecker's Theorem on ergodic flow, this trajectory never repeats and is "
        "dense within the manifold.",
        weight=Weight.DETAIL,
        figures=("evenness",),
        tables=("evenness",),
    ),
    _claim(
        "fills-more-efficiently",
        "Welch bound optimality, end; Geometric interpretation",
        "Prime modulation fills the manifold more efficiently than random vectors.",
        "Discrepancy against random points for D = 4 and n = {longest:,}; half-turn combinations "
        "reached for D = 32 by {coverage_points:,} codes; draws: {draws}.",
        "Holds if better in both, in part if only for D = 4, fails otherwise.",
        _judge_fills,
        quote="irrational prime modulation fills the manifold more efficiently than normalized "
        "random gaussian projections",
        figures=("evenness",),
        tables=("evenness",),
    ),
)
