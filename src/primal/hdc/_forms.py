"""Codes and bundles in other forms: those of PyTorch and torchhd, and real rows."""

from typing import Any

import numpy as np

from primal._extras import require
from primal.errors import DataError, MissingPackageError
from primal.hdc._algebra import nearest_code, unit_rows
from primal.hdc._arrays import is_tensor, on_host
from primal.hdc._codes import Codes, as_bundle, operand

# Of a number that is added up in float32.
LARGEST = 1e30


def to_torch(x: Any) -> Any:
    """Return NumPy codes or a NumPy bundle as PyTorch's, with the same bits.

    Parameters
    ----------
    x : Codes or complex array of shape (..., k)

    Returns
    -------
    Codes of a Tensor, or Tensor
        Codes are copied, a bundle shares its memory unless it is read-only.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from primal import hdc
    >>> hdc.to_torch(hdc.Codes(np.array([1, 2**32 - 1], dtype=np.uint32))).turns
    tensor([ 1, -1], dtype=torch.int32)
    """
    torch, x = require("torch", "to_torch"), operand(x)
    if isinstance(x, Codes):
        if is_tensor(x.turns):
            return x
        # Copied, since PyTorch cannot keep them from being changed.
        return Codes(torch.from_numpy(np.array(x.turns.view(f"i{x.turns.itemsize}"))))
    if is_tensor(x):
        return x
    return torch.from_numpy(np.require(x, requirements=("C", "W")))


def to_numpy(x: Any) -> Any:
    """Return PyTorch's codes or a bundle as NumPy's, with the same bits.

    Parameters
    ----------
    x : Codes or complex Tensor of shape (..., k)

    Returns
    -------
    Codes of an ndarray, or ndarray

    Examples
    --------
    >>> import torch
    >>> from primal import hdc
    >>> hdc.to_numpy(hdc.Codes(torch.tensor([1, -1], dtype=torch.int32))).turns
    array([         1, 4294967295], dtype=uint32)
    """
    x = operand(x)
    if isinstance(x, Codes):
        return Codes(on_host(x.turns)) if is_tensor(x.turns) else x
    return x.detach().resolve_conj().cpu().numpy() if is_tensor(x) else x


def to_fhrr(x: Any) -> Any:
    """Return codes or bundles as a ``torchhd.FHRRTensor``, whose dimension is our k.

    Parameters
    ----------
    x : Codes or complex array of shape (..., k)

    Returns
    -------
    torchhd.FHRRTensor of the same shape

    Examples
    --------
    >>> import torchhd
    >>> from primal import hdc
    >>> a, b = hdc.Space(512).symbols().encode(["a", "b"])
    >>> product = torchhd.bind(hdc.to_fhrr(a), hdc.to_fhrr(b))
    >>> round(float(torchhd.cosine_similarity(product, hdc.to_fhrr(a * b))), 6)
    1.0
    """
    try:
        from torchhd import FHRRTensor
    except ImportError:
        raise MissingPackageError(
            "FHRR tensors are torchhd's, which is not installed: pip install torch-hd."
        ) from None
    return to_torch(as_bundle(operand(x))).as_subclass(FHRRTensor)


def from_fhrr(tensor: Any) -> Codes:
    """Return the codes of an FHRR tensor.

    Phases are rounded to the nearest 2**-32 turn and lengths are forgotten; codes that came from
    :func:`to_fhrr` are back within 2**-24 turn, the precision of complex64.

    Parameters
    ----------
    tensor : complex Tensor of shape (..., k)

    Returns
    -------
    Codes of the same shape
        uint32, or uint64 from complex128.

    Examples
    --------
    >>> import torch
    >>> from primal import hdc
    >>> hdc.from_fhrr(torch.tensor([1.0, 1j])).turns
    array([         0, 1073741824], dtype=uint32)
    """
    if not is_tensor(tensor) or not tensor.dtype.is_complex:
        raise DataError(f"an FHRR tensor holds complex numbers, got {type(tensor).__name__}.")
    return nearest_code(to_numpy(tensor))


def require_sizes(name: str, x: Any, below: float = LARGEST) -> None:
    """Raise DataError for a bundle of NumPy that is too large for sums of float32.

    One such number would be in every answer, and there look like any other.
    """
    with np.errstate(over="ignore"):
        largest = 0.0 if isinstance(x, Codes) else np.abs(x).max(initial=0.0)
    if not largest < below:
        raise DataError(
            f"{name} must be below {below:g} in size, got {largest:g}: scale the numbers down."
        )


def memory_rows(name: str, x: Any, k: int) -> Any:
    """Return codes or bundles (k,) or (n, k), of either library, as rows (n, k) of NumPy."""
    rows = to_numpy(x)
    if rows.ndim > 2 or rows.shape[-1] != k:
        raise DataError(
            f"codes of this memory have {k} phases, got {name} of {rows.shape[-1]} phases, shape "
            f"{rows.shape}: use its own space, one code or rows of them."
        )
    return rows[None] if rows.ndim == 1 else rows


def float32_rows(x: Any) -> np.ndarray:
    """Return :func:`unit_rows` of rows (n, k), of either library, as a NumPy array of float32."""
    rows = to_numpy(x)
    if rows.ndim != 2:
        raise DataError(f"expected rows of shape (n, k), got {tuple(rows.shape)}.")
    return unit_rows(rows).astype(np.float32, copy=False)
