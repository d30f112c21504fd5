"""Those that learn task by task: ours, and networks to compare with."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from primal._parallel import single_threaded_blas
from primal.sklearn import PrimeCentroidClassifier, PrimeRidgeClassifier
from primal.sklearn._ridge import Moments, RoundedSums

__all__ = ["LEARNERS", "Learner", "leading"]

_HIDDEN_UNITS = 256
_LEAST_EPOCHS = 5
_LEAST_STEPS = 500
_BATCH_ROWS = 32
_REPLAY_ROWS = 20


def leading(model: PrimeRidgeClassifier, n_components: int) -> PrimeRidgeClassifier:
    """Return the model that the first `n_components` features alone give, from the same sums."""
    small = copy(model)
    sums, m = model._sums.moments(), n_components
    kept = [*range(m), -1]
    gram = sums.gram[np.ix_(kept, kept)]
    small._keep(RoundedSums.of(Moments(gram, sums.cross[kept], sums.squares)))
    small.n_components = m
    features = model.features_
    # Resolved options: "auto" and "scale" could mean something else for fewer features or rows.
    options = {"gamma": features.gamma_, "form": features.form_, "basis": features.basis_}
    small.features_ = (
        copy(features)
        .set_params(n_components=m, **options)
        .fit(np.stack([features.data_min_, features.data_max_]))
    )
    return small


class Learner:
    """What `class_incremental` asks for; this one passes everything on to `partial_fit`."""

    only_last = False
    old_answers_kept: bool | None = None

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def n_components(self) -> int:
        return getattr(self.model, "n_components", 0)

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.partial_fit(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)


class _Joint(Learner):
    """Keeps every row and learns all at once: what no stream can do, and the bar for those."""

    only_last = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.parts.append((X, y))

    def predict(self, X: np.ndarray) -> np.ndarray:
        rows, labels = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        return self.model.fit(rows, labels).predict(X)


class _Growing(Learner):
    """Starts with a quarter of the features and doubles them before the second and third task.

    New features have to meet the rows seen before, so these are kept.
    """

    def __init__(self, model: Any, n_components: int) -> None:
        super().__init__(model)
        self.largest = n_components
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        self.old_answers_kept = None
        if self.parts and self.model.n_components < self.largest:
            rows, labels = (np.concatenate(part) for part in zip(*self.parts, strict=True))
            old, before = self.model.n_components, self.model.decision_function(X)
            self.model = self.model.grow(min(2 * old, self.largest), rows, labels)
            after = leading(self.model, old).decision_function(X)
            self.old_answers_kept = bool(np.array_equal(before, after))
        self.parts.append((X, y))
        self.model.partial_fit(X, y)


class _Network(Learner):
    """A network with one hidden layer, trained in sequence, with or without replay."""

    def __init__(self, n_classes: int, seed: int, n_replay: int) -> None:
        from sklearn.neural_network import MLPClassifier

        super().__init__(MLPClassifier((_HIDDEN_UNITS,), batch_size=_BATCH_ROWS, random_state=seed))
        self.classes = np.arange(n_classes)
        self.n_replay = n_replay
        self.rng = np.random.default_rng(seed)
        self.kept: list[tuple[np.ndarray, np.ndarray]] = []

    def learn(self, X: np.ndarray, y: np.ndarray) -> None:
        of_class = [np.flatnonzero(y == label) for label in np.unique(y)]
        n_new = max(len(rows) for rows in of_class)
        old = [np.resize(np.arange(len(labels)), n_new) for _, labels in self.kept]
        rows = [X, *(kept[again] for (kept, _), again in zip(self.kept, old, strict=True))]
        labels = [y, *(kept[again] for (_, kept), again in zip(self.kept, old, strict=True))]
        everything, targets = np.concatenate(rows), np.concatenate(labels)
        n_batches = -(-len(targets) // _BATCH_ROWS)
        # Products of 32 rows are too small to share: a second thread would only wait.
        with single_threaded_blas():
            for _ in range(max(_LEAST_EPOCHS, -(-_LEAST_STEPS // n_batches))):
                self.model.partial_fit(everything, targets, classes=self.classes)
        for chosen in of_class:
            keep = self.rng.permutation(chosen)[: self.n_replay]
            if len(keep):
                self.kept.append((X[keep], y[keep]))


# From the number of features, gamma, the number of classes and a seed to a learner.
LEARNERS: dict[str, Callable[[int, float, int, int], Learner]] = {
    "ridge": lambda D, gamma, m, seed: Learner(PrimeRidgeClassifier(D, gamma=gamma)),
    "ridge, growing": lambda D, gamma, m, seed: _Growing(
        PrimeRidgeClassifier(max(2, D // 4), gamma=gamma, form="pair"), D
    ),
    "joint ridge": lambda D, gamma, m, seed: _Joint(PrimeRidgeClassifier(D, gamma=gamma)),
    "centroid": lambda D, gamma, m, seed: Learner(PrimeCentroidClassifier(D, gamma=gamma)),
    "network": lambda D, gamma, m, seed: _Network(m, seed, 0),
    "network, replay": lambda D, gamma, m, seed: _Network(m, seed, _REPLAY_ROWS),
}
