"""Many small networks trained at once: weights of all of them in one tensor for each layer.

The members share the shape and the optimiser but nothing else. One step on a GPU then costs
about as much for thirty networks as for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

__all__ = ["Ensemble", "train"]


class Ensemble:
    """Dense networks of one shape; member i starts from seed i of `seeds`.

    Parameters
    ----------
    sizes : list of int
        Inputs, units of the hidden layers, outputs.
    seeds : list of int
        One for each member; equal seeds start equal.
    activation : {"relu", "tanh", "sine"}
        "sine" is SIREN: sin(30 (W x + b)) in every hidden layer, with its initialisation.
    first_is_sine_input : bool
        The inputs are coordinates, as in SIREN's first layer, and not sines or features.
    """

    def __init__(
        self,
        sizes: list[int],
        seeds: list[int],
        activation: str,
        device: str,
        *,
        first_is_sine_input: bool = True,
    ) -> None:
        self.activation = activation
        self.weights: list[Tensor] = []
        self.biases: list[Tensor] = []
        generators = [torch.Generator().manual_seed(1000 + seed) for seed in seeds]
        for number, (n_in, n_out) in enumerate(pairwise(sizes)):
            limit = 1.0 / math.sqrt(n_in)  # as torch.nn.Linear starts
            weight_limit = limit
            if activation == "sine":
                first = number == 0 and first_is_sine_input
                weight_limit = 1.0 / n_in if first else math.sqrt(6.0 / n_in) / 30.0
            if activation == "tanh":
                weight_limit = math.sqrt(6.0 / (n_in + n_out))  # Glorot's
            self.weights.append(_uniform(generators, (n_in, n_out), weight_limit, device))
            self.biases.append(_uniform(generators, (1, n_out), limit, device))

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.weights, *self.biases]

    @property
    def n_parameters(self) -> int:
        """Of one member."""
        return sum(p[0].numel() for p in self.parameters)

    def __call__(self, x: Tensor) -> Tensor:
        """Return (members, n, outputs) from inputs of shape (members, n, inputs)."""
        last = len(self.weights) - 1
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x, weight)
            if number < last:
                x = _ACTIVATIONS[self.activation](x)
        return x


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sine": lambda x: torch.sin(30.0 * x),
}


def train(
    parameters: list[Tensor],
    losses: Callable[[], Tensor],
    n_steps: int,
    rates: Tensor,
    report: Callable[[int], None] | None = None,
) -> None:
    """Minimise every member's loss with Adam, its rate falling to zero along a cosine.

    `losses` returns one loss for each member: their sum has the gradient of each. `rates` has
    one learning rate for each. (Adam by hand, because PyTorch's has one rate for a tensor.)
    On a GPU a step is recorded once and replayed: such small networks would otherwise wait
    for their kernels to be launched.
    """
    means = [torch.zeros_like(p) for p in parameters]
    squares = [torch.zeros_like(p) for p in parameters]
    step = torch.zeros((), device=rates.device, dtype=torch.float64)

    def advance() -> None:
        gradients = torch.autograd.grad(losses().sum(), parameters)
        with torch.no_grad():
            falling = 0.5 + 0.5 * torch.cos(math.pi * step / n_steps)
            step.add_(1)
            now = (rates * falling / (1 - 0.9**step)).float()
            correction = (1 - 0.999**step).float()
            for p, gradient, mean, square in zip(
                parameters, gradients, means, squares, strict=True
            ):
                mean.lerp_(gradient, 0.1)
                square.lerp_(gradient.square(), 0.001)
                p -= now[:, None, None] * mean / ((square / correction).sqrt() + 1e-8)

    advance = _recorded(advance, [*parameters, *means, *squares, step])
    for number in range(1, n_steps + 1):
        advance()
        if report is not None:
            report(number)


def _recorded(advance: Callable[[], None], state: list[Tensor]) -> Callable[[], None]:
    """Return the step as a CUDA graph, its state as it was; on a CPU, the step itself."""
    if not state[0].is_cuda:
        return advance
    before = [tensor.detach().clone() for tensor in state]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # kernels are compiled and memory is found before recording
            advance()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        advance()
    with torch.no_grad():
        for tensor, old in zip(state, before, strict=True):
            tensor.copy_(old)
    return graph.replay


def _uniform(
    generators: list[torch.Generator], shape: tuple[int, int], limit: float, device: str
) -> Tensor:
    parts = [torch.rand(shape, generator=g) * (2 * limit) - limit for g in generators]
    return torch.stack(parts).to(device).requires_grad_()
