"""Custom operators: opaque to compilers, so that nobody fuses or reorders what they compute.

Each works on tensors of any leading shape and picks kernels, engines or plain PyTorch inside.
A fixed table comes as its key (see ``_tables``): graphs hold no frequencies. Where PyTorch needs
frequencies or increments as tensors, they are fresh copies, which a compiler may overwrite.

``primal::fast_features`` is its own derivative but for a quarter turn, hence gradients of
every order come from three operators.
"""

# No "from __future__ import annotations" here: PyTorch reads these annotations as schemas.
import torch
from torch import Tensor

from primal.torch import _compiled, _eager
from primal.torch._backend import on_device, use_engines, use_kernels
from primal.torch._increments import n_increments, shared_increments
from primal.torch._tables import shared_table

__all__ = [
    "exact_features",
    "fast_features",
    "frequencies",
    "increments",
    "input_gradient",
    "inverse_frequencies",
    "range_codes",
    "static_codes",
]


@torch.library.custom_op("primal::increments", mutates_args=())
def increments(key: str, device: torch.device) -> Tensor:
    """Return the increments of a key, int64 of shape (k,)."""
    return shared_increments(key, device).clone()


@torch.library.custom_op("primal::frequencies", mutates_args=())
def frequencies(table: str, device: torch.device) -> Tensor:
    """Return the frequencies of a table's key in turns, float64 of shape (k, d)."""
    shared = shared_table(table)
    if device.type == "cpu":
        return torch.from_numpy(shared.rows.values.copy())
    return shared.on(device).frequencies.clone()


@torch.library.custom_op("primal::inverse_frequencies", mutates_args=())
def inverse_frequencies(table: str, device: torch.device) -> Tensor:
    """Return the pseudoinverse of the frequencies of a table's key, float64 of shape (d, k)."""
    return torch.from_numpy(shared_table(table).inverse.copy()).to(device)


