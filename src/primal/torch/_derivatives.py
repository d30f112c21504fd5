"""Features that can be differentiated any number of times, forwards and backwards.

The derivative of (cos, sin) by the phase is 2 pi times the same pair a quarter turn on. So
every derivative is made of ``fast_features`` with another number of quarter turns, and plain
PyTorch operations that know their own derivatives.

Eager code goes through ``autograd.Function``, which has forward mode and ``vmap`` rules;
compiled and exported code sees the operators, which carry the same backward formula.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from primal.torch import _operators as operators
from primal.torch._backend import use_engines, use_kernels
from primal.torch._eager import pairs, split_pairs

__all__ = ["exact", "fast"]

# Rows of the result stay in registers of the fused kernel: beyond this they do not fit.
_MOST_FUSED_INPUTS = 128


def exact(x: Tensor, table: str, *arguments: Any) -> Tensor:
    """Return ``primal::exact_features`` of x for a table's key, differentiable in x."""
    if torch.compiler.is_compiling():
        return operators.exact_features(x, table, *arguments)
    return _Exact.apply(x, table, *arguments)


def fast(x: Tensor, frequencies: Tensor, *arguments: Any) -> Tensor:
    """Return ``primal::fast_features``, differentiable in x and in the frequencies."""
    if torch.compiler.is_compiling():
        return operators.fast_features(x, frequencies, *arguments)
    return _Fast.apply(x, frequencies, *arguments)


class _Exact(torch.autograd.Function):
    """x, table, amplitude, interleaved, dtype."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return operators.exact_features(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, ctx.table, *rest = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.rest = (0, *rest)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        frequencies = operators.frequencies(ctx.table, device=x.device)
        of_x, _ = _gradients(gradient, x, frequencies, *ctx.rest, needs=(True, False))
        return (of_x, *(None,) * 4)

    @staticmethod
    def jvp(ctx: Any, x_tangent: Tensor, *_: Any) -> Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        frequencies = operators.frequencies(ctx.table, device=x.device)
        return _tangent(x, frequencies, x_tangent, None, *ctx.rest)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
        x, *rest = arguments
        return exact(x.movedim(in_dims[0], 0), *rest), 0


class _Fast(torch.autograd.Function):
    """x, frequencies, quarter_turns, amplitude, interleaved, dtype."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return operators.fast_features(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, frequencies, *rest = inputs
        ctx.save_for_backward(x, frequencies)
        ctx.save_for_forward(x, frequencies)
        ctx.rest = tuple(rest)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        x, frequencies = ctx.saved_tensors
        needs = ctx.needs_input_grad[:2]
        found = _gradients(gradient, x, frequencies, *ctx.rest, needs=needs)
        return (*found, *(None,) * 4)

    @staticmethod
    def jvp(ctx: Any, x_tangent: Tensor, frequency_tangent: Tensor, *_: Any) -> Tensor:  # type: ignore[override]
        x, frequencies = ctx.saved_tensors
        return _tangent(x, frequencies, x_tangent, frequency_tangent, *ctx.rest)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
        x, frequencies, *rest = arguments
        x_dim, frequency_dim = in_dims[:2]
        x = x if x_dim is None else x.movedim(x_dim, 0)
        if frequency_dim is None:
            return fast(x, frequencies, *rest), 0
        each = frequencies.movedim(frequency_dim, 0)
        rows = [x] * len(each) if x_dim is None else x
        return torch.stack([fast(r, f, *rest) for r, f in zip(rows, each, strict=True)]), 0


def _gradients(
    gradient: Tensor,
    x: Tensor,
    frequencies: Tensor,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
    dtype: torch.dtype,
    *,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of x and of the frequencies, those that are needed."""
    if needs == (True, False) and _may_fuse(gradient, x):
        arguments = (frequencies, quarter_turns, amplitude, interleaved)
        return operators.input_gradient(gradient, x, *arguments), None
    work = _work_dtype(x, dtype)
    waves = fast(x, frequencies, quarter_turns + 1, amplitude, interleaved, work)
    (a, b), (c, d) = split_pairs(gradient.to(work), interleaved), split_pairs(waves, interleaved)
    of_phase = (2.0 * math.pi) * (a * c + b * d)
    of_x = of_frequencies = None
    with torch.autocast(x.device.type, enabled=False):
        if needs[0]:
            of_x = (of_phase @ frequencies.to(work)).to(x.dtype)
        if needs[1]:
            rows, points = of_phase.flatten(0, -2), x.to(work).flatten(0, -2)
            of_frequencies = (rows.mT @ points).to(frequencies.dtype)
    return of_x, of_frequencies


def _tangent(
    x: Tensor,
    frequencies: Tensor,
    x_tangent: Tensor | None,
    frequency_tangent: Tensor | None,
    quarter_turns: int,
    amplitude: float,
    interleaved: bool,
    dtype: torch.dtype,
) -> Tensor:
    """Return how features move when x and the frequencies do."""
    work = _work_dtype(x, dtype)
    waves = fast(x, frequencies, quarter_turns + 1, amplitude, interleaved, work)
    with torch.autocast(x.device.type, enabled=False):
        of_phase = torch.zeros_like(split_pairs(waves, interleaved)[0])
        if x_tangent is not None:
            of_phase = of_phase + x_tangent.to(work) @ frequencies.to(work).mT
        if frequency_tangent is not None:
            of_phase = of_phase + x.to(work) @ frequency_tangent.to(work).mT
    of_phase = (2.0 * math.pi) * of_phase
    return (pairs(of_phase, of_phase, interleaved) * waves).to(dtype)


def _work_dtype(x: Tensor, dtype: torch.dtype) -> torch.dtype:
    wide = torch.float64 in (x.dtype, dtype)
    return torch.float64 if wide else torch.float32


def _may_fuse(gradient: Tensor, x: Tensor) -> bool:
    """Whether one operator serves: it is itself not differentiable and works in float32."""
    if torch.is_grad_enabled() or torch.float64 in (x.dtype, gradient.dtype):
        return False
    return use_engines(x) or (use_kernels(x) and x.shape[-1] <= _MOST_FUSED_INPUTS)


def _exact_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, ctx.table, *rest = inputs
    ctx.save_for_backward(x)
    ctx.rest = (0, *rest)


def _fast_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, frequencies, *rest = inputs
    ctx.save_for_backward(x, frequencies)
    ctx.rest = tuple(rest)


def _batched_gradient(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
    """Rule of `vmap` for the fused gradient: x and the gradient get one more leading axis."""
    gradient, x, *rest = arguments
    n = info.batch_size
    gradient, x = (
        value.expand(n, *value.shape) if dim is None else value.movedim(dim, 0)
        for value, dim in zip((gradient, x), in_dims[:2], strict=True)
    )
    return operators.input_gradient(gradient, x, *rest), 0


operators.exact_features.register_autograd(_Exact.backward, setup_context=_exact_context)
operators.fast_features.register_autograd(_Fast.backward, setup_context=_fast_context)
operators.exact_features.register_vmap(_Exact.vmap)
operators.fast_features.register_vmap(_Fast.vmap)
operators.input_gradient.register_vmap(_batched_gradient)
