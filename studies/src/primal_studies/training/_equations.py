"""Equations for networks and features: what must vanish, values built in, and the truth.

A problem holds on the unit interval, or on it (or the periodic unit square) and time from 0 to 1.
Residuals are functions of a point, the unknowns and their derivatives there, so that one definition
serves training, where derivatives come from automatic differentiation, and collocation, where they
are linear in the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from primal_studies import _spectral

__all__ = ["PROBLEMS", "Problem", "burgers_solution", "helmholtz"]

BURGERS_VISCOSITY = 0.01 / math.pi
FLOW_VISCOSITY, FLOW_DURATION = 0.02, 2.0
Second = Callable[[int, int], Tensor]


@dataclass(frozen=True)
class Problem:
    """An equation, or several for several unknowns.

    Attributes
    ----------
    d : int
        Coordinates: x, x and t, or x, y and t.
    scales : tuple of float
        Root mean squares of the frequencies to try, in turns per unit of what features see.
    start : callable
        Points -> unknowns (..., unknowns) with the right boundary and initial values.
    free : callable
        Points -> what multiplies a network's values, (..., 1): zero where unknowns are given.
    residual : callable
        (points, unknowns, first derivatives (..., unknowns, d), second) -> what must vanish, of
        order 1, (..., equations). ``second(i, j)`` is unknown i, twice by coordinate j.
    solution : callable
        Points as an array -> the first unknown, truly.
    unknowns : int
    periodic : bool
        All coordinates but time are; first layers then see points of circles.
    peer : callable, optional
        (points, size of the grid, steps) -> the same by a pseudo-spectral solver.
    """

    d: int
    scales: tuple[float, ...]
    start: Callable[[Tensor], Tensor]
    free: Callable[[Tensor], Tensor]
    residual: Callable[[Tensor, Tensor, Tensor, Second], Tensor]
    solution: Callable[[np.ndarray], np.ndarray]
    unknowns: int = 1
    periodic: bool = False
    peer: Callable[[np.ndarray, int, int], np.ndarray] | None = None

    def lift(self, x: Tensor, value: Tensor) -> Tensor:
        """Return the unknowns that a network's values (..., unknowns) stand for."""
        return self.start(x) + self.free(x) * value

    @property
    def n_seen(self) -> int:
        """Numbers that a first layer sees of a point."""
        return 2 * self.d - 1 if self.periodic else self.d

    def seen(self, x: Tensor) -> Tensor:
        """Return what a first layer sees of points."""
        if not self.periodic:
            return x
        angles = 2 * math.pi * x[..., :-1]
        return torch.cat([angles.cos(), angles.sin(), x[..., -1:]], dim=-1)


def helmholtz(kappa: float) -> Problem:
    """u'' + kappa**2 u = f, whose solution has waves of kappa and of half of it."""

    def solution(x: np.ndarray) -> np.ndarray:
        return np.sin(kappa * x[:, 0]) + 0.5 * np.cos(0.5 * kappa * x[:, 0] + 1.0)

    def source(x: Tensor) -> Tensor:  # sin(kappa x) is a solution of the equation without one
        return 0.375 * kappa**2 * torch.cos(0.5 * kappa * x + 1.0)

    left, right = solution(np.array([[0.0], [1.0]]))

    def start(x: Tensor) -> Tensor:
        return left * (1 - x) + right * x

    def free(x: Tensor) -> Tensor:
        return x * (1 - x)

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Second) -> Tensor:
        return (second(0, 0)[..., None] + kappa**2 * u - source(x)) / kappa**2

    turns = kappa / (2 * math.pi)
    return Problem(1, (turns / 4, turns / 2, turns, 2 * turns), start, free, residual, solution)


def _between_ends(x: Tensor) -> Tensor:
    s, t = x[..., :1], x[..., 1:]
    return 4 * t * s * (1 - s)


