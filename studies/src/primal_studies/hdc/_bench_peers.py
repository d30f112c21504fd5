"""Baselines: torchhd's classifiers, and random features of equal number."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from primal_studies.hdc._datasets_split import Split

__all__ = ["Contender", "has_torchhd", "random_fourier_ridge", "torchhd_contenders"]

_BATCH_ROWS = 12  # as in torchhd's own examples
# torchhd's IntRVFL inverts a D x D matrix in float32, minutes at D = 10,000.
_LARGEST_INVERSE = 4096
_NGRAM = 3


class Contender(NamedTuple):
    """Labels for the test rows from a split, D and a seed."""

    answers: Callable[[Split, int, int], np.ndarray]
    is_random: bool


def has_torchhd() -> bool:
    """Whether torchhd can be imported."""
    try:
        import torchhd  # noqa: F401
    except ImportError:
        return False
    return True


def torchhd_contenders(kind: str, n_components: int, epochs: int) -> dict[str, Contender]:
    """Return torchhd's classifiers, under the range of input that each of them asks for."""
    if not has_torchhd():
        return {}
    if kind == "text":
        return {"torchhd trigrams": Contender(_torchhd_trigrams, is_random=True)}
    passes = {"epochs": epochs}
    # Name, range of the input (None: mean 0 and deviation 1), options.
    table: list[tuple[str, tuple[float, float] | None, dict[str, Any]]] = [
        ("OnlineHD", None, passes),
        ("NeuralHD", None, passes),
        ("DistHD", None, passes),
        ("AdaptHD", (-1.0, 1.0), passes),
        ("Vanilla", (-1.0, 1.0), {}),
        ("LeHDC", (-1.0, 1.0), passes),
        ("IntRVFL", (0.0, 1.0), {}),
    ]
    return {
        f"torchhd {name}": Contender(
            partial(_torchhd_answers, name, limits, kind, options), is_random=True
        )
        for name, limits, options in table
        if name != "IntRVFL" or n_components <= _LARGEST_INVERSE
    }


def random_fourier_ridge(split: Split, n_components: int, seed: int) -> np.ndarray:
    """Answer by the same ridge read-out and the same gamma, on scikit-learn's RBFSampler."""
    from sklearn.kernel_approximation import RBFSampler

    from primal._sums import ExactSums, rounded
    from primal.maps import scale_gamma
    from primal.sklearn._ridge import solve

    sampler = RBFSampler(
        gamma=scale_gamma(split.X_train), n_components=n_components, random_state=seed
    ).fit(split.X_train)
    size = math.sqrt(2.0 / n_components)
    indicators = np.eye(int(split.y_train.max()) + 1)
    sums = ExactSums(n_components, len(indicators))
    step = max(1, (1 << 22) // n_components)
    for first in range(0, len(split.y_train), step):
        rows = slice(first, first + step)
        unit = sampler.transform(split.X_train[rows]) / size
        sums.add(rounded(unit), indicators[split.y_train[rows]])
    found = solve(sums.moments(), "gcv", size)
    parts = [
        (sampler.transform(split.X_test[i : i + step]) @ found.coef + found.intercept).argmax(1)
        for i in range(0, len(split.X_test), step)
    ]
    return np.concatenate(parts)


def _torchhd_answers(
    name: str,
    limits: tuple[float, float] | None,
    kind: str,
    options: dict[str, Any],
    split: Split,
    n_components: int,
    seed: int,
) -> np.ndarray:
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from torchhd import classifiers

    X_train, X_test = split.X_train, split.X_test
    if limits is not None:
        X_train, X_test = _within(limits, kind, X_train, X_test)
    rows = torch.as_tensor(X_train, dtype=torch.float32)
    loader_rows = TensorDataset(rows, torch.as_tensor(split.y_train))
    n_classes = int(split.y_train.max()) + 1
    with _quietly():
        torch.manual_seed(seed)
        model = getattr(classifiers, name)(rows.shape[1], n_components, n_classes, **options)
        model.fit(DataLoader(loader_rows, batch_size=_BATCH_ROWS, shuffle=True))
        test = torch.as_tensor(X_test, dtype=torch.float32).split(500)
        with torch.no_grad():
            return torch.cat([model.predict(part) for part in test]).numpy()


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep torch's generator as it was, and torchhd's progress bars and warnings to itself."""
    import torch

    with (
        torch.random.fork_rng(devices=[]),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        # Its prototypes start at zero, and it warns of that.
        warnings.simplefilter("ignore")
        yield


def _within(
    limits: tuple[float, float], kind: str, X_train: np.ndarray, X_test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Map the range of the training rows to `limits`, and cut off what lies outside."""
    axis = 0 if kind == "table" else None
    low, high = X_train.min(axis=axis), X_train.max(axis=axis)
    span = np.where(high > low, high - low, 1.0)
    first, last = limits

    def mapped(X: np.ndarray) -> np.ndarray:
        return np.clip(first + (last - first) * (X - low) / span, first, last)

    return mapped(X_train), mapped(X_test)


def _torchhd_trigrams(split: Split, n_components: int, seed: int) -> np.ndarray:
    """Answer by torchhd's own n-grams of random codes and its centroids."""
    import torch
    import torchhd

    letters = sorted(set("".join(split.X_train.tolist())))
    number = {letter: place for place, letter in enumerate(letters)}
    with _quietly():
        torch.manual_seed(seed)
        # One more code for letters that the training part does not have.
        codes: Any = torchhd.random(len(letters) + 1, n_components)

    def encoded(texts: np.ndarray) -> Any:
        found = [[number.get(letter, len(letters)) for letter in text] for text in texts]
        return torch.stack([torchhd.ngrams(codes[place], n=_NGRAM) for place in found])

    model = torchhd.models.Centroid(n_components, int(split.y_train.max()) + 1)
    model.add(encoded(split.X_train), torch.as_tensor(split.y_train))
    with torch.no_grad():
        return model(encoded(split.X_test)).argmax(1).numpy()
