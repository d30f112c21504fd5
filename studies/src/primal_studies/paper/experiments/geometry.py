"""Section 2: what the basis does to distances and directions, and how its frequencies lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.exact import Basis, primes
from primal.maps import DynamicPrime
from primal_studies.paper._claim import Claim, Judgement, MapJudged, Weight
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
from primal_studies.paper._kernel import prime_spectral_kernel
from primal_studies.paper._shapes import noisy, spiral
from primal_studies.paper._stats import COLORS, fact, grade, span
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_INPUTS = (2, 8, 64)
_BASES = ("paper", "kronecker")
_CODE_NOISE = 0.01
_NOISE_DRAWS, _KERNEL_PAIRS = 5, 200
SIZES: Sizes = {"points": (150, 400), "kernel_side": (41, 81)}
_INPUT_NOISE = 0.5
_NOISE_DIMENSIONS = (4, 16, 128)
_RANGE_INPUTS = (1, 2, 16)
_RANGE_DIMENSIONS = (16, 64, 256, 1024, 4096, 16384, 65536)


def run(quick: bool, progress: Progress) -> Outcome:
    """Measure conditioning, the stretching of distances, and the order of frequencies."""
    conditioning = [_condition_row(basis, d) for basis in _BASES for d in _INPUTS]
    size, facts = sizes_of(SIZES, quick)
    facts |= {"noise_draws": Fact(_NOISE_DRAWS), "kernel_pairs": Fact(_KERNEL_PAIRS)}
    for row in conditioning:
        name = f"{row['basis']} d {row['d']}"
        facts[f"condition number, {name}"] = Fact(float(row["condition_number"]))
        facts[f"energy of one direction, {name}"] = Fact(float(row["energy_of_one_direction"]))
    progress(0.5)
    distances: list[Row] = []
    for basis in _BASES:
        ratios, rows = _stretching(basis, size["points"])
        facts[f"distortion of the spiral, {basis}"] = Fact(float(ratios.max() / ratios.min()))
        distances += rows
    noise_rows, more = _noise_rows()
    facts |= more
    kernel = _kernel_rows(size["kernel_side"])
    facts |= _kernel_facts()
    ranges = [_range_row(d, D) for d in _RANGE_INPUTS for D in _RANGE_DIMENSIONS]
    progress(1.0)
    return Outcome(
        {
            "conditioning": conditioning,
            "distances": distances,
            "noise": noise_rows,
            "kernel": kernel,
            "range": ranges,
        },
        facts | _octave_facts() | _range_facts(ranges),
    )


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw distances before and after, and the range of frequencies against D."""
    return {
        "distances": _draw_distances(outcome.tables["distances"]),
        "kernel": _draw_kernel(outcome.tables["kernel"]),
        "noise": _draw_noise(outcome.tables["noise"]),
        "range": _draw_range(outcome.tables["range"]),
    }


def _condition_row(basis: str, d: int) -> Row:
    values = np.linalg.svd(Basis(basis, d, 8 * d).frequencies, compute_uv=False)
    return {
        "basis": basis,
        "d": d,
        "D": 16 * d,
        "condition_number": float(values[0] / values[-1]),
        "energy_of_one_direction": float(values[0] ** 2 / np.square(values).sum()),
    }


def _stretching(basis: str, n: int) -> tuple[np.ndarray, list[Row]]:
    """Return how much every pair of points of the spiral is stretched, and some of the pairs."""
    x = spiral(n)
    z = DynamicPrime(2, 4, 0.007, basis=basis).encode(x, dtype="float64")
    first, second = np.triu_indices(len(x), 1)
    before = np.linalg.norm(x[first] - x[second], axis=1)
    after = np.linalg.norm(z[first] - z[second], axis=1)
    step = len(before) // 800
    rows: list[Row] = [
        {"basis": basis, "before": float(a), "after": float(b)}
        for a, b in zip(before[::step], after[::step], strict=True)
    ]
    return after / before, rows


