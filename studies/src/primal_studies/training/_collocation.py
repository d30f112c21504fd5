"""Equations solved without training: least squares on features, and Newton's steps.

The unknowns are sums of features, so their derivatives are linear in the weights: a linear equation
is one least-squares problem, any other a few. Time can be cut into windows, each of which begins
with what the last one ended with. Everything is float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from primal_studies.training._equations import Problem

__all__ = ["Features", "in_window", "solve", "solve_in_windows"]

RIDGE = 1e-12  # of the longest column of the system
NEWTON_STEPS = 12


class Features:
    """Sums of cos and sin of frequencies (seen, k), in turns per unit, that satisfy what is given.

    They begin at a time, with what was found `before`; the problem's own start if that is None.
    """

    def __init__(
        self,
        problem: Problem,
        frequencies: Tensor,
        begin: float = 0.0,
        before: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.problem, self.frequencies = problem, frequencies
        self.begin, self.before = begin, before or problem.start
        self.weights = frequencies.new_zeros(2 * frequencies.shape[1], problem.unknowns)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the unknowns at points (n, d)."""
        free, start, values = self._parts(x)
        return start + free * (values @ self.weights)

    def derivatives(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the unknowns, their first and their second derivatives by each coordinate.

        Of every feature with the weight 1, (2 k, n, 1 + 2 d), the same for each unknown; and
        without any, (n, unknowns, 1 + 2 d).
        """

        def lifted(x: Tensor) -> Tensor:
            free, start, values = self._parts(x)
            return torch.cat([start, free * values], dim=1)

        first, second = [], []
        for direction in torch.eye(x.shape[1]).to(x):
            along = direction.expand_as(x)

            def slope(x: Tensor, along: Tensor = along) -> Tensor:
                return torch.func.jvp(lifted, (x,), (along,))[1]

            found = torch.func.jvp(slope, (x,), (along,))
            first.append(found[0])
            second.append(found[1])
        every = torch.stack([lifted(x), *first, *second], dim=-1)
        unknowns = self.problem.unknowns
        return every[:, unknowns:].transpose(0, 1), every[:, :unknowns]

    def residuals(self, x: Tensor) -> Tensor:
        """Return what the equations leave at points (n, d), shape (n, equations)."""
        basis, rest = self.derivatives(x)
        return _residuals(self.problem, x, rest + torch.einsum("knp,ku->nup", basis, self.weights))

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the problem's `free`, the start, and features of values."""
        angles = 2 * math.pi * (self.problem.seen(x) @ self.frequencies)
        values = torch.cat([angles.cos(), angles.sin()], dim=-1)
        if self.problem.d == 1:  # there is no time
            return self.problem.free(x), self.before(x), values
        place, time = x[:, :-1], x[:, -1:]
        start = self.before(torch.cat([place, torch.full_like(time, self.begin)], dim=1))
        return self.problem.free(torch.cat([place, time - self.begin], dim=1)), start, values


def solve_in_windows(
    problem: Problem, frequencies: Tensor, points: Tensor, n_windows: int
) -> list[Features]:
    """Return one solution for each of equal windows of time, at points that are the same in all."""
    found: list[Features] = []
    for number in range(n_windows):
        begin = number / n_windows
        found.append(Features(problem, frequencies, begin, found[-1] if found else None))
        solve(found[-1], in_window(points, number, n_windows))
    return found


def in_window(points: Tensor, number: int, n_windows: int) -> Tensor:
    """Return points (n, d) of the unit cube moved into a window of time, their last coordinate."""
    if n_windows == 1:
        return points
    return torch.cat([points[:, :-1], (points[:, -1:] + number) / n_windows], dim=1)


def solve(features: Features, x: Tensor) -> int:
    """Find weights whose residuals at points (n, d) are least in the mean square.

    Returns
    -------
    steps : int
        Systems that were solved.
    """
    basis, rest = features.derivatives(x)

    def residual(weights: Tensor) -> tuple[Tensor, Tensor]:
        state = rest + torch.einsum("knp,ku->nup", basis, weights)
        return state, _residuals(features.problem, x, state)

    step, now, size = 0, features.weights, math.inf
    while step < NEWTON_STEPS:
        state, left = residual(now)
        if not left.norm() < 0.99 * size:
            break
        features.weights, size = now, left.norm().item()
        change = _newton_change(features.problem, x, basis, state, now)
        step, share = step + 1, 1.0
        while share > 1e-2 and residual(now + share * change)[1].norm() > size:
            share /= 2
        now = now + share * change
    return step


def _newton_change(
    problem: Problem, x: Tensor, basis: Tensor, state: Tensor, weights: Tensor
) -> Tensor:
    """Return the change of weights that is best if residuals were linear in them."""
    state = state.detach().requires_grad_()
    left = _residuals(problem, x, state)
    blocks = []
    for equation in left.unbind(-1):
        (slopes,) = torch.autograd.grad(equation.sum(), state, retain_graph=True)
        blocks.append(torch.einsum("nup,knp->nku", slopes, basis).flatten(1))
    system = torch.cat(blocks)
    wanted = torch.cat([-equation.detach() for equation in left.unbind(-1)])
    # A little of the weights' size is held down: neighboring features are nearly dependent.
    ridge = RIDGE * system.square().sum(dim=0).max().sqrt()
    system = torch.cat([system, ridge * torch.eye(system.shape[1]).to(system)])
    wanted = torch.cat([wanted, -ridge * weights.flatten()])
    return torch.linalg.lstsq(system, wanted[:, None], driver="gels").solution.view_as(weights)


def _residuals(problem: Problem, x: Tensor, state: Tensor) -> Tensor:
    """Return residuals (n, equations) from unknowns and derivatives, (n, unknowns, 1 + 2 d)."""
    u, first = state[..., 0], state[..., 1 : 1 + x.shape[1]]
    return problem.residual(x, u, first, lambda i, j: state[:, i, 1 + x.shape[1] + j])
