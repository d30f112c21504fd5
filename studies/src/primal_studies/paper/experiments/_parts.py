"""Small parts that the experiments on DynamicPrime and its uses share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.exact import waves
from primal.maps import StaticPrime
from primal_studies._pictures import PALETTE
from primal_studies.paper._draws import base_seed
from primal_studies.paper._experiment import Fact, Row
from primal_studies.paper._stats import column
from primal_studies.paper.baselines import gaussian_codes, random_increments

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CODES", "PALETTE", "crossing", "fact_rows", "panels", "unit_codes", "values_of"]

CODES = ("prime", "gaussian", "random")


def values_of(facts: Mapping[str, Fact], *names: str) -> tuple[float, ...]:
    """Return the values of facts, in the order of their names."""
    return tuple(facts[name].value for name in names)


def fact_rows(facts: Mapping[str, Fact]) -> list[Row]:
    """Return facts as the rows of a table."""
    return [
        {"what": name, "value": found.value, "spread": found.spread, "draws": found.n}
        for name, found in facts.items()
    ]


def panels(rows: int, columns: int, height_inches: float) -> tuple[Figure, np.ndarray]:
    """Return a figure as wide as a phone and its axes, shape (rows, columns)."""
    figure = column(height_inches)
    axes = figure.subplots(rows, columns, squeeze=False)
    for panel in axes.flat:
        panel.tick_params(labelsize=9)
    return figure, axes


def unit_codes(code: str, N: int, D: int, *, seed: int = 0, block: int = 0) -> np.ndarray:
    """Return N codes of length 1 as float32, shape (N, D).

    `code` is StaticPrime, Gaussian, or waves of random frequencies. Different blocks have primes,
    or draws, of their own.
    """
    if code == "gaussian":
        return gaussian_codes(N, D, base_seed() + 2 * seed + block)
    if code == "prime":
        return StaticPrime(D, start=block * D // 2).waves(N) / np.float32(math.sqrt(D / 2))
    steps = np.arange(N, dtype=np.uint64)[:, None] * random_increments(
        D // 2, base_seed() + 2 * seed + block
    )
    return (np.concatenate(waves(steps), axis=1) / math.sqrt(D / 2)).astype(np.float32)


def crossing(sizes: Sequence[int], scores: Sequence[float], level: float) -> float:
    """Return the size at which scores fall below a level, between grid points; or the last one."""
    for i, score in enumerate(scores):
        if score < level:
            if i == 0:
                return float(sizes[0])
            share = (scores[i - 1] - level) / (scores[i - 1] - score)
            return float(sizes[i - 1] + share * (sizes[i] - sizes[i - 1]))
    return float(sizes[-1])
