"""Rotary embedding with exact phases: pairs of columns turn by position times increment.

One kernel turns queries and keys where it can, else plain PyTorch does, with the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from primal._checks import one_of, whole_number
from primal.errors import DataError, ParameterError
from primal.maps import LAYOUTS
from primal.torch import _operators
from primal.torch._inputs import check_device, check_tensor, pairs, split_pairs

_NARROW = (torch.float32, torch.bfloat16, torch.float16)


def turned(
    tensors: tuple[Tensor, ...],
    positions: tuple[Tensor, ...],
    increments: Tensor,
    *,
    interleaved: bool,
) -> tuple[Tensor, ...]:
    """Return tensors with their first 2 k columns turned by aligned positions, others as are."""
    if positions[0].shape == positions[-1].shape:
        found = _by_kernel(tensors, positions[0], increments, interleaved)
        if found is not None:
            return found
    codes: dict[tuple[Any, ...], Tensor] = {}  # mostly all have the same
    results, D = [], 2 * increments.shape[0]
    for x, place in zip(tensors, positions, strict=True):
        # Narrower products would lose digits of phases.
        key = place.shape, torch.float64 if x.dtype == torch.float64 else torch.float32
        if key not in codes:
            codes[key] = _operators.static_codes(place, increments, interleaved, key[1])
        whole = _product(x[..., :D], codes[key], interleaved)
        results.append(whole if x.shape[-1] == D else torch.cat((whole, x[..., D:]), dim=-1))
    return tuple(results)


def rotate(x: Tensor, codes: Tensor, *, layout: str = "interleaved") -> Tensor:
    """Return x, in its shape, with every pair of columns turned by the phase of its code.

    Parameters
    ----------
    x : Tensor of shape (..., n, D)
        Queries or keys, for instance.
    codes : Tensor of shape (n, D), or one that broadcasts to x
        Cosines and sines in the layout of x.
    layout : {"interleaved", "block"}, default="interleaved"
        The order of columns.

    Returns
    -------
    Tensor of the shape of x

    Examples
    --------
    >>> import torch
    >>> from primal.torch import rotate
    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))  # a quarter turn
    tensor([[0., 1.]])
    """
    one_of("layout", layout, LAYOUTS)
    for name, tensor in (("x", x), ("codes", codes)):
        _check_floating(name, tensor)
    if x.shape[-1:] != codes.shape[-1:] or not x.ndim or x.shape[-1] % 2:
        raise ParameterError(
            f"codes of shape {tuple(codes.shape)} and a tensor of shape {tuple(x.shape)} must have "
            "the same columns to turn, in pairs: slice off columns that stay."
        )
    shared = zip(reversed(codes.shape), reversed(x.shape), strict=False)
    if codes.ndim not in (2, x.ndim) or not all(a in (1, b) for a, b in shared):
        raise DataError(
            f"codes of shape {tuple(codes.shape)} do not fit a tensor of shape {tuple(x.shape)}: "
            f"give {tuple(x.shape[-2:])}, or as many axes as the tensor, of its length or 1."
        )
    check_device("codes", codes, x)
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    return _product(x, codes.to(work), layout == "interleaved")


def _product(x: Tensor, codes: Tensor, interleaved: bool) -> Tensor:
    """Return pairs of columns of x times codes, as complex numbers, in the type of x."""
    cos, sin = split_pairs(codes, interleaved)
    a, b = split_pairs(x.to(codes.dtype), interleaved)
    return pairs(a * cos - b * sin, a * sin + b * cos, interleaved).to(x.dtype)


def sequence_axis(x: Tensor, seq_dim: int | None) -> int:
    """Return the axis of a tensor to turn that has its positions, counted from the first."""
    _check_floating("x", x)
    if x.ndim < 2:
        raise DataError(f"a tensor to turn has axes for positions and columns, got {_shape(x)}.")
    if seq_dim is None:
        if x.ndim > 2:
            raise DataError(
                f"the positions of a tensor of shape {_shape(x)} may lie on several axes: pass "
                "seq_dim=-2 for (..., heads, n, D), or seq_dim=-3 for (..., n, heads, D)."
            )
        return 0
    if not isinstance(seq_dim, int):
        seq_dim = whole_number("seq_dim", seq_dim, least=-x.ndim)
    if not -x.ndim <= seq_dim < x.ndim - 1 or seq_dim == -1:
        raise DataError(
            f"seq_dim={seq_dim} is no axis of positions of a tensor of shape {_shape(x)}, whose "
            "last axis has the columns."
        )
    return range(x.ndim)[seq_dim]


def aligned_positions(positions: Tensor, x: Tensor, axis: int) -> Tensor:
    """Return positions with one axis for each axis of x but the last, if they fit in one way."""
    check_device("positions", positions, x)
    shape = tuple(x.shape[:-1])
    whole, n = [1] * len(shape), shape[axis]
    if positions.shape in ((), (n,)):
        whole[axis] = positions.numel()
        return positions.reshape(whole)
    if positions.ndim == len(shape) and all(
        a in (1, b) for a, b in zip(positions.shape, shape, strict=True)
    ):
        return positions
    # Two axes are a batch and its positions, never heads and theirs.
    of_batch = axis > 0 and len(shape) > 2
    if of_batch and positions.shape in ((shape[0], n), (1, n)):
        whole[0], whole[axis] = positions.shape
        return positions.reshape(whole)
    batch = f"({shape[0]}, {n}), " if of_batch else ""
    raise DataError(
        f"positions of shape {_shape(positions)} do not fit a tensor of shape {_shape(x)} with "
        f"its positions on axis {axis}: give shape ({n},), {batch}or one axis for each of {shape}, "
        "of that length or 1."
    )


def _check_floating(name: str, x: Tensor) -> None:
    check_tensor(name, x)
    if not x.is_floating_point():
        raise DataError(f"{name} must be floating, got {x.dtype}: cast with {name}.float().")


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def _by_kernel(
    tensors: tuple[Tensor, ...], positions: Tensor, increments: Tensor, interleaved: bool
) -> tuple[Tensor, ...] | None:
    """Return one or two tensors turned in one pass, or None where that is not for the kernel.

    Positions are int64, with one axis for each axis of the tensors but the last, of their length
    or 1. Plain PyTorch has derivatives in forward mode.
    """
    first, last = tensors[0], tensors[-1]
    forward_mode = not torch.compiler.is_compiling() and forward_ad._current_level >= 0
    if forward_mode or _operators.backend(first) != "triton":
        return None
    order = _order(positions.shape)
    if order is None or not (first.dtype == last.dtype in _NARROW):
        return None
    q, k = (_on_four_axes(x, order) for x in (first, last))
    if q.shape[0] != k.shape[0] or q.shape[2] != k.shape[2]:
        return None
    places = _on_four_axes(positions[..., None], order)[:, 0, :, 0].expand(q.shape[0], q.shape[2])
    k = k if len(tensors) == 2 else k[:, :0]
    found = _operators.rotary(q, k, places, increments, interleaved, False)
    back = [order.index(axis) for axis in range(3)]
    return tuple(y.permute(*back, 3).reshape(x.shape) for x, y in zip(tensors, found, strict=False))


def _order(shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Return which of three axes are batch, heads and positions: they differ along two at most."""
    if len(shape) > 3:
        return None
    axes = [1] * (3 - len(shape)) + list(shape)
    varying = [axis for axis in range(3) if axes[axis] != 1]
    if len(varying) == 3:
        return None
    last = varying[-1] if varying else 2
    heads = max(axis for axis in range(3) if axis != last and axis not in varying)
    return 3 - heads - last, heads, last


