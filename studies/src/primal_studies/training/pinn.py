"""Physics-informed networks: Helmholtz at rising wave numbers, heat, Burgers, a flow.

A network u(x) is trained until it satisfies an equation at given points; boundary and initial
values hold by construction. Four first layers with the same dense part, steps and points: prime
features of the basis "auto" and of the paper's W, random Fourier features, and plain coordinates
through one more dense layer. All features get the best of the same four scales (root mean squares
of their frequencies), everything the best of the same two learning rates, for each equation, by
the residual that training sees (never by the solution).
Second derivatives go through the layers by automatic differentiation. Beside them, what needs no
training: the same kinds of features by collocation and least squares, with the scale of the least
residual at other points, and a pseudo-spectral solver for the two equations that are not linear.

    primal study pinn --device cuda --out results
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import primal
from primal.torch import DynamicPrime
from primal_studies._pictures import COLORS, SOFT, picture
from primal_studies._spectral import N_TIMES
from primal_studies.training import _collocation
from primal_studies.training._common import Settings, Study, select, table
from primal_studies.training._equations import PROBLEMS, Problem
from primal_studies.training._nets import Ensemble, train

METHODS = ("prime", "paper W", "random Fourier", "coordinates")
_HUES = ("repaired", "prime", "random", "sobol")
RATES = (1e-2, 3e-3)
N_FEATURES = 128
WIDTH = 64
# Features, points, windows of time, and scales to try: of place and of time, in turns per unit.
COLLOCATION: dict[str, tuple[int, int, int, tuple[tuple[float, ...], ...]]] = {
    **{
        name: (N_FEATURES, 512, 1, tuple((scale,) for scale in PROBLEMS[name]().scales))
        for name in ("Helmholtz 10", "Helmholtz 30", "Helmholtz 100")
    },
    "heat": (400, 1500, 1, ((1.0, 1.0), (2.0, 2.0), (4.0, 4.0))),
    "Burgers": (300, 800, 10, ((32.0, 2.0), (64.0, 2.0))),
    "flow": (300, 900, 4, ((0.1, 0.1), (0.2, 0.2))),
}
# Points of the grid on a side, and steps.
SPECTRAL = {
    "Burgers": ((64, 200), (256, 400), (1024, 2000)),
    "flow": ((16, 40), (32, 100), (48, 200)),
}


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure what is not on file, print the tables, draw."""
    study = Study(__file__, __doc__, argv, trains=True)
    chosen = study.chosen
    runs = study.run("pinn", settings(chosen), partial(measure, device=chosen.device))
    solved = study.run("pinn-collocation", collocation_settings(chosen), measure_collocation)
    peers = study.run("pinn-spectral", spectral_settings(chosen), measure_spectral)
    tables = error_table(runs), collocation_table(solved), spectral_table(peers)
    return study.finish(tables, partial(draw, runs, solved, peers))


def settings(chosen: argparse.Namespace) -> list[Settings]:
    """Return one run for each equation and method; scales, rates and seeds train at once."""
    return [
        {
            "problem": name,
            "method": method,
            "rates": list(RATES),
            "scales": list(PROBLEMS[name]().scales) if method != "coordinates" else [0.0],
            "seeds": chosen.seeds,
            "steps": 5 if chosen.quick else 15_000,
            "points": 64 if chosen.quick else 1024,
        }
        for name in (("Helmholtz 10", "flow") if chosen.quick else PROBLEMS)
        for method in METHODS
    ]


def collocation_settings(chosen: argparse.Namespace) -> list[Settings]:
    """Return one run for each equation, kind of features and seed."""
    names = ("Helmholtz 10", "Burgers") if chosen.quick else tuple(PROBLEMS)
    return [
        {
            "problem": name,
            "method": method,
            "features": 40 if chosen.quick else COLLOCATION[name][0],
            "points": 100 if chosen.quick else COLLOCATION[name][1],
            "windows": min(2, COLLOCATION[name][2]) if chosen.quick else COLLOCATION[name][2],
            "scales": [
                list(scale) for scale in COLLOCATION[name][3][: 1 if chosen.quick else None]
            ],
            "seed": seed,
        }
        for name in names
        for method in METHODS[:-1]
        for seed in range(chosen.seeds)
    ]


