"""The claims about precision and spectrum and the rules that judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from primal_studies.paper._claim import Claim, Judgement, Verdict, Weight
from primal_studies.paper._experiment import Fact
from primal_studies.paper._stats import grade

__all__ = ["CLAIMS"]

Judge = Callable[[Mapping[str, Fact]], Judgement]


def _judge_aliasing(facts: Mapping[str, Fact]) -> Judgement:
    small, large = (facts[f"float32_error_{name}_phases"].value for name in ("small", "large"))
    exact, phase = facts["exact_error"].value, facts["exact_phase_error_turns"].value
    return Judgement(
        grade(large >= 0.5 and large > 100.0 * small, large > 10.0 * small),
        f"{small:.0e} grows to {large:.2f}",
        f"The float32 recipe is off by {small:.0e} below 10 turns and by {large:.2f} above a "
        f"million (2 is the most possible). It is the arithmetic, not the map: with exact phases "
        f"the error stays at {exact:.0e} ({phase:.0e} turn).",
    )


def _judge_prime_growth(facts: Mapping[str, Fact]) -> Judgement:
    last, before = facts["n_log_n_quotient"].value, facts["n_log_n_quotient_before"].value
    nearer = abs(last - 1.0) < abs(before - 1.0)
    return Judgement(
        grade(abs(last - 1.0) <= 0.15 and nearer, nearer),
        f"{last:.3f} n ln n",
        f"The n-th prime is {last:.3f} n ln n at n = {facts['largest_n']:,}; at n = 1000 the "
        "factor is "
        f"{before:.3f}.",
    )


def _judge_sieve(facts: Mapping[str, Fact]) -> Judgement:
    found = {n: facts[f"primes found of {n}"].value for n in (128, 2048, 100_000)}
    return Judgement(
        Verdict.HOLDS if all(f >= n for n, f in found.items()) else Verdict.ERRATUM,
        ", ".join(f"{f:,.0f} of {n:,}" for n, f in found.items()) + " primes found",
        "The n-th prime is above n ln n for every n, so a sieve up to there stops early; "
        "n (ln n + ln ln n) is enough from n = 6 on.",
    )


def _judge_range(facts: Mapping[str, Fact]) -> Judgement:
    drift, quotient = facts["range_drift_one_input"], facts["range_quotient_one_input"].value
    return Judgement(
        grade(abs(drift.value) <= 0.02, abs(drift.value) <= 0.1),
        f"drift D^{drift.value:+.3f}",
        f"From D = 16 to 262,144 the range over the formula changes as D^{drift.value:+.3f} for "
        f"StaticPrime; the formula's constant is another matter ({quotient:.2f} at D = 4096).",
    )


def _judge_coarse_to_fine(facts: Mapping[str, Fact]) -> Judgement:
    kept = facts["frequency_order_kept"].value
    return Judgement(
        grade(kept >= 0.9, kept >= 0.5),
        f"rank correlation {kept:+.2f}",
        "At whole positions only the fraction of a frequency acts, up to half a turn per step: its "
        f"rank correlation with the index is {kept:+.2f} for D = 4096, where order would be +1.",
    )


def _judge_deterministic(facts: Mapping[str, Fact]) -> Judgement:
    wrong, moved = facts["engine_mismatches"].value, facts["float32_similarity_error"].value
    return Judgement(
        grade(wrong == 0.0),
        f"{wrong:.0f} entries differ",
        f"{wrong:.0f} entries differ between repeated calls, other batches and all engines. The "
        "recipe in float32 depends on how a library rounds a root: against exact roots its "
        f"similarities move by up to {moved:.1e} for N = 10,000.",
    )


def _judge_frequency_rich(facts: Mapping[str, Fact]) -> Judgement:
    distinct, k = facts["distinct_float32_frequencies"].value, facts["frequencies"].value
    similarity = facts["float32_similarity_2_17"].value
    exact, typical = facts["exact_similarity_worst"].value, facts["exact_similarity_typical"].value
    return Judgement(
        grade(exact < 6.0 * typical, exact < 0.5),
        f"at most {exact:.3f} at lags from 2^10 to 2^24",
        f"Random codes would be at {typical:.3f} typically (D = 4096). With roots rounded to "
        f"float32, which is a matter of the code, codes 2^17 apart have the similarity "
        f"{similarity:.2f}, and {distinct:,.0f} of the first {k:,.0f} roots differ in fraction.",
    )


def _claim(
    name: str, where: str, says: str, test: str, rule: str, judge: Judge, **said: Any
) -> Claim:
    return Claim(name, where, says, test, rule, "precision", judge, **said)


CLAIMS = (
    _claim(
        "float32-aliasing",
        "Limitations, numerical aliasing",
        "In float32 large phases lose all precision.",
        "Largest error of the float32 recipe against integer arithmetic, by size of phase, for "
        "{positions_per_decade} positions per decade and {inputs} inputs.",
        "Holds if the error passes 0.5 above a million turns and a hundred times that of small "
        "phases, in part if ten times, fails otherwise.",
        _judge_aliasing,
        quote="In standard floating-point arithmetic (e.g., IEEE 754 float32), evaluating "
        "cos(v) for large magnitudes leads to catastrophic loss of precision",
        figures=("aliasing",),
        tables=("inputs",),
    ),
    _claim(
        "orthogonal-at-any-lag",
        "Introduction; Static Prime",
        "Position codes are non-repeating and quasi-orthogonal.",
        "Largest similarity at lags 2^10, 2^11, ... 2^24 for D = 4096, with exact roots.",
        "Holds if below 6 / sqrt(D), in part if below 0.5, fails otherwise.",
        _judge_frequency_rich,
        quote="ideal for generating non-repeating position encodings or initializing implicit "
        "neural representations",
        figures=("repetition",),
        tables=("lags",),
    ),
    _claim(
        "prime-number-theorem",
        "Limitations; Baseline configuration",
        "The n-th prime grows as n ln n.",
        "Quotient of the n-th prime and n ln n at n = {largest_n:,} and at n = 1000.",
        "Holds if it is within 15 % of 1 and approaches it, in part if it only approaches, fails "
        "otherwise.",
        _judge_prime_growth,
        quote="the magnitude of the n-th prime scales asymptotically as p_n ≈ n ln n",
        weight=Weight.DETAIL,
        tables=("growth",),
    ),
    _claim(
        "sieve-limit",
        "Table 3",
        "A sieve up to k d log(k d) finds the k d primes that the map needs.",
        "Primes below that limit for k d = 128, 2048 and 100,000.",
        "An erratum of the table unless all are found.",
        _judge_sieve,
        quote="M: Sieve Limit (Prime Gen) ≈ k · d log(k · d)",
        weight=Weight.DETAIL,
        tables=("growth",),
    ),
    _claim(
        "range-growth",
        "Limitations, dynamic range",
        "The range of frequencies expands with D as sqrt(D ln D).",
        "Slope of the logarithm of range over formula, D = 16 ... 262,144, d = 1.",
        "Holds if the quotient drifts by at most D^0.02, in part D^0.1, fails otherwise.",
        _judge_range,
        quote="the spectral dynamic range expands significantly in high-dimensional embeddings "
        "(D > 4096)",
        weight=Weight.DETAIL,
        tables=("spectrum",),
    ),
    _claim(
        "coarse-to-fine-positions",
        "Baseline configuration and spectral structure",
        "Position codes sweep the spectrum from coarse to fine dimensions.",
        "Rank correlation of the index with the frequency that whole positions see.",
        "Holds at 0.9 or more, in part at 0.5, fails otherwise.",
        _judge_coarse_to_fine,
        quote="the Primal basis deterministically sweeps the frequency spectrum, providing a "
        "multi-resolution analysis similar to Wavelet transforms",
        tables=("spectrum",),
    ),
    _claim(
        "deterministic",
        "Abstract; Introduction",
        "The map is deterministic and reproducible.",
        "The same codes by repeated calls, in parts, and by every installed engine, bit for bit.",
        "Holds if no bit differs, fails otherwise.",
        _judge_deterministic,
        quote="a deterministic feature mapping framework ... a superior deterministic alternative "
        "to Random Fourier Features",
        figures=("aliasing",),
        tables=("inputs",),
    ),
)
