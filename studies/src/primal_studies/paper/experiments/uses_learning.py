"""Uses in learning and science: positions, state, signals, equations, scans, chaos.

Training takes an hour on a large GPU, so it is not part of a run. ``primal
study`` does it; ``learned.json`` holds what it found. What is done here is to show those numbers
and to judge the paper's expectations from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from primal_studies._pictures import label_ends
from primal_studies.paper._claim import Claim, Judgement, MapJudged
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._stats import grade
from primal_studies.paper.experiments._image import ridge_on_image
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_FOUND = Path(__file__).with_name("learned.json")
_IMAGES = ("flower", "portrait", "head")
_EQUATIONS = ("helmholtz_10", "helmholtz_30", "helmholtz_100", "heat", "burgers", "flow")
_SHARES = ("8%", "12%", "16%", "24%")
_SYSTEMS = ("lorenz_63", "mackey_glass", "lorenz_96", "kuramoto_sivashinsky")


def run(quick: bool, progress: Progress) -> Outcome:
    """Read what the scripts found; there is no quicker way."""
    found = json.loads(_FOUND.read_text(encoding="utf-8"))
    progress(0.1)
    image, measured = ridge_on_image(1 if quick else 3)
    progress(1.0)
    facts = {name: Fact(*fact) for name, fact in found["facts"].items()}
    return Outcome({**found["tables"], "ridge": image}, facts | measured)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw each use in one figure: means with their spread."""
    figures = {}
    figure, axes = panels(1, 2, 3.4)
    _lines(axes[0, 0], outcome.tables["positions"], "positions", "times_the_length", task="text")
    axes[0, 0].set(xlabel="length / trained length", ylabel="loss on text, nats")
    _lines(axes[0, 1], outcome.tables["positions"], "positions", "times_the_length", task="passkey")
    axes[0, 1].set(xlabel="length / trained length", ylabel="pass keys found")
    for axis in axes[0]:
        axis.set_xscale("log", base=2)
    axes[0, 1].set_ylim(0.0, 1.02)  # an accuracy: spreads do not reach beyond
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figures["positions"] = figure
    figure, axes = panels(1, 1, 3.0)
    _lines(axes[0, 0], outcome.tables["capacity"], "cell", "channels")
    axes[0, 0].set(xlabel="channels of the state", ylabel="past inputs held")
    label_ends(axes[0, 0])
    figures["state"] = figure
    figures["signals"] = _bars(outcome.tables["signals"], "signal", "held-out dB")
    figures["equations"] = _bars(outcome.tables["equations"], "equation", "relative error")
    figures["equations"].axes[0].set_yscale("log")
    figure, axes = panels(1, 1, 3.0)
    _lines(axes[0, 0], outcome.tables["recovery"], "dictionary", "measurements", algorithm="omp")
    axes[0, 0].set(xlabel="measurements", ylabel="non-zeros recovered")
    label_ends(axes[0, 0])
    figures["few_measurements"] = figure
    figure, axes = panels(1, 1, 3.0)
    _lines(axes[0, 0], outcome.tables["kspace"], "pattern", "share")
    axes[0, 0].set(xlabel="share of k-space", ylabel="relative error", yscale="log")
    label_ends(axes[0, 0])
    figures["kspace"] = figure
    few = [row for row in outcome.tables["forecasts"] if float(row["features"]) < 100]
    figures["forecasts"] = _bars(few, "system", "Lyapunov times")
    return figures


def _lines(axis: Axes, rows: Sequence[Row], kind: str, size: str, **chosen: str) -> None:
    """Draw means against a size, one line for each kind."""
    kept = [row for row in rows if all(row[name] == value for name, value in chosen.items())]
    for color, name in zip(PALETTE, dict.fromkeys(row[kind] for row in kept), strict=False):
        mine = [row for row in kept if row[kind] == name]
        x, y, spread = ([row[key] for row in mine] for key in (size, "mean", "spread"))
        axis.errorbar(x, y, spread, color=color, marker=".", capsize=2, label=str(name))


