"""Limitations: what float32 does to large phases and to prime roots, and how the spectrum grows."""

from __future__ import annotations

import math

import numpy as np

from primal.codebooks import lag_cosines
from primal.exact import engine, installed_engines, primes, waves
from primal.maps import DynamicPrime, StaticPrime
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
from primal_studies.paper._stats import log_slope
from primal_studies.paper.baselines import float32_root_increments
from primal_studies.paper.experiments._precision_claims import CLAIMS
from primal_studies.paper.experiments._precision_figures import draw

__all__ = ["CLAIMS", "EXPERIMENT", "exact_turns", "float32_waves"]

POSITION_DIM = 1024
# The paper's largest map has d = D = 4096, for which k d = 2**23 primes are taken.
SIZES: Sizes = {
    "positions_per_decade": (4, 16),
    "inputs": (16, 64),
    "largest_n": (10**6, 10**7),
    "roots_checked": (2**21, 2**23),
}
INPUTS = 2
# Digits after the point of the reference: enough for positions beyond 2**60.
_REFERENCE_BITS = 200


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure errors, repetitions and growth; `quick` takes fewer positions and primes."""
    size, sizes = sizes_of(SIZES, quick)
    positions = _position_errors(size["positions_per_decade"])
    progress(0.3)
    inputs = _input_errors(size["inputs"])
    progress(0.5)
    lags = _lags()
    progress(0.6)
    growth = _growth(round(math.log10(size["largest_n"])))
    spectrum = _spectrum()
    progress(0.9)
    facts = (
        sizes
        | _error_facts(positions, inputs)
        | _root_facts(lags, size["roots_checked"])
        | _growth_facts(growth, spectrum)
    )
    facts["engine_mismatches"] = Fact(_engine_mismatches())
    progress(1.0)
    tables = {
        "positions": positions,
        "inputs": inputs,
        "lags": lags,
        "growth": growth,
        "spectrum": spectrum,
    }
    return Outcome(tables, facts)


def float32_waves(x: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Return [cos | sin] of 2 pi x W^T, every step in float32, as the paper's formulas read."""
    angles = np.float32(2.0 * np.pi) * (x.astype(np.float32) @ frequencies.astype(np.float32).T)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def exact_turns(t: int, k: int) -> np.ndarray:
    """Return the fractions of t sqrt(p) for the first k primes, correct to the last float64 bit."""
    scale = 1 << _REFERENCE_BITS
    roots = (math.isqrt(int(p) << (2 * _REFERENCE_BITS)) for p in primes(k))
    return np.array([(t * root % scale) / scale for root in roots])


def _position_errors(per_decade: int) -> list[Row]:
    """Return the largest errors of codes of StaticPrime at positions of every size."""
    s = StaticPrime(POSITION_DIM)
    k = POSITION_DIM // 2
    frequencies = np.sqrt(primes(k).astype(np.float32))[:, None]
    rng = generator()
    rows: list[Row] = []
    for decade in range(10):
        low, high = 10**decade, 10 ** (decade + 1)
        for t in rng.integers(low, high, size=per_decade).tolist():
            truth = exact_turns(t, k)
            z = np.concatenate([np.cos(2.0 * np.pi * truth), np.sin(2.0 * np.pi * truth)])
            rounded = float32_waves(np.array([[t]]), frequencies)[0]
            off = np.abs((s.increments * np.uint64(t)) * 2.0**-64 - truth)
            rows.append(
                {
                    "t": t,
                    "phase_turns": t * float(frequencies.max()),
                    "float32_error": float(np.abs(rounded - z).max()),
                    "float32_cosine": float(rounded @ z) / k,
                    "exact_error": float(np.abs(s.encode(t) - z).max()),
                    "exact_phase_error_turns": float(np.minimum(off, 1.0 - off).max()),
                }
            )
    return sorted(rows, key=lambda row: row["t"])