def spectral_settings(chosen: argparse.Namespace) -> list[Settings]:
    """Return one run for each equation and size."""
    return [
        {"problem": name, "n": n, "steps": steps}
        for name, sizes in SPECTRAL.items()
        for n, steps in (sizes[:1] if chosen.quick else sizes)
    ]


def measure(run: Settings, device: str) -> Settings:
    """Train all members; return residuals and relative errors, (scales, rates, seeds) each."""
    problem = PROBLEMS[run["problem"]]()
    members = list(product(run["scales"], run["rates"], range(run["seeds"])))
    points = collocation(run["points"], problem.d).float().to(device)
    x = points.expand(len(members), *points.shape).clone().requires_grad_()
    u = Solution(run, problem, members, device)

    def losses() -> Tensor:
        return residuals(problem, u, x).square().mean(dim=(1, 2))

    train(u.parameters, losses, run["steps"], torch.tensor([m[1] for m in members], device=device))
    at, truth = known(run["problem"])
    with torch.no_grad():
        seen = torch.tensor(at, dtype=torch.float32, device=device)
        found = u(seen.expand(len(members), *seen.shape))[..., 0].double().cpu().numpy()
    errors = relative_error(found, truth)
    shape = (len(run["scales"]), len(run["rates"]), run["seeds"])
    return {
        "residuals": losses().detach().sqrt().cpu().numpy().reshape(shape).tolist(),
        "errors": errors.reshape(shape).tolist(),
        "n_parameters": u.net.n_parameters,
    }


def measure_collocation(run: Settings) -> Settings:
    """Solve with every scale; return residuals at other points, relative errors and seconds."""
    problem = PROBLEMS[run["problem"]]()
    (at, truth), windows = known(run["problem"]), run["windows"]
    points, others = (collocation(run["points"], problem.d, run["seed"] + s) for s in (0, 1000))
    plain = frequencies(run["method"], problem.n_seen, run["features"], run["seed"])
    residuals, errors, seconds = [], [], []
    for scale in run["scales"]:
        start = time.perf_counter()
        scales = torch.tensor([*[scale[0]] * (problem.n_seen - 1), scale[-1]], dtype=torch.float64)
        parts = _collocation.solve_in_windows(problem, scales[:, None] * plain, points, windows)
        seconds.append(time.perf_counter() - start)
        left, found = [], np.empty(len(at))
        of_window = np.clip(np.ceil(at[:, -1] * windows - 1e-9), 1, windows) - 1
        for number, part in enumerate(parts):
            left.append(part.residuals(_collocation.in_window(others, number, windows)))
            mine = of_window == number
            found[mine] = part(torch.from_numpy(at[mine]))[:, 0].numpy()
        residuals.append(torch.cat(left).square().mean().sqrt().item())
        errors.append(float(relative_error(found, truth)))
    return {"residuals": residuals, "errors": errors, "solve_seconds": seconds}


def measure_spectral(run: Settings) -> Settings:
    """Return the relative error of the pseudo-spectral solver, and the seconds of one solution."""
    problem = PROBLEMS[run["problem"]]()
    assert problem.peer is not None
    at, truth = known(run["problem"])
    start = time.perf_counter()
    found = problem.peer(at, run["n"], run["steps"])
    seconds = time.perf_counter() - start
    return {"error": float(relative_error(found, truth)), "solve_seconds": seconds}