def _bars(rows: Sequence[Row], what: str, label: str) -> Figure:
    """Draw the means of every first layer beside each other."""
    figure, axes = panels(1, 1, 3.2)
    axis = axes[0, 0]
    names = list(dict.fromkeys(row[what] for row in rows))
    layers = list(dict.fromkeys(row["first_layer"] for row in rows))
    for number, layer in enumerate(layers):
        mine = [row for row in rows if row["first_layer"] == layer]
        x = [names.index(row[what]) + 0.2 * (number - (len(layers) - 1) / 2) for row in mine]
        y, spread = ([row[key] for row in mine] for key in ("mean", "spread"))
        axis.errorbar(x, y, spread, color=PALETTE[number], fmt="o", capsize=2, label=str(layer))
    axis.set_xticks(range(len(names)), names, fontsize=8)
    axis.set_ylabel(label)
    figure.legend(loc="outside upper center", ncols=len(layers))
    return figure


def _positions(facts: Mapping[str, Fact]) -> Judgement:
    inside, beyond, usual, usual_beyond = (
        facts[name]
        for name in ("text_prime_raw_x1", "text_prime_raw_x4", "text_rotary_x1", "text_rotary_x4")
    )
    log_inside, log_beyond = facts["text_prime_log_x1"], facts["text_prime_log_x4"]
    better_inside = any(_below(prime, usual) for prime in (inside, log_inside))
    better_beyond = any(_below(prime, usual_beyond) for prime in (beyond, log_beyond))
    peer, peer_beyond = facts["text_alibi_x1"], facts["text_alibi_x4"]
    return Judgement(
        grade(better_inside and better_beyond, better_inside or better_beyond),
        f"loss {inside.value:.2f} (square roots) and {log_inside.value:.2f} (log-spaced) against "
        f"{usual.value:.2f}; at 4 times the length {beyond.value:.2f}, {log_beyond.value:.2f} and "
        f"{usual_beyond.value:.2f}; ALiBi {peer.value:.2f} and {peer_beyond.value:.2f}",
        f"Within the trained length primes {'beat' if better_inside else 'do not beat'} standard "
        f"rotary embedding on text, at four times that length they "
        f"{'do' if better_beyond else 'do not'}, and a bias by distance (ALiBi) is better at "
        f"both; transformers of 10 million parameters, {inside.n} to {usual.n} seeds.",
    )


def _state(facts: Mapping[str, Fact]) -> Judgement:
    own, random, multiples, even = (
        facts[f"capacity_{name}_32"] for name in ("prime_raw", "random", "prime_kronecker", "even")
    )
    holds = own.value > random.value + 2 * random.spread and own.value >= 0.9 * even.value
    in_part = multiples.value > random.value + 2 * random.spread
    return Judgement(
        grade(holds, in_part),
        f"32 channels hold {own.value:.0f} past inputs with square roots of primes, "
        f"{random.value:.0f} ± {random.spread:.0f} with random frequencies, {multiples.value:.0f} "
        f"with multiples of one root, {even.value:.0f} evenly spaced",
        f"The paper's own frequencies hold {own.value / random.value:.1f} times as much as random "
        f"ones, multiples of one square root {multiples.value / random.value:.1f} times, evenly "
        f"spaced frequencies {even.value / random.value:.1f} times.",
    )


def _spectral_bias(facts: Mapping[str, Fact]) -> Judgement:
    over = {
        peer: min(
            facts[f"db_{image}_prime"].value - facts[f"db_{image}_{peer}"].value
            for image in _IMAGES
        )
        for peer in ("coordinates", "siren", "random_fourier")
    }
    own, random, plain = (
        facts[f"image by ridge, {name}"].value for name in ("paper", "random", "coordinates")
    )
    holds = own > random + 0.3 and own > plain + 2.0
    return Judgement(
        grade(holds, own > plain + 1.0 or over["coordinates"] >= 2.0),
        f"the paper's W {own - plain:+.1f} dB over coordinates, {own - random:+.1f} over random "
        f"Fourier features; repaired {over['coordinates']:+.1f} and {over['random_fourier']:+.1f}",
        f"The paper's W by ridge regression on 384 features of one image, best of eight scales "
        f"for both maps: {own:.1f} dB. A repaired W inside trained networks, on the image that "
        f"suits it least, is {over['siren']:+.1f} dB from SIREN.",
    )


