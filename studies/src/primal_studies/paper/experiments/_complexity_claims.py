"""The claims of the complexity analysis and the rules that judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from primal_studies.paper._claim import Claim, Judgement, Weight
from primal_studies.paper._experiment import Fact
from primal_studies.paper._stats import grade

__all__ = ["CLAIMS", "series_label"]

Judge = Callable[[Mapping[str, Fact]], Judgement]

# Counts of small sizes are off a power by their lower terms; up to here an exponent counts as 1.
# From the second number on the growth is another one.
LINEAR, NOT_LINEAR = 1.05, 1.4


def series_label(name: str) -> str:
    """Return "StaticPrime init in D" for "static_init_D"."""
    method, operation, size = name.split("_")
    methods = {"static": "StaticPrime", "dynamic": "DynamicPrime", "gaussian": "Gaussian"}
    return f"{methods[method]} {operation} in {size}"


def _powers(facts: Mapping[str, Fact], names: tuple[str, ...], kind: str = "exponent") -> str:
    return ", ".join(f"{name.split('_')[-1]}^{facts[f'{name}_{kind}'].value:.2f}" for name in names)


def _judge_linear(*names: str) -> Judge:
    """Return a judge: no count of operations grows faster than its size."""

    def judge(facts: Mapping[str, Fact]) -> Judgement:
        steepest = max(facts[f"{name}_exponent"].value for name in names)
        return Judgement(
            grade(steepest <= LINEAR, steepest <= NOT_LINEAR),
            f"operations grow as {_powers(facts, names)}",
            "Exponents are counted operations; the claim allows at most 1. The time of this "
            f"library on this machine grows as {_powers(facts, names, 'time_exponent')}.",
        )

    return judge


def _judge_codebook(facts: Mapping[str, Fact]) -> Judgement:
    names = ("static_forward_N", "static_forward_D")
    steepest = max(facts[f"{name}_exponent"].value for name in names)
    over = facts["book_prime"].value / facts["book_welch"].value
    best = facts["book_kerdock"].value / facts["book_welch"].value
    times = facts["book_kerdock_seconds"].value / max(facts["book_prime_seconds"].value, 1e-9)
    return Judgement(
        grade(steepest <= LINEAR and over <= 1.25 * best, steepest <= LINEAR),
        f"operations grow as {_powers(facts, names)}; coherence {over:.2f} times the Welch bound",
        "The cost is as claimed, the codes are not near-optimal: for N = "
        f"{facts['book_codes']} and "
        f"D = {facts['book_dim']} Kerdock codes, also linear in N D, have {best:.2f} times the "
        "bound "
        f"(and took {times:.1f} times the time here).",
    )


def _judge_lloyd(facts: Mapping[str, Fact]) -> Judgement:
    ours, theirs = (facts[f"book_{name}"] for name in ("prime", "lloyd"))
    times = facts["book_lloyd_seconds"].value / max(facts["book_prime_seconds"].value, 1e-9)
    return Judgement(
        grade(times > 10.0 and ours.value <= theirs.value, times > 10.0),
        f"coherence {ours:.2f}, Lloyd's iteration {theirs:.2f}",
        f"N = {facts['book_codes']}, D = {facts['book_dim']}: StaticPrime needs no iteration and "
        f"was {times:,.0f} times faster on this machine. Kerdock codes, also without iteration, "
        f"have {facts['book_kerdock']:.2f}.",
    )


def _judge_pseudoinverse(facts: Mapping[str, Fact]) -> Judgement:
    k, d = (facts[f"dynamic_pinv_{name}_exponent"].value for name in ("D", "d"))
    return Judgement(
        grade(k <= LINEAR and d <= 3.0 + LINEAR - 1.0, d <= 3.4),
        f"operations grow as D^{k:.2f} at fixed d, as d^{d:.2f} at D = 2 d",
        "The claim allows exponents of 1 and 3. The normal equations are solved by "
        "elimination, as the paper's "
        "count supposes; with a condition number that is squared.",
    )


def _judge_static_inverse(facts: Mapping[str, Fact]) -> Judgement:
    rows, D, n = (facts[f"static_inverse_{name}_exponent"].value for name in ("N", "D", "n"))
    linear = rows <= LINEAR and D <= LINEAR
    return Judgement(
        grade(linear and n <= 0.2, linear),
        f"operations grow as N^{rows:.2f}, D^{D:.2f}, n^{n:.2f}",
        f"The n positions that are possible come in as n^{n:.2f}, which the claim leaves out: from "
        "t = 1 on all phases wrap, so no linear inverse exists and positions are tried.",
    )


def _judge_same_as_gaussian(facts: Mapping[str, Fact]) -> Judgement:
    names = {
        method: tuple(f"{method}_forward_{size}" for size in ("N", "d", "D"))
        for method in ("dynamic", "gaussian")
    }
    steepest = {
        method: max(facts[f"{name}_exponent"].value for name in of) for method, of in names.items()
    }
    return Judgement(
        grade(steepest["dynamic"] <= max(LINEAR, steepest["gaussian"]), steepest["dynamic"] <= 1.4),
        f"operations grow as {_powers(facts, names['dynamic'])}",
        f"Those of a Gaussian projection grow as {_powers(facts, names['gaussian'])}. Times: "
        f"{_powers(facts, names['dynamic'], 'time_exponent')} and "
        f"{_powers(facts, names['gaussian'], 'time_exponent')}.",
    )


def _judge_seedless(facts: Mapping[str, Fact]) -> Judgement:
    spec, seed = facts["static_spec_bytes"].value, facts["gaussian_seed_bytes"].value
    table = facts["static_table_bytes"].value
    return Judgement(
        grade(spec < 0.01 * table, spec < table),
        f"{spec:.0f} bytes in place of {table:,.0f}",
        "No seed, no generator and no matrix have to be kept. So it is with random features whose "
        f"generator is fixed: its name and a seed take {seed:.0f} bytes.",
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


def _claim(
    name: str, where: str, says: str, test: str, rule: str, judge: Judge, **said: Any
) -> Claim:
    return Claim(name, where, says, test, rule, "complexity", judge, **said)


_LINEAR_RULE = (
    f"Holds if no exponent is above {LINEAR}, in part up to {NOT_LINEAR}, fails otherwise; a lower "
    "exponent is no fault of an upper bound."
)
_COUNTED = "Operations of the algorithm as printed, counted with one size varied at a time."


CLAIMS = (
    _claim(
        "init-linear",
        "Table 2, init",
        "Starting takes O(d D) time for DynamicPrime and O(D) for StaticPrime.",
        _COUNTED + " The table of primes is there already, as in the paper.",
        _LINEAR_RULE,
        _judge_linear("static_init_D", "dynamic_init_d", "dynamic_init_D"),
        quote="The initialization requires slicing and reshaping k · d primes, resulting in O(d"
        " · D) complexity.",
        weight=Weight.DETAIL,
        figures=("exponents",),
        tables=("operations",),
    ),
    _claim(
        "dynamic-forward",
        "Table 2, forward",
        "Encoding N inputs takes O(N d D) time.",
        _COUNTED,
        _LINEAR_RULE,
        _judge_linear("dynamic_forward_N", "dynamic_forward_d", "dynamic_forward_D"),
        quote="For a batch size N, this results in a time complexity of O(N · d · D).",
        weight=Weight.DETAIL,
        figures=("exponents",),
        tables=("operations",),
    ),
    _claim(
        "dynamic-inverse",
        "Table 2, inverse",
        "Decoding takes O(N d D) time once the pseudoinverse is cached.",
        _COUNTED,
        _LINEAR_RULE,
        _judge_linear("dynamic_inverse_N", "dynamic_inverse_d", "dynamic_inverse_D"),
        quote="the runtime reconstruction cost is reduced to a linear projection: O(N · d · D)",
        weight=Weight.DETAIL,
        figures=("exponents",),
        tables=("operations",),
    ),
    _claim(
        "pseudoinverse-cost",
        "Section 2.5, inverse pass",
        "The pseudoinverse costs O(k d^2 + d^3), once.",
        _COUNTED,
        f"Holds if the exponents in D and d are at most {LINEAR} and {LINEAR + 2}, in part if that "
        "in d is at most 3.4, fails otherwise.",
        _judge_pseudoinverse,
        quote="Calculating the pseudoinverse involves a matrix multiplication and inversion, "
        "costing O(k d² + d³).",
        weight=Weight.DETAIL,
        tables=("operations",),
    ),
    _claim(
        "codebook-linear",
        "Table 2; Discussion, codebook generation",
        "N near-optimal codes of StaticPrime are generated in O(N D) time.",
        _COUNTED + " Coherence of {book_codes} codes of D = {book_dim} against Kerdock codes.",
        f"Holds if no exponent is above {LINEAR} and the coherence is within 25 % of that of "
        "Kerdock "
        "codes, in part if only the first, fails otherwise.",
        _judge_codebook,
        quote="the ability to generate near-optimal orthogonal codes in O(N · D) time — without"
        " expensive iterative optimization algorithms like Lloyd-Max",
        weight=Weight.DETAIL,
        figures=("exponents",),
        tables=("operations", "codebooks"),
    ),
    _claim(
        "without-lloyd-max",
        "Section 4.1, codebook generation",
        "Codes are generated without expensive iterative optimization such as Lloyd-Max.",
        "Coherence and CPU time of {book_codes} codes of D = {book_dim}: StaticPrime, and Lloyd's "
        "iteration on the sphere.",
        "Holds if ten times faster than Lloyd's iteration with a coherence that is no larger, in "
        "part if only faster, fails otherwise.",
        _judge_lloyd,
        quote="without expensive iterative optimization algorithms like Lloyd-Max — allows for "
        "dynamic codebook regeneration",
        weight=Weight.DETAIL,
        tables=("codebooks",),
    ),
    _claim(
        "static-inverse",
        "Table 2, inverse",
        "Decoding N codes of StaticPrime takes O(N D).",
        _COUNTED + " Also the number n of possible positions is varied.",
        f"Holds if linear in N and D (at most {LINEAR}) and level in n (at most 0.2), in part if "
        "only the first, fails otherwise.",
        _judge_static_inverse,
        quote="StaticPrime ... Inverse (Time): O(N · D)",
        weight=Weight.DETAIL,
        figures=("exponents",),
        tables=("operations",),
    ),
    _claim(
        "same-as-gaussian",
        "Complexity, summary",
        "The cost grows as that of a normalised Gaussian projection.",
        "Exponents of the operations of both forward passes.",
        "Holds if ours are not above those of a Gaussian projection, in part up to "
        f"{NOT_LINEAR}, fails otherwise.",
        _judge_same_as_gaussian,
        quote="Our method maintains the same asymptotic complexity as standard Random Fourier "
        "Features (RFF) or Normalized Gaussian Random Projections",
        weight=Weight.DETAIL,
        figures=("exponents",),
        tables=("operations",),
    ),
    _claim(
        "no-seed-storage",
        "Complexity, summary; Introduction",
        "Nothing random has to be stored: the basis follows from the primes.",
        "Bytes of the specification against those of the table.",
        "Holds below 1 % of the table, in part below the table, fails otherwise.",
        _judge_seedless,
        quote="eliminates the need for random number generation (RNG) at runtime and storage of"
        " dense random seeds, as the basis is implicitly defined by the ordered sequence "
        "of primes",
        tables=("storage",),
    ),
    _claim(
        "space-linear",
        "Complexity; Table 2, space",
        "Parameters take O(D) or O(d D) space, where learned positions take O(N D).",
        "Bytes of the tables at growing D.",
        "Holds if their exponents in D are at most 1 and learned positions are larger, in part "
        "if only the latter, fails otherwise.",
        _judge_space,
        quote="Unlike learnable position embeddings in Transformer architectures which require "
        "O(N · D) parameters, our method requires only O(D) space to store the prime "
        "basis.",
        weight=Weight.DETAIL,
        tables=("storage",),
    ),
    _claim(
        "constant-memory",
        "Conclusion",
        "A basis is defined in O(1) memory by the indices of its primes.",
        "Bytes of the specification, and of the table in use, at growing D.",
        "Holds if neither grows (exponent 0.05 or less), in part if the definition does not, fails "
        "otherwise.",
        _judge_constant,
        quote="the computational efficiency of Primal — requiring only O(1) memory for basis "
        "definition via prime indexing — addresses critical bottlenecks in edge AI",
        tables=("storage",),
    ),
)