def _input_errors(n: int) -> list[Row]:
    """Return the same for DynamicPrime and inputs of growing size."""
    m = DynamicPrime(INPUTS, POSITION_DIM)
    k = POSITION_DIM // 2
    roots = np.array([math.isqrt(int(p) << 128) for p in primes(INPUTS * k)], dtype=object).reshape(
        k, INPUTS
    )
    frequencies = np.sqrt(primes(INPUTS * k).astype(np.float32)).reshape(k, INPUTS)
    rng = generator()
    rows: list[Row] = []
    for size in (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5):
        x = rng.uniform(-size, size, (n, INPUTS)).astype(np.float32)
        # Floats are fractions over 2**64 at these sizes: the reference is in whole numbers.
        whole = np.array([[int(float(v) * 2.0**64) for v in row] for row in x], dtype=object)
        truth = ((whole @ roots.T) % (1 << 128) / (1 << 128)).astype(np.float64)
        z = np.concatenate([np.cos(2.0 * np.pi * truth), np.sin(2.0 * np.pi * truth)], axis=1)
        off = np.abs(m.turns(x) * 2.0**-32 - truth)
        rows.append(
            {
                "x_size": size,
                "phase_turns": float(np.abs(x.astype(np.float64) @ m.basis.frequencies.T).max()),
                "float32_error": float(np.abs(float32_waves(x, frequencies) - z).max()),
                "exact_error": float(np.abs(m.encode(x) - z).max()),
                "exact_phase_error_turns": float(np.minimum(off, 1.0 - off).max()),
            }
        )
    return rows


