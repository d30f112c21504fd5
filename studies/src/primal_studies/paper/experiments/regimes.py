"""Section 2.3: when the inverse holds, and which dimensions make it possible."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.decoding import Integers
from primal.errors import ConditioningWarning
from primal.maps import DynamicPrime
from primal_studies._pictures import label_ends
from primal_studies.paper._claim import Claim, Judgement, Verdict, Weight
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
from primal_studies.paper._stats import fact, grade, span
from primal_studies.paper.experiments._parts import PALETTE, fact_rows, panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_BOUND_INPUTS = (1, 2, 4, 8, 32)
_BOX_INPUTS, _EXACT_INPUTS = 4000, 20_000
SIZES: Sizes = {"bound_draws": (2, 5), "byte_vectors": (50, 200)}


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure wrapping at both bounds, and what more or fewer phases allow."""
    size, sizes = sizes_of(SIZES, quick)
    sizes |= {"box_inputs": Fact(_BOX_INPUTS), "exact_inputs": Fact(_EXACT_INPUTS)}
    bounds, facts = _bound_rows(size["bound_draws"])
    facts |= sizes
    progress(0.5)
    few = _few_phases_facts(size["byte_vectors"])
    progress(1.0)
    return Outcome({"bound": bounds, "few_phases": fact_rows(few)}, facts | _failure_facts() | few)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw wrapping against the size of the box."""
    return {"bound": _draw_bound(outcome.tables["bound"])}


def _map(d: int, D: int, sigma: float = 1.0) -> DynamicPrime:
    with warnings.catch_warnings():  # the conditioning of this basis is the subject
        warnings.simplefilter("ignore", ConditioningWarning)
        return DynamicPrime(d, D, sigma)


def _bound_rows(repeats: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return the share of uniform inputs that wrap in boxes of several sizes."""
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for d in _BOUND_INPUTS:
        m = _map(d, 4 * d)
        printed = math.pi / (d * float(m.basis.frequencies.max()))
        facts[f"printed over true bound, d {d}"] = Fact(printed / m.bound)
        for share in (0.159, 0.25, 0.5, 0.75, 1.0):
            shares = [_wrapping(m, 0.999 * share * printed, seed) for seed in range(repeats)]
            found = fact(shares)
            rows.append(
                {"d": d, "share_of_printed": share, "wrap": found.value, "spread": found.spread}
            )
        facts[f"inputs that wrap inside the printed bound, d {d}"] = found
        slip = [_wrapping(m, 0.999 * printed / (2.0 * math.pi), seed) for seed in range(repeats)]
        facts[f"inputs that wrap inside the printed bound over 2 pi, d {d}"] = fact(slip)
        inside = [_wrapping(m, 0.999 * m.bound, seed) for seed in range(repeats)]
        facts[f"inputs that wrap inside the true bound, d {d}"] = fact(inside)
    return rows, facts


def _wrapping(m: DynamicPrime, half_width: float, seed: int) -> float:
    """Return the fraction of uniform inputs of a box, its corner among them, that wrap."""
    x = generator(seed).uniform(-half_width, half_width, (_BOX_INPUTS, m.d))
    x[0] = half_width
    return float((m.regime(x).wraps > 0).mean())


def _failure_facts() -> dict[str, Fact]:
    """Return how often "no phase wraps" and "the inverse is exact" agree, at d = 2."""
    x = generator().uniform(-1.0, 1.0, (_EXACT_INPUTS, 2))
    agreements = []
    for D in (4, 16, 128):
        m = _map(2, D, 0.25)
        exact = np.abs(m.decode(m.encode(x)) - x).max(axis=1) < 1e-4
        agreements.append(float((exact == (m.regime(x).wraps == 0)).mean()))
    return {"agreement of not wrapping and exact inverse": Fact(min(agreements))}


def _few_phases_facts(n: int) -> dict[str, Fact]:
    """Return what D < 2 d leaves of real inputs and of bytes."""
    d, D = 16, 16
    m = _map(d, D)
    rng = generator()
    bytes_in = rng.integers(0, 256, (n, d)).astype(np.float64)
    found = m.decode_plan(prior=Integers(1.0, 0, 255)).decode(m.encode(bytes_in))
    correct = (found.x == bytes_in).all(axis=1) & (found.status == "unique")
    # Real inputs: the kernel of W moves x and leaves the code.
    kernel = np.linalg.svd(m.basis.frequencies)[2][-1]
    x = rng.uniform(-1.0, 1.0, (n, d))
    moved = np.abs(m.encode(x + kernel) - m.encode(x)).max()
    # D = 2 d: W is square, and whole turns in every phase are one step of x.
    square = _map(2, 4)
    step = np.linalg.solve(square.basis.frequencies, [1.0, 2.0])
    y = x[:, :2]
    return _compression_facts(m, bytes_in) | {
        "bytes proved unique at D = d": Fact(float(correct.mean())),
        "code moved along the kernel at D = d": Fact(float(moved)),
        "code moved by one step of x at D = 2 d": Fact(
            float(np.abs(square.encode(y + step) - square.encode(y)).max())
        ),
        "code moved by that step at D = 2 d + 2": Fact(
            float(np.abs(_map(2, 6).encode(y + step) - _map(2, 6).encode(y)).max(axis=1).min())
        ),
    }


