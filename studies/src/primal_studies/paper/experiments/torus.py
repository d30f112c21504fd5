"""Geometry: the winding of StaticPrime on a torus, whether it closes, and how evenly it fills."""

from __future__ import annotations

import math

import numpy as np

from primal.exact import increments
from primal.maps import StaticPrime
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
from primal_studies.paper._stats import fact, log_slope
from primal_studies.paper.baselines import float32_root_increments
from primal_studies.paper.experiments._torus_claims import (
    CELLS,
    CLAIMS,
    RELATION_HEIGHT,
    RELATION_PRIMES,
)
from primal_studies.paper.experiments._torus_figures import draw

__all__ = ["CLAIMS", "EXPERIMENT", "float32_period", "smallest_combination"]

DRAWN_POINTS = 600
LOG2_STEPS = 24
SIZES: Sizes = {"draws": (4, 8), "longest": (2**11, 2**13), "codes": (1000, 10_000)}
_BLOCK = 2**18


def run(quick: bool, progress: Progress) -> Outcome:
    """Follow the winding for 2**24 steps; `quick` takes fewer points for the discrepancy."""
    size, sizes = sizes_of(SIZES, quick)
    seeds = size["draws"]
    exact, rounded = increments(2), float32_root_increments(2)
    returns = _returns(exact, rounded)
    progress(0.4)
    lengths = [2**i for i in range(6, size["longest"].bit_length())]
    evenness = _evenness(exact, lengths, seeds)
    progress(0.8)
    drawn = _turns(exact, np.arange(DRAWN_POINTS))
    trajectory: list[Row] = [
        {"t": t, "first_turns": float(a), "second_turns": float(b)}
        for t, (a, b) in enumerate(drawn)
    ]
    facts = sizes | _return_facts(returns) | _evenness_facts(evenness, exact, seeds)
    nearest, expected = smallest_combination(RELATION_PRIMES, RELATION_HEIGHT)
    facts["relation_nearest"] = Fact(nearest)
    facts["relation_expected"] = Fact(expected)
    facts["float32_relation_height"] = Fact(_shortest_relation(rounded))
    facts["radius_error"] = Fact(_radius_error(size["codes"]))
    progress(1.0)
    return Outcome({"trajectory": trajectory, "returns": returns, "evenness": evenness}, facts)


def float32_period(k: int) -> int:
    """Return the exact number of steps after which k prime roots in float32 repeat.

    The roots are fractions with powers of two below; the largest of these is the period.
    """
    fractions = float32_root_increments(k)
    nonzero = fractions[fractions > 0]
    lowest_bit = nonzero & (np.uint64(0) - nonzero)
    return 2**64 // int(lowest_bit.min()) if len(nonzero) else 1


