"""The peers of ``PrimeStateCell``: the same layer with other frequencies."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from primal.torch import PrimeStateCell

__all__ = ["CELLS", "cell_poles", "make_cell"]

CELLS = ("prime kronecker", "prime raw", "prime log", "random", "even", "S4D-Lin")
# Where S4D draws its step sizes, and the real part of its continuous poles.
_STEP_SIZES = (1e-3, 1e-1)
_REAL_PART = 0.5


def make_cell(
    name: str,
    d: int,
    n_channels: int,
    d_out: int,
    *,
    time_constant: float,
    step_scale: float = 1.0,
) -> PrimeStateCell:
    """Return a cell by its name; peers draw from PyTorch's generator.

    S4D-Lin draws its own time constants: it takes `step_scale` and not `time_constant`.
    """
    sizes = (d, n_channels, d_out)
    if name in ("random", "even"):
        return FixedCell(*sizes, name, time_constant=time_constant)
    if name == "S4D-Lin":
        return S4DLinCell(*sizes, step_scale=step_scale)
    return PrimeStateCell(*sizes, spacing=name.split()[1], time_constant=time_constant)


def cell_poles(cell: PrimeStateCell) -> Tensor:
    """Return decay * exp(2 pi i f) of every channel, complex128."""
    code = cell.codes(torch.ones((), dtype=torch.int64)).detach().double()
    cos, sin = code.chunk(2, dim=-1)
    decay = cell.decay().detach().double()[: cell.n_channels]
    return decay * torch.complex(cos, sin)


class FixedCell(PrimeStateCell):
    """Frequencies drawn at random from the circle, or spaced evenly for this n; float64 turns.

    The first channel rests, as that of the prime cells does.
    """

    def __init__(
        self, d: int, n_channels: int, d_out: int, kind: str, *, time_constant: float
    ) -> None:
        super().__init__(d, n_channels, d_out, time_constant=time_constant)
        if kind == "random":
            turns = torch.rand(n_channels, dtype=torch.float64)
            turns[0] = 0.0
        else:  # with their conjugates, 2 n - 1 evenly spaced points of the circle
            turns = torch.arange(n_channels, dtype=torch.float64) / (2 * n_channels - 1)
        # A parameter that is not trained: members that train together have one each.
        self.frequency_turns = nn.Parameter(turns, requires_grad=False)

    def codes(self, positions: Tensor) -> Tensor:
        turns = positions.double()[..., None] * self.frequency_turns
        angles = 2.0 * math.pi * (turns - turns.round())
        return torch.cat((angles.cos(), angles.sin()), dim=-1).float()


class S4DLinCell(PrimeStateCell):
    """A diagonal state-space layer: poles exp(dt * (-1/2 + i pi n)), all of it learned.

    The initialisation is S4D-Lin's (Gu, Gupta, Goel and Re 2022), with step sizes dt drawn
    evenly in the logarithm between 0.001 and 0.1.
    """

    def __init__(self, *sizes: int, step_scale: float = 1.0) -> None:
        super().__init__(*sizes)
        self.log_time_constant.requires_grad_(False)  # the step sizes take its place
        low, high = (math.log(size * step_scale) for size in _STEP_SIZES)
        self.log_step_size = nn.Parameter(low + (high - low) * torch.rand(self.n_channels))
        self.log_real = nn.Parameter(torch.full((self.n_channels,), math.log(_REAL_PART)))
        self.imaginary = nn.Parameter(math.pi * torch.arange(self.n_channels).float())

    def decay(self) -> Tensor:
        return torch.exp(-torch.exp(self.log_step_size + self.log_real)).repeat(2)

    def codes(self, positions: Tensor) -> Tensor:
        angles = positions[..., None] * (torch.exp(self.log_step_size) * self.imaginary)
        return torch.cat((angles.cos(), angles.sin()), dim=-1)
