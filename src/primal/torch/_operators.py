"""Custom operators: opaque to compilers, so that nobody fuses or reorders what they compute.

Each works on tensors of any leading shape and picks who computes. The environment variable
``PRIMAL_TORCH`` decides: ``auto`` (the default) takes Triton kernels for CUDA tensors when Triton
is installed, the loops of :mod:`primal.engines` for tensors on the CPU, else plain PyTorch;
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
from typing import Any

import torch
from torch import Tensor

from primal.errors import EngineError
from primal.torch import _compiled, _eager
from primal.torch._eager import Finish
from primal.torch._tables import n_increments, shared_increments, shared_table

_BACKENDS = ("auto", "eager", "triton")


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


@torch.library.custom_op("primal::root_weights", mutates_args=())
def root_weights(table: str, device: torch.device) -> Tensor:
    """Return the factors of weighted features of a table's key, float64 of shape (k,)."""
    found = shared_table(table).root_weights
    assert found is not None  # only layers of weighted frequencies ask
    return torch.from_numpy(found.copy()).to(device)


@torch.compiler.assume_constant_result
def is_transform(table: str) -> bool:
    """Whether the frequencies of a table's key are a transform, the basis ``hadamard``."""
    return shared_table(table).is_transform


@torch.compiler.assume_constant_result
def transform_columns(table: str) -> tuple[int, int]:
    """Return how many columns of all blocks a table of ``hadamard`` has, and the first of them."""
    rows = shared_table(table).transform
    return rows.shape[0], rows.skip


@torch.compiler.assume_constant_result
def has_whole_block(table: str) -> bool:
    """Whether a table of ``hadamard`` begins with a block and has all of it."""
    shared = shared_table(table)
    if not shared.is_transform:
        return False
    rows = shared.transform
    return rows.skip == 0 and rows.shape[0] >= rows.m


@torch.library.custom_op("primal::inverse_frequencies", mutates_args=())
def inverse_frequencies(table: str, device: torch.device) -> Tensor:
    """Return the pseudoinverse of the frequencies of a table's key, float64 of shape (d, k)."""
    return torch.from_numpy(shared_table(table).inverse.copy()).to(device)


@torch.library.custom_op("primal::transform_rows", mutates_args=())
def transform_rows(table: str, device: torch.device) -> Tensor:
    """Return signs and weights of a table of ``hadamard``, float64 (1 + 3 n_blocks, m)."""
    return torch.from_numpy(shared_table(table).transform_rows.copy()).to(device)


