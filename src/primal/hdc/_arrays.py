"""Integer phases and complex numbers as arrays of NumPy or PyTorch.

Phases are uint32 (units of 2**-32 turn) or uint64 (2**-64 turn). PyTorch has no arithmetic for
these, so a tensor holds the same bits as int32 or int64.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from primal._checks import reject_lost_values
from primal._parallel import over_rows
from primal.errors import DataError
from primal.exact import Finish, engine

# By type, since the name of one takes NumPy longer than a short sum does.
_ARRAY_BITS = {np.dtype(np.uint32): 32, np.dtype(np.uint64): 64}
_TENSOR_BITS = {"torch.int32": 32, "torch.int64": 64}
# Entries that one thread takes at least; fewer are done before a second thread has started.
_LEAST_ENTRIES = 1 << 17


def is_tensor(x: object) -> bool:
    """Whether x is a PyTorch tensor; PyTorch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def library(x: object) -> Any:
    """Return torch for its tensors, else numpy."""
    return sys.modules["torch"] if is_tensor(x) else np


def listed(name: str, values: Any) -> list:
    """Return the members of a sequence, an array or another iterable; mappings are rejected."""
    single = isinstance(values, Mapping) or getattr(values, "ndim", 1) == 0
    if isinstance(values, Iterable) and not single:
        return list(values)
    raise DataError(f"{name} must be a sequence, got {type(values).__name__} {values!r}.")


def turn_bits(x: Any) -> int:
    """Return 32 or 64 for integer phases of that many bits, 0 for anything else."""
    if isinstance(x, np.ndarray):
        return _ARRAY_BITS.get(x.dtype, 0)
    return _TENSOR_BITS.get(str(x.dtype), 0) if is_tensor(x) else 0


def is_complex(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype in (np.complex64, np.complex128)
    return is_tensor(x) and x.dtype.is_complex


def plain_array(name: str, x: Any) -> Any:
    """Return an array of NumPy as one of no subclass, a tensor as it is; reject masked values."""
    if type(x) is np.ndarray or is_tensor(x):
        return x
    reject_lost_values(name, x, as_floats=False)
    return np.asarray(x)


def is_finite(x: Any) -> bool:
    """Whether all numbers of an array or a tensor are finite."""
    return bool(library(x).isfinite(x).all())


def on_host(turns: Any) -> np.ndarray:
    """Return the phases of a tensor as NumPy's, with the same bits."""
    return turns.detach().cpu().numpy().view(f"u{turns.itemsize}")


def turn_phasors(turns: Any) -> Any:
    """Return exp(2 pi i turns): complex64 from 32-bit phases, complex128 from 64-bit ones."""
    if is_tensor(turns):  # by way of the host, whose bits they are to have
        z = turn_phasors(on_host(turns))
        return sys.modules["torch"].from_numpy(z).to(turns.device)
    out = np.empty(turns.shape, dtype=np.complex64 if turns.itemsize == 4 else np.complex128)
    if out.size:
        k = turns.shape[-1]
        rows = out.reshape(-1, k).view(out.real.dtype)
        engine().write_turns(turns.reshape(-1, k), rows, Finish("interleaved"))
    return out


def nearest_turns(z: Any) -> Any:
    """Return the phases of complex numbers: 32-bit from complex64, 64-bit from complex128."""
    lib = library(z)
    narrow = z.dtype == lib.complex64
    real, imaginary = (lib.asarray(part, dtype=lib.float64) for part in (z.real, z.imag))
    scaled = lib.arctan2(imaginary, real) / (2.0 * math.pi) * 2.0**32
    nearest = lib.round(scaled)
    # 2**63 itself does not fit into int64: the last 32 bits come from the rest.
    rest = (scaled - nearest) * 2.0**32
    whole, rest = (lib.asarray(part, dtype=lib.int64) for part in (nearest, rest))
    turns = lib.asarray(whole, dtype=lib.int32) if narrow else (whole << 32) + rest
    return turns if is_tensor(z) else turns.view(f"u{turns.itemsize}")


def side_by_side(z: np.ndarray, dtype: Any = np.complex64) -> np.ndarray:
    """Return complex rows (..., k) as real ones (..., 2 k): real and imaginary parts in turn."""
    z = np.ascontiguousarray(z, dtype=dtype)
    return z.view(z.real.dtype)


def from_side_by_side(rows: np.ndarray) -> np.ndarray:
    """Return what :func:`side_by_side` was given, from float32 rows."""
    return np.ascontiguousarray(rows).view(np.complex64)


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def turn_power(turns: Any, exponent: float) -> Any:
    """Return phases times a number, as ``codes ** exponent`` means it."""
    if is_tensor(turns):
        made = turn_power(on_host(turns), exponent).view(f"i{turns.itemsize}")
        return sys.modules["torch"].from_numpy(made).to(turns.device)
    bits = turn_bits(turns)
    kept = min(bits, 52)  # a float64 product holds that many
    whole = math.floor(exponent)
    result = turns * turns.dtype.type(whole % (1 << bits))
    if exponent != whole:
        part = np.rint(
            turns.view(f"i{turns.itemsize}") * ((exponent - whole) * 2.0 ** (kept - bits))
        )
        result += (part.astype(np.int64) << (bits - kept)).astype(turns.dtype)
    return result


def over_entries(work: Any, *arrays: np.ndarray) -> None:
    """Call work(*pieces) on rows of equally shaped arrays, several threads at a time."""
    shape = arrays[0].shape
    if arrays[0].ndim < 2 or arrays[0].size < 2 * _LEAST_ENTRIES:
        work(*arrays)
        return
    least_rows = -(-_LEAST_ENTRIES * shape[0] // arrays[0].size)
    over_rows(shape[0], least_rows, lambda i, j: work(*(array[i:j] for array in arrays)))