@torch.library.custom_op("primal::static_codes", mutates_args=())
def static_codes(
    positions: Tensor, increments: Tensor, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return the codes of int64 positions of any shape."""
    flat = positions.reshape(-1)
    if dtype != torch.float64 and flat.numel() and use_kernels(flat):
        from primal.torch._kernel_static import write_positions

        out = _output(flat, len(increments), dtype)
        with on_device(flat):
            write_positions(flat.contiguous(), increments, out, interleaved)
    elif use_engines(flat):
        out = _compiled.positions_features(flat, increments, interleaved, dtype)
    else:
        out = _eager.positions_features(flat, increments, interleaved, dtype)
    return out.view(*positions.shape, out.shape[1])


@torch.library.custom_op("primal::range_codes", mutates_args=())
def range_codes(
    increments: Tensor, n: int, first: int, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return the codes of positions first, ..., first + n - 1."""
    if dtype != torch.float64 and n and use_kernels(increments):
        from primal.torch._kernel_static import write_range

        out = increments.new_empty((n, 2 * increments.shape[0]), dtype=dtype)
        with on_device(increments):
            write_range(first, increments, out, interleaved)
        return out
    positions = torch.arange(n, device=increments.device) + first
    on_cpu = use_engines(positions)
    features = _compiled.positions_features if on_cpu else _eager.positions_features
    return features(positions, increments, interleaved, dtype)


@torch.library.custom_op("primal::exact_features", mutates_args=())
def exact_features(
    x: Tensor, table: str, amplitude: float, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return exact features of x (..., d) for the key of a table.

    Rows with NaN, infinity or a value above the limit of the table become NaN.
    """
    flat = _rows(x)
    shared = shared_table(table)
    if not (flat.numel() and shared.shape[0]):
        out = _output(flat, shared.shape[0], dtype)
    elif dtype != torch.float64 and use_kernels(flat):
        from primal.torch._kernel_features import write_exact

        out = _output(flat, shared.shape[0], dtype)
        a = _eager.row_exponents(flat, shared.x_limit)
        with on_device(flat):
            write_exact(flat, a, *shared.on(flat.device), out, amplitude, interleaved)
    elif use_engines(flat):
        out = _compiled.exact_features(flat, shared, amplitude, interleaved, dtype)
    else:
        a = _eager.row_exponents(flat, shared.x_limit)
        tensors = shared.on(flat.device)
        out = _eager.exact_features(flat, a, *tensors, amplitude, interleaved, dtype)
    return out.view(*x.shape[:-1], out.shape[1])


@torch.library.custom_op("primal::fast_features", mutates_args=())
def fast_features(
    x: Tensor,
    frequencies: Tensor,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
    dtype: torch.dtype,
) -> Tensor:
    """Return features of x (..., d) with every phase moved on by some quarter turns.

    Phases of 2**20 turns or more, and NaN, have NaN features.
    """
    flat = _rows(x)
    wide = frequencies.detach().double().contiguous()
    finish = (quarter_turns, amplitude, interleaved)
    if not (flat.numel() and wide.numel()):
        out = _output(flat, wide.shape[0], dtype)
    elif dtype != torch.float64 and use_kernels(flat):
        from primal.torch._kernel_features import fast_writer

        write = fast_writer(flat.shape[1])
        out = _output(flat, wide.shape[0], dtype)
        with on_device(flat):
            write(flat, wide, out, *finish)
    elif use_engines(flat):
        out = _compiled.fast_features(flat, wide, *finish, dtype)
    else:
        out = _eager.fast_features(flat, wide, *finish, dtype)
    return out.view(*x.shape[:-1], out.shape[1])


@torch.library.custom_op("primal::input_gradient", mutates_args=())
def input_gradient(
    gradient: Tensor,
    x: Tensor,
    frequencies: Tensor,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
) -> Tensor:
    """Return the gradient of `fast_features` with respect to x, in one pass over the rows."""
    flat = _rows(x)
    incoming = gradient.detach().reshape(flat.shape[0], -1).contiguous()
    wide = frequencies.detach().double().contiguous()
    finish = (quarter_turns, amplitude, interleaved)
    if not (flat.numel() and wide.numel()):
        out = torch.zeros_like(flat)
    elif use_kernels(flat):
        from primal.torch._kernel_gradient import write_input_gradient

        out = torch.empty_like(flat)
        with on_device(flat):
            write_input_gradient(incoming, flat, wide, out, *finish)
    else:
        out = _compiled.input_gradient(incoming, flat, wide, *finish)
    return out.to(x.dtype).view(x.shape)


def _rows(x: Tensor) -> Tensor:
    """Return x as contiguous rows of float32 or float64, which hold every narrower type."""
    flat = x.detach().reshape(-1, x.shape[-1]).contiguous()
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.float()


def _output(flat: Tensor, k: int, dtype: torch.dtype) -> Tensor:
    return flat.new_empty((flat.shape[0], 2 * k), dtype=dtype)


@increments.register_fake
def _(key, device):
    return torch.empty(n_increments(key), dtype=torch.int64, device=device)


@frequencies.register_fake
def _(table, device):
    return torch.empty(shared_table(table).shape, dtype=torch.float64, device=device)


@inverse_frequencies.register_fake
def _(table, device):
    k, d = shared_table(table).shape
    return torch.empty((d, k), dtype=torch.float64, device=device)


@static_codes.register_fake
def _(positions, increments, interleaved, dtype):
    return positions.new_empty((*positions.shape, 2 * increments.shape[0]), dtype=dtype)


@range_codes.register_fake
def _(increments, n, first, interleaved, dtype):
    return increments.new_empty((n, 2 * increments.shape[0]), dtype=dtype)


@exact_features.register_fake
def _(x, table, amplitude, interleaved, dtype):
    return x.new_empty((*x.shape[:-1], 2 * shared_table(table).shape[0]), dtype=dtype)


@fast_features.register_fake
def _(x, frequencies, quarter_turns, amplitude, interleaved, dtype):
    return x.new_empty((*x.shape[:-1], 2 * frequencies.shape[0]), dtype=dtype)


@input_gradient.register_fake
def _(gradient, x, frequencies, quarter_turns, amplitude, interleaved):
    return x.new_empty(x.shape)


@static_codes.register_vmap
def _(info, in_dims, positions, increments, interleaved, dtype):
    return static_codes(positions.movedim(in_dims[0], 0), increments, interleaved, dtype), 0