def _lags() -> list[Row]:
    """Return similarities at powers of two, where float32 roots come back together."""
    rows: list[Row] = []
    for D in (128, 1024, 4096):
        exact, rounded = StaticPrime(D).increments, float32_root_increments(D // 2)
        for exponent in range(10, 25):
            lag = np.uint64(2**exponent)
            rows.append(
                {
                    "D": D,
                    "log2_lag": exponent,
                    "float32_similarity": float(waves(rounded * lag)[0].mean(dtype=np.float64)),
                    "exact_similarity": float(waves(exact * lag)[0].mean(dtype=np.float64)),
                }
            )
    return rows


def _growth(decades: int) -> list[Row]:
    """Return the n-th prime over n ln n."""
    return [
        {"n": n, "prime": p, "over_n_log_n": p / (n * math.log(n))}
        for n in [10**i for i in range(1, decades + 1)]
        for p in (int(primes(1, start=n - 1)[0]),)
    ]


def _spectrum() -> list[Row]:
    """Return largest over smallest frequency for d = 1 and d = 2, and the paper's formula."""
    rows: list[Row] = []
    for D in [2**i for i in range(4, 19, 2)]:
        table = primes(D)  # d = 2 takes D primes, d = 1 the first half
        one, two = (float(table[n - 1]) for n in (D // 2, D))
        rows.append(
            {
                "D": D,
                "range_one_input": math.sqrt(one / 2.0),
                "range_two_inputs": math.sqrt(two / 2.0),
                "paper": math.sqrt(D * math.log(D) / 2.0),
            }
        )
    return rows


def _sieve_facts() -> dict[str, Fact]:
    """Return which share of n primes a sieve up to n ln n finds."""
    found = {n: primes(n) <= n * math.log(n) for n in (128, 2048, 100_000)}
    return {f"primes found of {n}": Fact(float(below.sum())) for n, below in found.items()}


def _error_facts(positions: list[Row], inputs: list[Row]) -> dict[str, Fact]:
    slope, error = log_slope(
        [float(row["phase_turns"]) for row in inputs[:6]],
        [float(row["float32_error"]) for row in inputs[:6]],
    )

    def worst(rows: list[Row], name: str, low: float = 0.0, high: float = math.inf) -> float:
        return max(float(row[name]) for row in rows if low <= float(row["phase_turns"]) < high)

    late = [row for row in positions if 10**5 <= int(row["t"]) < 10**6]
    return {
        "float32_error_small_phases": Fact(worst(inputs, "float32_error", high=10.0)),
        "float32_error_large_phases": Fact(worst(inputs, "float32_error", low=1e6)),
        "float32_error_exponent": Fact(slope, error, 6),
        "float32_cosine_late": Fact(float(np.mean([float(row["float32_cosine"]) for row in late]))),
        "exact_error": Fact(max(worst(positions, "exact_error"), worst(inputs, "exact_error"))),
        "exact_phase_error_turns": Fact(
            max(
                worst(positions, "exact_phase_error_turns"),
                worst(inputs, "exact_phase_error_turns"),
            )
        ),
        "largest_phase_turns": Fact(worst(positions, "phase_turns")),
    }


def _root_facts(lags: list[Row], n_roots: int) -> dict[str, Fact]:
    by_lag = {(row["D"], row["log2_lag"]): row for row in lags}
    roots = np.sqrt(primes(n_roots).astype(np.float32))
    k = 2048
    exact = lag_cosines(StaticPrime(2 * k).increments, 10_000)
    rounded = lag_cosines(float32_root_increments(k), 10_000)
    far = [abs(float(row["exact_similarity"])) for row in lags if row["D"] == 4096]
    return {
        "exact_similarity_worst": Fact(max(far)),
        "exact_similarity_typical": Fact(4096**-0.5),
        "float32_similarity_2_17": Fact(float(by_lag[4096, 17]["float32_similarity"])),
        "exact_similarity_2_17": Fact(float(by_lag[4096, 17]["exact_similarity"])),
        "float32_similarity_2_23": Fact(float(by_lag[4096, 23]["float32_similarity"])),
        "roots": Fact(n_roots),
        "distinct_float32_roots": Fact(len(np.unique(roots))),
        "frequencies": Fact(k),
        # Equal fractions are equal frequencies at whole positions.
        "distinct_float32_frequencies": Fact(len(np.unique(float32_root_increments(k)))),
        "float32_similarity_error": Fact(float(np.abs(exact - rounded).max())),
    }


def _growth_facts(growth: list[Row], spectrum: list[Row]) -> dict[str, Fact]:
    dims = [float(row["D"]) for row in spectrum]
    paper = [float(row["paper"]) for row in spectrum]
    facts = _sieve_facts() | {"n_log_n_quotient": Fact(float(growth[-1]["over_n_log_n"]))}
    facts["n_log_n_quotient_before"] = Fact(float(growth[2]["over_n_log_n"]))
    for name in ("one_input", "two_inputs"):
        quotients = [
            float(row[f"range_{name}"]) / p for row, p in zip(spectrum, paper, strict=True)
        ]
        at_4096 = dims.index(4096.0)
        facts[f"range_quotient_{name}"] = Fact(quotients[at_4096])
        facts[f"range_drift_{name}"] = Fact(*log_slope(dims, quotients), len(dims))
    # Whole positions see a frequency only up to its distance from the nearest integer.
    k = 2048
    turns = StaticPrime(2 * k).increments * 2.0**-64
    seen = np.minimum(turns, 1.0 - turns)
    facts["frequency_order_kept"] = Fact(
        float(np.corrcoef(np.argsort(np.argsort(seen)), np.arange(k))[0, 1])
    )
    return facts


def _engine_mismatches() -> int:
    """Return how many outputs differ between engines, batches and repeated calls, bit for bit."""
    s = StaticPrime(256)
    whole = s.waves(2000).view(np.uint32)
    again = StaticPrime(256).waves(2000).view(np.uint32)
    parts = np.concatenate([s.waves(700), s.waves(1300, offset=700)]).view(np.uint32)
    wrong = np.count_nonzero(whole != again) + np.count_nonzero(whole != parts)
    steps = np.arange(2000, dtype=np.uint64)
    for name in installed_engines():
        out = np.empty((2000, 256), dtype=np.float32)
        engine(name).static(s.increments, steps, out, s.layout)
        wrong += np.count_nonzero(whole != out.view(np.uint32))
    return int(wrong)


EXPERIMENT = Experiment(
    name="precision",
    title="Precision and spectrum",
    about=(
        "The paper names two limits: float32 loses large phases, and the range of frequencies "
        "grows with D. Here the float32 recipe and our exact phases are compared with integer "
        "arithmetic. {roots_checked:,} roots in float32 are checked for repetition, and the growth "
        "of the spectrum up to n = {largest_n:,} is compared with the paper's formulas."
    ),
    run=run,
    draw=draw,
)
