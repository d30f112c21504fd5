"""Functional twins of the modules: the mathematics, without state."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from primal._checks import real_number
from primal.errors import DataError, ParameterError
from primal.maps import LARGEST_AMPLITUDE
from primal.torch import _derivatives, _operators
from primal.torch._inputs import (
    check_device,
    checked_points,
    checked_positions,
    is_interleaved,
    output_dtype,
)
from primal.torch._tables import SharedTable, frequency_table, increment_tensor

__all__ = [
    "dynamic_prime",
    "dynamic_prime_fast",
    "frequency_table",
    "increment_tensor",
    "static_prime",
]


def static_prime(
    t: Tensor, increments: Tensor, *, layout: str = "block", dtype: torch.dtype | None = None
) -> Tensor:
    """Return the codes (*t.shape, 2 k) of integer positions: cosines and sines of t * increment.

    Parameters
    ----------
    t : integer tensor of any shape
        Positions, negative ones too.
    increments : int64 tensor of shape (k,)
        Units of 2**-64 turn; see :func:`increment_tensor`.
    layout, dtype
        As in :func:`dynamic_prime`; codes have PyTorch's default type by default.

    Returns
    -------
    z : tensor of shape (*t.shape, 2 k)

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
    if not isinstance(increments, Tensor) or increments.dtype != torch.int64:
        raise DataError(
            f"increments must be a tensor of int64, got {_kind(increments)}: use increment_tensor."
        )
    if increments.ndim != 1 or increments.layout != torch.strided:
        raise DataError(
            f"increments must have one axis and be dense, got shape {tuple(increments.shape)}."
        )
    check_device("increments", increments, t)
    return _operators.static_codes(
        t.long(), increments, is_interleaved(layout), output_dtype(dtype)
    )


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
    layout : {"block", "interleaved"}
    dtype : torch.dtype, optional
        float32, bfloat16, float16 or float64, by default the type of x (of integers: PyTorch's
        default type); the 16-bit ones are the float32 features, rounded, and float64 has
        phases and waves to about 1e-15.
    amplitude : float, default=1.0
        Factor of every feature, rounded to float32 but for float64 features.

    Returns
    -------
    z : tensor of shape (..., 2 k)
        Differentiable in x, any number of times.

    Examples
    --------
    >>> import numpy as np, primal, torch
    >>> from primal.torch import functional as F
    >>> m = primal.DynamicPrime(2, 8, 0.1)
    >>> x = np.array([[0.5, -2.0]], dtype=np.float32)
    >>> z = F.dynamic_prime(torch.from_numpy(x), F.frequency_table(m.basis))
    >>> np.array_equal(z.numpy(), m.encode(x))
    True
    """
    if not isinstance(table, SharedTable):
        raise ParameterError(
            f"table must be what frequency_table returns, got {type(table).__name__}."
        )
    x = checked_points(x, table.shape[1])
    return _features(x, table.key, (), layout, dtype, amplitude)


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
    x : Tensor of shape (..., d)
    frequencies : Tensor of shape (k, d)
        Turns per unit of x.
    layout, dtype, amplitude
        As in :func:`dynamic_prime`.

    Returns
    -------
    z : tensor of shape (..., 2 k)
        Differentiable in x and in the frequencies, any number of times. A phase of 2**20 turns or
        more has NaN features.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import functional as F
    >>> F.dynamic_prime_fast(torch.tensor([1.0]), torch.tensor([[0.125], [0.5]]))[:2]
    tensor([ 0.7071, -1.0000])
    """
    if not isinstance(frequencies, Tensor) or not frequencies.is_floating_point():
        raise DataError(f"frequencies must be a floating tensor, got {_kind(frequencies)}.")
    if frequencies.ndim != 2 or frequencies.layout != torch.strided:
        raise DataError(
            f"frequencies must be a dense matrix, got shape {tuple(frequencies.shape)}."
        )
    x = checked_points(x, frequencies.shape[1])
    check_device("frequencies", frequencies, x)
    return _features(x, frequencies, (0,), layout, dtype, amplitude)


def _features(
    x: Tensor,
    source: str | Tensor,
    quarter_turns: tuple[int, ...],
    layout: str,
    dtype: torch.dtype | None,
    amplitude: float,
) -> Tensor:
    dtype = output_dtype(x.dtype if dtype is None and x.is_floating_point() else dtype)
    x = x if x.is_floating_point() else x.double()
    if type(amplitude) is not float or not abs(amplitude) < LARGEST_AMPLITUDE:
        limits = {"above": -LARGEST_AMPLITUDE, "below": LARGEST_AMPLITUDE}
        amplitude = real_number("amplitude", amplitude, **limits)
    if dtype != torch.float64:
        amplitude = float(np.float32(amplitude))
    request = amplitude, is_interleaved(layout), dtype
    return _derivatives.features(x, source, *quarter_turns, *request)


def _kind(value: object) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__
