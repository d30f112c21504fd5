"""Rotary embedding by one kernel: which tensors it takes, and its derivatives."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from primal.torch import _operators as operators

_NARROW = (torch.float32, torch.bfloat16, torch.float16)


def rotary_by_kernel(
    tensors: tuple[Tensor, ...], positions: Tensor, increments: Tensor, interleaved: bool
) -> tuple[Tensor, ...] | None:
    """Return one or two tensors turned in one pass, or None where that is not for the kernel.

    Parameters
    ----------
    tensors : one or two tensors of shape (..., columns)
        Equal shapes but along axes where the positions do not differ.
    positions : int64 tensor
        One axis for each axis of the tensors but the last, of their length or 1.
    increments : int64 tensor of shape (k,)
        The first 2 k columns turn.
    interleaved : bool
    """
    first, last = tensors[0], tensors[-1]
    order = _order(positions.shape)
    same = first.dtype == last.dtype in _NARROW and first.device == last.device
    if not same or order is None or not operators.use_kernels(first):
        return None
    q, k = (_on_four_axes(x, order) for x in (first, last))
    if q.shape[0] != k.shape[0] or q.shape[2] != k.shape[2]:
        return None
    places = _on_four_axes(positions[..., None], order)[:, 0, :, 0]
    k = k if len(tensors) == 2 else k[:, :0]
    found = _turned(q, k, places.expand(q.shape[0], q.shape[2]), increments, interleaved, False)
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


def _turned(q: Tensor, k: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    # The operator has its gradient and vmap, and costs a third of the time of a Function.
    if torch.compiler.is_compiling() or forward_ad._current_level < 0:
        return operators.rotary(q, k, *rest)
    return _Rotary.apply(q, k, *rest)


class _Rotary(torch.autograd.Function):
    """A rotation is linear: its derivative is itself, and backwards the rotation back."""

    @staticmethod
    def forward(q: Tensor, k: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return operators.rotary(q, k, *rest)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _, _, places, increments, ctx.interleaved, ctx.inverse = inputs
        ctx.save_for_backward(places, increments)
        ctx.save_for_forward(places, increments)

    @staticmethod
    def backward(ctx: Any, of_q: Tensor, of_k: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        turned = _turned(of_q, of_k, *ctx.saved_tensors, ctx.interleaved, not ctx.inverse)
        return (*turned, None, None, None, None)

    @staticmethod
    def jvp(ctx: Any, of_q: Tensor, of_k: Tensor, *_: Any) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return _turned(of_q, of_k, *ctx.saved_tensors, ctx.interleaved, ctx.inverse)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, tuple[int, int]]:
        q, k, places = (
            value.expand(info.batch_size, *value.shape) if dim is None else value.movedim(dim, 0)
            for value, dim in zip(arguments[:3], in_dims, strict=False)
        )
        found = _turned(q.flatten(0, 1), k.flatten(0, 1), places.flatten(0, 1), *arguments[3:])
        n = info.batch_size
        return tuple(x.unflatten(0, (n, len(x) // n)) for x in found), (0, 0)


operators.rotary.register_autograd(_Rotary.backward, setup_context=_Rotary.setup_context)
operators.rotary.register_vmap(_Rotary.vmap)
