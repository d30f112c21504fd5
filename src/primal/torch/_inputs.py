"""Tensors at the public edge: types, shapes, devices, and the order of columns."""

from __future__ import annotations

import torch
from torch import Tensor

from primal.errors import DataError, EngineError, ParameterError

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
POSITIONS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
# Integers that float64 holds without rounding, whatever their value.
_EXACT_INTEGERS = (*POSITIONS[1:], torch.uint32, torch.uint16)


def output_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Return `dtype` if features can have it; by default PyTorch's default type."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or dtype not in DTYPES:
        raise ParameterError(
            f"dtype must be one of {', '.join(str(d) for d in DTYPES)}, got {dtype!r}."
        )
    return dtype


def checked_points(x: Tensor, d: int, name: str = "x") -> Tensor:
    """Return x if it is a tensor of real numbers, d of them along its last axis."""
    check_tensor(name, x)
    if x.dtype == torch.int64 or x.dtype == torch.uint64:
        raise DataError(
            f"{name} has type {x.dtype}, whose values beyond 2**53 float64 cannot hold: pass "
            f"{name}.double() if all of them are smaller."
        )
    if not (x.dtype.is_floating_point or x.dtype in _EXACT_INTEGERS):
        raise DataError(f"{name} must hold real numbers, got {x.dtype}: convert it to float32.")
    if x.ndim == 0 or x.shape[-1] != d:
        raise DataError(
            f"{name} must have {d} values along its last axis, got shape {tuple(x.shape)}."
        )
    return x


def checked_waves(z: Tensor, n: int) -> Tensor:
    """Return z if it is a tensor of cosines and sines, n of them along its last axis."""
    z = checked_points(z, n, "z")
    if not z.is_floating_point():
        raise DataError(
            f"z must contain cosines and sines as floats, got {z.dtype}: convert them to float32, "
            "and undo the scale that made integers of them."
        )
    return z


def checked_positions(t: Tensor, name: str = "t") -> Tensor:
    """Return t if it is a tensor of integers."""
    check_tensor(name, t)
    if t.dtype not in POSITIONS:
        raise DataError(f"{name} must be integers, got {t.dtype}: cast with {name}.long().")
    return t


def checked_device(device: object) -> torch.device | None:
    """Return a device on which this PyTorch can make a tensor, None for its default."""
    try:
        return None if device is None else torch.empty(0, device=device).device  # type: ignore[no-matching-overload]
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise EngineError(f"device {device!r} cannot be used here: {error}") from None


def check_device(name: str, tensor: Tensor, x: Tensor) -> None:
    """Raise unless a tensor lies where x does: on the meta device it has no values at all."""
    if tensor.device != x.device:
        raise DataError(
            f"{name} on {tensor.device} and an input tensor on {x.device} cannot be used together: "
            "move one of them (from the meta device with to_empty and reset_parameters, or "
            "load_state_dict)."
        )


def check_tensor(name: str, x: Tensor) -> None:
    """Raise unless x is a dense tensor."""
    if not isinstance(x, Tensor):
        raise DataError(
            f"{name} must be a tensor, got {type(x).__name__}: pass torch.as_tensor({name})."
        )
    if x.is_nested:
        raise DataError(f"{name} must be one tensor, got a nested one: pad it, or pass its parts.")
    if x.layout != torch.strided:
        raise DataError(f"{name} must be dense, got {x.layout}: pass {name}.to_dense().")


def split_pairs(z: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    """Return views of the cosine and of the sine columns."""
    if interleaved:
        return z[..., 0::2], z[..., 1::2]
    cos, sin = z.chunk(2, dim=-1)
    return cos, sin


def pairs(cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Return cosine and sine columns as one tensor: the inverse of `split_pairs`."""
    if interleaved:
        return torch.stack((cos, sin), dim=-1).flatten(-2)
    return torch.cat((cos, sin), dim=-1)
