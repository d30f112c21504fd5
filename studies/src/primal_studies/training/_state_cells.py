"""A recurrent layer whose channels rotate by prime increments, and its peers.

What is kept is the memory in the frame that turns along, g_t = exp(-2 pi i f t) h_t, so that

    g_t = decay g_(t-1) + exp(-2 pi i f t) u_t,        h_t = exp(2 pi i f t) g_t,

and both rotations take their phase from the integer t times the increment. No phase is the sum
of many rounded ones: at step 10**9 it is as exact as at step one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from primal.torch import PrimePositions, rotate

__all__ = ["CELLS", "CellState", "PrimeStateCell", "cell_poles", "decayed_sums", "make_cell"]

CELLS = ("prime kronecker", "prime raw", "prime log", "random", "even", "S4D-Lin")
# Where S4D draws its step sizes, and the real part of its continuous poles.
_STEP_SIZES = (1e-3, 1e-1)
_REAL_PART = 0.5
# Steps that are summed by doubling; more would cost passes over memory, fewer carry more often.
_CHUNK = 64


class CellState(NamedTuple):
    """Memory of a cell: real, then imaginary parts of its channels, and the steps taken so far."""

    memory: Tensor  # (..., 2 n)
    position: Tensor  # (), int64


class PrimeStateCell(nn.Module):
    """A linear recurrent layer with n rotating channels: all steps at once, or one by one.

    y_t = C h_t + c with h_t = decay e^(2 pi i f) h_(t-1) + sqrt(1 - decay**2) B x_t. The
    frequencies f come from primes, spread by `spacing`, and are fixed; B, C, c and the decays are
    learned. The first channel does not turn: its memory can be read whatever its age.

    Examples
    --------
    >>> import torch
    >>> from primal_studies.training._state_cells import PrimeStateCell
    >>> y, state = PrimeStateCell(3, 16, 5)(torch.ones(2, 100, 3))  # batch, steps, inputs
    >>> y.shape, state.memory.shape, int(state.position)
    (torch.Size([2, 100, 5]), torch.Size([2, 32]), 100)
    """

    def __init__(
        self,
        d: int,
        n_channels: int,
        d_out: int,
        *,
        spacing: str = "kronecker",
        time_constant: float = 256.0,
    ) -> None:
        super().__init__()
        self.n_channels = n_channels
        self.input_map = nn.Linear(d, 2 * n_channels, bias=False)
        self.output_map = nn.Linear(2 * n_channels, d_out)
        # Drawn twice, as for the results on file.
        self.input_map.reset_parameters()
        self.output_map.reset_parameters()
        self.log_time_constant = nn.Parameter(torch.full((n_channels,), math.log(time_constant)))
        self.turning = PrimePositions(2 * (n_channels - 1), spacing=spacing, layout="block")

    def forward(self, x: Tensor, state: CellState | None = None) -> tuple[Tensor, CellState]:
        """Return the outputs for x (..., n_steps, d) from a state on, and the state after them."""
        drive, decay = self.input_map(x), self.decay()
        if state is None:
            memory = torch.zeros_like(drive[..., 0, :], dtype=decay.dtype)
            state = CellState(memory, torch.zeros((), dtype=torch.int64, device=x.device))
        positions = state.position + torch.arange(x.shape[-2], device=x.device)
        driven = drive.to(decay.dtype) * torch.sqrt(1.0 - decay * decay)
        values = rotate(driven, self.codes(-positions), layout="block")
        memory = decayed_sums(values, decay, state.memory)
        rotated = rotate(memory, self.codes(positions), layout="block")
        y = self.output_map(rotated.to(drive.dtype))
        return y, CellState(memory[..., -1, :], state.position + x.shape[-2])

    def step(self, x: Tensor, state: CellState | None = None) -> tuple[Tensor, CellState]:
        """Return the output of one step, x of shape (..., d), and the state after it."""
        y, state = self.forward(x.unsqueeze(-2), state)
        return y.squeeze(-2), state

    def codes(self, positions: Tensor) -> Tensor:
        """Return cosines and sines of the channels at integer positions, shape (..., 2 n)."""
        cos, sin = self.turning(positions).chunk(2, dim=-1)
        resting = torch.ones_like(cos[..., :1])
        return torch.cat((resting, cos, 0.0 * resting, sin), dim=-1)

    def decay(self) -> Tensor:
        """Return what remains of each column of the state after a step, shape (2 n,)."""
        return torch.exp(-torch.exp(-self.log_time_constant)).repeat(2)


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


def decayed_sums(values: Tensor, decay: Tensor, memory: Tensor | None = None) -> Tensor:
    """Return g_t = decay * g_(t-1) + values_t for all t, by a parallel scan in chunks.

    Values and result have shape (..., n_steps, c). A decay (c,) lies between 0 and 1: its powers
    only shrink, so no length overflows. `memory` (..., c) is g before the first step.

    Examples
    --------
    >>> import torch
    >>> from primal_studies.training._state_cells import decayed_sums
    >>> decayed_sums(torch.ones(4, 1), torch.tensor([0.5])).flatten().tolist()
    [1.0, 1.5, 1.75, 1.875]
    """
    if memory is not None:
        first = values[..., :1, :] + (decay * memory).unsqueeze(-2)
        values = torch.cat((first, values[..., 1:, :]), dim=-2)
    n_steps = values.shape[-2]
    if n_steps <= _CHUNK:
        return _doubling_sums(values, decay)
    filled = nn.functional.pad(values, (0, 0, 0, -n_steps % _CHUNK))
    inside = _doubling_sums(filled.unflatten(-2, (-1, _CHUNK)), decay)
    # The ends of the chunks are a shorter sequence of the same kind.
    ends = decayed_sums(inside[..., :-1, -1, :], decay**_CHUNK)
    before = nn.functional.pad(ends, (0, 0, 1, 0)).unsqueeze(-2)
    ages = torch.arange(1, _CHUNK + 1, device=decay.device, dtype=decay.dtype)
    total = inside + before * decay ** ages[:, None]
    return total.flatten(-3, -2)[..., :n_steps, :]


def _doubling_sums(values: Tensor, decay: Tensor) -> Tensor:
    """Return the same sums in about log2(n_steps) passes."""
    total, factor, reach = values, decay, 1
    while reach < values.shape[-2]:
        # Sums over `reach` steps, plus those that end where they begin: twice as long.
        earlier = nn.functional.pad(total[..., :-reach, :], (0, 0, reach, 0))
        total = total + factor * earlier
        factor, reach = factor * factor, 2 * reach
    return total
