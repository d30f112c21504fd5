"""Linear read-out: can a straight line part spirals and circles in feature space?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

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
from primal_studies.paper._shapes import circles, noisy, spiral
from primal_studies.paper._stats import fact, grade
from primal_studies.paper.experiments._parts import PALETTE, panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_NOISE = 0.5
# 0.001 is ours, where no phase wraps at D = 128; and 0.01, between the scales of the paper.
_SCALES = (0.001, 0.007, 0.01, 0.02, 1.0)
_BANDWIDTHS = tuple(2.0 ** np.arange(-8, 5))  # standard deviation, or length, of rows in radians
_BASELINES = ("unnormalized", "normalized")
SIZES: Sizes = {"class_points": (600, 1000), "draws": (3, 5)}
_PAPER_SCALES = (0.007, 0.02, 1.0)
_DIMENSIONS = (4, 128)
# Of both kernel maps; the best of five for both on these very points, so no accuracy here is one
# that a user should expect on new data. The paper's map has the paper's scales.
_GAMMA = 0.15
_TASKS = ("spirals", "circles")
_ALPHAS = tuple(10.0 ** np.arange(-6.0, 2.0))


def run(quick: bool, progress: Progress) -> Outcome:
    """Fit one ridge classifier on every kind of features."""
    size, facts = sizes_of(SIZES, quick)
    n, draws = size["class_points"], size["draws"]
    rows: list[Row] = []
    wrapped: dict[float, list[float]] = {}
    for number, task in enumerate(_TASKS):
        scores: dict[str, list[float]] = {}
        for seed in range(draws):
            x, y = _two_classes(task, n, seed)
            for name, features in _maps(seed).items():
                scores.setdefault(name, []).append(_accuracy(features(x), y))
            for sigma in _SCALES:
                wraps = DynamicPrime(2, 128, sigma).regime(x).wraps
                wrapped.setdefault(sigma, []).append(float((wraps > 0).mean()))
            progress(0.8 * (number + (seed + 1) / draws) / len(_TASKS))
        for name, values in scores.items():
            found = fact(values)
            facts[f"{task}, {name}"] = found
            rows.append(
                {"task": task, "features": name, "accuracy": found.value, "spread": found.spread}
            )
    facts["spirals best, paper"] = Fact(
        max(_best(facts, "spirals", D, *_PAPER_SCALES) for D in _DIMENSIONS)
    )
    for sigma, shares in wrapped.items():
        facts[f"inputs wrapped, sigma {sigma} D 128"] = fact(shares)
    bandwidths, more = _bandwidths(n, draws)
    progress(1.0)
    return Outcome({"accuracy": rows, "bandwidths": bandwidths}, facts | more)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw the accuracy of every kind of features as bars."""
    figure, axes = panels(len(_TASKS), 1, 5.6)
    for panel, task, color in zip(axes[:, 0], _TASKS, PALETTE, strict=False):
        chosen = [row for row in outcome.tables["accuracy"] if row["task"] == task][::-1]
        names, values, spreads = (
            [r[n] for r in chosen] for n in ("features", "accuracy", "spread")
        )
        panel.barh(names, values, xerr=spreads, color=color)
        panel.axvline(0.5, color="grey", ls=":")
        panel.set_xlim(0.4, 1.02)
        panel.set_title(f"two {task}", fontsize=10)
    axes[-1, 0].set_xlabel("accuracy on new points (0.5 is chance)")
    return {"accuracy": figure, "bandwidths": _draw_bandwidths(outcome.tables["bandwidths"])}


def _draw_bandwidths(rows: Sequence[Row]) -> Figure:
    figure, axes = panels(1, 1, 3.2)
    for name, color in zip(_BASELINES, PALETTE, strict=False):
        mine = [row for row in rows if row["rows"] == name]
        x, y = ([float(row[key]) for row in mine] for key in ("bandwidth", "accuracy"))
        axes[0, 0].semilogx(x, y, "o-", color=color, label=f"Gaussian rows, {name}")
    axes[0, 0].axvline(1.0, color="grey", ls=":")
    axes[0, 0].set(xlabel="bandwidth, radians per unit", ylabel="accuracy on two spirals")
    axes[0, 0].legend(frameon=False)
    return figure


