"""Custom operators: opaque to compilers, so that nobody fuses or reorders what they compute.

Each works on tensors of any leading shape and picks who computes. The environment variable
``PRIMAL_TORCH`` decides: ``auto`` (the default) takes Triton kernels for CUDA tensors when Triton
is installed, the loops of :mod:`primal.exact` for tensors on the CPU, else plain PyTorch;
``eager`` takes plain PyTorch for all; ``triton`` takes kernels for all (for tensors on the CPU
this needs Triton's interpreter, ``TRITON_INTERPRET=1``).

A fixed table comes as its key (see ``_tables``): graphs hold no frequencies. Where PyTorch needs
frequencies or increments as tensors, they are fresh copies, which a compiler may overwrite.

``primal::fast_features`` is its own derivative but for a quarter turn, hence gradients of
every order come from three operators.
"""

# No "from __future__ import annotations" here: PyTorch reads these annotations as schemas.
import importlib.util
import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from primal.errors import EngineError
from primal.torch import _compiled, _eager
from primal.torch._eager import Request
from primal.torch._tables import SharedTable, shared_increments, shared_table

_BACKENDS = ("auto", "eager", "triton")


@torch.library.custom_op("primal::increments", mutates_args=())
def increments(key: str, device: torch.device) -> Tensor:
    """Return the increments of a key, int64 of shape (k,)."""
    return shared_increments(key, device).clone()


def _table_operator(name: str, shape: Callable[[SharedTable], Any]) -> Any:
    """Return the operator of an array of a table's key, float64 of a shape known beforehand."""

    @torch.library.custom_op(f"primal::{name}", mutates_args=())
    def operator(table: str, device: torch.device) -> Tensor:
        shared = shared_table(table)
        if device.type == "cpu":
            return torch.from_numpy(getattr(shared, name).copy())
        return shared.tensor(name, device).clone()

    operator.register_fake(
        lambda table, device: torch.empty(
            shape(shared_table(table)), dtype=torch.float64, device=device
        )
    )
    return operator


frequencies = _table_operator("frequencies", lambda table: table.shape)
inverse_frequencies = _table_operator("inverse_frequencies", lambda table: table.shape[::-1])
root_weights = _table_operator("root_weights", lambda table: table.shape[0])
transform_rows = _table_operator("transform_rows", lambda table: table.transform_rows.shape)


@torch.compiler.assume_constant_result
def transform_columns(table: str) -> tuple[int, int] | None:
    """Return how many columns a table has, and the columns of a block.

    None unless the frequencies of the table's key are a transform, the basis ``hadamard``.
    """
    rows = shared_table(table).transform
    return None if rows is None else (rows.shape[0], rows.m)


