"""Codes and bundles as tensors of torchhd."""

from typing import Any

from primal.errors import DataError, MissingPackageError
from primal.hdc._codes import Codes, is_tensor, nearest_code, phasors, to_numpy, to_torch


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
    return to_torch(phasors(x)).as_subclass(FHRRTensor)


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
