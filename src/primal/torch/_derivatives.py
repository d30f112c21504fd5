"""Features that can be differentiated any number of times, forwards and backwards.

The derivative of (cos, sin) by the phase is 2 pi times the same pair a quarter turn on. So
every derivative is made of ``fast_features`` with another number of quarter turns, and plain
PyTorch operations that know their own derivatives.

Eager code goes through ``autograd.Function``, which has forward mode and ``vmap`` rules;
compiled and exported code sees the operators, which carry the same backward formula.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from primal.torch import _hadamard
from primal.torch import _operators as operators
from primal.torch._eager import Request
from primal.torch._inputs import pairs, split_pairs

# Rows of the result stay in registers of the gradient kernel: beyond this they do not fit.
_MOST_FUSED_INPUTS = 128


def features(x: Tensor, source: str | Tensor, *request: Any) -> Tensor:
    """Return ``primal::exact_features`` for the key of a table, differentiable in x.

    Of a tensor of frequencies ``primal::fast_features``, differentiable in both.
    """
    if torch.compiler.is_compiling():
        return _Features.forward(x, source, *request)
    return _Features.apply(x, source, *request)


class _Features(torch.autograd.Function):
    """x, the key of a table or frequencies, and what the operator takes besides."""

    @staticmethod
    def forward(x: Tensor, source: str | Tensor, *request: Any) -> Tensor:  # type: ignore[override]
        exact = isinstance(source, str)
        operator = operators.exact_features if exact else operators.fast_features
        return operator(x, source, *request)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, source, *rest = inputs
        exact = isinstance(source, str)
        saved = (x,) if exact else (x, source)
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        ctx.key, ctx.n_others = source if exact else None, len(rest)
        ctx.request = Request(0, *rest) if exact else Request(*rest)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (x, source), request = _saved(ctx), ctx.request
        needs = (True, False) if ctx.key else ctx.needs_input_grad[:2]
        of_x = of_frequencies = None
        if needs == (True, False) and _may_fuse(gradient, x, source):
            if isinstance(source, str):
                of_x = operators.transform_gradient(gradient, x, source, *request[1:3])
            else:
                of_x = operators.input_gradient(gradient, x, source, *request[:3])
        else:
            work, waves = _next_waves(x, source, request)
            of_cos, of_sin = split_pairs(gradient.to(work), request.interleaved)
            cos, sin = split_pairs(waves, request.interleaved)
            of_phase = (2.0 * math.pi) * (of_cos * cos + of_sin * sin)
            with torch.autocast(x.device.type, enabled=False):
                if needs[0]:
                    of_x = _adjoint(of_phase, source, x.shape[-1]).to(x.dtype)
                if needs[1]:
                    rows = of_phase.reshape(-1, of_phase.shape[-1])
                    points = x.to(work).reshape(-1, x.shape[-1])
                    of_frequencies = (rows.mT @ points).to(source.dtype)
        return of_x, of_frequencies, *(None,) * ctx.n_others

    @staticmethod
    def jvp(ctx: Any, x_tangent: Tensor, source_tangent: Tensor | None, *_: Any) -> Tensor:  # type: ignore[override]
        (x, source), request = _saved(ctx), ctx.request
        work, waves = _next_waves(x, source, request)
        with torch.autocast(x.device.type, enabled=False):
            of_phase = torch.zeros_like(split_pairs(waves, request.interleaved)[0])
            if x_tangent is not None:
                of_phase = of_phase + _product(x_tangent.to(work), source)
            if source_tangent is not None:
                of_phase = of_phase + x.to(work) @ source_tangent.to(work).mT
        of_phase = (2.0 * math.pi) * of_phase
        return (pairs(of_phase, of_phase, request.interleaved) * waves).to(request.dtype)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
        x, source, *rest = arguments
        x_dim, source_dim = in_dims[:2]
        x = x if x_dim is None else x.movedim(x_dim, 0)
        if source_dim is None:
            return features(x, source, *rest), 0
        each = source.movedim(source_dim, 0)
        rows = [x] * len(each) if x_dim is None else x
        return torch.stack([features(r, f, *rest) for r, f in zip(rows, each, strict=True)]), 0


def _saved(ctx: Any) -> tuple[Tensor, Any]:
    """Return x and the frequencies, or the key of a table that is a transform."""
    if ctx.key is None:
        return ctx.saved_tensors
    (x,) = ctx.saved_tensors
    if operators.transform_columns(ctx.key):
        return x, ctx.key
    return x, operators.frequencies(ctx.key, device=x.device)


def _next_waves(x: Tensor, source: Tensor | str, request: Request) -> tuple[torch.dtype, Tensor]:
    """Return the type to work in, and features a quarter turn on in it."""
    work = torch.float64 if torch.float64 in (x.dtype, request.dtype) else torch.float32
    if isinstance(source, str):
        same = features(x, source, request.amplitude, request.interleaved, work)
        cos, sin = split_pairs(same, request.interleaved)
        return work, pairs(-sin, cos, request.interleaved)
    later = request._replace(quarter_turns=request.quarter_turns + 1, dtype=work)
    return work, features(x, source, *later)


def _product(x: Tensor, source: Tensor | str) -> Tensor:
    """Return x (..., d) times the frequencies, (..., k)."""
    if isinstance(source, Tensor):
        return x @ source.to(x.dtype).mT
    rows = operators.transform_rows(source, device=x.device)
    return _hadamard.product(x, rows, operators.transform_columns(source)[0])


def _adjoint(of_phase: Tensor, source: Tensor | str, d: int) -> Tensor:
    """Return values (..., k) times the frequencies, (..., d)."""
    if isinstance(source, Tensor):
        return of_phase @ source.to(of_phase.dtype)
    rows = operators.transform_rows(source, device=of_phase.device)
    return _hadamard.adjoint(of_phase, rows, d)


def _may_fuse(gradient: Tensor, x: Tensor, source: Tensor | str) -> bool:
    """Whether one operator serves: it is itself not differentiable and works in float32."""
    if torch.is_grad_enabled() or torch.float64 in (x.dtype, gradient.dtype):
        return False
    few = isinstance(source, str) or x.shape[-1] <= _MOST_FUSED_INPUTS
    return operators.backend(x) in (("exact", "triton") if few else ("exact",))


def _batched_gradient(
    operator: Any, info: Any, in_dims: tuple[Any, ...], *arguments: Any
) -> tuple[Tensor, int]:
    """Rule of `vmap` for the fused gradient: x and the gradient get one more leading axis."""
    gradient, x, *rest = arguments
    n = info.batch_size
    gradient, x = (
        value.expand(n, *value.shape) if dim is None else value.movedim(dim, 0)
        for value, dim in zip((gradient, x), in_dims[:2], strict=True)
    )
    return operator(gradient, x, *rest), 0


for _operator in (operators.exact_features, operators.fast_features):
    _operator.register_autograd(_Features.backward, setup_context=_Features.setup_context)
    _operator.register_vmap(_Features.vmap)
for _operator in (operators.input_gradient, operators.transform_gradient):
    _operator.register_vmap(partial(_batched_gradient, _operator))
