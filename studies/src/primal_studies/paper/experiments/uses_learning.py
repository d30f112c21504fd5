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
from primal_studies.paper._claim import Claim, Judgement, MapJudged, Weight
from primal_studies.paper._experiment import (
    Experiment,
    Fact,
    Outcome,
    Progress,
    Row,
    Sizes,
    sizes_of,
)
from primal_studies.paper._stats import grade
from primal_studies.paper.experiments._image import ridge_on_image
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of
from primal_studies.paper.experiments._poisson import (
    DIMENSIONS,
    METHODS,
    solve_in_many_dimensions,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_FOUND = Path(__file__).with_name("learned.json")
_IMAGES = ("flower", "portrait", "head")
_EQUATIONS = ("helmholtz_10", "helmholtz_30", "helmholtz_100", "heat", "burgers", "flow")
_MEASUREMENTS = (32, 64, 96, 128)
_SIGNALS = ("flower", "portrait", "head", "sound", "solid")
SIZES: Sizes = {"image_draws": (1, 3), "equation_draws": (1, 3)}
_SHARES = ("8%", "12%", "16%", "24%")
_SYSTEMS = ("lorenz_63", "mackey_glass", "lorenz_96", "kuramoto_sivashinsky")


def run(quick: bool, progress: Progress) -> Outcome:
    """Read what the scripts found, fit one image and solve one equation in several dimensions."""
    size, facts = sizes_of(SIZES, quick)
    found = json.loads(_FOUND.read_text(encoding="utf-8"))
    progress(0.1)
    image, measured = ridge_on_image(size["image_draws"])
    progress(0.5)
    solved, more = solve_in_many_dimensions(size["equation_draws"])
    progress(1.0)
    facts |= {name: Fact(*fact) for name, fact in found["facts"].items()}
    tables = {**found["tables"], "ridge": image, "dimensions": solved}
    return Outcome(tables, facts | measured | more)


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
    figures["split_learning"] = _draw_clients(outcome.tables["split_learning"])
    figure, axes = panels(1, 1, 3.0)
    _lines(axes[0, 0], outcome.tables["recovery"], "dictionary", "measurements", algorithm="omp")
    axes[0, 0].set(xlabel="measurements", ylabel="number of non-zeros recovered")
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
        label = _LABELS.get(str(name), str(name))
        axis.errorbar(x, y, spread, color=color, marker=".", capsize=2, label=label)


def _draw_clients(rows: Sequence[Row]) -> Figure:
    """Draw the server's accuracy against the error of the best attacker, one point per client."""
    figure, axes = panels(1, 1, 3.6)
    axis = axes[0, 0]
    mine = [row for row in rows if row["data"] == "digits"]
    for color, client in zip(PALETTE, dict.fromkeys(row["client"] for row in mine), strict=False):
        of = [row for row in mine if row["client"] == client]
        x, y = ([float(row[key]) for row in of] for key in ("mean", "accuracy"))
        axis.plot(x, y, "o-", color=color, label=str(client))
    axis.set(xlabel="relative error of the best attacker (1: nothing known)")
    axis.set(ylabel="accuracy of the server", ylim=(0.0, 1.02))
    axis.legend(frameon=False)
    return figure


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
        axis.errorbar(
            x,
            y,
            spread,
            color=PALETTE[number],
            fmt="o",
            capsize=2,
            label=_LABELS.get(str(layer), str(layer)),
        )
    axis.set_xticks(range(len(names)), [str(n).replace(" ", "\n", 1) for n in names], fontsize=8)
    axis.set_ylabel(label)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


# Names of recorded runs that a reader would not know.
_LABELS = {
    "prime": "repaired W",
    "paper W": "the paper's W",
    "static": "StaticPrime",
    "shadow": "primes chosen for low coherence",
    "prime raw": "square roots",
    "prime log": "log-spaced",
    "prime log, three quarters": "log-spaced, 3/4 rotated",
}


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
        f"loss at the trained length / at 4 times: square roots {inside:.2f} / {beyond:.2f}, "
        f"log-spaced {log_inside:.2f} / {log_beyond:.2f}, rotary {usual:.2f} / {usual_beyond:.2f}, "
        f"ALiBi {peer:.2f} / {peer_beyond:.2f}",
        f"At the trained length primes {'beat' if better_inside else 'do not beat'} standard "
        f"rotary embedding on text, at four times that length they "
        f"{'do' if better_beyond else 'do not'}, and a bias by distance (ALiBi) is better at "
        f"both. Transformers of 10 million parameters, {inside.n} seeds.",
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
        f"{random:.0f±} with random frequencies, {multiples.value:.0f} "
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
    plain = ratios("paper_w", "coordinates")
    halved, worse = (sum(r < 0.5 for r in plain), sum(r > 1.0 for r in plain))
    collocated = {
        name: values_of(
            facts, *(f"solved_{name}_{layer}" for layer in ("paper_w", "random_fourier", "prime"))
        )
        for name in ("helmholtz_100", "heat")
    }
    texts = {
        name: f"{paper:.1e} with the paper's W, {random:.1e} with random Fourier features and "
        f"{ours:.1e} with a repaired W"
        for name, (paper, random, ours) in collocated.items()
    }
    return Judgement(
        grade(max(own) < 0.5, halved > 0),
        f"the paper's W: {min(own):.1f} to {max(own):.0f} times the error of random Fourier "
        f"features; repaired: {min(repaired):.1f} to {max(repaired):.1f} times",
        f"With the same budget the paper's W halves the error of plain coordinates on {halved} of "
        f"{len(own)} equations, all in one dimension, and has a larger error on {worse}. By "
        f"collocation, without training, the relative error of Helmholtz at k = 100 is "
        f"{texts['helmholtz_100']}; that of the heat equation is {texts['heat']}. Weather was not "
        "tried.",
    )


def _dimensions(facts: Mapping[str, Fact]) -> Judgement:
    found = {
        name: [facts[f"error in {d} dimensions, {name}"].value for d in DIMENSIONS]
        for name in METHODS
    }
    ratios = [a / b for a, b in zip(found["paper"], found["random"], strict=True)]
    sizes = ", ".join(str(d) for d in DIMENSIONS)
    texts = {name: ", ".join(f"{e:.1g}" for e in errors) for name, errors in found.items()}
    return Judgement(
        grade(max(ratios) < 0.5, max(ratios) <= 1.0),
        f"relative error {texts['paper']} in {sizes} dimensions, random Fourier features "
        f"{texts['random']}",
        f"A repaired W has {texts['repaired']}. One linear elliptic equation with a smooth "
        "solution, "
        "solved by collocation; networks in high dimensions and weather were not tried.",
    )


def _l1(facts: Mapping[str, Fact]) -> Judgement:
    pairs = [
        (facts[f"nonzeros_l1_static_{m}"], facts[f"nonzeros_l1_gaussian_{m}"])
        for m in _MEASUREMENTS
    ]
    better = sum(_below(gaussian, prime) for prime, gaussian in pairs)
    last = pairs[-1]
    return Judgement(
        grade(better == len(pairs), better == 3),
        f"{last[0]:.1f±} non-zeros from {_MEASUREMENTS[-1]} measurements, Gaussian {last[1]:.1f±}",
        "Prime atoms recover more non-zeros than Gaussian ones by two standard errors at "
        f"{better} of {len(pairs)} numbers of measurements (half of the trials right, basis "
        f"pursuit, {last[0].n} seeds).",
    )


def _initialization(facts: Mapping[str, Fact]) -> Judgement:
    gains = [facts[f"db_{name}_prime"].value - facts[f"db_{name}_siren"].value for name in _SIGNALS]
    ahead = sum(gain > 0.3 for gain in gains)
    texts = ", ".join(f"{gain:+.1f} {name}" for gain, name in zip(gains, _SIGNALS, strict=True))
    return Judgement(
        grade(ahead == len(gains), ahead > 0),
        f"ahead of SIREN on {ahead} of {len(gains)} signals",
        f"Decibels over SIREN on samples not trained on: {texts}. The first layer has a "
        "repaired W; "
        "the frequencies of StaticPrime as printed were not trained.",
    )


def _split(facts: Mapping[str, Fact]) -> Judgement:
    def pair(kind: str) -> tuple[Fact, Fact]:
        return facts[f"server_{kind}"], facts[f"attack_{kind}"]

    raw, _ = pair("digits_pixels_0.0")
    public, opened = pair("digits_public_0.0")
    noisy, left = pair("digits_public_0.1")
    learns = public.value > raw.value - 0.02
    return Judgement(
        grade(learns and opened.value > 0.5, learns),
        f"server {public:.0%} right on digits (pixels {raw:.0%}); an attacker recovers them to "
        f"{opened:.0e}",
        "The server learns from the codes as from pixels, but the codes are not private: a "
        "lattice "
        "decoder that knows the basis (auto, a repaired one) recovers the digits with the relative "
        f"error {opened:.0e}. With noise of 0.1 turns on the phases the server is {noisy:.0%} "
        "right "
        f"and the best attacker's error is {left:.2f} (1: nothing known). {public.n} seeds.",
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
        f"error {ours:.3f±} from 16 % of k-space along primes, "
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
    how long and where); this run shows and judges them and trains nothing. It fits one image by
    ridge regression (draws: {image_draws}) and solves one equation in 2, 5 and 10 dimensions by
    collocation (draws: {equation_draws}).""",
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
        "Decibels on pixels not trained on: the paper's W by ridge regression on one image (draws: "
        "{image_draws}), a repaired W in networks trained on three.",
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
        "Train networks on six equations (three Helmholtz, heat, Burgers, a flow in two "
        "dimensions) "
        "with the same budget and compare errors: the paper's W, a repaired one, random Fourier "
        "features, plain coordinates.",
        "Holds if the error of the paper's W is below half of that of random Fourier features on "
        "all six; in part if it is below half of that of plain coordinates on any.",
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
        "high-dimensional-pde",
        "Section 4.1, natural sciences",
        "The basis serves solvers of high-dimensional partial differential equations.",
        "Collocation of one elliptic equation in 2, 5 and 10 dimensions with the paper's W, a "
        "repaired one and random Fourier features; draws: {equation_draws}.",
        "Holds if the error of the paper's W is below half of that of random Fourier features in "
        "all three; in part if it is nowhere larger; fails otherwise.",
        "uses-learning",
        _dimensions,
        quote="potentially accelerating convergence in high-dimensional PDE solvers",
        map_judged=MapJudged.BOTH,
        tables=("dimensions",),
    ),
    Claim(
        "l1-recovery",
        "Section 4.2, sparse coding",
        "Prime dictionaries recover sparse signals by L1 minimization.",
        "Non-zeros recovered in half of the trials by basis pursuit, from 32 to 128 "
        "measurements of "
        "256 numbers, prime against Gaussian atoms.",
        "Holds if better by two standard errors at all four numbers of measurements; in part if at "
        "three; fails otherwise.",
        "uses-learning",
        _l1,
        quote="a prerequisite for accurate signal recovery via L1 minimization",
        weight=Weight.DETAIL,
        figures=("few_measurements",),
        tables=("recovery",),
    ),
    Claim(
        "initializes-implicit-networks",
        "Section 2.4, StaticPrime; Section 3.4, end",
        "Prime frequencies are an ideal initialization of implicit neural representations.",
        "Decibels of networks with prime features against SIREN on five signals.",
        "Holds if 0.3 dB ahead of SIREN on all; in part if on one.",
        "uses-learning",
        _initialization,
        quote="making it ideal for generating non-repeating position encodings or initializing "
        "implicit neural representations",
        map_judged=MapJudged.BOTH,
        figures=("signals",),
        tables=("signals",),
    ),
    Claim(
        "split-learning",
        "Section 4.1, privacy; Abstract",
        "Clients can project data before transmission, so that a server learns without raw data.",
        "A server trained on codes of digits, as primal study split-learning measures it, and the "
        "best of four attackers on the same codes.",
        "Holds if the server is at most 2 % below its accuracy on pixels and the best attacker's "
        "relative "
        "error is above 0.5; in part if only the first.",
        "uses-learning",
        _split,
        quote="it enables Split Learning architectures where data is projected on-device before "
        "transmission",
        map_judged=MapJudged.BOTH,
        weight=Weight.CENTRAL,
        figures=("split_learning",),
        tables=("split_learning",),
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