def _on_four_axes(x: Tensor, order: tuple[int, int, int]) -> Tensor:
    return x.reshape((1,) * (4 - x.ndim) + tuple(x.shape)).permute(*order, 3)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, _, places, increments, ctx.interleaved, ctx.inverse = inputs
    ctx.save_for_backward(places, increments)


def _turned_back(ctx: Any, of_q: Tensor, of_k: Tensor) -> tuple[Tensor | None, ...]:
    """A rotation is linear: its gradient is the rotation back."""
    rest = (*ctx.saved_tensors, ctx.interleaved, not ctx.inverse)
    return (*_operators.rotary(of_q, of_k, *rest), None, None, None, None)


def _batched(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, tuple[int, int]]:
    """Rule of `vmap`: one more axis becomes part of the batch."""
    n = info.batch_size
    q, k, places = (
        (value.expand(n, *value.shape) if dim is None else value.movedim(dim, 0)).flatten(0, 1)
        for value, dim in zip(arguments[:3], in_dims, strict=False)
    )
    found = _operators.rotary(q, k, places, *arguments[3:])
    return tuple(x.unflatten(0, (n, len(x) // n)) for x in found), (0, 0)


_operators.rotary.register_autograd(_turned_back, setup_context=_remember)
_operators.rotary.register_vmap(_batched)