def _compression_facts(m: DynamicPrime, bytes_in: np.ndarray) -> dict[str, Fact]:
    """Return the fewest bits a code may have for 99 % of the byte vectors to come back."""
    k = m.D // 2
    exact = m.turns(bytes_in).astype(np.uint64)
    fewest = math.inf
    for bits in (32, 28, 24, 20, 18, 16):
        step = np.uint64(1 << (32 - bits))
        rounded = (exact + step // np.uint64(2)) // step * step
        phases = 2.0 * np.pi * rounded.astype(np.float64) / 2.0**32
        z = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
        plan = m.decode_plan(prior=Integers(1.0, 0, 255), noise=2.0 ** -(bits + 1))
        if (plan.decode(z).x == bytes_in).all(axis=1).mean() < 0.99:
            break
        fewest = bits * k
    return {
        "bits of the input": Fact(8.0 * m.d),
        "fewest bits of a code that comes back": Fact(fewest),
        "numbers of a code over those of the input": Fact(k / m.d),
    }


def _draw_bound(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.5)
    panel = axes[0, 0]
    for color, d in zip(PALETTE, _BOUND_INPUTS, strict=False):
        curve = [row for row in rows if row["d"] == d]
        x, y = ([r[name] for r in curve] for name in ("share_of_printed", "wrap"))
        panel.plot(x, y, "o-", color=color, label=f"d = {d}")
    panel.axvline(0.5 / math.pi, color="grey", ls=":")
    panel.text(0.5 / math.pi, 0.9, " corrected", color="grey", fontsize=9)
    panel.set_xlabel("size of the box, in printed bounds")
    panel.set_ylabel("share of inputs that wrap")
    label_ends(panel)
    return figure


def _recovery_bound(facts: Mapping[str, Fact]) -> Judgement:
    printed = values_of(
        facts, *(f"inputs that wrap inside the printed bound, d {d}" for d in _BOUND_INPUTS)
    )
    true = values_of(
        facts, *(f"inputs that wrap inside the true bound, d {d}" for d in _BOUND_INPUTS)
    )
    slip = values_of(
        facts,
        *(f"inputs that wrap inside the printed bound over 2 pi, d {d}" for d in _BOUND_INPUTS),
    )
    ratio = facts["printed over true bound, d 1"].value
    verdict = grade(max(printed) == 0.0)
    if verdict is Verdict.FAILS and max(slip) == 0.0:
        verdict = Verdict.ERRATUM
    return Judgement(
        verdict,
        f"{span(printed, '.0%')} of the inputs inside it wrap; divided by 2 pi, {max(slip):.0%}",
        f"The printed bound is {ratio:.3f} times the tight one at d = 1. The phase is 2 pi sigma "
        "W x and must stay below pi, so a factor of 2 pi is missing; with it the bound has the "
        f"right form. The tight bound is 1 / (2 max |sigma W_i|_1): inside it {max(true):.0%} "
        "wrap.",
    )


def _no_wrap_exact(facts: Mapping[str, Fact]) -> Judgement:
    agreement = facts["agreement of not wrapping and exact inverse"].value
    return Judgement(
        grade(agreement == 1.0, agreement > 0.99),
        f"both agree for {agreement:.2%} of the inputs",
        f"{facts['exact_inputs']:,} inputs at D = 4, 16 and 128: the inverse is exact if no phase "
        "wraps, and only then.",
    )


def _needs_two_d(facts: Mapping[str, Fact]) -> Judgement:
    recovered, moved = values_of(
        facts, "bytes proved unique at D = d", "code moved along the kernel at D = d"
    )
    return Judgement(
        grade(recovered < 0.01 and moved < 1e-5, moved < 1e-5),
        f"{recovered:.0%} of random byte vectors recovered at D = d = 16",
        f"Real inputs that differ by a kernel vector of W have one code (to {moved:.0e}). Digital "
        f"inputs carry few bits: {recovered:.0%} of byte vectors come back, proved unique, from "
        "half as many phases as inputs.",
    )


def _injective(facts: Mapping[str, Fact]) -> Judgement:
    square, more = values_of(
        facts, "code moved by one step of x at D = 2 d", "code moved by that step at D = 2 d + 2"
    )
    return Judgement(
        grade(square > 1e-3, more > 1e-3),
        f"one code for two inputs at D = 2 d; {more:.2f} apart at D = 2 d + 2",
        "At D = 2 d the inputs x and x + W^-1 n have one code for every whole n. With one more "
        "frequency the roots of distinct primes forbid that in exact arithmetic, for any sigma.",
    )


def _no_self_intersection(facts: Mapping[str, Fact]) -> Judgement:
    square, more = values_of(
        facts, "code moved by one step of x at D = 2 d", "code moved by that step at D = 2 d + 2"
    )
    return Judgement(
        grade(square > 1e-3, more > 1e-3),
        f"two inputs with one code at D = 4 (apart by {square:.0e}), none at D = 6",
        "The paper's figure has d = 2 and D = 4: there x and x + W^-1 n meet for every pair of "
        f"whole numbers n. With one more frequency the same two inputs are {more:.2f} apart, and "
        "for one input, as in StaticPrime, the winding never meets itself.",
    )


def _compressive(facts: Mapping[str, Fact]) -> Judgement:
    bits, fewest, numbers = values_of(
        facts,
        "bits of the input",
        "fewest bits of a code that comes back",
        "numbers of a code over those of the input",
    )
    return Judgement(
        grade(fewest < bits, math.isfinite(fewest) and numbers < 1.0),
        f"{numbers:.1f} times as many numbers, {fewest:.0f} bits for inputs of {bits:.0f}",
        "Bytes come back from half as many phases, with the lattice decoder: fewer numbers, but "
        "each needs more bits. No map can store random bits in fewer.",
    )


EXPERIMENT = Experiment(
    "regimes",
    "Operating regimes and bounds (Section 2.3)",
    "The paper gives two conditions for exact recovery: no phase wraps inside a printed "
    "bound, and D >= 2 d. Here uniform inputs are put into boxes of the printed size and of the "
    "tight one, and both sides of D = 2 d are tried.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "recovery-bound",
        "Section 2.3, inverse pass",
        "No phase wraps while |x|_inf < pi / (d sigma max W).",
        "{box_inputs:,} uniform inputs in that box, d = 1 to 32, D = 4 d; draws: {bound_draws}.",
        "Holds if none wraps; an erratum if none wraps inside the bound divided by 2 pi, a slip of "
        "one constant; fails otherwise.",
        "regimes",
        _recovery_bound,
        quote="phase wrapping must not occur (‖x‖∞ < π / (d · sigma · max(W)))",
        weight=Weight.CENTRAL,
        figures=("bound",),
        tables=("bound",),
    ),
    Claim(
        "exact-without-wrapping",
        "Section 2.3, inverse pass",
        "The pseudoinverse is exact if and only if phases do not wrap (D >= 2 d).",
        "Compare both for {exact_inputs:,} inputs at d = 2 and D = 4, 16, 128.",
        "Holds if they agree for every input; in part for 99 %.",
        "regimes",
        _no_wrap_exact,
        quote="This inversion guarantees exact recovery of x if and only if two conditions are "
        "met: the system must be overdetermined (D ≥ 2d), and phase wrapping must not "
        "occur",
        weight=Weight.CENTRAL,
        tables=("bound",),
    ),
    Claim(
        "needs-two-d",
        "Section 2.3, hashing regime",
        "With D < 2 d the map cannot be inverted.",
        "d = 16, D = 16: move real inputs along the kernel of W; decode {byte_vectors} random byte "
        "vectors.",
        "Holds if codes do not see the kernel and fewer than 1 % of the byte vectors come back; in "
        "part if only the first.",
        "regimes",
        _needs_two_d,
        quote="Hashing Regime (High sigma or D < 2d): The conditions are violated. The projection "
        "becomes a non-invertible, high-entropy representation",
        tables=("few_phases",),
    ),
    Claim(
        "injective-at-two-d",
        "Section 2.3, inverse pass",
        "D >= 2 d makes the map injective as far as dimension goes.",
        "Distance of the codes of two inputs that differ by W^-1 n at D = 2 d and D = 2 d + 2.",
        "Holds if codes differ at D = 2 d; in part if only with one more frequency.",
        "regimes",
        _injective,
        quote="Manifold Regime (Low sigma, D ≥ 2d): Both injectivity conditions hold.",
        tables=("few_phases",),
    ),
    Claim(
        "no-self-intersection",
        "Section 3.5, geometric interpretation",
        "The windings fill the torus without meeting themselves.",
        "Distance of the codes of two inputs that differ by W^-1 n at D = 4 and at D = 6.",
        "Holds if codes differ at D = 4, the figure's; in part if only with one more frequency.",
        "regimes",
        _no_self_intersection,
        quote="even for simple inputs, the Primal map effectively utilizes the full phase-space"
        " volume of the embedding manifold without self-intersection",
        weight=Weight.DETAIL,
        tables=("few_phases",),
    ),
    Claim(
        "compressive-storage",
        "Section 2.3, hashing regime",
        "With D < 2 d a code is compressive storage.",
        "d = 16, D = 16: the fewest bits per phase at which {byte_vectors} random byte vectors "
        "come "
        "back.",
        "Holds if a code that comes back has fewer bits than its input; in part if it has fewer "
        "numbers.",
        "regimes",
        _compressive,
        quote="a non-invertible, high-entropy representation suitable for privacy-preserving "
        "hashing or compressive storage",
        weight=Weight.DETAIL,
        tables=("few_phases",),
    ),
)
