"""Physics-informed networks: Helmholtz at rising wave numbers, heat, Burgers.

A network u(x) is trained until it satisfies an equation at given points; boundary and initial
values hold by construction. Four first layers with the same dense part, steps and points: prime
features of the basis "auto" and of the paper's W, random Fourier features, and plain coordinates
through one more dense layer. All features get the best of the same four scales (root mean squares
of their frequencies), everything the best of the same two learning rates, for each equation, by
the residual that training sees (never by the solution).
Second derivatives go through the layers by automatic differentiation.

    primal study pinn --device cuda --out results
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import primal
from primal._pictures import COLORS, picture
from primal.errors import MissingPackageError
from primal.torch import DynamicPrime
from primal_studies.training._common import Settings, options, run_all, select, table, total_seconds
from primal_studies.training._nets import Ensemble, train

METHODS = ("prime", "paper W", "random Fourier", "coordinates")
_HUES = ("repaired", "prime", "random", "sobol")
RATES = (1e-2, 3e-3)
N_FEATURES = 128
WIDTH = 64
VISCOSITY = 0.01 / math.pi


@dataclass(frozen=True)
class Problem:
    """An equation on the unit interval, or on it and time from 0 to 1.

    Attributes
    ----------
    d : int
        Coordinates: x, or x and t.
    scales : tuple of float
        Root mean squares of the frequencies to try, in turns per unit.
    lift : callable
        (points, network's value) -> u with the right boundary and initial values.
    residual : callable
        (points, u, first, second derivatives of u) -> what must vanish, scaled to order 1.
    solution : callable
        Points as an array -> the true u.
    """

    d: int
    scales: tuple[float, ...]
    lift: Callable[[Tensor, Tensor], Tensor]
    residual: Callable[[Tensor, Tensor, Tensor, Callable[[int], Tensor]], Tensor]
    solution: Callable[[np.ndarray], np.ndarray]


def helmholtz(kappa: float) -> Problem:
    """u'' + kappa**2 u = f, whose solution has waves of kappa and of half of it."""

    def solution(x: np.ndarray) -> np.ndarray:
        return np.sin(kappa * x[:, 0]) + 0.5 * np.cos(0.5 * kappa * x[:, 0] + 1.0)

    def source(x: Tensor) -> Tensor:  # sin(kappa x) is a solution of the equation without one
        return 0.375 * kappa**2 * torch.cos(0.5 * kappa * x + 1.0)

    left, right = solution(np.array([[0.0], [1.0]]))

    def lift(x: Tensor, value: Tensor) -> Tensor:
        s = x[..., 0]
        return left * (1 - s) + right * s + s * (1 - s) * value

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Callable[[int], Tensor]) -> Tensor:
        return (second(0) + kappa**2 * u - source(x[..., 0])) / kappa**2

    turns = kappa / (2 * math.pi)
    return Problem(1, (turns / 4, turns / 2, turns, 2 * turns), lift, residual, solution)


def heat() -> Problem:
    """u_t = 0.02 u_xx with zero ends, from three sine waves."""
    modes, diffusivity = ((1, 1.0), (4, 0.5), (9, 0.25)), 0.02

    def solution(x: np.ndarray) -> np.ndarray:
        u = np.zeros(len(x))
        for n, a in modes:
            decay = np.exp(-diffusivity * (n * np.pi) ** 2 * x[:, 1])
            u += a * decay * np.sin(n * np.pi * x[:, 0])
        return u

    def lift(x: Tensor, value: Tensor) -> Tensor:
        s, t = x[..., 0], x[..., 1]
        start = sum(a * torch.sin(n * math.pi * s) for n, a in modes)
        return start + 4 * t * s * (1 - s) * value

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Callable[[int], Tensor]) -> Tensor:
        return first[..., 1] - diffusivity * second(0)

    return Problem(2, (0.25, 0.5, 1.0, 2.0), lift, residual, solution)


def burgers() -> Problem:
    """u_t + u u_y = viscosity u_yy on y = 2 x - 1: a sine wave that steepens to a front."""

    def lift(x: Tensor, value: Tensor) -> Tensor:
        s, t = x[..., 0], x[..., 1]
        return -torch.sin(math.pi * (2 * s - 1)) + 4 * t * s * (1 - s) * value

    def residual(x: Tensor, u: Tensor, first: Tensor, second: Callable[[int], Tensor]) -> Tensor:
        # d/dy is half of d/dx on the unit interval.
        return first[..., 1] + u * first[..., 0] / 2 - VISCOSITY * second(0) / 4

    return Problem(2, (0.25, 0.5, 1.0, 2.0), lift, residual, burgers_solution)


def burgers_solution(x: np.ndarray) -> np.ndarray:
    """Return the solution by the Cole-Hopf integral, with 200-point Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(200)
    y, t = 2 * x[:, :1] - 1, np.maximum(x[:, 1:], 1e-9)
    at = y - np.sqrt(4 * VISCOSITY * t) * nodes
    exponent = -np.cos(np.pi * at) / (2 * np.pi * VISCOSITY)
    shares = weights * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return -(np.sin(np.pi * at) * shares).sum(axis=1) / shares.sum(axis=1)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "Helmholtz 10": lambda: helmholtz(10.0),
    "Helmholtz 30": lambda: helmholtz(30.0),
    "Helmholtz 100": lambda: helmholtz(100.0),
    "heat": heat,
    "Burgers": burgers,
}


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure what is not on file, print the table, draw."""
    chosen = options(__doc__ or "", argv)
    runs = run_all("pinn", chosen, settings(chosen), lambda run: measure(run, chosen.device))
    print(error_table(runs), end="\n\n")
    print(total_seconds(runs))
    with suppress(MissingPackageError):  # a machine may measure for one that has Matplotlib
        draw(runs, chosen.out)
    return runs


def settings(chosen: argparse.Namespace) -> list[Settings]:
    """Return one run for each equation and method; scales, rates and seeds train at once."""
    names = ("Helmholtz 10",) if chosen.quick else tuple(PROBLEMS)
    return [
        {
            "problem": name,
            "method": method,
            "rates": list(RATES),
            "scales": list(PROBLEMS[name]().scales) if method != "coordinates" else [0.0],
            "seeds": 1 if chosen.quick else chosen.seeds,
            "steps": 20 if chosen.quick else 15_000,
            "points": 64 if chosen.quick else 1024,
        }
        for name in names
        for method in METHODS
    ]


def measure(run: Settings, device: str) -> Settings:
    """Train all members; return residuals and relative errors, (scales, rates, seeds) each."""
    problem = PROBLEMS[run["problem"]]()
    members = list(product(run["scales"], run["rates"], range(run["seeds"])))
    points = collocation(run["points"], problem.d).to(device)
    x = points.expand(len(members), *points.shape).clone().requires_grad_()
    u = Solution(run, problem, members, device)

    def losses() -> Tensor:
        return residuals(problem, u, x).square().mean(dim=1)

    train(u.parameters, losses, run["steps"], torch.tensor([m[1] for m in members], device=device))
    test = np.random.default_rng(1).random((2000, problem.d))
    truth = problem.solution(test)
    with torch.no_grad():
        at = torch.tensor(test, dtype=torch.float32, device=device)
        found = u(at.expand(len(members), *at.shape)).double().cpu().numpy()
    errors = np.linalg.norm(found - truth, axis=1) / np.linalg.norm(truth)
    shape = (len(run["scales"]), len(run["rates"]), run["seeds"])
    return {
        "residuals": losses().detach().sqrt().cpu().numpy().reshape(shape).tolist(),
        "errors": errors.reshape(shape).tolist(),
        "n_parameters": u.net.n_parameters,
    }


class Solution:
    """The network of every member, with the boundary values built in."""

    def __init__(self, run: Settings, problem: Problem, members: list, device: str) -> None:
        self.problem = problem
        d, seeds = problem.d, [seed for *_, seed in members]
        scales = torch.tensor([scale for scale, *_ in members], device=device)
        self.scales = scales[:, None, None]
        if run["method"] == "coordinates":
            self.features = None
            self.net = Ensemble([d, WIDTH, WIDTH, WIDTH, 1], seeds, "tanh", device)
            return
        self.net = Ensemble([N_FEATURES, WIDTH, WIDTH, 1], seeds, "tanh", device)
        if run["method"] == "prime":
            self.features = DynamicPrime(d, N_FEATURES, 1.0, basis="auto", device=device)
        elif run["method"] == "paper W":
            size = math.sqrt(primal.primes(d * N_FEATURES // 2).mean())
            self.features = DynamicPrime(d, N_FEATURES, 1 / size, basis="paper", device=device)
        else:
            drawn = torch.stack([normal_frequencies(d, seed) for seed in seeds])
            self.features = fourier(drawn.to(device))

    @property
    def parameters(self) -> list[Tensor]:
        return self.net.parameters

    def __call__(self, x: Tensor) -> Tensor:
        # A scale of the frequencies is one of the points: one layer serves all members.
        seen = 2 * x - 1 if self.features is None else self.features(self.scales * x)
        return self.problem.lift(x, self.net(seen)[..., 0])


def normal_frequencies(d: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(d, N_FEATURES // 2, generator=generator)


def fourier(frequencies: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the features of frequencies in turns per unit, shape (members, d, k)."""

    def features(x: Tensor) -> Tensor:
        angles = 2 * math.pi * (x @ frequencies)
        return torch.cat([angles.cos(), angles.sin()], dim=-1)

    return features