def _bandwidths(n: int, draws: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return the accuracy on two spirals of Gaussian features, D = 128, for every bandwidth."""
    accuracies = {name: np.empty((draws, len(_BANDWIDTHS))) for name in _BASELINES}
    for seed in range(draws):
        x, y = _two_classes("spirals", n, seed)
        table = generator(100 + seed).standard_normal((64, 2))
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        for name, w in zip(_BASELINES, (table, unit), strict=True):
            for place, scale in enumerate(_BANDWIDTHS):
                phases = scale * x @ w.T
                features = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
                accuracies[name][seed, place] = _accuracy(features, y)
    rows: list[Row] = []
    facts = {"bandwidths": Fact(len(_BANDWIDTHS))}
    for name, found in accuracies.items():
        means = found.mean(axis=0)
        facts |= {
            f"{name} rows, best": Fact(float(means.max())),
            f"{name} rows, at 1": fact(found[:, _BANDWIDTHS.index(1.0)]),
            f"{name} rows, good": Fact(int((means >= means.max() - 0.05).sum())),
        }
        rows += [
            {"rows": name, "bandwidth": float(s), "accuracy": float(a)}
            for s, a in zip(_BANDWIDTHS, means, strict=True)
        ]
    return rows, facts


def _two_classes(task: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 2 n noisy points and their class: the spiral and its mirror image, or two circles."""
    if task == "spirals":
        y = np.arange(2 * n) % 2
        clean = spiral(2 * n, seed=seed) * np.where(y == 1, -1.0, 1.0)[:, None]
        return noisy(clean, _NOISE, seed), y
    order = generator(seed).permutation(2 * n)
    return noisy(circles(2 * n), _NOISE, seed)[order], (order >= n).astype(int)


def _maps(seed: int) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    from sklearn.kernel_approximation import RBFSampler

    from primal.sklearn import PrimeFeatures

    paper = {
        f"paper's map, sigma {sigma} D {D}": DynamicPrime(2, D, sigma).encode
        for D in _DIMENSIONS
        for sigma in _SCALES
    }
    return {
        "coordinates": np.asarray,
        **paper,
        "random Fourier, D 128": RBFSampler(
            gamma=_GAMMA, n_components=128, random_state=42 + seed
        ).fit_transform,
        "kronecker primes, D 128": PrimeFeatures(128, gamma=_GAMMA).fit_transform,
    }


def _accuracy(features: np.ndarray, y: np.ndarray) -> float:
    from sklearn.linear_model import RidgeClassifierCV

    half = len(y) // 2
    model = RidgeClassifierCV(alphas=_ALPHAS).fit(features[:half], y[:half])
    return float(model.score(features[half:], y[half:]))


def _best(facts: Mapping[str, Fact], task: str, D: int, *scales: float) -> float:
    return max(facts[f"{task}, paper's map, sigma {sigma} D {D}"].value for sigma in scales)


def _unrolls(facts: Mapping[str, Fact]) -> Judgement:
    shown = {task: _best(facts, task, 4, 0.007) for task in _TASKS}
    wide = {task: _best(facts, task, 128, 0.007) for task in _TASKS}
    flat = {task: _best(facts, task, 128, 0.001) for task in _TASKS}
    wrapped, none = values_of(
        facts, *(f"inputs wrapped, sigma {sigma} D 128" for sigma in (0.007, 0.001))
    )
    raw = {task: facts[f"{task}, coordinates"].value for task in _TASKS}
    return Judgement(
        grade(
            min(shown.values()) > 0.95,
            max(*shown.values(), *flat.values()) > 0.95,
        ),
        f"spirals {shown['spirals']:.0%}, circles {shown['circles']:.0%} at D = 4; "
        f"{flat['spirals']:.0%}, {flat['circles']:.0%} at D = 128 without wrapping",
        f"A line classifies {raw['spirals']:.0%} of the spirals and {raw['circles']:.0%} of the "
        f"circles correctly in raw coordinates, {shown['spirals']:.0%} and {shown['circles']:.0%} "
        f"from features at sigma = 0.007, D = 4. At D = 128 it is {wide['spirals']:.0%} and "
        f"{wide['circles']:.0%}, but there {wrapped:.0%} of the inputs wrap, which the sentence "
        f"excludes. At sigma = 0.001, where {none:.0%} wrap, it is {flat['spirals']:.0%} and "
        f"{flat['circles']:.0%}.",
    )


def _bandwidth(facts: Mapping[str, Fact]) -> Judgement:
    total = facts["bandwidths"].value
    good, unit = (facts[f"{name} rows, good"].value for name in _BASELINES)
    fixed, best = facts["normalized rows, at 1"], facts["normalized rows, best"]
    sensitive = good <= total / 2
    return Judgement(
        grade(sensitive and unit > 2 * good, sensitive),
        f"{good} of {total} bandwidths are good with unnormalized rows, {unit} with normalized "
        "ones",
        "Good means an accuracy on two spirals within 5 points of the best, over bandwidths from "
        f"2**-8 to 2**4 (draws: {facts['draws']}). Normalized rows of length 1 reach {fixed:.0%±}, "
        f"the best length {best:.0%}: their length is a bandwidth too, and so is sigma.",
    )


def _beats_random(facts: Mapping[str, Fact]) -> Judgement:
    paper = {task: _best(facts, task, 128, *_PAPER_SCALES) for task in _TASKS}
    random = {task: facts[f"{task}, random Fourier, D 128"].value for task in _TASKS}
    kronecker = facts["spirals, kronecker primes, D 128"].value
    ahead = [paper[task] > random[task] + 0.01 for task in _TASKS]
    behind = [paper[task] < random[task] - 0.01 for task in _TASKS]
    return Judgement(
        grade(any(ahead) and not any(behind), any(ahead)),
        ", ".join(
            f"{task} {paper[task]:.0%} against {random[task]:.0%}"
            if ahead[i] or behind[i]
            else f"{task} {paper[task]:.0%} both"
            for i, task in enumerate(_TASKS)
        ),
        "The paper's map has the best of its three scales, chosen on the test points. The basis "
        f"kronecker, primes spread over all directions, reaches {kronecker:.0%} on the spirals.",
    )


def _private_separable(facts: Mapping[str, Fact]) -> Judgement:
    # Where most inputs have a wrapped phase the linear inverse is of no use.
    hashed = [s for s in _SCALES if facts[f"inputs wrapped, sigma {s} D 128"].value > 0.5]
    right = {
        s: values_of(facts, *(f"{task}, paper's map, sigma {s} D 128" for task in _TASKS))
        for s in hashed
    }
    best = [max((pair[i] for pair in right.values()), default=0.0) for i in range(2)]
    high = right.get(1.0, (0.0, 0.0))
    return Judgement(
        grade(any(min(pair) > 0.9 for pair in right.values()), max(best) > 0.9),
        f"spirals {best[0]:.0%}, circles {best[1]:.0%} at the best scale where most inputs wrap",
        f"At sigma = 1 a linear classifier is right for {high[0]:.0%} of the spirals and "
        f"{high[1]:.0%} of the circles, and chance is 50%. Circles remain separable at scales "
        "where "
        "phases have begun to wrap. Wrapping alone does not protect the data: see one-way.",
    )


EXPERIMENT = Experiment(
    "uses-readout",
    "Linear classification of curved shapes (Sections 1, 3.5 and 4.1)",
    "The paper says that the map unrolls spirals and circles, so that a linear classifier can part "
    "them. The spiral and its mirror image, and the inner and the outer circle, with noise of 0.5, "
    "are classified by ridge regression on raw coordinates, on the paper's features, on random "
    "Fourier features, and on features of the basis kronecker: {class_points:,} points in each "
    "class, draws: {draws}.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "unrolls-spirals",
        "Section 3.5, low-frequency regime; Abstract",
        "At low sigma spirals and circles become linear, so that a line can part them.",
        "Ridge classification of two spirals and two circles, {class_points:,} points in each "
        "class, sigma = 0.007 with D = 4 and 128, and 0.001 with D = 128; draws: {draws}.",
        "Holds if both exceed 95 % in the paper's D = 4; in part if either does there, or at "
        "D = 128 with a sigma that does not wrap.",
        "uses-readout",
        _unrolls,
        quote="the non-linear Spiral and Circular geometries are effectively “unrolled” into a "
        "simplified manifold structure ... performing linear classification on non-convex"
        " data boundaries",
        figures=("accuracy",),
        tables=("accuracy",),
    ),
    Claim(
        "bandwidth-sensitivity",
        "Section 3.1.1, baseline configuration",
        "Unnormalized Gaussian features need a tuned bandwidth; normalized ones are "
        "parameter-free.",
        "Ridge classification of two spirals with Gaussian rows at {bandwidths} bandwidths, D "
        "= 128; "
        "draws: {draws}.",
        "Holds if at most half of the bandwidths are good with unnormalized rows and more than "
        "twice as many with normalized ones; in part if only the first.",
        "uses-readout",
        _bandwidth,
        quote="unnormalized projections introduce a sensitive bandwidth hyperparameter; ... The "
        "normalized baseline represents a robust, parameter-free maximum-entropy prior",
        weight=Weight.DETAIL,
        figures=("bandwidths",),
        tables=("bandwidths",),
    ),
    Claim(
        "superior-to-rff",
        "Section 1, contributions",
        "The map is a superior alternative to random Fourier features.",
        "The same classifier on both, D = 128, {class_points:,} points in each class; draws: "
        "{draws}.",
        "Holds if ahead by 1 % on one task and behind on none; in part if ahead on one.",
        "uses-readout",
        _beats_random,
        quote="offering a superior deterministic alternative to Random Fourier Features",
        map_judged=MapJudged.BOTH,
        weight=Weight.CENTRAL,
        figures=("accuracy",),
        tables=("accuracy",),
    ),
    Claim(
        "private-yet-separable",
        "Section 4.1, privacy",
        "Wrapped features keep the separability that accurate classification needs.",
        "The same classifier at D = 128 and the scales at which most inputs have a wrapped phase; "
        "draws: {draws}.",
        "Holds if both tasks exceed 90 % at one of these scales; in part if one task does.",
        "uses-readout",
        _private_separable,
        quote="phase-wrapping prevents exact reconstruction (privacy), yet the projection "
        "preserves geometric separability, enabling high-accuracy classification without "
        "exposing raw data",
        figures=("accuracy",),
        tables=("accuracy",),
    ),
)
