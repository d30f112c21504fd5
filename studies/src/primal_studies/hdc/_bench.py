"""Accuracy and time of classifiers on the same splits, with the same number of dimensions.

Contenders take turns within a round, a different one first each time, and a ratio of times
compares one round: a machine's speed drifts within seconds.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal.errors import ParameterError
from primal_studies.hdc._bench_peers import Contender, torchhd_contenders
from primal_studies.hdc._datasets_split import Dataset, Split, standardized

__all__ = ["OURS", "Score", "compare", "contenders"]

OURS = "ridge"


@dataclass(frozen=True)
class Score:
    """What one contender reached on one dataset with D dimensions.

    Attributes
    ----------
    data, contender : str
    n_components : int
    accuracies, seconds : tuple of float
        One for each round: share of right answers; time of fit and predict together.
    """

    data: str
    contender: str
    n_components: int
    accuracies: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Mean over the rounds."""
        return statistics.fmean(self.accuracies)

    @property
    def standard_error(self) -> float:
        """Of the mean; 0 for a single round, which says nothing about it."""
        if len(self.accuracies) < 2:
            return 0.0
        return statistics.stdev(self.accuracies) / math.sqrt(len(self.accuracies))

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.seconds)

    def times(self, other: Score) -> float:
        """Return how many times longer this took than `other`: median over common rounds."""
        pairs = zip(self.seconds, other.seconds, strict=False)
        return statistics.median(mine / theirs for mine, theirs in pairs)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for ``--json``."""
        return {
            **vars(self),
            "accuracy": self.accuracy,
            "standard_error": self.standard_error,
            "median_seconds": self.median_seconds,
        }


def compare(
    dataset: Dataset,
    n_components: int,
    *,
    n_seeds: int = 10,
    epochs: int = 10,
    only: Sequence[str] = (),
    progress: Callable[[int, int], object] | None = None,
) -> list[Score]:
    """Run every contender on the same splits and return its score.

    Parameters
    ----------
    dataset : Dataset
    n_components : int
        Dimensions D of everyone.
    n_seeds : int, default=10
        Rounds. A round has its own split, unless the split is official, and its own seed for
        those that draw random numbers; what would only repeat itself runs once.
    epochs : int, default=10
        Passes of those that make several.
    only : sequence of str
        Names of contenders; all of them by default.
    progress : callable, optional
        Called with (done, total) runs: of one contender in one round.

    Examples
    --------
    >>> from primal_studies.hdc._bench import compare
    >>> from primal_studies.hdc import load
    >>> [score] = compare(load("wine"), 128, n_seeds=3, only=["ridge"])
    >>> round(score.accuracy, 2), len(score.seconds)
    (0.94, 3)
    """
    chosen = _chosen(contenders(dataset.kind, n_components, epochs), only)
    warm_up(chosen, dataset)
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
    # What would only repeat itself runs once.
    again = {name: dataset.n_train is None or chosen[name].is_random for name in chosen}
    done, total = 0, sum(n_seeds if again[name] else 1 for name in chosen)
    names = list(chosen)
    for seed in range(n_seeds):
        split = standardized(dataset.split(seed), dataset.kind)
        shift = seed % len(names)
        for name in names[shift:] + names[:shift]:
            if seed and not again[name]:
                continue
            if progress is not None:
                progress(done, total)
            results[name].append(_timed(chosen[name], split, n_components, seed))
            done += 1
    if progress is not None:
        progress(done, total)
    return [
        Score(dataset.name, name, n_components, *map(tuple, zip(*found, strict=True)))
        for name, found in results.items()
    ]


def contenders(kind: str, n_components: int, epochs: int) -> dict[str, Contender]:
    """Return everyone who can take part: ours, random features, and torchhd's if installed."""
    ours = _text_contenders() if kind == "text" else _vector_contenders()
    return {**ours, **torchhd_contenders(kind, n_components, epochs)}


def warm_up(chosen: dict[str, Contender], dataset: Dataset) -> None:
    """Run everyone once on a few rows, so that loading and compiling is not measured."""
    split = standardized(dataset.split(0), dataset.kind)
    _, first = np.unique(split.y_train, return_index=True)
    rows = np.concatenate([first, np.arange(min(64, len(split.y_train)))])
    few = Split(split.X_train[rows], split.y_train[rows], split.X_test[:8], split.y_test[:8])
    for contender in chosen.values():
        contender.answers(few, 16, 0)


def _chosen(found: dict[str, Contender], only: Sequence[str]) -> dict[str, Contender]:
    for name in only:
        if name not in found:
            raise ParameterError(
                f"there is no contender {name!r} here: use one of {', '.join(found)}."
            )
    return {name: found[name] for name in only or found}


def _timed(contender: Contender, split: Split, n_components: int, seed: int) -> tuple[float, float]:
    start = time.perf_counter()
    answers = contender.answers(split, n_components, seed)
    seconds = time.perf_counter() - start
    return float(np.mean(answers == split.y_test)), seconds


def _vector_contenders() -> dict[str, Contender]:
    from primal.sklearn import PrimeCentroidClassifier, PrimeRidgeClassifier
    from primal_studies.hdc._bench_peers import random_fourier_ridge

    def fitted(make: Callable[[int], Any]) -> Contender:
        return Contender(
            lambda split, D, seed: make(D).fit(*split[:2]).predict(split.X_test), is_random=False
        )

    return {
        OURS: fitted(PrimeRidgeClassifier),
        "centroid": fitted(PrimeCentroidClassifier),
        "random Fourier ridge": Contender(random_fourier_ridge, is_random=True),
    }


def _text_contenders() -> dict[str, Contender]:
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.neighbors import NearestCentroid

    from primal_studies.hdc._ngrams import ngram_vectors

    def fitted(read_out: Callable[[], Any]) -> Contender:
        def answers(split: Split, D: int, seed: int) -> np.ndarray:
            model = read_out().fit(ngram_vectors(split.X_train, D), split.y_train)
            return np.asarray(model.predict(ngram_vectors(split.X_test, D)))

        return Contender(answers, is_random=False)

    # The penalty by generalised cross-validation on the training part, as in our own read-out.
    alphas = tuple(10.0**exponent for exponent in range(-6, 3))
    return {OURS: fitted(lambda: RidgeClassifierCV(alphas)), "centroid": fitted(NearestCentroid)}
