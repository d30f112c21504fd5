"""Codes and bundles in other forms: NumPy, PyTorch, torchhd, SSPs, rows of real numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primal._checks import real_array
from primal._extras import require
from primal.errors import DataError, MissingPackageError, ParameterError
from primal.hdc._arrays import is_tensor, nearest_turns, side_by_side
from primal.hdc._codes import Codes, operand, phasors


def nearest_code(bundle: Any) -> Codes:
    """Return the codes whose phases are those of a bundle, lengths forgotten.

    32-bit turns come from complex64, 64-bit ones from complex128; 0 where the bundle is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.hdc import nearest_code
    >>> nearest_code(np.array([3 + 0j, 2j], dtype=np.complex64)).turns.tolist()
    [0, 1073741824]
    """
    return bundle if isinstance(bundle, Codes) else Codes(nearest_turns(operand(bundle)))


def to_torch(x: Any) -> Any:
    """Return NumPy codes or a NumPy bundle as PyTorch's, with the same bits."""
    torch = require("torch", "to_torch")
    if isinstance(x, Codes):
        if is_tensor(x.turns):
            return x
        # Copied, since PyTorch cannot keep them from being changed; a bundle shares memory.
        signed = np.array(x.turns.view(np.int32 if x.bits == 32 else np.int64))
        return Codes(torch.from_numpy(signed))
    return x if is_tensor(operand(x)) else torch.from_numpy(np.ascontiguousarray(x))


def to_numpy(x: Any) -> Any:
    """Return PyTorch's codes or a bundle as NumPy's, with the same bits."""
    if isinstance(x, Codes):
        if not is_tensor(x.turns):
            return x
        signed = x.turns.detach().cpu().numpy()
        return Codes(signed.view(np.uint32 if x.bits == 32 else np.uint64))
    return x.detach().resolve_conj().cpu().numpy() if is_tensor(operand(x)) else x


def to_fhrr(x: Any) -> Any:
    """Return codes or bundles as a ``torchhd.FHRRTensor``, whose dimension is our k."""
    try:
        from torchhd import FHRRTensor
    except ImportError:
        raise MissingPackageError(
            "FHRR tensors are torchhd's, which is not installed: pip install torch-hd."
        ) from None
    return to_torch(phasors(x)).as_subclass(FHRRTensor)


def from_fhrr(tensor: Any) -> Codes:
    """Return the codes of an FHRR tensor: uint32, or uint64 from complex128.

    Phases are rounded to the nearest 2**-32 turn and lengths are forgotten; codes that came from
    :func:`to_fhrr` are back within 2**-24 turn, the precision of complex64.
    """
    if not is_tensor(tensor) or not tensor.dtype.is_complex:
        raise DataError(f"an FHRR tensor holds complex numbers, got {type(tensor).__name__}.")
    return nearest_code(to_numpy(tensor))


def to_ssp(x: Any) -> np.ndarray:
    """Return codes or bundles as real spatial semantic pointers: float64 of shape (..., 2 k + 1).

    The phases are the positive half of a spectrum, with 1 in front; binding becomes circular
    convolution and similarity (2 k s + 1) / (2 k + 1).
    """
    z = to_numpy(phasors(x)).astype(np.complex128)
    spectrum = np.concatenate([np.ones((*z.shape[:-1], 1)), z], axis=-1)
    return np.fft.irfft(spectrum, n=2 * z.shape[-1] + 1, axis=-1)


def from_ssp(ssp: Any) -> Codes:
    """Return the codes of spatial semantic pointers of odd length: uint32, lengths forgotten."""
    array = real_array("ssp", ssp).astype(np.float64)
    if array.ndim == 0 or array.shape[-1] % 2 == 0 or array.shape[-1] < 3:
        raise ParameterError(
            f"ssp must have 2 k + 1 numbers for k phases, got shape {array.shape}."
        )
    spectrum = np.fft.rfft(array, axis=-1)[..., 1:]
    return nearest_code(spectrum.astype(np.complex64))


def unit_rows(x: Any) -> Any:
    """Return codes or bundles (n, k) or (k,) as real rows (n, 2 k) or (2 k,) of length 1.

    A product of two such rows is the similarity: half of the work of a complex one.
    """
    if operand(x).ndim > 2:
        raise DataError(
            f"expected rows of shape (n, k) or one of shape (k,), got {tuple(x.shape)}."
        )
    z = phasors(x)
    if is_tensor(z):
        import torch

        rows = torch.view_as_real(z.resolve_conj().contiguous()).flatten(-2)
    else:
        rows = side_by_side(z, z.dtype)
    if isinstance(x, Codes):  # the length is known
        return rows * (1.0 / math.sqrt(x.k))
    lengths = (rows**2).sum(-1)[..., None] ** 0.5
    return rows / (lengths + (lengths == 0))


def float32_rows(x: Any) -> np.ndarray:
    """Return :func:`unit_rows` of rows (n, k), of either library, as a NumPy array of float32."""
    rows = to_numpy(x)
    if operand(rows).ndim != 2:
        raise DataError(f"expected rows of shape (n, k), got {tuple(rows.shape)}.")
    return unit_rows(rows).astype(np.float32, copy=False)
