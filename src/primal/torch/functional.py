"""Functional twins of the modules: the mathematics, without state.

Examples
--------
The features of a map of :mod:`primal`, bit for bit:

>>> import numpy as np, primal, torch
>>> from primal.torch import functional as F
>>> m = primal.DynamicPrime(2, 8, 0.1)
>>> x = np.array([[0.5, -2.0]], dtype=np.float32)
>>> z = F.dynamic_prime(torch.from_numpy(x), F.frequency_table(m.basis))
>>> np.array_equal(z.numpy(), m.encode(x))
True
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from primal._checks import one_of, whole_number
from primal.errors import DataError, ParameterError
from primal.torch import _derivatives, _operators
from primal.torch._eager import split_pairs
from primal.torch._increments import increment_tensor
from primal.torch._tables import SharedTable, frequency_table

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "SharedTable",
    "dynamic_prime",
    "dynamic_prime_fast",
    "frequency_table",
    "increment_tensor",
    "output_dtype",
    "prime_features",
    "reverse_prime",
    "static_prime",
    "static_prime_range",
]

LAYOUTS = ("block", "interleaved")
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_POSITIONS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
# Integers that float64 holds without rounding, whatever their value.
_EXACT_INTEGERS = (
    *(torch.int32, torch.int16, torch.int8),
    *(torch.uint32, torch.uint16, torch.uint8),
)


def static_prime(
    t: Tensor, increments: Tensor, *, layout: str = "block", dtype: torch.dtype | None = None
) -> Tensor:
    """Return the codes of integer positions: cosines and sines of t * increment.

    Parameters
    ----------
    t : integer tensor of any shape
        Positions, negative ones too.
    increments : int64 tensor of shape (k,)
        Units of 2**-64 turn; see :func:`increment_tensor`.
    layout : {"block", "interleaved"}, default="block"
    dtype : torch.dtype, optional
        float32, bfloat16, float16 or float64, by default PyTorch's default type; the 16-bit
        ones are the float32 code, rounded.

    Returns
    -------
    z : tensor of shape (*t.shape, 2 k)

    Raises
    ------
    DataError, ParameterError
        If t is not a tensor of integers, devices differ, or an option does not exist.

    Examples
    --------
    >>> import numpy as np, primal, torch
    >>> from primal.torch import functional as F
    >>> s = primal.StaticPrime(64)
    >>> z = F.static_prime(torch.tensor([7, 10**12]), F.increment_tensor(s.increments))
    >>> np.array_equal(z.numpy(), s.encode([7, 10**12]))
    True
    """
    t = checked_positions(t)
    check_device("increments", increments, t)
    return _operators.static_codes(t.long(), increments, _interleaved(layout), output_dtype(dtype))


def static_prime_range(
    n: int,
    increments: Tensor,
    *,
    offset: int = 0,
    layout: str = "block",
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Return the codes of positions offset, ..., offset + n - 1, shape (n, 2 k).

    On a GPU this is bound by the memory it writes; see :func:`static_prime` for the rest.
    """
    n = whole_number("n", n)
    if not (offset >= -(2**63) and offset + n <= 2**63):
        raise DataError(f"positions must lie in [-2**63, 2**63), got {offset} to {offset + n - 1}.")
    return _operators.range_codes(increments, n, offset, _interleaved(layout), output_dtype(dtype))


def dynamic_prime(
    x: Tensor,
    table: SharedTable,
    *,
    layout: str = "block",
    dtype: torch.dtype | None = None,
    amplitude: float = 1.0,
) -> Tensor:
    """Return exact features: cosines and sines of the phases of x, the same bits everywhere.

    Parameters
    ----------
    x : tensor of shape (..., d)
        Any floating type, or integers of up to 32 bits. A row with NaN, infinity or a value
        above ``table.x_limit`` has NaN features, on every device.
    table : SharedTable
        See :func:`frequency_table`.
    layout : {"block", "interleaved"}, default="block"
    dtype : torch.dtype, optional
        float32, bfloat16, float16 or float64, by default the type of x (of integers: PyTorch's
        default type); the 16-bit ones are the float32 features, rounded, and float64 has
        phases and waves to about 1e-15.
    amplitude : float, default=1.0
        Factor of every feature, taken as a float32.

    Returns
    -------
    z : tensor of shape (..., 2 k)
        Differentiable in x, any number of times.

    Raises
    ------
    DataError, ParameterError
        If x is not a tensor, or has the wrong type or shape.
    """
    x = checked_points(x, table.shape[1])
    return _derivatives.exact(
        _as_floats(x), table.key, _float32(amplitude), _interleaved(layout), _type_of(x, dtype)
    )