@torch.library.custom_op("primal::static_codes", mutates_args=())
def static_codes(
    positions: Tensor, increments: Tensor, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return the codes of int64 positions of any shape."""
    flat, finish = positions.reshape(-1).contiguous(), Finish(0, 1.0, interleaved, dtype)
    out = _features("positions", flat, increments, len(increments), finish)
    return out.view(*positions.shape, out.shape[1])


@torch.library.custom_op("primal::range_codes", mutates_args=())
def range_codes(
    increments: Tensor, n: int, first: int, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return the codes of positions first, ..., first + n - 1."""
    if dtype != torch.float64 and n and use_kernels(increments):
        from primal.torch._kernels import write_range

        out = increments.new_empty((n, 2 * increments.shape[0]), dtype=dtype)
        with torch.cuda.device_of(increments):
            write_range(first, increments, out, interleaved)
        return out
    positions = torch.arange(n, device=increments.device) + first
    finish = Finish(0, 1.0, interleaved, dtype)
    return _features("positions", positions, increments, len(increments), finish)


@torch.library.custom_op("primal::exact_features", mutates_args=())
def exact_features(
    x: Tensor, table: str, amplitude: float, interleaved: bool, dtype: torch.dtype
) -> Tensor:
    """Return exact features of x (..., d) for the key of a table; NaN for rows out of range."""
    shared, finish = shared_table(table), Finish(0, amplitude, interleaved, dtype)
    out = _features("exact", _rows(x), shared, shared.shape[0], finish)
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
    wide = frequencies.detach().double().contiguous()
    finish = Finish(quarter_turns, amplitude, interleaved, dtype)
    out = _features("fast", _rows(x), wide, wide.shape[0], finish)
    return out.view(*x.shape[:-1], out.shape[1])


def _features(kind: str, flat: Tensor, source: Any, k: int, finish: Finish) -> Tensor:
    """Return features of rows or positions, made by kernels, engines or plain PyTorch."""
    out = flat.new_empty((len(flat), 2 * k), dtype=finish.dtype)
    if not (flat.numel() and k):
        return out
    transform = kind == "exact" and source.is_transform
    # A part of such a layer that begins inside of a block is for plain PyTorch.
    aligned = not transform or source.transform.skip == 0
    if not finish.wide and aligned and use_kernels(flat):
        from primal.torch import _kernels

        with torch.cuda.device_of(flat):
            if transform:
                _kernels.write_hadamard(flat, source.transform_on(flat.device), out, finish)
            else:
                getattr(_kernels, f"write_{kind}")(flat, source, out, finish)
        return out
    way = _compiled if use_engines(flat) else _eager
    return getattr(way, f"{kind}_features")(flat, source, finish)


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
    incoming = gradient.detach().reshape(len(flat), gradient.shape[-1]).contiguous()
    wide = frequencies.detach().double().contiguous()
    finish = Finish(quarter_turns, amplitude, interleaved, flat.dtype)
    if not (flat.numel() and wide.numel()):
        out = torch.zeros_like(flat)
    elif use_kernels(flat):
        from primal.torch._kernels import write_input_gradient

        out = torch.empty_like(flat)
        with torch.cuda.device_of(flat):
            write_input_gradient(incoming, flat, wide, out, finish)
    else:
        out = _compiled.input_gradient(incoming, flat, wide, finish)
    return out.to(x.dtype).view(x.shape)


@torch.library.custom_op("primal::transform_gradient", mutates_args=())
def transform_gradient(
    gradient: Tensor, x: Tensor, table: str, amplitude: float, interleaved: bool
) -> Tensor:
    """Return the gradient of `exact_features` of a table of ``hadamard`` with respect to x."""
    flat = _rows(x)
    incoming = gradient.detach().reshape(len(flat), gradient.shape[-1]).contiguous()
    shared, finish = shared_table(table), Finish(0, amplitude, interleaved, flat.dtype)
    if not (flat.numel() and shared.shape[0]):
        out = torch.zeros_like(flat)
    elif use_kernels(flat):
        from primal.torch._kernels import write_hadamard_gradient

        out = torch.empty_like(flat)
        with torch.cuda.device_of(flat):
            transform = shared.transform_on(flat.device)
            write_hadamard_gradient(incoming, flat, transform, out, finish)
    else:
        out = _compiled.transform_gradient(incoming, flat, shared, finish)
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


def use_kernels(tensor: torch.Tensor) -> bool:
    """Whether Triton kernels take this tensor."""
    wish = _wish()
    if wish == "triton" and not _has_triton():
        raise EngineError(
            "PRIMAL_TORCH is 'triton' and Triton is not installed: pip install triton, or "
            "remove the environment variable."
        )
    return wish == "triton" or (wish == "auto" and tensor.is_cuda and _has_triton())


def use_engines(tensor: torch.Tensor) -> bool:
    """Whether :mod:`primal.engines` takes this tensor."""
    return tensor.device.type == "cpu" and _wish() == "auto"


def _wish() -> str:
    wish = os.environ.get("PRIMAL_TORCH") or "auto"
    if wish not in _BACKENDS:
        raise EngineError(
            f"PRIMAL_TORCH must be one of {', '.join(_BACKENDS)}, got {wish!r}: "
            "correct or remove the environment variable."
        )
    return wish


_TRITON_FOUND = importlib.util.find_spec("triton") is not None


@torch.compiler.assume_constant_result
def _has_triton() -> bool:
    return _TRITON_FOUND


def _rows(x: Tensor) -> Tensor:
    """Return x as contiguous rows of float32 or float64, which hold every narrower type."""
    flat = x.detach().reshape(-1, x.shape[-1]).contiguous()
    return flat if flat.dtype in (torch.float32, torch.float64) else flat.float()


def _features_like(x: Tensor, k: int, dtype: torch.dtype) -> Tensor:
    return x.new_empty((*x.shape[:-1], 2 * k), dtype=dtype)


# What compilers know of the results: shapes, types and devices.
increments.register_fake(
    lambda key, device: torch.empty(n_increments(key), dtype=torch.int64, device=device)
)
frequencies.register_fake(
    lambda table, device: torch.empty(shared_table(table).shape, dtype=torch.float64, device=device)
)
root_weights.register_fake(
    lambda table, device: torch.empty(
        shared_table(table).shape[0], dtype=torch.float64, device=device
    )
)
inverse_frequencies.register_fake(
    lambda table, device: torch.empty(
        shared_table(table).shape[::-1], dtype=torch.float64, device=device
    )
)
static_codes.register_fake(
    lambda t, table, _, dtype: t.new_empty((*t.shape, 2 * table.shape[0]), dtype=dtype)
)
range_codes.register_fake(
    lambda table, n, first, _, dtype: table.new_empty((n, 2 * table.shape[0]), dtype=dtype)
)
exact_features.register_fake(
    lambda x, table, *rest: _features_like(x, shared_table(table).shape[0], rest[-1])
)
fast_features.register_fake(lambda x, table, *rest: _features_like(x, table.shape[0], rest[-1]))
input_gradient.register_fake(lambda gradient, x, *_: x.new_empty(x.shape))
rotary.register_fake(lambda q, k, *_: (torch.empty_like(q), torch.empty_like(k)))
transform_gradient.register_fake(lambda gradient, x, *_: x.new_empty(x.shape))
transform_rows.register_fake(
    lambda table, device: torch.empty(
        shared_table(table).transform_rows.shape, dtype=torch.float64, device=device
    )
)
static_codes.register_vmap(
    lambda info, in_dims, t, *rest: (static_codes(t.movedim(in_dims[0], 0), *rest), 0)
)
