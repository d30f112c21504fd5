"""``PrimeStateCell``: a linear recurrent layer whose channels rotate by prime increments.

What is kept is the memory in the frame that turns along, g_t = exp(-2 pi i f t) h_t, so that

    g_t = decay g_(t-1) + exp(-2 pi i f t) u_t,        h_t = exp(2 pi i f t) g_t,

and both rotations take their phase from the integer t times the increment. No phase is ever
the sum of many rounded ones: at step 10**9 it is as exact as at step one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from primal._checks import positive_scale, require_memory, whole_number
from primal.errors import DataError
from primal.maps import StaticPrime
from primal.torch import _operators
from primal.torch import functional as F
from primal.torch._inputs import (
    check_device,
    check_tensor,
    checked_device,
    checked_points,
    checked_positions,
    output_dtype,
)
from primal.torch._rotary import rotate
from primal.torch._tables import increments_key

# Steps that are summed by doubling; more would cost passes over memory, fewer carry more often.
_CHUNK = 64


class CellState(NamedTuple):
    """What a cell remembers: constant in size, however long the sequence was.

    Parameters
    ----------
    memory : Tensor of shape (..., 2 n)
        Real parts, then imaginary parts, of the n channels in the frame that turns along.
    position : Tensor of shape (), dtype=int64
        Steps taken so far.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimeStateCell
    >>> _, state = PrimeStateCell(3, 16)(torch.ones(10, 3))
    >>> state.memory.shape, state.position
    (torch.Size([32]), tensor(10))
    """

    memory: Tensor
    position: Tensor


class PrimeStateCell(nn.Module):
    """A linear recurrent layer with n rotating channels: all steps at once, or one by one.

    y_t = C h_t + c with h_t = decay e^(2 pi i f) h_(t-1) + sqrt(1 - decay**2) B x_t. The
    frequencies f come from primes and are fixed; B, C, c and the decays are learned. The first
    channel does not turn: what it holds can be read whatever its age.

    Parameters
    ----------
    d : int
        Number of inputs.
    n_channels : int
        Number of complex channels n; the state is 2 n real numbers.
    d_out : int, optional
        Number of outputs, by default d.
    spacing : {"kronecker", "raw", "log", "rotary"}, default="kronecker"
        How the other channels are spread; see :func:`primal.turns.spaced_increments`. The
        multiples of sqrt(2) stay apart from each other: no two channels hold the same.
    sigma, start, base
        See :func:`primal.turns.spaced_increments`.
    time_constant : float, default=256.0
        Steps after which a channel has decayed to 1 / e, before training.
    device, dtype
        Of the parameters, by default PyTorch's. The state is float32 or float64.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimeStateCell
    >>> cell = PrimeStateCell(3, 16, 5)
    >>> x = torch.ones(2, 100, 3)  # batch, steps, inputs
    >>> y, state = cell(x)
    >>> y.shape, state.memory.shape, int(state.position)
    (torch.Size([2, 100, 5]), torch.Size([2, 32]), 100)
    >>> one, state = cell.step(x[:, 0], state)
    >>> one.shape, int(state.position)
    (torch.Size([2, 5]), 101)
    """

    def __init__(
        self,
        d: int,
        n_channels: int,
        d_out: int | None = None,
        *,
        spacing: str = "kronecker",
        sigma: float = 1.0,
        start: int = 0,
        base: float = 10000.0,
        time_constant: float = 256.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.d = whole_number("d", d, least=1)
        self.n_channels = whole_number("n_channels", n_channels, least=1)
        self.d_out = self.d if d_out is None else whole_number("d_out", d_out, least=1)
        self.in_features, self.out_features, self.spacing = self.d, self.d_out, spacing
        self.time_constant = positive_scale("time_constant", time_constant)
        n_parameters = self.n_channels * (2 * self.d + 2 * self.d_out + 1)
        require_memory(
            4 * n_parameters, f"a cell with n_channels = {self.n_channels}, d_out = {self.d_out}"
        )
        options = {"device": checked_device(device), "dtype": output_dtype(dtype)}
        self.input_map = nn.Linear(self.d, 2 * self.n_channels, bias=False, **options)
        self.output_map = nn.Linear(2 * self.n_channels, self.d_out, **options)
        self.log_time_constant = nn.Parameter(torch.empty(self.n_channels, **options))
        # The first channel rests, the others turn.
        turning = StaticPrime(
            2 * max(1, self.n_channels - 1), sigma=sigma, start=start, spacing=spacing, base=base
        )
        self._key = increments_key(turning)
        self.reset_parameters()

    @property
    def increments(self) -> Tensor:
        """Phase that each channel moves in one step, int64 (n,), units of 2**-64 turn."""
        return self._increments_on(self.log_time_constant.device)

    def forward(self, x: Tensor, state: CellState | None = None) -> tuple[Tensor, CellState]:
        """Return the outputs for x (..., n_steps, d) from a state on, and the state after them."""
        check_tensor("x", x)
        if x.ndim < 2 or x.shape[-1] != self.d or x.shape[-2] == 0:
            raise DataError(
                f"x must have shape (..., steps, {self.d}) with one step or more, "
                f"got {tuple(x.shape)}."
            )
        x, weight = checked_points(x, self.d), self.input_map.weight
        check_device("the cell", weight, x)
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise DataError(
                f"x must be {weight.dtype} as the cell, got {x.dtype}: cast one of them."
            )
        drive = self.input_map(x)
        if state is None:
            state = self.initial_state(x.shape[:-2])
        else:
            self._check_state(state, x.shape[:-2])
        decay = self.decay()
        positions = state.position + torch.arange(x.shape[-2], device=x.device)
        values = rotate(
            drive.to(decay.dtype) * torch.sqrt(1.0 - decay * decay),
            self.codes(-positions),
            layout="block",
        )
        memory = decayed_sums(values, decay, state.memory)
        rotated = rotate(memory, self.codes(positions), layout="block")
        y = self.output_map(rotated.to(drive.dtype))
        return y, CellState(memory[..., -1, :], state.position + x.shape[-2])

    def _check_state(self, state: CellState, batch_shape: tuple[int, ...]) -> None:
        if not isinstance(state, CellState):
            raise DataError(f"state must be a CellState or None, got {type(state).__name__}.")
        check_tensor("the memory of a state", state.memory, "memory")
        given, shape = state.memory.shape, (*batch_shape, 2 * self.n_channels)
        sizes = zip(reversed(given), reversed(shape), strict=False)
        fits = all(a == b or a == 1 for a, b in sizes) and given[-1:] == shape[-1:]
        if not fits or len(given) > len(shape):
            raise DataError(
                f"the memory of a state must have shape {tuple(shape)} here, got {tuple(given)}."
            )
        if getattr(state.position, "shape", ()) != ():
            raise DataError(
                "the position of a state is one for the whole batch, got shape "
                f"{tuple(state.position.shape)}."
            )

    def step(self, x: Tensor, state: CellState | None = None) -> tuple[Tensor, CellState]:
        """Return the output of one step, x of shape (..., d), and the state after it."""
        y, state = self.forward(checked_points(x, self.d).unsqueeze(-2), state)
        return y.squeeze(-2), state

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> CellState:
        """Return the state before the first step."""
        if not isinstance(batch_shape, (tuple, list)):
            raise DataError(f"batch_shape must be a tuple of sizes, got {batch_shape!r}.")
        for size in batch_shape:
            whole = isinstance(size, (int, torch.SymInt)) and not isinstance(size, bool)
            if not whole or size < 0:
                raise DataError(f"batch_shape must hold sizes, whole numbers, got {size!r}.")
        device = self.log_time_constant.device
        memory = torch.zeros((*batch_shape, 2 * self.n_channels), dtype=self._wide, device=device)
        return CellState(memory, torch.zeros((), dtype=torch.int64, device=device))

    def codes(self, positions: Tensor) -> Tensor:
        """Return cosines and sines of the channels at integer positions, shape (..., 2 n)."""
        positions = checked_positions(positions)
        return F.static_prime(positions, self._increments_on(positions.device), dtype=self._wide)

    def decay(self) -> Tensor:
        """Return what remains of each column of the state after a step, shape (2 n,)."""
        return torch.exp(-torch.exp(-self.log_time_constant.to(self._wide))).repeat(2)

    def turns(self, t: Tensor) -> Tensor:
        """Return the phases of the channels at steps t, int64 in units of 2**-64 turn."""
        t = checked_positions(t)
        return t.long()[..., None] * self._increments_on(t.device)

    def reset_parameters(self) -> None:
        """Reset the learned maps and every time constant."""
        self.input_map.reset_parameters()
        self.output_map.reset_parameters()
        nn.init.constant_(self.log_time_constant, math.log(self.time_constant))

    @property
    def _wide(self) -> torch.dtype:
        """Type of the state."""
        return torch.promote_types(self.log_time_constant.dtype, torch.float32)

    def _increments_on(self, device: torch.device) -> Tensor:
        turning = _operators.increments(self._key, device=device)
        return torch.cat((turning.new_zeros(1), turning))[: self.n_channels]

    def extra_repr(self) -> str:
        """Return the sizes and the spacing, for ``repr``."""
        return f"{self.d}, {self.n_channels}, {self.d_out}, spacing={self.spacing!r}"


def decayed_sums(values: Tensor, decay: Tensor, memory: Tensor | None = None) -> Tensor:
    """Return g_t = decay * g_(t-1) + values_t for all t, by a parallel scan in chunks.

    Values and result have shape (..., n_steps, c). A decay (c,) lies between 0 and 1: its powers
    only shrink, so no length overflows. `memory` (..., c) is g before the first step.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import decayed_sums
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
