"""A seed of primes as a key: does it make identities that can be revoked, and is it secret?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.exact import primes
from primal_studies.paper._claim import Claim, Judgement, MapJudged
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
from primal_studies.paper._stats import COLORS, fact, grade
from primal_studies.paper.experiments._parts import panels, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_D_IN, _K = 32, 128
_PEOPLE = 300
_NOISE = 0.3  # of a second reading of the same person, whose features have deviation 1
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
SIZES: Sizes = {"draws": (2, 5), "read_keys": (20, 100)}
_SCHEMES = ("slice", "signs")
_STARTS = (_K * _D_IN, 2 * _K * _D_IN)  # of the old and the new slice of primes


def run(quick: bool, progress: Progress) -> Outcome:
    """Enrol people, revoke their codes, and read a key from known pairs."""
    size, facts = sizes_of(SIZES, quick)
    draws = size["draws"]
    rows: list[Row] = []
    for number, scheme in enumerate(_SCHEMES):
        for sigma in _SCALES:
            rates = np.array([_error_rates(scheme, sigma, seed) for seed in range(draws)])
            same, linked = fact(rates[:, 0]), fact(rates[:, 1])
            facts[f"error rate within one key, {scheme}, sigma {sigma}"] = same
            facts[f"error rate across keys, {scheme}, sigma {sigma}"] = linked
            rows.append(
                {
                    "scheme": scheme,
                    "sigma": sigma,
                    "within_one_key": same.value,
                    "across_keys": linked.value,
                    "spread": linked.spread,
                }
            )
        progress(0.4 * (number + 1))
    keys, more = _read_keys(size["read_keys"])
    progress(1.0)
    return Outcome({"revocation": rows, "keys": keys}, facts | more)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw both error rates against sigma."""
    figure, axes = panels(1, 2, 3.0)
    titles = {"slice": "new slice of primes", "signs": "new random signs of x"}
    for panel, scheme in zip(axes[0], _SCHEMES, strict=True):
        rows = [r for r in outcome.tables["revocation"] if r["scheme"] == scheme]
        for column, color, label in (
            ("within_one_key", COLORS["prime"], "matching, one key"),
            ("across_keys", COLORS["gaussian"], "linking, two keys"),
        ):
            x, y = ([float(r[n]) for r in rows] for n in ("sigma", column))
            panel.semilogx(x, y, "o-", ms=4, color=color, label=label)
        panel.axhline(0.5, color=COLORS["welch"], ls=":")
        panel.set(title=titles[scheme], xlabel="sigma times mean root", ylim=(-0.03, 0.56))
    axes[0, 0].set_ylabel("equal error rate (0.5: chance)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return {"revocation": figure}


def _table(start: int) -> np.ndarray:
    return np.sqrt(primes(_K * _D_IN, start=start).astype(np.float64)).reshape(_K, _D_IN)


def _codes(x: np.ndarray, sigma: float, table: np.ndarray) -> np.ndarray:
    return np.exp(2j * np.pi * sigma * (x @ table.T)) / math.sqrt(_K)


def _error_rates(scheme: str, sigma: float, seed: int) -> tuple[float, float]:
    """Return equal error rates: of matching within one key, of linking an old code to a new one."""
    rng = generator(seed)
    people = rng.standard_normal((_PEOPLE, _D_IN))
    again = people + _NOISE * rng.standard_normal(people.shape)
    if scheme == "slice":
        # At the same bandwidth: the seed is new, the scale is not.
        old, new = (table / table.mean() for table in map(_table, _STARTS))
    else:
        signs = rng.choice((-1.0, 1.0), (2, _K, _D_IN))
        old, new = signs * _table(_STARTS[0]) / _table(_STARTS[0]).mean()
    enrolled = _codes(people, sigma, old)
    within = np.real(enrolled @ _codes(again, sigma, old).conj().T)
    across = np.abs(enrolled @ _codes(again, sigma, new).conj().T)
    return _equal_error_rate(within), _equal_error_rate(across)


def _equal_error_rate(scores: np.ndarray) -> float:
    """Return the rate at which as many genuine pairs (diagonal) fail as impostors pass."""
    genuine = np.sort(np.diagonal(scores))
    impostors = np.sort(scores[~np.eye(len(scores), dtype=bool)])
    missed = np.arange(len(genuine)) / len(genuine)
    passed = 1.0 - np.searchsorted(impostors, genuine) / len(impostors)
    at = int(np.argmin(np.abs(missed - passed)))
    return float((missed[at] + passed[at]) / 2.0)


def _read_keys(n: int) -> tuple[list[Row], dict[str, Fact]]:
    """Read slice and sigma of random keys from codes of d small inputs of the attacker's choice."""
    rng = generator(77)
    rows: list[Row] = []
    book = np.sqrt(primes(120_000).astype(np.float64))
    for _ in range(n):
        start, sigma = int(rng.integers(0, 100_000)), float(10.0 ** rng.uniform(-3.0, 2.0))
        # So small an input turns no phase by half a turn: phases are the frequencies.
        step = 0.25 / (sigma * book[-1])
        codes = _codes(step * np.eye(_D_IN), sigma, _table(start)).astype(np.complex64)
        found = (np.angle(codes) / (2.0 * np.pi * step)).T.ravel().astype(np.float64)
        # sigma sqrt(p): the ratio of last and first tells where in the list of primes they are.
        span_of = book[len(found) - 1 :] / book[: len(book) - len(found) + 1]
        guess = int(np.abs(span_of - found[-1] / found[0]).argmin())
        near = range(max(0, guess - 300), min(guess + 300, len(span_of) - 1))
        fits = [_misfit(found, book[s : s + len(found)]) for s in near]
        start_found = near[int(np.argmin(fits))]
        rows.append({"start": start, "sigma": sigma, "start_found": start_found})
    right = [float(row["start"] == row["start_found"]) for row in rows]
    return rows, {"keys read from d pairs": fact(right), "pairs": Fact(_D_IN)}


def _misfit(found: np.ndarray, roots: np.ndarray) -> float:
    scale = found @ roots / (roots @ roots)
    return float(np.square(found - scale * roots).sum() / np.square(found).sum())


def _rates(facts: Mapping[str, Fact], scheme: str) -> tuple[Sequence[float], Sequence[float]]:
    within, across = (
        values_of(facts, *(f"error rate {what}, {scheme}, sigma {s}" for s in _SCALES))
        for what in ("within one key", "across keys")
    )
    return within, across


def _cancelable(facts: Mapping[str, Fact]) -> Judgement:
    within, across = _rates(facts, "slice")
    signs, apart = _rates(facts, "signs")
    best = int(np.argmin(within))
    works = [w < 0.05 and a > 0.4 for w, a in zip(within, across, strict=True)]
    some = [w < 0.1 and a > 0.4 for w, a in zip(within, across, strict=True)]
    keyed = int(np.argmin(signs))
    return Judgement(
        grade(any(works), any(some)),
        f"a new slice of primes still links: error rate {across[best]:.2f} where matching has "
        f"{within[best]:.2f}",
        f"{_PEOPLE} synthetic people, {_D_IN} features, {_K} frequencies; 0.5 would be revoked. "
        "All slices see nearly the same one direction of x. Where codes no longer link, they no "
        "longer match either. With random signs on the entries of W, the repaired version, "
        f"matching has {signs[keyed]:.2f} and linking {apart[keyed]:.2f}.",
    )


def _secret(facts: Mapping[str, Fact]) -> Judgement:
    read, pairs = facts["keys read from d pairs"], facts["pairs"].value
    return Judgement(
        grade(read.value < 0.01, read.value < 0.5),
        f"{read.value:.0%} of the slices read from {pairs:.0f} pairs",
        f"The codes of {pairs:.0f} small inputs of one's choice are the frequencies themselves; "
        f"slice and scale of {read.n} random keys follow from them. A chosen-input test: it does "
        "not say what an attacker without pairs can do.",
    )


EXPERIMENT = Experiment(
    "uses-privacy",
    "A prime seed as a key (Section 4.1)",
    "The paper expects that a new prime seed revokes a stolen biometric code, and that codes mean "
    "nothing without seed and scale. Synthetic people are enrolled under one slice of primes and "
    "matched under another; and slices are read back from pairs of inputs and codes.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "cancelable-biometrics",
        "Section 4.1, privacy",
        "A new prime seed gives an uncorrelated identity from the same biometric.",
        f"{_PEOPLE} synthetic people, two readings each: equal error rate of matching under one "
        "slice of primes, and of linking codes of two slices, over sigma; draws: {draws}.",
        "Holds if at some sigma matching errs below 0.05 and linking above 0.4; in part if "
        "matching errs below 0.1 there.",
        "uses-privacy",
        _cancelable,
        quote="this enables “cancelable” biometrics: if a user's projected face vector is "
        "compromised, the system can simply issue a new prime seed to generate a "
        "mathematically uncorrelated ID",
        map_judged=MapJudged.BOTH,
        figures=("revocation",),
        tables=("revocation",),
    ),
    Claim(
        "secret-prime-seed",
        "Section 4.1, privacy",
        "Without prime seed and scaling factor the codes are chaotic.",
        f"Read slice and scale of {{read_keys}} random keys from the codes of {_D_IN} small "
        f"inputs.",
        "Holds if fewer than 1 % of the keys are read; in part if fewer than half.",
        "uses-privacy",
        _secret,
        quote="Since the transformation is deterministic but chaotic (high entropy) without the"
        " specific prime seed and scaling factor, it enables Split Learning architectures",
        tables=("keys",),
    ),
)