def _equations(facts: Mapping[str, Fact]) -> Judgement:
    def ratios(layer: str, peer: str) -> list[float]:
        return [
            facts[f"error_{name}_{layer}"].value / facts[f"error_{name}_{peer}"].value
            for name in _EQUATIONS
        ]

    own, repaired = (ratios(layer, "random_fourier") for layer in ("paper_w", "prime"))
    wins = {
        layer: sum(ratio < 0.5 for ratio in ratios(layer, "coordinates"))
        for layer in ("paper_w", "prime")
    }
    (solved,) = values_of(facts, "solved_helmholtz_100_prime")
    return Judgement(
        grade(all(ratio < 0.5 for ratio in own), any(wins.values())),
        f"the paper's W: {min(own):.1f} to {max(own):.0f} times the error of random Fourier "
        f"features; repaired: {min(repaired):.1f} to {max(repaired):.1f} times",
        f"With the same budget the paper's W halves the error of plain coordinates on "
        f"{wins['paper_w']} of {len(own)} equations, a repaired one on {wins['prime']}. At equal "
        f"scales neither does more than random Fourier features, and in two dimensions, where the "
        f"rows of the paper's W are nearly parallel, it is far behind them. Without training, by "
        f"collocation, a repaired one solves Helmholtz at k = 100 to {solved:.0e}. Weather was not "
        f"tried.",
    )


def _imaging(facts: Mapping[str, Fact]) -> Judgement:
    def below(peer: str) -> list[bool]:
        return [
            _below(facts[f"kspace_kronecker_{s}"], facts[f"kspace_{peer}_{s}"]) for s in _SHARES
        ]

    behind = [_below(facts[f"kspace_random_{s}"], facts[f"kspace_kronecker_{s}"]) for s in _SHARES]
    better = {peer: sum(below(peer)) for peer in ("random", "poisson", "radial")}
    ours, random, disc = (
        facts[f"kspace_{name}_16%"] for name in ("kronecker", "random", "poisson")
    )
    return Judgement(
        grade(all(n == len(_SHARES) for n in better.values()), not any(behind)),
        f"error {ours.value:.3f} ± {ours.spread:.3f} from 16 % of k-space along primes, "
        f"{random.value:.3f} random, {disc.value:.3f} Poisson discs",
        f"Two standard errors below random points at {better['random']}, Poisson discs at "
        f"{better['poisson']}, golden-angle lines at {better['radial']} of {len(_SHARES)} shares "
        "of the Shepp-Logan phantom's k-space. Nothing has to be stored for primes. No scanner "
        "was used.",
    )


def _chaos(facts: Mapping[str, Fact]) -> Judgement:
    def of(system: str, method: str) -> Fact:
        return facts[f"forecast_{system}_{method}_few"]

    ahead = {
        peer: [_below(of(system, peer), of(system, "prime")) for system in _SYSTEMS]
        for peer in ("random", "products")
    }
    texts = ", ".join(
        f"{of(system, 'prime').value:.1f}, {of(system, 'random').value:.1f} and "
        f"{of(system, 'products').value:.1f}"
        for system in _SYSTEMS[:1]
    )
    n = len(_SYSTEMS)
    return Judgement(
        grade(all(all(won) for won in ahead.values()), any(ahead["random"])),
        f"longer than random frequencies on {sum(ahead['random'])} of {n} systems, than "
        f"products of pairs on {sum(ahead['products'])}",
        f"Lyapunov times for which ridge regression forecasts Lorenz-63, with prime and random "
        f"frequencies and with next-generation reservoir computing: {texts}; as many features "
        "for each, by two standard errors over 50 starts.",
    )


def _below(first: Fact, second: Fact) -> bool:
    """Whether a mean is lower by more than two standard errors of the difference."""
    error = (first.spread**2 / first.n + second.spread**2 / second.n) ** 0.5
    return first.value < second.value - 2.0 * error


