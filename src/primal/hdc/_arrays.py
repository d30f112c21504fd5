"""Codes and bundles as arrays of NumPy or PyTorch, and the way from one to the other.

A *code* holds phases as integers: uint32 (units of 2**-32 turn) or uint64 (2**-64 turn). PyTorch
has no arithmetic for these, so a tensor holds the same bits as int32 or int64. A *bundle* holds
complex numbers. The last axis has k = D / 2 entries.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from primal._errors import DataError
from primal.engines._threads import over_rows
from primal.turns import waves

__all__ = [
    "code_bits",
    "float32_rows",
    "is_code",
    "is_tensor",
    "nearest_code",
    "over_entries",
    "phasors",
    "to_numpy",
    "to_torch",
    "unit_rows",
]

_CODE_BITS = {"uint32": 32, "uint64": 64}
_TENSOR_BITS = {"torch.int32": 32, "torch.int64": 64}
_COMPLEX = {"complex64": np.float32, "complex128": np.float64}
# Entries that one thread takes at least; fewer are done before a second thread has started.
_LEAST_ENTRIES = 1 << 17


def is_tensor(x: object) -> bool:
    """Whether x is a PyTorch tensor; PyTorch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def code_bits(x: Any) -> int:
    """Return 32 or 64 for a code, 0 for a bundle.

    Raises
    ------
    DataError
        For anything else.
    """
    if is_tensor(x):
        bits = _TENSOR_BITS.get(str(x.dtype), 0)
        valid = bits or x.dtype.is_complex
        wanted = "int32 or int64 turns (to_torch makes them), or complex numbers"
    else:
        if not isinstance(x, np.ndarray):
            raise DataError(
                f"a code or a bundle is a NumPy array or a PyTorch tensor, got "
                f"{type(x).__name__}: encode it with a vocabulary first."
            )
        bits = _CODE_BITS.get(x.dtype.name, 0)
        valid = bits or x.dtype.name in _COMPLEX
        wanted = "uint32 or uint64 turns, or complex64 or complex128 numbers"
    if not valid or x.ndim == 0:
        raise DataError(f"expected {wanted}, got {x.dtype} of shape {tuple(x.shape)}.")
    return bits


def is_code(x: Any) -> bool:
    """Whether x holds integer phases, not complex numbers."""
    return code_bits(x) > 0


def phasors(x: Any) -> Any:
    """Return a code as complex numbers of length 1; a bundle is returned as it is.

    Parameters
    ----------
    x : code or bundle of shape (..., k)

    Returns
    -------
    z : complex array of shape (..., k)
        complex64 from 32-bit codes, complex128 from 64-bit ones, with the bits of
        :func:`primal.turns.waves`, from NumPy and PyTorch alike.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.hdc import phasors
    >>> phasors(np.array([0, 2**30, 2**31], dtype=np.uint32)).real.astype(int)
    array([ 1,  0, -1])
    """
    bits = code_bits(x)
    if not bits:
        return x
    if is_tensor(x):
        import torch

        from primal.torch._eager import waves as tensor_waves

        return torch.complex(*tensor_waves(x))
    out = np.empty(x.shape, dtype=np.complex64 if bits == 32 else np.complex128)

    def work(source: np.ndarray, target: np.ndarray) -> None:
        target.real, target.imag = waves(source)

    over_entries(work, x, out)
    return out


def nearest_code(bundle: Any) -> Any:
    """Return the code whose phases are those of a bundle, lengths forgotten.

    Parameters
    ----------
    bundle : complex array of shape (..., k)

    Returns
    -------
    code : array of shape (..., k)
        32-bit turns from complex64, 64-bit ones from complex128; 0 where the bundle is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.hdc import nearest_code
    >>> nearest_code(np.array([3 + 0j, 2j], dtype=np.complex64)).tolist()
    [0, 1073741824]
    """
    if is_code(bundle):
        return bundle
    if is_tensor(bundle):
        import torch

        narrow = bundle.dtype == torch.complex64
        turns = torch.atan2(bundle.imag.double(), bundle.real.double()) / (2.0 * math.pi)
        whole = torch.round(turns * 2.0**32).long()
        # 2**63 itself does not fit into int64: the last 32 bits come from the rest.
        return whole.int() if narrow else (whole << 32) + _rest(torch, turns).long()
    turns = np.arctan2(bundle.imag, bundle.real, dtype=np.float64) / (2.0 * math.pi)
    whole = np.rint(turns * 2.0**32).astype(np.int64)
    if bundle.dtype == np.complex64:
        return whole.astype(np.uint32)
    return ((whole << 32) + _rest(np, turns).astype(np.int64)).view(np.uint64)


def unit_rows(x: Any) -> Any:
    """Return codes or bundles (n, k) as real rows (n, 2 k) of length 1; rows of zeros stay.

    Real and imaginary parts lie side by side, so a product of two such rows is the similarity:
    one real product instead of a complex one, half of the work.
    """
    if x.ndim != 2:
        raise DataError(f"expected rows of shape (n, k), got {tuple(x.shape)}.")
    z = phasors(x)
    if is_tensor(z):
        import torch

        rows = torch.view_as_real(z.resolve_conj().contiguous()).flatten(1)
    else:
        rows = np.ascontiguousarray(z).view(z.real.dtype)
    if is_code(x):  # the length is known
        return rows * (1.0 / math.sqrt(z.shape[-1]))
    lengths = (rows**2).sum(-1)[:, None] ** 0.5
    return rows / (lengths + (lengths == 0))


def float32_rows(x: Any) -> np.ndarray:
    """Return :func:`unit_rows` of arrays or tensors as a NumPy array of float32."""
    return unit_rows(to_numpy(x)).astype(np.float32, copy=False)


def to_torch(x: np.ndarray) -> Any:
    """Return a NumPy code or bundle as a tensor, with the same bits and the same memory."""
    import torch

    bits = code_bits(x)
    view = x.view({32: np.int32, 64: np.int64}[bits]) if bits else x
    return torch.from_numpy(np.ascontiguousarray(view))


def to_numpy(x: Any) -> np.ndarray:
    """Return a tensor of codes or a bundle as a NumPy array with the same bits."""
    if not is_tensor(x):
        return x
    bits = code_bits(x)
    array = x.detach().resolve_conj().cpu().numpy()
    return array.view({32: np.uint32, 64: np.uint64}[bits]) if bits else array


def over_entries(work: Any, *arrays: np.ndarray) -> None:
    """Call work(*pieces) on rows of equally shaped arrays, several threads at a time."""
    shape = arrays[0].shape
    if arrays[0].ndim < 2 or arrays[0].size < 2 * _LEAST_ENTRIES:
        work(*arrays)
        return
    least_rows = -(-_LEAST_ENTRIES * shape[0] // arrays[0].size)
    over_rows(shape[0], least_rows, lambda i, j: work(*(array[i:j] for array in arrays)))


def _rest(library: Any, turns: Any) -> Any:
    """Return what rounding to 2**-32 turn leaves of float64 turns, in units of 2**-64 turn."""
    scaled = turns * 2.0**32
    return (scaled - library.round(scaled)) * 2.0**32
