"""Functional twins of the modules: the mathematics, without state.

Examples
--------
The features of a map of :mod:`primal`, bit for bit:

>>> import numpy as np, primal, torch
>>> from primal.torch import functional as F
>>> m = primal.DynamicPrime(2, 8, 0.1)
>>> x = np.array([[0.5, -2.0]], dtype=np.float32)
>>> z = F.dynamic_prime(torch.from_numpy(x), F.table_tensors(m.basis.table))
>>> np.array_equal(z.numpy(), m.encode(x))
True
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from primal._checks import one_of
from primal._errors import DataError, DimensionError, OptionError, PositionError
from primal.torch import _derivatives, _operators
from primal.torch._eager import split_pairs
from primal.torch._tables import TableTensors, increment_tensor, table_tensors

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "TableTensors",
    "dynamic_prime",
    "dynamic_prime_fast",
    "increment_tensor",
    "output_dtype",
    "prime_features",
    "reverse_prime",
    "static_prime",
    "static_prime_range",
    "table_tensors",
]

LAYOUTS = ("block", "interleaved")
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def static_prime(
    t: Tensor, increments: Tensor, *, layout: str = "block", dtype: torch.dtype = torch.float32
) -> Tensor:
    """Return the codes of integer positions: cosines and sines of t * increment.

    Parameters
    ----------
    t : integer tensor of any shape
        Positions, negative ones too.
    increments : int64 tensor of shape (k,)
        Units of 2**-64 turn; see :func:`increment_tensor`.
    layout : {"block", "interleaved"}, default="block"
    dtype : torch.dtype, default=torch.float32
        float32, bfloat16, float16 or float64; the 16-bit ones are the float32 code, rounded.

    Returns
    -------
    z : tensor of shape (*t.shape, 2 k)

    Raises
    ------
    PositionError, OptionError
        If t is not of an integer type, or an option does not exist.

    Examples
    --------
    >>> import numpy as np, primal, torch
    >>> from primal.torch import functional as F
    >>> s = primal.StaticPrime(64)
    >>> z = F.static_prime(torch.tensor([7, 10**12]), F.increment_tensor(s.increments))
    >>> np.array_equal(z.numpy(), s.encode([7, 10**12]))
    True
    """
    if t.dtype not in _INTEGERS:
        raise PositionError(f"positions must be integers, got {t.dtype}: cast with t.long().")
    return _operators.static_codes(t.long(), increments, _interleaved(layout), output_dtype(dtype))


def static_prime_range(
    n: int,
    increments: Tensor,
    *,
    offset: int = 0,
    layout: str = "block",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the codes of positions offset, ..., offset + n - 1, shape (n, 2 k).

    On a GPU this is bound by the memory it writes; see :func:`static_prime` for the rest.
    """
    if n < 0:
        raise DimensionError(f"n must be at least 0, got {n}.")
    if not (offset >= -(2**63) and offset + n <= 2**63):
        raise PositionError(
            f"positions must lie in [-2**63, 2**63), got {offset} to {offset + n - 1}."
        )
    return _operators.range_codes(increments, n, offset, _interleaved(layout), output_dtype(dtype))


def dynamic_prime(
    x: Tensor,
    table: TableTensors,
    *,
    layout: str = "block",
    dtype: torch.dtype = torch.float32,
    amplitude: float = 1.0,
) -> Tensor:
    """Return exact features: cosines and sines of the phases of x, the same bits everywhere.

    Parameters
    ----------
    x : tensor of shape (..., d)
        Any floating type, or integers. On the CPU a row with NaN, infinity or a value above
        ``table.x_limit`` raises; on a GPU its features are NaN.
    table : TableTensors
        See :func:`table_tensors`.
    layout : {"block", "interleaved"}, default="block"
    dtype : torch.dtype, default=torch.float32
        float32, bfloat16, float16 or float64; the 16-bit ones are the float32 features,
        rounded, and float64 has phases and waves to about 1e-15.
    amplitude : float, default=1.0
        Factor of every feature, taken as a float32.

    Returns
    -------
    z : tensor of shape (..., 2 k)
        Differentiable in x, any number of times.

    Raises
    ------
    DataError, PhaseRangeError, OptionError
        If x has the wrong type or shape, or (on the CPU) values that cannot be encoded.
    """
    x = _points(x, table.mantissas.shape[1])
    return _derivatives.exact(
        x, *table, _float32(amplitude), _interleaved(layout), output_dtype(dtype)
    )


def dynamic_prime_fast(
    x: Tensor,
    frequencies: Tensor,
    *,
    layout: str = "block",
    dtype: torch.dtype = torch.float32,
    amplitude: float = 1.0,
) -> Tensor:
    """Return features from one float64 product: float32-accurate, bits not promised.

    Parameters
    ----------
    x : tensor of shape (..., d)
    frequencies : floating tensor of shape (k, d)
        Turns per unit of x; may require a gradient.

    Returns
    -------
    z : tensor of shape (..., 2 k)
        Differentiable in x and in the frequencies, any number of times. A phase of 2**20
        turns or more raises on the CPU and is NaN on a GPU.
    """
    x = _points(x, frequencies.shape[1])
    return _derivatives.fast(
        x, frequencies, 0, _float32(amplitude), _interleaved(layout), output_dtype(dtype)
    )


def prime_features(
    x: Tensor,
    table: TableTensors,
    *,
    layout: str = "interleaved",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return :func:`dynamic_prime` times 1 / sqrt(k): dot products approximate a kernel."""
    amplitude = feature_amplitude(table.mantissas.shape[0])
    return dynamic_prime(x, table, layout=layout, dtype=dtype, amplitude=amplitude)


def reverse_prime(z: Tensor, pseudoinverse: Tensor, *, layout: str = "block") -> Tensor:
    """Return x from features whose phases did not wrap (the paper's Reverse).

    Parameters
    ----------
    z : tensor of shape (..., 2 k)
    pseudoinverse : float64 tensor of shape (d, k)
        Of the frequencies in turns.

    Returns
    -------
    x : tensor of shape (..., d)
        float64 if z is, else float32; computed in float64.
    """
    cos, sin = split_pairs(z.double(), _interleaved(layout))
    phases = torch.atan2(sin, cos) / (2.0 * math.pi)
    x = phases @ pseudoinverse.mT
    return x if z.dtype == torch.float64 else x.float()


def output_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return `dtype` if features can have it."""
    if dtype not in DTYPES:
        raise OptionError(
            f"dtype must be one of {', '.join(str(d) for d in DTYPES)}, got {dtype!r}."
        )
    return dtype


def feature_amplitude(n_frequencies: int) -> float:
    """Return 1 / sqrt(k) as a float32 number, from correctly rounded operations."""
    return float(np.float32(1.0) / np.sqrt(np.float32(n_frequencies)))


def _interleaved(layout: str) -> bool:
    return one_of("layout", layout, LAYOUTS) == "interleaved"


def _float32(amplitude: float) -> float:
    return float(np.float32(amplitude))


def _points(x: Tensor, d: int) -> Tensor:
    if x.dtype.is_complex or x.dtype == torch.bool:
        raise DataError(f"x must hold real numbers, got {x.dtype}: convert it to float32.")
    if x.ndim == 0 or x.shape[-1] != d:
        raise DataError(f"x must have {d} values along its last axis, got shape {tuple(x.shape)}.")
    # int32 and shorter integers are exact in float64, longer ones up to 2**53.
    return x if x.dtype.is_floating_point else x.double()