def smallest_combination(n_primes: int, height: int) -> tuple[float, float]:
    """Return how near c_1 sqrt(p_1) + ... comes to an integer, |c| <= height, not all zero.

    In exact integers; beside it what as many independent uniform numbers would come to.
    """
    roots = increments(n_primes)
    # Phases are known to 2**-64 turn per unit of a coefficient: far below what is looked for.
    coefficients = np.arange(-height, height + 1, dtype=np.int64).view(np.uint64)
    sums = np.zeros(1, dtype=np.uint64)
    for root in roots:
        sums = (sums[:, None] + coefficients * root).reshape(-1)
    distances = _distance(sums)
    distances[len(distances) // 2] = np.inf  # all coefficients zero
    # c and -c are at the same distance, within half a turn.
    return float(distances.min()), 1.0 / (len(distances) - 1)


def _returns(exact: np.ndarray, rounded: np.ndarray) -> list[Row]:
    """Return the least distance from the start within n steps, n = powers of two."""
    rows: list[Row] = []
    best = [1.0, 1.0]
    for n in [2**i for i in range(LOG2_STEPS + 1)]:
        for start in range(n // 2, n, _BLOCK):
            t = np.arange(start + 1, min(start + _BLOCK, n) + 1, dtype=np.uint64)
            for i, fractions in enumerate((exact, rounded)):
                farthest = np.maximum(_distance(t * fractions[0]), _distance(t * fractions[1]))
                best[i] = min(best[i], float(farthest.min()))
        rows.append(
            {
                "n": n,
                "exact_turns": best[0],
                "float32_turns": best[1],
                "dirichlet_turns": n**-0.5,
                # |t sqrt(2) - m| > 1 / (2 t sqrt(2) + 1), as 2 t**2 - m**2 is a whole number.
                "proved_turns": 1.0 / (2.0 * n * math.sqrt(2.0) + 1.0),
            }
        )
    return rows


def _return_facts(rows: list[Row]) -> dict[str, Fact]:
    # The first few returns are too near to the start to show how they continue.
    late = [row for row in rows if int(row["n"]) >= 64]
    slope, error = log_slope(
        [float(row["n"]) for row in late], [float(row["exact_turns"]) for row in late]
    )
    return {
        "steps": Fact(float(rows[-1]["n"])),
        "nearest_return": Fact(float(rows[-1]["exact_turns"])),
        # Below 1 the arithmetic would contradict the theorem.
        "least_over_proved": Fact(
            min(float(row["exact_turns"]) / float(row["proved_turns"]) for row in rows)
        ),
        "return_exponent": Fact(slope, error, len(late)),
        "float32_period": Fact(float32_period(2)),
        "float32_nearest_return": Fact(float(rows[-1]["float32_turns"])),
    }


def _evenness(exact: np.ndarray, lengths: list[int], n_seeds: int) -> list[Row]:
    """Return the L2 star discrepancy of the first n phases, and of random points."""
    from scipy.stats import qmc

    rows: list[Row] = []
    for n in lengths:
        random = [
            qmc.discrepancy(generator(i).random((n, 2)), method="L2-star") for i in range(n_seeds)
        ]
        prime = qmc.discrepancy(_turns(exact, np.arange(n)), method="L2-star")
        rows.append(
            {
                "n": n,
                "prime_discrepancy": float(prime),
                "random_discrepancy": float(np.mean(random)),
                "random_sd": float(np.std(random, ddof=1)),
                # The root of its mean square for n independent uniform points.
                "expected_random": math.sqrt((1.0 / 4.0 - 1.0 / 9.0) / n),
            }
        )
    return rows


def _evenness_facts(rows: list[Row], exact: np.ndarray, n_seeds: int) -> dict[str, Fact]:
    n = [float(row["n"]) for row in rows]
    facts = {}
    for name in ("prime", "random"):
        slope, error = log_slope(n, [float(row[f"{name}_discrepancy"]) for row in rows])
        facts[f"{name}_discrepancy_exponent"] = Fact(slope, error, len(rows))
    last = rows[-1]
    facts["discrepancy_quotient"] = Fact(
        float(last["prime_discrepancy"]) / float(last["random_discrepancy"])
    )
    facts["coverage_points"] = Fact(10_000)
    facts["prime_coverage"] = Fact(_coverage(_turns(exact, np.arange(10_000))))
    facts["random_coverage"] = fact(
        [_coverage(generator(i).random((10_000, 2))) for i in range(n_seeds)]
    )
    # Sixteen phases have 65,536 combinations of half turns: 10,000 codes reach one in seven.
    wide = _turns(increments(16), np.arange(10_000))
    facts["prime_wide_coverage"] = Fact(_half_turn_coverage(wide))
    facts["random_wide_coverage"] = fact(
        [_half_turn_coverage(generator(i).random((10_000, 16))) for i in range(n_seeds)]
    )
    return facts


def _turns(fractions: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return phases in [0, 1), shape (n, k)."""
    phases = t.astype(np.uint64)[:, None] * fractions
    return (phases >> np.uint64(11)) * 2.0**-53


def _distance(phases: np.ndarray) -> np.ndarray:
    """Return the distance of uint64 phases to the nearest whole turn."""
    return np.minimum(phases, np.uint64(0) - phases) * 2.0**-64


def _coverage(points: np.ndarray) -> float:
    """Return the share of the CELLS x CELLS squares that hold a point."""
    places = (points * CELLS).astype(np.int64)
    return len(np.unique(places[:, 0] * CELLS + places[:, 1])) / CELLS**2


def _half_turn_coverage(points: np.ndarray) -> float:
    """Return the share of all combinations of half turns that some point has."""
    halves = (points >= 0.5).astype(np.int64)
    return len(np.unique(halves @ (1 << np.arange(points.shape[1])))) / 2 ** points.shape[1]


def _shortest_relation(fractions: np.ndarray) -> float:
    """Return the larger coefficient of the shortest c with c_1 f_1 + c_2 f_2 a whole number.

    For two fractions over 2**23: Lagrange's reduction of the lattice of all such c.
    """
    a, b = (int(value) >> 41 for value in fractions)
    modulus = 2**23
    # c_1 a + c_2 b = 0 mod 2**23; b is odd for sqrt(3), so c_2 follows from c_1.
    u, v = (1, -a * pow(b, -1, modulus) % modulus), (0, modulus)
    while True:
        if u[0] ** 2 + u[1] ** 2 > v[0] ** 2 + v[1] ** 2:
            u, v = v, u
        factor = round((u[0] * v[0] + u[1] * v[1]) / (u[0] ** 2 + u[1] ** 2))
        if factor == 0:
            return float(max(abs(u[0]), abs(u[1])))
        v = (v[0] - factor * u[0], v[1] - factor * u[1])


def _radius_error(n: int) -> float:
    """Return how far a pair (cos, sin) of StaticPrime(4) is from the unit circle, in float32."""
    z = StaticPrime(4, layout="interleaved").waves(n).astype(np.float64).reshape(n, 2, 2)
    return float(np.abs(np.sqrt(np.square(z).sum(axis=2)) - 1.0).max())


EXPERIMENT = Experiment(
    name="torus",
    title="Winding on the torus",
    about=(
        "The paper places codes on a Clifford torus and says that their path never repeats and "
        "fills it densely. Here the path for D = 4 is drawn and followed in exact integers: how "
        "near it comes to its start, when it closes if roots are rounded to float32, and how "
        "evenly its first {longest:,} points fill the square of its two phases (draws of random "
        "points: {draws})."
    ),
    run=run,
    draw=draw,
)
