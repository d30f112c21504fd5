"""One photograph fitted by ridge regression on the features of its coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from primal.maps import DynamicPrime
from primal_studies.paper._draws import generator
from primal_studies.paper._experiment import Fact, Row
from primal_studies.paper._stats import fact

__all__ = ["ridge_on_image"]

_SIDE = 48
_FEATURES = 384
_SCALES = tuple(2.0**i for i in range(-5, 3))
_PENALTIES = (1e-6, 1e-3)


def ridge_on_image(draws: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return decibels on half of the pixels when the other half is fitted, for three features.

    The paper's W and a Gaussian one of the same size get the best of the same eight scales.
    """
    x, y = _image()
    names = ("coordinates", "random", "paper")
    found: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(draws):
        order = generator(seed).permutation(len(x))
        halves = order[: len(x) // 2], order[len(x) // 2 :]
        found["coordinates"].append(_decibels(_with_constant(x), y, halves))
        table = generator(100 + seed).standard_normal((_FEATURES // 2, 2))
        for name, of in (("random", lambda s, w=table: _waves(s * x @ w.T)), ("paper", _paper(x))):
            found[name].append(max(_decibels(of(s), y, halves) for s in _SCALES))
    facts = {f"image by ridge, {name}": fact(values) for name, values in found.items()}
    rows: list[Row] = [
        {"features": name, "decibels": facts[f"image by ridge, {name}"].value, "spread": one.spread}
        for name in names
        for one in (facts[f"image by ridge, {name}"],)
    ]
    return rows, facts


def _image() -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates in [-1, 1] and gray values of a flower, averaged in blocks."""
    from sklearn.datasets import load_sample_image

    gray = np.asarray(load_sample_image("flower.jpg"), dtype=np.float64).mean(axis=2) / 255.0
    block = min(gray.shape) // _SIDE
    cut = gray[: block * _SIDE, : block * _SIDE]
    small = cut.reshape(_SIDE, block, _SIDE, block).mean(axis=(1, 3))
    side = np.linspace(-1.0, 1.0, _SIDE)
    return np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2), small.ravel()


def _paper(x: np.ndarray) -> Callable[[float], np.ndarray]:
    return lambda sigma: DynamicPrime(2, _FEATURES, sigma / 8.0).encode(x).astype(np.float64)


def _waves(turns: np.ndarray) -> np.ndarray:
    phases = 2.0 * np.pi * turns
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)


def _with_constant(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))])


def _decibels(Z: np.ndarray, y: np.ndarray, halves: Sequence[np.ndarray]) -> float:
    """Return the peak signal-to-noise ratio on the second half, best of two penalties."""
    fitted, held = halves
    gram, right = Z[fitted].T @ Z[fitted], Z[fitted].T @ y[fitted]
    eye = len(fitted) * np.eye(len(gram))
    misses = [Z[held] @ np.linalg.solve(gram + a * eye, right) - y[held] for a in _PENALTIES]
    return float(-10.0 * np.log10(min(np.square(miss).mean() for miss in misses)))