def dynamic_prime_fast(
    x: Tensor,
    frequencies: Tensor,
    *,
    layout: str = "block",
    dtype: torch.dtype | None = None,
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
        turns or more has NaN features.
    """
    x = checked_points(x, frequencies.shape[1])
    check_device("frequencies", frequencies, x)
    finish = (0, _float32(amplitude), _interleaved(layout), _type_of(x, dtype))
    return _derivatives.fast(_as_floats(x), frequencies, *finish)


def prime_features(
    x: Tensor,
    table: SharedTable,
    *,
    layout: str = "interleaved",
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Return :func:`dynamic_prime` times 1 / sqrt(k): dot products approximate a kernel."""
    amplitude = feature_amplitude(table.shape[0])
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
    z = checked_points(z, 2 * pseudoinverse.shape[1], "z")
    cos, sin = split_pairs(z.double(), _interleaved(layout))
    phases = torch.atan2(sin, cos) / (2.0 * math.pi)
    x = phases @ pseudoinverse.mT
    return x if z.dtype == torch.float64 else x.float()


def output_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Return `dtype` if features can have it; by default PyTorch's default type."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if dtype not in DTYPES:
        raise ParameterError(
            f"dtype must be one of {', '.join(str(d) for d in DTYPES)}, got {dtype!r}."
        )
    return dtype


def feature_amplitude(n_frequencies: int) -> float:
    """Return 1 / sqrt(k) as a float32 number, from correctly rounded operations."""
    return float(np.float32(1.0) / np.sqrt(np.float32(n_frequencies)))


def checked_points(x: Tensor, d: int, name: str = "x") -> Tensor:
    """Return x if it is a tensor of real numbers, d of them along its last axis."""
    if not isinstance(x, Tensor):
        raise DataError(
            f"{name} must be a tensor, got {type(x).__name__}: pass torch.as_tensor({name})."
        )
    if x.dtype == torch.int64 or x.dtype == torch.uint64:
        raise DataError(
            f"{name} has type {x.dtype}, whose values beyond 2**53 float64 cannot hold: pass "
            f"{name}.double() if all of them are smaller."
        )
    if not (x.dtype.is_floating_point or x.dtype in _EXACT_INTEGERS):
        raise DataError(f"{name} must hold real numbers, got {x.dtype}: convert it to float32.")
    if x.layout != torch.strided:
        raise DataError(f"{name} must be dense, got {x.layout}: pass {name}.to_dense().")
    if x.ndim == 0 or x.shape[-1] != d:
        raise DataError(
            f"{name} must have {d} values along its last axis, got shape {tuple(x.shape)}."
        )
    return x


def checked_positions(t: Tensor) -> Tensor:
    """Return t if it is a tensor of integers."""
    if not isinstance(t, Tensor):
        raise DataError(
            f"positions must be a tensor, got {type(t).__name__}: pass torch.as_tensor(t)."
        )
    if t.dtype not in _POSITIONS:
        raise DataError(f"positions must be integers, got {t.dtype}: cast with t.long().")
    return t


def check_device(name: str, tensor: Tensor, x: Tensor) -> None:
    """Raise unless a tensor lies where x does: on the meta device it has no values at all."""
    if tensor.device != x.device:
        raise DataError(
            f"{name} on {tensor.device} and the input on {x.device} cannot be used together: "
            "move one of them (from the meta device with to_empty and reset_parameters, or "
            "load_state_dict)."
        )


def _type_of(x: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    return output_dtype(x.dtype if dtype is None and x.is_floating_point() else dtype)


def _as_floats(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.double()


def _interleaved(layout: str) -> bool:
    return one_of("layout", layout, LAYOUTS) == "interleaved"


def _float32(amplitude: float) -> float:
    return float(np.float32(amplitude))
