"""A Helmholtz-type equation in 2, 5 and 10 dimensions, solved by collocation without training."""

from __future__ import annotations

import numpy as np

from primal.exact import Basis
from primal_studies.paper._draws import generator
from primal_studies.paper._experiment import Fact, Row
from primal_studies.paper._stats import fact

__all__ = ["DIMENSIONS", "METHODS", "solve_in_many_dimensions"]

DIMENSIONS = (2, 5, 10)
METHODS = ("paper", "random", "repaired")
_K = 128  # frequencies; twice as many unknowns
_INSIDE, _EDGE, _CHECKED = 600, 300, 400
_SCALES = tuple(2.0**i for i in range(-4, 1))  # turns per unit, of a row of average length


def solve_in_many_dimensions(draws: int) -> tuple[list[Row], dict[str, Fact]]:
    """Return relative errors of -Laplace(u) + u = f on the unit cube, for every W and d.

    u is a Gaussian bump. Each W has the same average row length and the best of the same scales, by
    the residual at other points.
    """
    rows: list[Row] = []
    facts: dict[str, Fact] = {"equation_draws": Fact(draws)}
    for d in DIMENSIONS:
        for name in METHODS:
            errors = [_error(d, _frequencies(name, d, seed), seed) for seed in range(draws)]
            found = facts[f"error in {d} dimensions, {name}"] = fact(errors)
            rows.append({"d": d, "W": name, "relative_error": found.value, "spread": found.spread})
    return rows, facts


def _frequencies(name: str, d: int, seed: int) -> np.ndarray:
    if name == "random":
        table = generator(200 + seed).standard_normal((_K, d))
    else:
        table = Basis("kronecker" if name == "repaired" else "paper", d, _K).frequencies
    return table / np.linalg.norm(table, axis=1).mean()


def _error(d: int, table: np.ndarray, seed: int) -> float:
    from scipy.linalg import lstsq

    rng = generator(seed)
    inside, check, test = (rng.random((n, d)) for n in (_INSIDE, _CHECKED, _CHECKED))
    edge = rng.random((_EDGE, d))
    edge[np.arange(_EDGE), rng.integers(0, d, _EDGE)] = rng.integers(0, 2, _EDGE)
    trials = []
    for scale in _SCALES:
        w = 2.0 * np.pi * scale * table
        # Rows on the boundary weigh as much as those inside, whose entries have a factor |w|**2.
        weight = 1.0 + np.square(w).sum(axis=1).mean()
        left = np.concatenate([_operator(w, inside), weight * _features(w, edge)])
        right = np.concatenate([_right_side(inside), weight * _bump(edge)])
        solved = lstsq(left, right, cond=1e-12, lapack_driver="gelsy")[0]
        residual = np.square(_operator(w, check) @ solved - _right_side(check)).mean()
        found = _features(w, test) @ solved
        error = np.linalg.norm(found - _bump(test)) / np.linalg.norm(_bump(test))
        trials.append((float(residual), float(error)))
    return min(trials)[1]


def _features(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    phases = x @ w.T
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)


def _operator(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return -Laplace + 1 applied to every feature."""
    return _features(w, x) * np.tile(1.0 + np.square(w).sum(axis=1), 2)


def _bump(x: np.ndarray) -> np.ndarray:
    return np.exp(-4.0 / x.shape[1] * np.square(x - 0.4).sum(axis=1))


def _right_side(x: np.ndarray) -> np.ndarray:
    d = x.shape[1]
    a = 4.0 / d
    squares = np.square(x - 0.4).sum(axis=1)
    return (1.0 + 2.0 * a * d - 4.0 * a**2 * squares) * _bump(x)