def heat() -> Problem:
    """u_t = 0.02 u_xx with zero ends, from three sine waves."""
    modes, diffusivity = ((1, 1.0), (4, 0.5), (9, 0.25)), 0.02

    def solution(x: np.ndarray) -> np.ndarray:
        u = np.zeros(len(x))
        for n, a in modes:
            decay = np.exp(-diffusivity * (n * np.pi) ** 2 * x[:, 1])
            u += a * decay * np.sin(n * np.pi * x[:, 0])
        return u

    def start(x: Tensor) -> Tensor:
        return torch.stack([a * torch.sin(n * math.pi * x[..., :1]) for n, a in modes]).sum(0)

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Second) -> Tensor:
        return first[..., 1] - diffusivity * second(0, 0)[..., None]

    return Problem(2, (0.25, 0.5, 1.0, 2.0), start, _between_ends, residual, solution)


def burgers() -> Problem:
    """u_t + u u_y = viscosity u_yy on y = 2 x - 1: a sine wave that steepens to a front."""

    def start(x: Tensor) -> Tensor:
        return -torch.sin(math.pi * (2 * x[..., :1] - 1))

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Second) -> Tensor:
        # d/dy is half of d/dx on the unit interval.
        bent = u * first[..., 0] / 2
        return first[..., 1] + bent - BURGERS_VISCOSITY * second(0, 0)[..., None] / 4

    def peer(x: np.ndarray, n: int, steps: int) -> np.ndarray:
        return _spectral.burgers(x, BURGERS_VISCOSITY, n, steps)

    scales = (0.25, 0.5, 1.0, 2.0)
    return Problem(2, scales, start, _between_ends, residual, burgers_solution, peer=peer)


def burgers_solution(x: np.ndarray) -> np.ndarray:
    """Return the solution by the Cole-Hopf integral, with 200-point Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(200)
    y, t = 2 * x[:, :1] - 1, np.maximum(x[:, 1:], 1e-9)
    at = y - np.sqrt(4 * BURGERS_VISCOSITY * t) * nodes
    exponent = -np.cos(np.pi * at) / (2 * np.pi * BURGERS_VISCOSITY)
    shares = weights * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return -(np.sin(np.pi * at) * shares).sum(axis=1) / shares.sum(axis=1)


def flow() -> Problem:
    """Decaying two-dimensional flow: vorticity w and stream function, periodic.

    w_t + psi_y w_x - psi_x w_y = viscosity lap w and lap psi = -w on a square of side 2 pi, from
    four waves of different lengths. The truth is a pseudo-spectral solution on 80 x 80 points.
    """
    turn = 2 * math.pi  # length of a side

    def start(x: Tensor) -> Tensor:
        found = _spectral.start_flow(turn * x[..., 0], turn * x[..., 1], torch.cos)
        return torch.stack(found, dim=-1)

    def free(x: Tensor) -> Tensor:
        return x[..., 2:]

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Second) -> Tensor:
        (w_x, w_y, w_t), (psi_x, psi_y, _) = (first[..., i, :].unbind(-1) for i in (0, 1))
        bent = (psi_y * w_x - psi_x * w_y) / turn**2
        spread, curl = ((second(i, 0) + second(i, 1)) / turn**2 for i in (0, 1))
        moved = w_t / FLOW_DURATION + bent - FLOW_VISCOSITY * spread
        return torch.stack([moved, curl + u[..., 0]], dim=-1)

    def peer(x: np.ndarray, n: int, steps: int) -> np.ndarray:
        return _spectral.vorticity(x, FLOW_VISCOSITY, FLOW_DURATION, n, steps)

    solution = partial(peer, n=80, steps=200)
    scales = (0.1, 0.2, 0.4, 0.8)
    return Problem(3, scales, start, free, residual, solution, unknowns=2, periodic=True, peer=peer)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "Helmholtz 10": lambda: helmholtz(10.0),
    "Helmholtz 30": lambda: helmholtz(30.0),
    "Helmholtz 100": lambda: helmholtz(100.0),
    "heat": heat,
    "Burgers": burgers,
    "flow": flow,
}
