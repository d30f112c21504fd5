"""Custom operators: opaque to compilers, so that nobody fuses or reorders what they compute.

Each works on tensors of any leading shape and picks Triton kernels or plain PyTorch inside.
``primal::fast_features`` is its own derivative but for a quarter turn, hence gradients of
every order come from three operators.
"""

# No "from __future__ import annotations" here: PyTorch reads these annotations as schemas.
import math

import torch
from torch import Tensor

from primal._errors import DataError, PhaseRangeError
from primal.torch import _eager
from primal.torch._backend import on_device, use_kernels

__all__ = ["exact_features", "fast_features", "input_gradient", "range_codes", "static_codes"]


@torch.library.custom_op("primal::static_codes", mutates_args=())
def static_codes(
    positions: Tensor, increments: Tensor, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return the codes of int64 positions of any shape."""
    flat = positions.reshape(-1)
    if dtype != torch.float64 and flat.numel() and use_kernels(flat):
        from primal.torch._kernel_static import write_positions

        out = _output(flat, increments, dtype)
        with on_device(flat):
            write_positions(flat.contiguous(), increments, out, interleaved)
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
    return _eager.positions_features(positions, increments, interleaved, dtype)


@torch.library.custom_op("primal::exact_features", mutates_args=())
def exact_features(
    x: Tensor,
    mantissas: Tensor,
    exponents: Tensor,
    frequencies: Tensor,
    errors: Tensor,
    x_limit: float,
    amplitude: float,
    interleaved: bool,
    dtype: torch.dtype,
) -> Tensor:
    """Return exact features of x (..., d); rows beyond `x_limit` or with NaN become NaN."""
    flat = _rows(x)
    a = _eager.row_exponents(flat, x_limit)
    table = (mantissas, exponents, frequencies, errors)
    if flat.device.type == "cpu":
        _refuse_invalid_rows(flat, a, x_limit)
    if dtype != torch.float64 and flat.numel() and use_kernels(flat):
        from primal.torch._kernel_features import write_exact

        out = _output(flat, mantissas, dtype)
        with on_device(flat):
            write_exact(flat, a, *table, out, amplitude, interleaved)
    else:
        out = _eager.exact_features(flat, a, *table, amplitude, interleaved, dtype)
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
    """Return features of x (..., d) with every phase moved on by some quarter turns."""
    flat = _rows(x)
    wide = frequencies.double().contiguous()
    if dtype != torch.float64 and flat.numel() and use_kernels(flat):
        from primal.torch._kernel_features import fast_writer

        write = fast_writer(flat.shape[1])
        out = _output(flat, wide, dtype)
        with on_device(flat):
            write(flat, wide, out, quarter_turns, amplitude, interleaved)
    else:
        out = _eager.fast_features(flat, wide, quarter_turns, amplitude, interleaved, dtype)
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
    """Return the gradient of `fast_features` with respect to x, in one kernel."""
    from primal.torch._kernel_gradient import write_input_gradient

    flat = _rows(x)
    incoming = gradient.reshape(flat.shape[0], -1).contiguous()
    out = torch.empty_like(flat)
    if flat.numel():
        with on_device(flat):
            write_input_gradient(
                incoming, flat, frequencies, out, quarter_turns, amplitude, interleaved
            )
    return out.to(x.dtype).view(x.shape)


def _refuse_invalid_rows(flat: Tensor, exponents: Tensor, x_limit: float) -> None:
    """Raise for rows that cannot be encoded; on a GPU looking would stall the device."""
    invalid = exponents == _eager.INVALID_EXPONENT
    if not invalid.any():
        return
    row = int(invalid.int().argmax())
    value = float(flat[row].double().abs().max())
    if not math.isfinite(value):
        raise DataError(f"row {row} of x holds {value}: remove or fill such values first.")
    raise PhaseRangeError(
        f"row {row} of x holds a value of size {value:.3g}, for which a phase can pass 2**32 turns "
        f"and its fraction is no longer determined: keep |x| below {x_limit:.3g}, or lower sigma."
    )


def _rows(x: Tensor) -> Tensor:
    """Return x as contiguous rows; 16-bit numbers become float32, which holds them exactly."""
    flat = x.reshape(-1, x.shape[-1]).contiguous()
    return flat.float() if flat.dtype in (torch.float16, torch.bfloat16) else flat


def _output(flat: Tensor, table: Tensor, dtype: torch.dtype) -> Tensor:
    return flat.new_empty((flat.shape[0], 2 * table.shape[0]), dtype=dtype)


@static_codes.register_fake
def _(positions, increments, interleaved, dtype):
    return positions.new_empty((*positions.shape, 2 * increments.shape[0]), dtype=dtype)


@range_codes.register_fake
def _(increments, n, first, interleaved, dtype):
    return increments.new_empty((n, 2 * increments.shape[0]), dtype=dtype)


@exact_features.register_fake
def _(x, mantissas, exponents, frequencies, errors, x_limit, amplitude, interleaved, dtype):
    return x.new_empty((*x.shape[:-1], 2 * mantissas.shape[0]), dtype=dtype)


@fast_features.register_fake
def _(x, frequencies, quarter_turns, amplitude, interleaved, dtype):
    return x.new_empty((*x.shape[:-1], 2 * frequencies.shape[0]), dtype=dtype)


@input_gradient.register_fake
def _(gradient, x, frequencies, quarter_turns, amplitude, interleaved):
    return x.new_empty(x.shape)


@static_codes.register_vmap
def _(info, in_dims, positions, increments, interleaved, dtype):
    return static_codes(positions.movedim(in_dims[0], 0), increments, interleaved, dtype), 0