EXPERIMENT = Experiment(
    "uses-learning",
    "Uses in neural networks",
    """The paper names uses in neural networks and shows none. primal study trains
    small networks with prime features and with what people use today, with equal parameters and
    the same choice of learning rates, several seeds each.

    These numbers were recorded, most of them on one NVIDIA H200 (the table of costs says what took
    how long and where); this run shows and judges them and trains nothing.""",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "positions-for-transformers",
        "Section 4.2, implicit state memory",
        "The method could help transformers as a positional embedding.",
        "Train a small causal transformer on text with prime rotary embedding (square roots, and "
        "log-spaced) and with standard rotary; loss at the trained length and at 4 times that.",
        "Holds if a prime variant beats standard rotary by two standard errors at the trained "
        "length, and one does beyond it; in part if at one of the two.",
        "uses-learning",
        _positions,
        quote="The integration of Primal within Transformer architectures could prove "
        "beneficial for Positional Embeddings and beyond.",
        map_judged=MapJudged.BOTH,
        figures=("positions",),
        tables=("positions",),
    ),
    Claim(
        "state-capacity",
        "Section 4.2, implicit state memory",
        "Prime frequencies raise the capacity of a recurrent state.",
        "Count the past inputs that a linear readout finds to 90 % in a noisy rotating state.",
        "Holds if the square roots of primes exceed random frequencies by two deviations and reach "
        "0.9 of evenly spaced ones; in part if multiples of one root exceed random frequencies so.",
        "uses-learning",
        _state,
        quote="This increases the effective state capacity, allowing the model to retain longer"
        " dependencies",
        map_judged=MapJudged.BOTH,
        figures=("state",),
        tables=("capacity",),
    ),
    Claim(
        "spectral-bias",
        "Section 4.1, natural sciences",
        "Prime frequencies mitigate the spectral bias of implicit networks.",
        "Decibels on pixels not trained on: the paper's W by ridge regression on one image, a "
        "repaired W in networks trained on three.",
        "Holds if the paper's W is 0.3 dB above random Fourier features and 2 dB above "
        "coordinates; in part if 1 dB above coordinates, or if the repaired W is 2 dB above them "
        "on every image.",
        "uses-learning",
        _spectral_bias,
        quote="Spectral Bias Mitigation is also important in the context of Implicit Neural "
        "Representations (SIRENs) ... The utilization of irrational prime frequencies "
        "forces a non-repeating phase structure",
        map_judged=MapJudged.BOTH,
        figures=("signals",),
        tables=(
            "ridge",
            "signals",
        ),
    ),
    Claim(
        "pde-and-weather",
        "Section 4.1, natural sciences",
        "The map speeds up physics-informed networks for differential equations.",
        "Solve Helmholtz, heat and Burgers equations with the same budget and compare errors: the "
        "paper's W, a repaired one, random Fourier features, plain coordinates.",
        "Holds if the error of the paper's W is below half of that of random Fourier features on "
        "all five; in part if either W is below half of plain coordinates on any.",
        "uses-learning",
        _equations,
        quote="a deterministic, resonance-free spectral basis for Physics-Informed Neural "
        "Networks (PINNs), potentially accelerating convergence in high-dimensional PDE "
        "solvers for fluid dynamics and weather modeling",
        map_judged=MapJudged.BOTH,
        figures=("equations",),
        tables=("equations", "collocation"),
    ),
    Claim(
        "medical-imaging",
        "Section 4.1, natural sciences",
        "The map makes compressive sensing for medical imaging memory-efficient.",
        "Restore the Shepp-Logan phantom from 8 to 24 % of k-space, sampled along multiples of "
        "square roots of primes and in the usual ways, by total variation.",
        "Holds if the error is below that of random points, Poisson discs and golden-angle lines "
        "by two standard errors at every share; in part if that of random points is nowhere below "
        "it, since a pattern need not be stored.",
        "uses-learning",
        _imaging,
        quote="the method facilitates memory-efficient compressive sensing for medical imaging "
        "(e.g., MRI)",
        figures=("kspace",),
        tables=("kspace",),
    ),
    Claim(
        "chaotic-systems",
        "Section 4.1, natural sciences",
        "The map mitigates spectral bias in the simulation of chaotic systems.",
        "Forecast four chaotic systems by ridge regression on as many features of each kind, with "
        "the same tuning, from 50 starts that nothing was tuned on.",
        "Holds if primes forecast longer than random frequencies and than next-generation "
        "reservoir computing on all four; in part if longer than random frequencies on one.",
        "uses-learning",
        _chaos,
        quote="mitigates spectral bias in the simulation of chaotic systems, offering a rigorous, "
        "reproducible alternative to stochastic sampling in noise-sensitive environments",
        map_judged=MapJudged.BOTH,
        figures=("forecasts",),
        tables=("forecasts",),
    ),
)