def _noise_rows() -> tuple[list[Row], dict[str, Fact]]:
    """Return the relative error of the spiral for noise on inputs and on features.

    Sigma is the paper's, and one that fills 0.48 of half a turn: noise shall not wrap a phase.
    """
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for D in _NOISE_DIMENSIONS:
        for scale in ("paper", "edge"):
            for name in ("paper", "kronecker", "gaussian"):
                errors = [_noise_errors(name, D, scale, seed) for seed in range(_NOISE_DRAWS)]
                inputs, features = (fact(column) for column in np.array(errors).T)
                case = f"{name}, D {D}, sigma {scale}"
                facts[f"error for noise on inputs, {case}"] = inputs
                facts[f"error for noise on features, {case}"] = features
                rows.append(
                    {
                        "basis": name,
                        "D": D,
                        "sigma": "0.007" if scale == "paper" else "largest without wrapping",
                        "error_noisy_inputs": inputs.value,
                        "error_noisy_features": features.value,
                        "spread": features.spread,
                    }
                )
    return rows, facts


def _noise_errors(name: str, D: int, scale: str, seed: int) -> tuple[float, float]:
    """Return the relative RMS error of noisy inputs, and of inputs whose features are noisy."""
    x = noisy(spiral(), _INPUT_NOISE, seed)
    table = _frequencies(name, D // 2, seed)
    sigma = 0.007 if scale == "paper" else 0.48 / float(np.abs(x @ table.T).max())
    inverse = np.linalg.pinv(sigma * table)
    phases = 2.0 * np.pi * sigma * x @ table.T
    z = np.stack([np.cos(phases), np.sin(phases)])

    def error(features: np.ndarray) -> float:
        found = np.arctan2(features[1], features[0]) / (2.0 * np.pi) @ inverse.T
        return float(np.sqrt(np.square(found - x).mean() / np.square(x).mean()))

    return error(z.astype(np.float32)), error(noisy(z, _CODE_NOISE, 100 + seed))


def _frequencies(name: str, k: int, seed: int) -> np.ndarray:
    """Return W of a basis, or a Gaussian one with rows of length 1."""
    if name != "gaussian":
        return Basis(name, 2, k).frequencies
    w = generator(500 + seed).standard_normal((k, 2))
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def _kernel_rows(n: int) -> list[Row]:
    """Return the Prime-Spectral Kernel on a square of differences, at the paper's low scale."""
    side = np.linspace(-20.0, 20.0, n)
    at = np.stack(np.meshgrid(side, side), axis=-1)
    return [
        {"basis": basis, "dx": float(x), "dy": float(y), "kernel": float(value)}
        for basis in _BASES
        for values in (prime_spectral_kernel(at, 128, 0.007, basis=basis),)
        for (x, y), value in zip(at.reshape(-1, 2), values.ravel(), strict=True)
    ]


def _kernel_facts() -> dict[str, Fact]:
    """Return how far the kernel reaches along the two diagonals, where it falls to one half."""
    far = np.geomspace(0.01, 1e4, 4000)
    x, y = generator().uniform(-10.0, 10.0, (2, _KERNEL_PAIRS, 2))
    m = DynamicPrime(2, 128, 0.007)
    by_features = np.einsum("ij,ij->i", m.encode(x), m.encode(y)) / 64.0
    off = np.abs(by_features - prime_spectral_kernel(x - y, 128, 0.007)).max()
    facts = {"features off their kernel": Fact(float(off))}
    for basis in _BASES:
        for name, direction in (("along", (1.0, 1.0)), ("across", (1.0, -1.0))):
            steps = far[:, None] * np.array(direction) / math.sqrt(2.0)
            values = prime_spectral_kernel(steps, 128, 0.007, basis=basis)
            reach = float(far[np.argmax(values < 0.5)])
            facts[f"reach of the kernel {name}, {basis}"] = Fact(reach)
    return facts


def _range_row(d: int, D: int) -> Row:
    """Return the largest over the smallest frequency beside the paper's estimate."""
    largest = int(primes(1, start=d * D // 2 - 1)[0])
    ratio, printed = math.sqrt(largest / 2.0), math.sqrt(D * math.log(D) / 2.0)
    return {
        "d": d,
        "D": D,
        "range": ratio,
        "printed": printed,
        "printed_over_range": printed / ratio,
    }


def _range_facts(rows: list[Row]) -> dict[str, Fact]:
    return {
        f"printed over true range, d {row['d']} D 4096": Fact(float(row["printed_over_range"]))
        for row in rows
        if row["D"] == 4096
    }


def _octave_facts() -> dict[str, Fact]:
    lengths = np.linalg.norm(Basis("paper", 2, 2048).frequencies, axis=1)
    return {
        "rows in rising order of frequency": Fact(float((np.diff(lengths) > 0.0).mean())),
        "share of rows in the top octave": Fact(float((lengths > lengths[-1] / 2.0).mean())),
        "octaves": Fact(float(np.log2(lengths[-1] / lengths[0]))),
    }


def _draw_distances(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, len(_BASES), 3.2)
    for panel, basis, color in zip(axes[0], _BASES, PALETTE, strict=False):
        pairs = np.array([[r["before"], r["after"]] for r in rows if r["basis"] == basis])
        panel.plot(*pairs.T, ".", ms=3, color=color, rasterized=True)
        panel.set_title(f"{basis} basis", fontsize=10)
        panel.set_xlabel("distance of inputs")
    axes[0, 0].set_ylabel("distance of features")
    return figure


def _draw_kernel(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, len(_BASES), 3.0)
    titles = {"paper": "the paper's W", "kronecker": "basis kronecker"}
    for panel, basis in zip(axes[0], _BASES, strict=True):
        values = np.array([r["kernel"] for r in rows if r["basis"] == basis], dtype=float)
        side = math.isqrt(len(values))
        image = panel.imshow(
            values.reshape(side, side),
            extent=(-20, 20, -20, 20),
            origin="lower",
            cmap="viridis",
            vmin=-0.4,
            vmax=1.0,
        )
        panel.set_title(titles[basis])
        panel.set_xlabel("difference of first inputs")
    axes[0, 0].set_ylabel("difference of second inputs")
    figure.colorbar(image, ax=axes, label="kernel", location="right", shrink=0.8)
    return figure


def _draw_noise(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.2)
    panel = axes[0, 0]
    styles = {
        "paper": ("the paper's W", COLORS["prime"]),
        "kronecker": ("basis kronecker", COLORS["sobol"]),
        "gaussian": ("Gaussian W", COLORS["gaussian"]),
    }
    for basis, (label, color) in styles.items():
        curve = [r for r in rows if r["basis"] == basis and r["sigma"] != "0.007"]
        D, error = ([float(r[n]) for r in curve] for n in ("D", "error_noisy_features"))
        panel.loglog(D, error, "o-", color=color)
        panel.annotate(label, (D[-1], error[-1]), xytext=(6, 0), textcoords="offset points")
    panel.set_xticks(_NOISE_DIMENSIONS, [str(D) for D in _NOISE_DIMENSIONS])
    panel.minorticks_off()
    panel.set_xlim(3.0, 1200.0)
    panel.set_xlabel("outputs D")
    panel.set_ylabel(f"relative error, noise {_CODE_NOISE}")
    return figure


def _draw_range(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.5)
    panel = axes[0, 0]
    for color, d in zip(PALETTE, _RANGE_INPUTS, strict=False):
        curve = [row for row in rows if row["d"] == d]
        panel.loglog(
            [r["D"] for r in curve],
            [r["range"] for r in curve],
            "o-",
            color=color,
            label=f"d = {d}",
        )
    panel.loglog(
        [r["D"] for r in curve],
        [r["printed"] for r in curve],
        "--",
        color=COLORS["welch"],
        label="sqrt(D ln D / 2)",
    )
    panel.set_xlabel("D")
    panel.set_ylabel("largest / smallest frequency")
    panel.legend(fontsize=9, frameon=False)
    return figure


def _isometric(facts: Mapping[str, Fact]) -> Judgement:
    paper, ours, energy = values_of(
        facts,
        "distortion of the spiral, paper",
        "distortion of the spiral, kronecker",
        "energy of one direction, paper d 64",
    )
    return Judgement(
        grade(paper < 1.1, paper < 2.0),
        f"distances are stretched unequally by a factor of {paper:.0f}",
        "Without wrapping the distortion is the condition number of W. One direction holds "
        f"{energy:.4%} of the energy of W at d = 64. The basis kronecker distorts by "
        f"{ours:.1f}.",
    )


def _robust(facts: Mapping[str, Fact]) -> Judgement:
    inputs = values_of(
        facts,
        *(f"error for noise on inputs, paper, D {D}, sigma edge" for D in _NOISE_DIMENSIONS),
    )
    features, ours = (
        values_of(
            facts,
            *(f"error for noise on features, {b}, D {D}, sigma edge" for D in _NOISE_DIMENSIONS),
        )
        for b in _BASES
    )
    return Judgement(
        grade(max(inputs) < 0.01 and max(features) < 0.05, max(inputs) < 0.01),
        f"noise on x: off by {max(inputs):.0e}; noise of {_CODE_NOISE} on features: "
        f"{span(features, '.0%')} of x",
        f"Noisy inputs come back with their noise at D = {_NOISE_DIMENSIONS[0]} to "
        f"{_NOISE_DIMENSIONS[-1]}. Noise on the features is amplified by rows of W that are nearly "
        f"parallel; the basis kronecker leaves {span(ours, '.1%')}.",
    )


def _gaussian_inverse(facts: Mapping[str, Fact]) -> Judgement:
    theirs, ours = (
        values_of(
            facts,
            *(f"error for noise on features, {b}, D {D}, sigma edge" for D in _NOISE_DIMENSIONS),
        )
        for b in ("gaussian", "paper")
    )
    exact = values_of(
        facts,
        *(f"error for noise on inputs, gaussian, D {D}, sigma edge" for D in _NOISE_DIMENSIONS),
    )
    times = [a / b for a, b in zip(ours, theirs, strict=True)]
    return Judgement(
        grade(min(exact) > 0.5, max(exact) > 0.5),
        f"the same inverse is off by {max(exact):.0e} with a Gaussian W",
        f"A random W is drawn once and then as fixed as any. With noise of {_CODE_NOISE} on the "
        f"features its error is {span(theirs, '.1%')} of x where that of the paper's W is "
        f"{span(ours, '.0%')}: {min(times):.0f} to {max(times):.0f} times as much.",
    )


def _kernel(facts: Mapping[str, Fact]) -> Judgement:
    off, along, across, one, other = values_of(
        facts,
        "features off their kernel",
        *(f"reach of the kernel {w}, {b}" for b in _BASES for w in ("along", "across")),
    )
    return Judgement(
        grade(off < 1e-5, off < 0.01),
        f"inner products follow x - y alone, to {off:.0e}",
        "What the paper leaves out is that this kernel hardly sees one direction: at sigma = 0.007 "
        f"and D = 128 it falls to one half at a distance of {along:.1f} along (1, 1) and of "
        f"{across:.0f} along (1, -1); in the basis kronecker at {one:.0f} and "
        f"{other:.0f}.",
    )


def _hierarchical(facts: Mapping[str, Fact]) -> Judgement:
    rising, top, octaves = values_of(
        facts, "rows in rising order of frequency", "share of rows in the top octave", "octaves"
    )
    level = 2.0 / octaves
    return Judgement(
        grade(rising == 1.0 and top < level, rising == 1.0),
        f"{rising:.0%} rising; {top:.0%} of rows in the top one of {octaves:.1f} octaves",
        f"Frequencies rise from row to row. A multi-resolution basis has about {1.0 / octaves:.0%} "
        f"in each octave; here the top one holds {top:.0%} (D = 4096).",
    )


def _range_formula(facts: Mapping[str, Fact]) -> Judgement:
    one, two, many = values_of(
        facts, *(f"printed over true range, d {d} D 4096" for d in _RANGE_INPUTS)
    )
    near = [abs(ratio - 1.0) < 0.1 for ratio in (one, two, many)]
    return Judgement(
        grade(all(near), any(near)),
        f"the printed formula is {one:.2f}, {two:.2f} and {many:.2f} times the true range at d "
        "= 1, 2 "
        f"and {_RANGE_INPUTS[-1]}",
        "The range is sqrt(p / 2) with p the last of d D / 2 primes; the printed form has no d and "
        f"is within 10 % for {sum(near)} of the three.",
    )


EXPERIMENT = Experiment(
    "geometry",
    "Distances and frequencies (Sections 2.2 and 2.3)",
    "The paper calls the map isometric at low sigma and its ordered frequencies a multi-resolution "
    "analysis. Here distances between {points} points of the spiral are compared before and "
    "after, the "
    "directions that W sees are counted, and its rows are sorted into octaves.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "isometric",
        "Section 2.3, manifold regime",
        "At low sigma the map is an isometric embedding.",
        "Largest over smallest stretching of distances between {points} points of the spiral, "
        "sigma "
        "= 0.007, D = 4.",
        "Holds below 1.1; in part below 2.",
        "geometry",
        _isometric,
        quote="The map acts as an isometric embedding, allowing for theoretically exact signal "
        "reconstruction.",
        map_judged=MapJudged.BOTH,
        weight=Weight.CENTRAL,
        figures=("distances",),
        tables=("conditioning",),
    ),
    Claim(
        "robust-reconstruction",
        "Section 1, contributions",
        "The map gives robust signal reconstruction.",
        f"Noise of {_INPUT_NOISE} on the inputs, as in the paper, and of {_CODE_NOISE} on the "
        "features, at D = 4, 16, 128 and the largest sigma without wrapping; draws: {noise_draws}.",
        "Holds if noisy inputs come back to 1 % and noise on features costs less than 5 %; in part "
        "if only the first.",
        "geometry",
        _robust,
        quote="We demonstrate the utility of Primal across diverse tasks, including ... robust "
        "signal reconstruction",
        map_judged=MapJudged.BOTH,
        figures=("noise",),
        tables=("noise",),
    ),
    Claim(
        "gaussian-has-no-inverse",
        "Table 2, inverse",
        "A normalised Gaussian projection has no inverse, for it is stochastic.",
        "The paper's inverse with a Gaussian W, D = 4, 16, 128, without and with noise on the "
        "features; draws: {noise_draws}.",
        "Holds if the spiral does not come back from any; in part if not from one.",
        "geometry",
        _gaussian_inverse,
        quote="N. R. Gaussian ... Inverse (Time): N/A (Stochastic)",
        weight=Weight.CENTRAL,
        figures=("noise",),
        tables=("noise",),
    ),
    Claim(
        "prime-spectral-kernel",
        "Section 2.2, spectral bias",
        "The features define a deterministic kernel of the difference of inputs.",
        "Inner products of features against a function of the difference of inputs alone, for "
        "{kernel_pairs} pairs; and how far that function reaches.",
        "Holds if they agree to 1e-5; in part to 0.01.",
        "geometry",
        _kernel,
        quote="the Primal construction defines a deterministic Prime-Spectral Kernel",
        map_judged=MapJudged.BOTH,
        figures=("kernel",),
    ),
    Claim(
        "hierarchical",
        "Section 2.2, spectral bias",
        "Rows are ordered from coarse to fine, a multi-resolution analysis similar to wavelets.",
        "Order of the row lengths of W, and their share in the top octave (d = 2, D = 4096).",
        "Holds if rows rise and the top octave has less than twice its even share; in part if they "
        "only rise.",
        "geometry",
        _hierarchical,
        quote="the resulting feature map exhibits an inherent Hierarchical Frequency "
        "Distribution ... allowing our method to function as a multi-resolution analysis "
        "similar to Wavelet transforms",
        figures=("range",),
        tables=("range",),
    ),
    Claim(
        "dynamic-range",
        "Section 4.3, dynamic range",
        "Largest over smallest frequency grows as sqrt(D ln D / 2).",
        f"Exact ratio at D = 4096 for d = 1, 2 and {_RANGE_INPUTS[-1]}.",
        "Holds if all are within 10 % of the formula; in part if one is.",
        "geometry",
        _range_formula,
        quote="The ratio between the maximum and minimum frequencies scales as ≈ √((D ln D)/2).",
        weight=Weight.DETAIL,
        figures=("range",),
        tables=("range",),
    ),
)
