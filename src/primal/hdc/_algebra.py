"""The algebra of phasor codes: binding adds phases, bundling adds complex numbers.

Every function takes codes (integer phases) and bundles (complex numbers) of NumPy or PyTorch;
see :mod:`primal.hdc._arrays`. Between codes, binding is integer arithmetic that wraps: it is
associative and commutative, and inverses are exact, to the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primal._checks import whole_number
from primal._errors import DataError
from primal.hdc._arrays import (
    code_bits,
    is_code,
    is_tensor,
    over_entries,
    phasors,
    unit_rows,
)

__all__ = [
    "bind",
    "bundle",
    "identity",
    "inverse",
    "negative",
    "normalised",
    "permute",
    "power",
    "similarity",
    "similarity_matrix",
    "unbind",
]


def bind(a: Any, b: Any) -> Any:
    """Return the product of two codes: the sum of their phases.

    Parameters
    ----------
    a, b : code or bundle of shape (..., k)
        Broadcast against each other.

    Returns
    -------
    product : code if both are codes, else a bundle

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> key, value = space.symbols("key").encode("capital"), space.symbols("value").encode("Paris")
    >>> bool((hdc.unbind(hdc.bind(key, value), key) == value).all())
    True
    """
    return _combine(a, b, np.add)


def unbind(a: Any, b: Any) -> Any:
    """Return a divided by b: exactly what was bound with b, if both are codes."""
    return _combine(a, b, np.subtract)


def inverse(a: Any) -> Any:
    """Return the code that binds with `a` to the identity; the conjugate of a bundle."""
    if not is_code(a):
        return a.conj()
    return -a if is_tensor(a) else np.negative(a)


def negative(a: Any) -> Any:
    """Return -a: every phase half a turn further."""
    bits = code_bits(a)
    if not bits:
        return -a
    if is_tensor(a):
        return a ^ (-(1 << (bits - 1)))  # the smallest integer is the highest bit alone
    return a + a.dtype.type(1 << (bits - 1))


def permute(a: Any, n: int = 1) -> Any:
    """Return `a` with its entries moved n places on, the last ones to the front."""
    code_bits(a)
    return a.roll(n, -1) if is_tensor(a) else np.roll(a, n, axis=-1)


def power(a: Any, r: float) -> Any:
    """Return `a` bound with itself r times, for any real r.

    Parameters
    ----------
    a : code of shape (..., k)
    r : float
        With |r| below 2**53.

    Returns
    -------
    code : array of the type and shape of `a`

    Notes
    -----
    A whole r multiplies integers that wrap: the result is exact. For other r there is no one
    answer, because a code holds phases without their whole turns. Here each phase is read within
    half a turn of zero, multiplied by r and rounded to the nearest unit: within 2**-32 turn for
    32-bit codes and 2**-52 turn for 64-bit ones, the same bits from NumPy and PyTorch. Powers of
    one code then obey power(a, r + s) = bind(power(a, r), power(a, s)) to a unit, while
    power(power(a, r), s) is power(a, r s) only where no phase wraps. To encode real numbers use
    :class:`primal.hdc.Reals`, which multiplies the frequencies themselves and never wraps first.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> third = np.array([2**31 // 3], dtype=np.uint32)
    >>> hdc.power(third, 3).tolist(), hdc.power(third, 0.5).tolist(), hdc.power(third, -1).tolist()
    ([2147483646], [357913941], [3579139414])
    """
    bits = code_bits(a)
    if not bits:
        raise DataError(f"power takes codes, got {a.dtype}: use nearest_code(bundle) first.")
    exponent = float(r)
    if not abs(exponent) < 2.0**53:
        raise DataError(f"r must be a finite number below 2**53 in size, got {r!r}.")
    whole = math.floor(exponent)
    fraction = exponent - whole
    if is_tensor(a):
        return _tensor_power(a, whole, fraction, bits)
    signed = a.view(np.int32 if bits == 32 else np.int64)
    result = a * a.dtype.type(whole % (1 << bits))
    if fraction:
        part = np.rint(signed * (fraction * 2.0 ** (min(bits, 52) - bits)))
        shift = bits - min(bits, 52)
        result += (part.astype(np.int64) << shift).astype(a.dtype)
    return result


def bundle(codes: Any, *, weights: Any = None, normalise: bool = False) -> Any:
    """Return the sum of codes along the axis before the last: a vector similar to each.

    Parameters
    ----------
    codes : code or bundle of shape (..., n, k)
    weights : array_like of shape (n,) or (..., n), optional
        Factor of each code.
    normalise : bool, default=False
        Give every entry the length 1 afterwards. The result looks like a code again and holds
        fewer items: keep raw sums to decode them.

    Returns
    -------
    sum : complex array of shape (..., k)
        complex64 from 32-bit codes.

    Examples
    --------
    >>> from primal import hdc
    >>> symbols = hdc.Space(1024).symbols()
    >>> fruit = hdc.bundle(symbols.encode(["apple", "pear", "fig"]))
    >>> hdc.similarity(fruit, symbols.encode(["fig", "nail"])).round(1).tolist()
    [0.6, -0.0]
    """
    if codes.ndim < 2:
        raise DataError(f"bundle needs codes of shape (..., n, k), got {tuple(codes.shape)}.")
    z = phasors(codes)
    if weights is None:
        total = z.sum(-2)
    elif is_tensor(z):
        import torch

        factors = torch.as_tensor(weights, dtype=z.real.dtype, device=z.device)
        total = (z * factors[..., None]).sum(-2)
    else:
        total = (z * np.asarray(weights, dtype=z.real.dtype)[..., None]).sum(axis=-2)
    return normalised(total) if normalise else total


def normalised(a: Any) -> Any:
    """Return a bundle with every entry of length 1; entries of 0 become 1, as in torchhd."""
    z = phasors(a)
    size = abs(z)
    if is_tensor(z):
        import torch

        return torch.where(size > 0, z / size.clamp_min(torch.finfo(size.dtype).tiny), 1.0)
    return np.where(size > 0, z / np.maximum(size, np.finfo(size.dtype).tiny), z.dtype.type(1))


def similarity(a: Any, b: Any) -> Any:
    """Return the cosine similarity of codes or bundles, broadcast against each other.

    Parameters
    ----------
    a, b : code or bundle of shape (..., k)

    Returns
    -------
    s : array of shape (...)
        Within [-1, 1]; 0 for a bundle of zeros. Of two codes it is the mean of the cosines of
        their phase differences.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> a = hdc.Space(512).symbols().encode("a")
    >>> round(float(hdc.similarity(a, a)), 6), round(float(hdc.similarity(a, hdc.negative(a))), 6)
    (1.0, -1.0)
    """
    if is_code(a) and is_code(b):
        return _wide(phasors(unbind(a, b)).real).mean(-1)
    za, zb = phasors(a), phasors(b)
    dot = _wide((za * zb.conj()).real).sum(-1)
    norms = _length(za) * _length(zb)
    return dot / (norms + (norms == 0))


def similarity_matrix(a: Any, b: Any) -> Any:
    """Return the cosine similarity of every row of `a` with every row of `b`.

    Parameters
    ----------
    a : code or bundle of shape (n, k)
    b : code or bundle of shape (m, k)

    Returns
    -------
    s : array of shape (n, m)

    Notes
    -----
    The real part of a complex product is one real product of twice the length: half of the work.
    """
    return unit_rows(a) @ unit_rows(b).T


def identity(k: int) -> np.ndarray:
    """Return the code that binds without effect: k phases of 0, uint32."""
    return np.zeros(whole_number("k", k, least=1), dtype=np.uint32)


def _combine(a: Any, b: Any, operation: np.ufunc) -> Any:
    """Add or subtract phases where both are codes, else multiply complex numbers."""
    bits = code_bits(a), code_bits(b)
    if is_tensor(a) != is_tensor(b):
        raise DataError(
            f"cannot combine {type(a).__name__} with {type(b).__name__}: use to_torch or to_numpy."
        )
    if 0 in bits:
        za, zb = phasors(a), phasors(b)
        return za * zb if operation is np.add else za * zb.conj()
    if bits[0] != bits[1]:
        raise DataError(
            f"cannot combine codes of {bits[0]} and {bits[1]} bits: round the longer one with "
            "primal.turns.round_turns."
        )
    if is_tensor(a):
        return a + b if operation is np.add else a - b
    if a.shape != b.shape:
        return operation(a, b)
    out = np.empty(a.shape, dtype=a.dtype)
    over_entries(lambda x, y, z: operation(x, y, out=z), a, b, out)
    return out


def _tensor_power(a: Any, whole: int, fraction: float, bits: int) -> Any:
    import torch

    half = 1 << (bits - 1)
    result = a * ((whole + half) % (2 * half) - half)
    if fraction:
        kept = min(bits, 52)
        part = torch.round(a.double() * (fraction * 2.0 ** (kept - bits)))
        result = result + (part.long() << (bits - kept)).to(a.dtype)
    return result


def _length(z: Any) -> Any:
    return _wide(z.real**2 + z.imag**2).sum(-1) ** 0.5


def _wide(x: Any) -> Any:
    """Return an array as float64, so that sums over many entries do not round; tensors stay."""
    return x if is_tensor(x) else x.astype(np.float64, copy=False)
