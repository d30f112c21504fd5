"""To and from the formats of others: torchhd's FHRR tensors and SSP phase matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primal._checks import real_array
from primal._errors import DataError, DimensionError, MissingPackageError
from primal.hdc._arrays import is_tensor
from primal.hdc._codes import Codes, phasors
from primal.hdc._convert import nearest_code, to_numpy, to_torch
from primal.hdc._reals import Reals

__all__ = ["from_fhrr", "from_ssp", "phase_matrix", "to_fhrr", "to_ssp"]


def to_fhrr(x: Any) -> Any:
    """Return codes or bundles as a ``torchhd.FHRRTensor``, whose dimension is our k.

    Parameters
    ----------
    x : Codes or bundle of shape (..., k), NumPy or PyTorch

    Raises
    ------
    MissingPackageError
        If torchhd is not installed.
    """
    try:
        from torchhd import FHRRTensor
    except ImportError:
        raise MissingPackageError(
            "FHRR tensors are torchhd's, which is not installed: pip install torch-hd."
        ) from None
    z = phasors(x)
    tensor = z if is_tensor(z) else to_torch(z)
    return tensor.as_subclass(FHRRTensor)


def from_fhrr(tensor: Any) -> Codes:
    """Return the codes of an FHRR tensor: uint32, or uint64 from complex128.

    Phases are rounded to the nearest 2**-32 turn and lengths are forgotten; codes that came from
    :func:`to_fhrr` are back within 2**-24 turn, the precision of complex64.
    """
    if not is_tensor(tensor) or not tensor.dtype.is_complex:
        raise DataError(f"an FHRR tensor holds complex numbers, got {type(tensor).__name__}.")
    return nearest_code(to_numpy(tensor))


def phase_matrix(reals: Reals) -> np.ndarray:
    """Return the SSP phase matrix of a vocabulary of real vectors, in radians.

    Returns
    -------
    P : ndarray of shape (2 k + 1, d), dtype=float64
        In FFT order: row 0 is zero, rows 1 to k are 2 pi W, rows -1 to -k their negatives. As
        ``SSPEncoder(P, length_scale=1)`` of sspspace takes it: Re ifft(exp(i P x)) then is
        :func:`to_ssp` of our code of x.
    """
    if not isinstance(reals, Reals):
        raise DataError(f"phase_matrix takes a vocabulary of Reals, got {type(reals).__name__}.")
    half = 2.0 * math.pi * reals.frequencies
    return np.concatenate([np.zeros((1, reals.d)), half, -half[::-1]])


def to_ssp(x: Any) -> np.ndarray:
    """Return codes or bundles as real spatial semantic pointers of 2 k + 1 numbers.

    The phases are the positive half of a spectrum, with 1 in front; binding becomes circular
    convolution and similarity (2 k s + 1) / (2 k + 1).

    Returns
    -------
    ssp : float64 array of shape (..., 2 k + 1)
    """
    z = to_numpy(phasors(x)).astype(np.complex128)
    spectrum = np.concatenate([np.ones((*z.shape[:-1], 1)), z], axis=-1)
    return np.fft.irfft(spectrum, n=2 * z.shape[-1] + 1, axis=-1)


def from_ssp(ssp: Any) -> Codes:
    """Return the codes of spatial semantic pointers of odd length: uint32, lengths forgotten."""
    array = real_array("ssp", ssp).astype(np.float64)
    if array.ndim == 0 or array.shape[-1] % 2 == 0 or array.shape[-1] < 3:
        raise DimensionError(f"ssp of k phases has 2 k + 1 numbers, got shape {array.shape}.")
    spectrum = np.fft.rfft(array, axis=-1)[..., 1:]
    return nearest_code(spectrum.astype(np.complex64))
