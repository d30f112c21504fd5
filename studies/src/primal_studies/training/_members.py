"""Train many small models at once: every seed and learning rate of one method side by side.

The members share code and shapes, so their parameters are stacked and one batched pass serves
all of them. Each has its own initial weights, data and step size, as if it were alone.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product

import torch
from torch import Tensor, nn

from primal.cli._common import progress_bar

__all__ = ["best_members", "forward_members", "n_trained", "train_members"]

_BETAS = (0.9, 0.98)
_WARM_UP = 0.1
_LEAST_SHARE = 0.05

Stacked = dict[str, Tensor]


def train_members(
    make: Callable[[], nn.Module],
    batches: Callable[[torch.Generator], tuple[Tensor, Tensor]],
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    seeds: int,
    rates: tuple[float, ...],
    steps: int,
    device: str,
) -> tuple[nn.Module, Stacked]:
    """Train seeds * len(rates) members with Adam; return the model and the stacked parameters.

    Parameters
    ----------
    make : callable
        Returns a fresh model; called after ``torch.manual_seed`` of each seed.
    batches : callable
        Takes a generator on the CPU, returns inputs and targets of one step. Every seed has its
        own stream, the same for all learning rates and all methods.
    loss : callable
        From outputs and targets with a leading axis of members to one loss for each of them.
    rates : tuple of float
        Learning rates; members are ordered by seed, then by rate.
    """
    models = []
    for seed, _ in product(range(seeds), rates):
        torch.manual_seed(seed)
        models.append(make())
    base = copy.deepcopy(models[0]).to(device)
    stacked = {
        name: torch.stack([dict(m.named_parameters())[name].detach() for m in models]).to(device)
        for name, _ in models[0].named_parameters()
    }
    trained = {
        name: value.requires_grad_()
        for name, value in stacked.items()
        if base.get_parameter(name).requires_grad
    }
    step_sizes = torch.tensor(rates, device=device).repeat(seeds)
    streams = [torch.Generator().manual_seed(1000 + seed) for seed in range(seeds)]
    moments = {name: (torch.zeros_like(v), torch.zeros_like(v)) for name, v in trained.items()}
    shown = progress_bar("steps") if sys.stderr.isatty() else nullcontext(lambda *_: None)
    with shown as progress:
        for step in range(steps):
            x, y = (torch.stack(part) for part in zip(*map(batches, streams), strict=True))
            x, y = (part.repeat_interleave(len(rates), 0).to(device) for part in (x, y))
            losses = loss(forward_members(base, stacked, x), y)
            gradients = torch.autograd.grad(losses.sum(), list(trained.values()))
            _adam(trained, gradients, moments, step, step_sizes * _share(step, steps))
            progress(step + 1, steps)
    return base, {name: value.detach() for name, value in stacked.items()}


def forward_members(model: nn.Module, stacked: Stacked, x: Tensor) -> Tensor:
    """Return the outputs of all members for inputs with a leading axis of members."""

    def one(parameters: Stacked, inputs: Tensor) -> Tensor:
        return torch.func.functional_call(model, parameters, (inputs,))

    return torch.func.vmap(one)(stacked, x)


def best_members(values: list[float], seeds: int, n_rates: int) -> tuple[int, list[int]]:
    """Return the rate with the smallest mean over seeds, and the members that have it.

    Examples
    --------
    >>> best_members([3.0, 1.0, 5.0, 2.0], seeds=2, n_rates=2)
    (1, [1, 3])
    """
    mean = [sum(values[r::n_rates]) / seeds for r in range(n_rates)]
    finite = [m if math.isfinite(m) else math.inf for m in mean]
    rate = finite.index(min(finite))
    return rate, [seed * n_rates + rate for seed in range(seeds)]


def n_trained(model: nn.Module) -> int:
    """Return the number of trained parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def _share(step: int, steps: int) -> float:
    """Return the share of the learning rate: a linear rise, then half a cosine."""
    warm = max(1, int(_WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / max(1, steps - warm)
    return _LEAST_SHARE + (1 - _LEAST_SHARE) * 0.5 * (1 + math.cos(math.pi * done))


@torch.no_grad()
def _adam(
    parameters: Stacked,
    gradients: tuple[Tensor, ...],
    moments: dict[str, tuple[Tensor, Tensor]],
    step: int,
    step_sizes: Tensor,
) -> None:
    first, second = (1 - beta ** (step + 1) for beta in _BETAS)
    for (name, value), gradient in zip(parameters.items(), gradients, strict=True):
        mean, square = moments[name]
        mean.lerp_(gradient, 1 - _BETAS[0])
        square.lerp_(gradient * gradient, 1 - _BETAS[1])
        size = step_sizes.view(-1, *[1] * (value.ndim - 1)) / first
        value -= size * mean / ((square / second).sqrt() + 1e-8)