def residuals(problem: Problem, u: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return what the equation leaves at every point, shape (members, n)."""
    value = u(x)
    first = torch.autograd.grad(value.sum(), x, create_graph=True)[0]

    def second(j: int) -> Tensor:
        return torch.autograd.grad(first[..., j].sum(), x, create_graph=True)[0][..., j]

    return problem.residual(x, value, first, second)


def collocation(n: int, d: int) -> Tensor:
    """Return n points of the unit cube: a Kronecker sequence, the same for all methods."""
    steps = torch.tensor([math.sqrt(2.0), math.sqrt(3.0)], dtype=torch.float64)[:d]
    return (torch.arange(1, n + 1, dtype=torch.float64)[:, None] * steps % 1.0).float()


def best(run: Settings) -> tuple[int, int]:
    """Return the places of the scale and the rate with the smallest mean residual."""
    means = np.array(run["residuals"]).mean(axis=2)
    scale, rate = np.unravel_index(int(np.nanargmin(means)), means.shape)
    return int(scale), int(rate)


def error_table(runs: list[Settings]) -> str:
    """Return relative errors: median, least and largest over seeds, with what was chosen."""
    rows = []
    for name in dict.fromkeys(run["problem"] for run in runs):
        cells = []
        for method in METHODS:
            run = select(runs, problem=name, method=method)[0]
            scale, rate = best(run)
            errors = sorted(run["errors"][scale][rate])
            middle = errors[len(errors) // 2]
            chosen = f"rate {run['rates'][rate]:g}"
            if method != "coordinates":
                chosen += f", scale {run['scales'][scale]:.3g}"
            cells.append(f"{middle:.1e} ({errors[0]:.1e} to {errors[-1]:.1e}; {chosen})")
        rows.append([name, *cells])
    return table(["relative error", *METHODS], rows)


def draw(runs: list[Settings], out: Path) -> None:
    """Draw relative errors, one point for each seed."""
    names = list(dict.fromkeys(run["problem"] for run in runs))
    with picture(out / "pinn.png", (7.5, 3.6)) as figure:
        axis = figure.subplots()
        for offset, method in enumerate(METHODS):
            for at, name in enumerate(names):
                run = select(runs, problem=name, method=method)[0]
                scale, rate = best(run)
                errors = run["errors"][scale][rate]
                label = method if at == 0 else None
                places = [at + 0.16 * (offset - 1.5)] * len(errors)
                axis.plot(places, errors, "o", color=COLORS[_HUES[offset]], label=label, alpha=0.8)
        axis.set_xticks(range(len(names)), names)
        axis.set(yscale="log", ylabel="relative error")
        figure.legend(loc="outside upper center", ncols=len(METHODS))


if __name__ == "__main__":
    main()
