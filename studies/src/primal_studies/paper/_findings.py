"""The findings that matter most, and the paper's tables with our numbers beside them.

A finding has no number of its own: those are the measured texts of the claims that it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from primal_studies.paper._experiment import Outcome

__all__ = ["CENTRAL", "FINDINGS", "PAPER", "Finding", "PaperTable", "paper_tables"]

PAPER = {
    "title": (
        "Primal: A Unified Deterministic Framework for Quasi-Orthogonal Hashing and Manifold "
        "Learning"
    ),
    "author": "Vladimer Khasia",
    "arxiv": "2511.20839",
}


# The claim that the abstract calls the central novelty: the first screen shows its verdict.
CENTRAL = "one-scalar-switches"


class Finding(NamedTuple):
    """A sentence, and the names of the claims that it rests on."""

    title: str
    text: str
    claims: tuple[str, ...]


FINDINGS = (
    Finding(
        "One scalar does not set the regime",
        "The paper's central claim is that sigma alone switches between a manifold and a hash. The "
        "edge moves with d and D as much as with sigma, and at high sigma the map is not one-way.",
        ("one-scalar-switches",),
    ),
    Finding(
        "Good codes, and not because of primes",
        "StaticPrime is closer to the Welch bound than Gaussian codes. Random and rational "
        "frequencies are as close, so the reason is the form of the codes, in which a similarity "
        "depends on the lag alone.",
        ("closer-than-gaussian", "besicovitch-repulsion"),
    ),
    Finding(
        "An exact inverse, inside a smaller bound",
        "While no phase wraps, the paper's inverse is exact. Its printed bound lacks a factor of "
        "2 pi.",
        ("exact-low-regime", "recovery-bound"),
    ),
    Finding(
        "Wrapping alone hides little from one who knows the basis",
        "When phases wrap, the paper calls the map a one-way hash. A lattice decoder that knows "
        "the basis and a box around the inputs recovers them and certifies that they are unique.",
        ("one-way", "not-recoverable"),
    ),
    Finding(
        "The paper's W sees one direction",
        "Its rows are nearly parallel, so it is no isometry, it amplifies noise, and a linear "
        "classifier fails on two spirals. The same primes in another arrangement repair all three.",
        ("isometric", "superior-to-rff"),
    ),
    Finding(
        "Nothing to store, the same bits everywhere",
        "A map is defined by a few bytes, grows without changing, and is the same on every "
        "machine. "
        "Even so, 500 dimensions do not replace 10,000.",
        ("no-seed-storage", "five-hundred-dimensions"),
    ),
)


class PaperTable(NamedTuple):
    """A table of the paper: its caption, its columns, and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def paper_tables(outcomes: Mapping[str, Outcome]) -> list[PaperTable]:
    """Return Tables 1, 2 and 3 with our numbers; what was not run is left open."""
    return [_notation(), _complexity(outcomes), _parameters(outcomes)]


def _notation() -> PaperTable:
    rows = (
        ("N", "sequence length or batch size", "rows of x, or n positions"),
        ("d", "intrinsic input dimension", "d"),
        ("D", "output dimension, even", "D"),
        ("k", "half-dimension D / 2", "k, the number of frequencies"),
        ("x", "input vector", "x, float64"),
        ("z", "projected feature vector", "z = m.encode(x), float32"),
        ("sigma", "tunable scaling factor", "sigma; m.basis.frequencies is sigma W"),
        ("P[1:M]", "slice of the first M primes", "primal.primes(M)"),
        ("W", "prime-based weight matrix", "m.basis.frequencies / sigma, turns per unit"),
    )
    return PaperTable("Table 1: notation", ("symbol", "in the paper", "in the library"), rows)


def _complexity(outcomes: Mapping[str, Outcome]) -> PaperTable:
    facts = outcomes["complexity"].facts if "complexity" in outcomes else {}

    def counted(*names: str) -> str:
        found = [(name, facts.get(f"{name}_exponent")) for name in names]
        texts = [f"{name.split('_')[-1]}^{fact.value:.2f}" for name, fact in found if fact]
        return " ".join(texts) or "not run"

    def forward(method: str) -> str:
        return counted(*(f"{method}_forward_{size}" for size in ("N", "d", "D")))

    rows = (
        ("Gaussian", "start", "O(d D)", "the same"),
        ("Gaussian", "forward", "O(N d D)", forward("gaussian")),
        ("Gaussian", "inverse", "N/A (Stochastic)", "the same pseudoinverse inverts it"),
        ("DynamicPrime", "start", "O(d D)", counted("dynamic_init_d", "dynamic_init_D")),
        ("DynamicPrime", "forward", "O(N d D)", forward("dynamic")),
        (
            "DynamicPrime",
            "inverse, cached",
            "O(N d D)",
            counted(*(f"dynamic_inverse_{size}" for size in ("N", "d", "D"))),
        ),
        ("StaticPrime", "start", "O(D)", counted("static_init_D")),
        ("StaticPrime", "forward", "O(N D)", counted("static_forward_N", "static_forward_D")),
        (
            "StaticPrime",
            "inverse",
            "O(N D)",
            counted(*(f"static_inverse_{size}" for size in ("N", "D", "n")))
            + ", n positions possible",
        ),
    )
    return PaperTable(
        "Table 2: complexity", ("method", "step", "in the paper", "operations counted"), rows
    )


def _parameters(outcomes: Mapping[str, Outcome]) -> PaperTable:
    facts = outcomes["precision"].facts if "precision" in outcomes else {}
    sieve = facts.get("primes found of 2048")
    found = f"finds {sieve.value:,.0f} of 2,048 primes" if sieve else "not run"
    rows = (
        ("seed", "42 (PyTorch)", "42 (NumPy); verdicts checked with others"),
        ("d", "2, 16 ... 4096", "2 in Figures 3 to 5; 1 to 64 elsewhere"),
        ("N", "1000 ... 10,000", "100 ... 10,000"),
        ("low sigma", "0.007", "0.007"),
        ("high sigma", "1.0", "1.0, and 0.02 as in the author's notebook"),
        ("D, visual", "4, 128", "4, 128"),
        ("noise", "0, 0.5, 1.5", "0, 0.5, 1.5"),
        ("sieve limit", "k d log(k d)", found),
        ("D, statistical", "16 ... 4096", "16 ... 4096"),
    )
    return PaperTable("Table 3: parameters", ("parameter", "in the paper", "here"), rows)