@cache
def known(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return 2000 random points, where there is time at those that solvers keep, and the truth."""
    problem = PROBLEMS[name]()
    at = np.random.default_rng(1).random((2000, problem.d))
    if problem.d > 1:
        at[:, -1] = np.rint(at[:, -1] * N_TIMES) / N_TIMES
    return at, problem.solution(at)


def relative_error(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return |found - truth| / |truth| over the last axis."""
    return np.linalg.norm(found - truth, axis=-1) / np.linalg.norm(truth)


class Solution:
    """The network of every member, with the boundary values built in."""

    def __init__(self, run: Settings, problem: Problem, members: list, device: str) -> None:
        self.problem = problem
        seen, seeds = problem.n_seen, [seed for *_, seed in members]
        scales = torch.tensor([scale for scale, *_ in members], device=device)
        self.scales = scales[:, None, None]
        if run["method"] == "coordinates":
            self.features = None
            self.net = Ensemble(
                [seen, WIDTH, WIDTH, WIDTH, problem.unknowns], seeds, "tanh", device
            )
            return
        self.net = Ensemble([N_FEATURES, WIDTH, WIDTH, problem.unknowns], seeds, "tanh", device)
        if run["method"] == "random Fourier":
            drawn = torch.stack([normal_frequencies(seen, N_FEATURES, seed) for seed in seeds])
            self.features = fourier(drawn.to(device))
        else:
            self.features = prime_layer(run["method"], seen, N_FEATURES, device)

    @property
    def parameters(self) -> list[Tensor]:
        return self.net.parameters

    def __call__(self, x: Tensor) -> Tensor:
        """Return the unknowns (members, n, unknowns) at points (members, n, d)."""
        seen = self.problem.seen(x)
        if self.features is None:
            inputs = seen if self.problem.periodic else 2 * seen - 1
        else:  # a scale of the frequencies is one of the points: one layer serves all members
            inputs = self.features(self.scales * seen)
        return self.problem.lift(x, self.net(inputs))


def prime_layer(method: str, seen: int, n_features: int, device: str = "cpu") -> DynamicPrime:
    """Return the features of a basis, of frequencies with the root mean square 1."""
    if method == "prime":
        return DynamicPrime(seen, n_features, 1.0, basis="auto", device=device)
    size = math.sqrt(primal.primes(seen * n_features // 2).mean())
    return DynamicPrime(seen, n_features, 1 / size, basis="paper", device=device)


def normal_frequencies(seen: int, n_features: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(seen, n_features // 2, generator=generator)


def frequencies(method: str, seen: int, n_features: int, seed: int) -> Tensor:
    """Return the frequencies of a kind of features, float64 of shape (seen, k)."""
    if method == "random Fourier":
        return normal_frequencies(seen, n_features, seed).double()
    return prime_layer(method, seen, n_features).frequencies.T.double()


def fourier(frequencies: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the features of frequencies in turns per unit, shape (members, seen, k)."""

    def features(x: Tensor) -> Tensor:
        angles = 2 * math.pi * (x @ frequencies)
        return torch.cat([angles.cos(), angles.sin()], dim=-1)

    return features


def residuals(problem: Problem, u: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return what the equations leave at every point, shape (members, n, equations)."""
    value = u(x)

    def slope(of: Tensor) -> Tensor:
        return torch.autograd.grad(of.sum(), x, create_graph=True)[0]

    first = torch.stack([slope(one) for one in value.unbind(-1)], dim=-2)
    return problem.residual(x, value, first, lambda i, j: slope(first[..., i, j])[..., j])


def collocation(n: int, d: int, seed: int = 0) -> Tensor:
    """Return n points of the unit cube, float64: a Kronecker sequence, the same for all methods.

    Another seed moves them all by the same vector.
    """
    steps = torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64)[:d].sqrt()
    return (torch.arange(1, n + 1, dtype=torch.float64)[:, None] * steps + 0.3 * seed * steps) % 1.0


def best(run: Settings) -> tuple[int, int]:
    """Return the places of the scale and the rate with the smallest mean residual."""
    means = np.array(run["residuals"]).mean(axis=2)
    scale, rate = np.unravel_index(int(np.nanargmin(means)), means.shape)
    return int(scale), int(rate)


def error_table(runs: list[Settings]) -> str:
    """Return relative errors: median, least and largest over seeds, with what was chosen.

    The last number is the least median of all scales and rates: what choosing by the error itself,
    which nobody can, would have given.
    """
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
            chosen += f"; with hindsight {np.nanmin(np.median(run['errors'], axis=2)):.1e}"
            cells.append(f"{middle:.1e} ({errors[0]:.1e} to {errors[-1]:.1e}; {chosen})")
        rows.append([name, *cells])
    return table(["relative error", *METHODS], rows)


def chosen_scale(runs: list[Settings]) -> int:
    """Return the place of the scale with the smallest mean residual over seeds."""
    return int(np.argmin(np.mean([run["residuals"] for run in runs], axis=0)))


def collocation_table(runs: list[Settings]) -> str:
    """Return relative errors without training: median, least and largest, and seconds."""
    rows = []
    for name in dict.fromkeys(run["problem"] for run in runs):
        cells, seconds = [], []
        for method in METHODS[:-1]:
            mine = select(runs, problem=name, method=method)
            scale = chosen_scale(mine)
            errors = sorted(run["errors"][scale] for run in mine)
            tried = ", ".join(f"{s:.3g}" for s in mine[0]["scales"][scale])
            middle = errors[len(errors) // 2]
            cells.append(f"{middle:.1e} ({errors[0]:.1e} to {errors[-1]:.1e}; scale {tried})")
            seconds += [run["solve_seconds"][scale] for run in mine]
        size = select(runs, problem=name)[0]["features"]
        rows.append([name, size, *cells, f"{np.median(seconds):.1f}"])
    return table(["collocation", "features", *METHODS[:-1], "seconds"], rows)


def spectral_table(runs: list[Settings]) -> str:
    """Return relative errors and seconds of the pseudo-spectral solver."""
    rows = [
        [
            *(run["problem"], run["n"], run["steps"], f"{run['error']:.1e}"),
            f"{run['solve_seconds']:.2f}",
        ]
        for run in runs
    ]
    return table(["spectral solver", "grid", "steps", "relative error", "seconds"], rows)


def draw(runs: list[Settings], solved: list[Settings], peers: list[Settings], out: Path) -> None:
    """Draw relative errors, one point for each seed; collocation and solvers beside networks."""
    names = list(dict.fromkeys(run["problem"] for run in [*runs, *solved]))
    with picture(out / "pinn.png", (8.5, 4.0)) as figure:
        axis = figure.subplots()
        for offset, method in enumerate(METHODS):
            color = COLORS[_HUES[offset]]
            axis.plot([], [], "o", color=color, label=method)
            for at, name in enumerate(names):
                for run in select(runs, problem=name, method=method):
                    scale, rate = best(run)
                    errors = run["errors"][scale][rate]
                    places = [at + 0.1 * (offset - 3.5)] * len(errors)
                    axis.plot(places, errors, "o", color=color, alpha=0.8)
                mine = select(solved, problem=name, method=method)
                if mine:
                    scale = chosen_scale(mine)
                    errors = [run["errors"][scale] for run in mine]
                    places = [at + 0.1 * (offset + 0.5)] * len(errors)
                    axis.plot(places, errors, "x", color=color, alpha=0.8)
        axis.plot([], [], "x", color=SOFT, label="without training")
        for number, run in enumerate(peers):
            label = "spectral solver" if number == 0 else None
            at = names.index(run["problem"]) + 0.4 if run["problem"] in names else math.nan
            axis.plot([at], [run["error"]], "_", color=SOFT, markersize=10, label=label)
        axis.set_xticks(range(len(names)), names)
        axis.set(yscale="log", ylabel="relative error")
        figure.legend(loc="outside upper center", ncols=6)


if __name__ == "__main__":
    main()