@torch.library.custom_op("primal::static_codes", mutates_args=())
def static_codes(
    positions: Tensor, increments: Tensor, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return the codes of int64 positions of any shape."""
    flat, table = positions.reshape(-1).contiguous(), increments.contiguous()
    request = Request(0, 1.0, interleaved, dtype)
    out = _features("positions", flat, table, len(table), request)
    return _shaped(out, positions.shape)


@torch.library.custom_op("primal::exact_features", mutates_args=())
def exact_features(
    x: Tensor, table: str, amplitude: float, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return exact features of x (..., d) for the key of a table; NaN for rows out of range."""
    shared, request = shared_table(table), Request(0, amplitude, interleaved, dtype)
    out = _features("exact", _rows(x), shared, shared.shape[0], request)
    return _shaped(out, x.shape[:-1])


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
    wide = frequencies.detach().double().contiguous()
    request = Request(quarter_turns, amplitude, interleaved, dtype)
    out = _features("fast", _rows(x), wide, wide.shape[0], request)
    return _shaped(out, x.shape[:-1])


def _features(kind: str, flat: Tensor, source: Any, k: int, request: Request) -> Tensor:
    """Return features of rows or positions, made by kernels, engines or plain PyTorch."""
    out = flat.new_empty((len(flat), 2 * k), dtype=request.dtype)
    if not (flat.numel() and k):
        return out
    chosen = backend(flat)
    if chosen == "triton" and request.dtype != torch.float64:
        from primal.torch import _kernels

        with torch.cuda.device_of(flat):
            if kind == "exact" and source.transform is not None:
                _kernels.write_hadamard(flat, source.on(flat.device), out, request)
            else:
                getattr(_kernels, f"write_{kind}")(flat, source, out, request)
        return out
    way = _compiled if chosen == "exact" else _eager
    return getattr(way, f"{kind}_features")(flat, source, request)


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
    wide = frequencies.detach().double().contiguous()
    request = Request(quarter_turns, amplitude, interleaved, torch.float32)
    return _gradient("input", gradient, x, wide, request)


@torch.library.custom_op("primal::transform_gradient", mutates_args=())
def transform_gradient(
    gradient: Tensor, x: Tensor, table: str, amplitude: float, interleaved: bool
) -> Tensor:
    """Return the gradient of `exact_features` of a table of ``hadamard`` with respect to x."""
    request = Request(0, amplitude, interleaved, torch.float32)
    return _gradient("hadamard", gradient, x, shared_table(table), request)


def _gradient(kind: str, gradient: Tensor, x: Tensor, source: Any, request: Request) -> Tensor:
    flat = _rows(x)
    incoming = gradient.detach().reshape(len(flat), gradient.shape[-1]).contiguous()
    if not (flat.numel() and source.shape[0]):
        out = torch.zeros_like(flat)
    elif backend(flat) == "triton":
        from primal.torch import _kernels

        out = torch.empty_like(flat)
        with torch.cuda.device_of(flat):
            table = source.on(flat.device) if kind == "hadamard" else source
            write = getattr(_kernels, f"write_{kind}_gradient")
            write(incoming, flat, table, out, request)
    else:
        out = getattr(_compiled, f"{kind}_gradient")(incoming, flat, source, request)
    return out.to(x.dtype).view(x.shape)


@torch.library.custom_op("primal::rotary", mutates_args=())
def rotary(
    q: Tensor, k: Tensor, positions: Tensor, increments: Tensor, interleaved: bool, inverse: bool
) -> tuple[Tensor, Tensor]:
    """Return q and k (batch, heads, n, columns) turned by int64 positions (batch, n), or back.

    By kernels only. Columns beyond the 2 k that turn stay; there may be no heads.
    """
    from primal.torch._kernels import write_rotary

    inputs = [x.detach() if x.stride(-1) == 1 else x.detach().contiguous() for x in (q, k)]
    outputs = [torch.empty_like(x) for x in (q, k)]
    D = 2 * increments.shape[0]
    for x, out in zip(inputs, outputs, strict=True):
        if x.shape[-1] > D:
            out[..., D:] = x[..., D:]
    if D and (q.numel() or k.numel()):
        with torch.cuda.device_of(q):
            write_rotary(
                *(inputs, outputs, positions, increments.contiguous()),
                interleaved=interleaved,
                inverse=inverse,
            )
    return outputs[0], outputs[1]


def backend(tensor: torch.Tensor) -> str:
    """Return who computes on this tensor: "triton", "eager" or "exact", the subpackage."""
    wish = os.environ.get("PRIMAL_TORCH") or "auto"
    if wish not in _BACKENDS:
        raise EngineError(
            f"PRIMAL_TORCH must be one of {', '.join(_BACKENDS)}, got {wish!r}: "
            "correct or remove the environment variable."
        )
    if wish == "triton" and not _has_triton():
        raise EngineError(
            "PRIMAL_TORCH is 'triton' and Triton is not installed: pip install triton, or "
            "remove the environment variable."
        )
    if wish == "triton" or (wish == "auto" and tensor.is_cuda and _has_triton()):
        return "triton"
    return "exact" if wish == "auto" and tensor.device.type == "cpu" else "eager"


_TRITON_FOUND = importlib.util.find_spec("triton") is not None


@torch.compiler.assume_constant_result
def _has_triton() -> bool:
    return _TRITON_FOUND


def _rows(x: Tensor) -> Tensor:
    """Return x as contiguous rows of float32 or float64, which hold every narrower type."""
    flat = x.detach().reshape(-1, x.shape[-1]).contiguous()
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.float()


def _shaped(out: Tensor, leading: torch.Size) -> Tensor:
    """Return new rows with more axes in front, not as a view: callers may write to them."""
    if len(leading) == 1:
        return out
    return torch.ops.aten._unsafe_view.default(out, [*leading, out.shape[1]])


def _features_like(x: Tensor, k: int, dtype: torch.dtype) -> Tensor:
    return x.new_empty((*x.shape[:-1], 2 * k), dtype=dtype)


# What compilers know of the results: shapes, types and devices.
increments.register_fake(
    lambda key, device: torch.empty(
        len(shared_increments(key, torch.device("cpu"))), dtype=torch.int64, device=device
    )
)
static_codes.register_fake(
    lambda t, table, _, dtype: t.new_empty((*t.shape, 2 * table.shape[0]), dtype=dtype)
)
exact_features.register_fake(
    lambda x, table, *rest: _features_like(x, shared_table(table).shape[0], rest[-1])
)
fast_features.register_fake(lambda x, table, *rest: _features_like(x, table.shape[0], rest[-1]))
input_gradient.register_fake(lambda gradient, x, *_: x.new_empty(x.shape))
rotary.register_fake(lambda q, k, *_: (torch.empty_like(q), torch.empty_like(k)))
transform_gradient.register_fake(lambda gradient, x, *_: x.new_empty(x.shape))
static_codes.register_vmap(
    lambda info, in_dims, t, *rest: (static_codes(t.movedim(in_dims[0], 0), *rest), 0)
)
