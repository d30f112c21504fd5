"""The claims of the complexity analysis and the rules that judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from primal_studies.paper._claim import Claim, Judgement
from primal_studies.paper._experiment import Fact
from primal_studies.paper._stats import grade

__all__ = ["CLAIMS", "series_label"]

Judge = Callable[[Mapping[str, Fact]], Judgement]

# A measured exponent of a linear cost is off by caches, threads and the clock; up to here it
# still counts as 1. From the second number on the growth is another one.
LINEAR, NOT_LINEAR = 1.15, 1.4


def series_label(name: str) -> str:
    """Return "StaticPrime init in D" for "static_init_D"."""
    method, operation, size = name.split("_")
    methods = {"static": "StaticPrime", "dynamic": "DynamicPrime", "gaussian": "Gaussian"}
    return f"{methods[method]} {operation} in {size}"


def _judge_linear(*names: str) -> Judge:
    """Return a judge: no exponent is above 1, as far as timing can tell."""

    def judge(facts: Mapping[str, Fact]) -> Judgement:
        found = {name: facts[f"{name}_exponent"] for name in names}
        # An exponent counts as too large only if its error does not explain it.
        lower = {name: value.value - 2.0 * value.spread for name, value in found.items()}
        worst = max(found, key=lambda name: found[name].value)
        text = ", ".join(f"{name.split('_')[-1]}^{one.value:.2f}" for name, one in found.items())
        return Judgement(
            grade(max(lower.values()) <= LINEAR, max(lower.values()) <= NOT_LINEAR),
            text,
            f"The steepest growth is {series_label(worst)}: exponent {found[worst].value:.2f} ± "
            f"{found[worst].spread:.2f} where the claim allows 1.",
        )

    return judge


def _judge_static_inverse(facts: Mapping[str, Fact]) -> Judgement:
    rows, D, n = (facts[f"static_inverse_{name}_exponent"].value for name in ("N", "D", "n"))
    linear = rows <= LINEAR and D <= LINEAR
    return Judgement(
        grade(linear and n <= 0.2, linear),
        f"N^{rows:.2f}, D^{D:.2f}, n^{n:.2f}",
        f"Finding the positions of N codes takes N^{rows:.2f} D^{D:.2f}, and n^{n:.2f} for the n "
        "positions that are possible, which the claim leaves out: from t = 1 on all phases wrap, "
        "so no linear inverse exists and positions are tried.",
    )


def _judge_same_as_gaussian(facts: Mapping[str, Fact]) -> Judgement:
    found = {
        method: {name: facts[f"{method}_forward_{name}_exponent"] for name in ("N", "d", "D")}
        for method in ("dynamic", "gaussian")
    }
    lower = {
        method: max(one.value - 2.0 * one.spread for one in ones.values())
        for method, ones in found.items()
    }
    ours, theirs = (
        ", ".join(f"{name}^{one.value:.2f}" for name, one in found[method].items())
        for method in ("dynamic", "gaussian")
    )
    return Judgement(
        grade(max(lower.values()) <= LINEAR, lower["dynamic"] <= NOT_LINEAR),
        ours,
        f"The forward pass grows as {ours}; that of a Gaussian projection as {theirs}.",
    )


def _judge_seedless(facts: Mapping[str, Fact]) -> Judgement:
    spec, seed = facts["static_spec_bytes"].value, facts["gaussian_seed_bytes"].value
    table = facts["static_table_bytes"].value
    return Judgement(
        grade(spec < 0.01 * table and spec < 0.1 * seed, spec < 0.01 * table),
        f"{spec:.0f} bytes against {seed:.0f}",
        f"A map is rebuilt from {spec:.0f} bytes in place of a table of {table:,.0f}; a Gaussian "
        f"one is rebuilt from its generator's name and seed, {seed:.0f} bytes.",
    )


def _judge_space(facts: Mapping[str, Fact]) -> Judgement:
    static, dynamic = facts["static_table_exponent"].value, facts["dynamic_table_exponent"].value
    saved = facts["learned_over_table"].value
    return Judgement(
        grade(max(static, dynamic) <= 1.01 and saved > 1.0, saved > 1.0),
        f"D^{static:.2f}, D^{dynamic:.2f}",
        f"Tables grow as D^{static:.2f} and (fixed d) D^{dynamic:.2f}; learned positions for "
        f"N = 64 D take {saved:,.0f} times the bytes of StaticPrime's table.",
    )


def _judge_constant(facts: Mapping[str, Fact]) -> Judgement:
    spec = facts["static_spec_exponent"].value
    dynamic = facts["dynamic_spec_exponent"].value
    table = facts["static_table_exponent"].value
    small = max(spec, dynamic) <= 0.05
    return Judgement(
        grade(small and table <= 0.05, small),
        f"definition D^{max(spec, dynamic):.2f}, table D^{table:.2f}",
        f"The {facts['static_spec_bytes'].value:.0f} bytes that define a basis grow as "
        f"D^{max(spec, dynamic):.2f} (the digits of D); the table in use while encoding grows as "
        f"D^{table:.2f}.",
    )


def _claim(name: str, where: str, says: str, test: str, rule: str, judge: Judge) -> Claim:
    return Claim(name, where, says, test, rule, "complexity", judge)


_LINEAR_RULE = (
    f"Holds if every exponent less two standard errors is at most {LINEAR}, in part at most "
    f"{NOT_LINEAR}, fails otherwise; a lower exponent is no fault of an upper bound."
)
_TIMED = "Slope of log time against log size, one size varied at a time."


CLAIMS = (
    _claim(
        "init-linear",
        "Table 2, init",
        "Starting takes O(d D) time for DynamicPrime and O(D) for StaticPrime.",
        _TIMED + " The table of primes is there already, as in the paper.",
        _LINEAR_RULE,
        _judge_linear("static_init_D", "dynamic_init_d", "dynamic_init_D"),
    ),
    _claim(
        "dynamic-forward",
        "Table 2, forward",
        "Encoding N inputs takes O(N d D) time.",
        _TIMED,
        _LINEAR_RULE,
        _judge_linear("dynamic_forward_N", "dynamic_forward_d", "dynamic_forward_D"),
    ),
    _claim(
        "dynamic-inverse",
        "Table 2, inverse",
        "Decoding takes O(N d D) time once the pseudoinverse is cached.",
        _TIMED,
        _LINEAR_RULE,
        _judge_linear("dynamic_inverse_N", "dynamic_inverse_d", "dynamic_inverse_D"),
    ),
    _claim(
        "codebook-linear",
        "Table 2; Discussion, codebook generation",
        "N codes of StaticPrime are generated in O(N D), without iterative optimisation.",
        _TIMED,
        _LINEAR_RULE,
        _judge_linear("static_forward_N", "static_forward_D"),
    ),
    _claim(
        "static-inverse",
        "Table 2, inverse",
        "Decoding N codes of StaticPrime takes O(N D).",
        _TIMED + " Also the number n of possible positions is varied.",
        f"Holds if linear in N and D (at most {LINEAR}) and level in n (at most 0.2), in part if "
        "only the first, fails otherwise.",
        _judge_static_inverse,
    ),
    _claim(
        "same-as-gaussian",
        "Complexity, summary",
        "The cost grows as that of a normalised Gaussian projection.",
        "Exponents of both forward passes, timed in turn.",
        f"Holds if no exponent of either, less two standard errors, is above {LINEAR}, in part if "
        f"ours are at most {NOT_LINEAR}, fails otherwise.",
        _judge_same_as_gaussian,
    ),
    _claim(
        "no-seed-storage",
        "Complexity, summary; Introduction",
        "Nothing random has to be stored: the basis follows from the primes.",
        "Bytes of the specification against those of the table, and of a generator and seed.",
        "Holds if far below both (1 % of the table, 10 % of the seed), in part if only below the "
        "table, fails otherwise.",
        _judge_seedless,
    ),
    _claim(
        "space-linear",
        "Complexity; Table 2, space",
        "Parameters take O(D) or O(d D) space, where learned positions take O(N D).",
        "Bytes of the tables at growing D.",
        "Holds if their exponents in D are at most 1 and learned positions are larger, in part "
        "if only the latter, fails otherwise.",
        _judge_space,
    ),
    _claim(
        "constant-memory",
        "Conclusion",
        "A basis is defined in O(1) memory by the indices of its primes.",
        "Bytes of the specification, and of the table in use, at growing D.",
        "Holds if neither grows (exponent 0.05 or less), in part if the definition does not, fails "
        "otherwise.",
        _judge_constant,
    ),
)
