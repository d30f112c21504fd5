"""Functional twins of the modules: the mathematics, without state."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from primal._checks import real_number, require_memory, whole_number
from primal.errors import DataError, ParameterError
from primal.maps import LARGEST_AMPLITUDE
from primal.torch import _derivatives, _operators
from primal.torch._eager import split_pairs
from primal.torch._inputs import (
    check_device,
    check_tensor,
    checked_points,
    checked_positions,
    is_interleaved,
    output_dtype,
)
from primal.torch._tables import SharedTable, frequency_table, increment_tensor

__all__ = [
    "SharedTable",
    "decode_prime",
    "dynamic_prime",
    "dynamic_prime_fast",
    "frequency_table",
    "increment_tensor",
    "static_prime",
    "static_prime_range",
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
    check_device("increments", checked_increments(increments), t)
    return _operators.static_codes(
        t.long(), increments, is_interleaved(layout), output_dtype(dtype)
    )


def static_prime_range(
    n: int,
    increments: Tensor,
    *,
    offset: int = 0,
    layout: str = "block",
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Return the codes (n, 2 k) of n consecutive positions.

    On a GPU this is bound by the memory it writes.

    Parameters
    ----------
    n : int
    increments, layout, dtype
        As in :func:`static_prime`.
    offset : int, default=0
        The first position.

    Returns
    -------
    Tensor of shape (n, 2 k)

    Examples
    --------
    >>> import primal, torch
    >>> from primal.torch import functional as F
    >>> increments = F.increment_tensor(primal.increments(4))
    >>> codes = F.static_prime_range(3, increments, offset=10**12)
    >>> torch.equal(codes, F.static_prime(torch.arange(3) + 10**12, increments))
    True
    """
    n = whole_number("n", n)
    if isinstance(offset, bool) or not isinstance(offset, int):  # a compiler's symbol is an int
        offset = whole_number("offset", offset, least=-(2**63))
    require_memory(
        8 * n * checked_increments(increments).numel(), f"the codes of n = {n} positions"
    )
    if not (-(2**63) <= offset < 2**63 and offset + n <= 2**63):
        raise DataError(f"positions must lie in [-2**63, 2**63), got {offset} to {offset + n - 1}.")
    return _operators.range_codes(
        increments, n, offset, is_interleaved(layout), output_dtype(dtype)
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

    They have shape (..., 2 k) and are differentiable in x, any number of times.

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
        Factor of every feature, taken as a float32.

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

    Of shape (..., 2 k), differentiable in x and in the frequencies, any number of times. A phase of
    2**20 turns or more has NaN features.

    Parameters
    ----------
    x : Tensor of shape (..., d)
    frequencies : Tensor of shape (k, d)
        Turns per unit of x.
    layout, dtype, amplitude
        As in :func:`dynamic_prime`.

    Returns
    -------
    Tensor of shape (..., 2 k)

    Examples
    --------
    >>> import torch
    >>> from primal.torch import functional as F
    >>> F.dynamic_prime_fast(torch.tensor([1.0]), torch.tensor([[0.125], [0.5]]))[:2]
    tensor([ 0.7071, -1.0000])
    """
    x = checked_points(x, _checked_matrix("frequencies", frequencies).shape[1])
    check_device("frequencies", frequencies, x)
    return _features(x, frequencies, (0,), layout, dtype, amplitude)


def decode_prime(z: Tensor, pseudoinverse: Tensor, *, layout: str = "block") -> Tensor:
    """Return x (..., d) from features whose phases did not wrap (the paper's Reverse).

    It is float64 if z is, else float32.

    Parameters
    ----------
    z : Tensor of shape (..., 2 k)
        Features, of any amplitude.
    pseudoinverse : Tensor of shape (d, k), dtype=float64
        That of the frequencies.
    layout : {"block", "interleaved"}, default="block"
        The order of columns.

    Returns
    -------
    Tensor of shape (..., d)
        float64 if z is, else float32.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import functional as F
    >>> frequencies = torch.tensor([[0.1, 0.02], [0.03, -0.1]], dtype=torch.float64)
    >>> x = torch.tensor([1.5, -2.0], dtype=torch.float64)
    >>> z = F.dynamic_prime_fast(x, frequencies)
    >>> F.decode_prime(z, torch.linalg.pinv(frequencies)).round(decimals=6)
    tensor([ 1.5000, -2.0000], dtype=torch.float64)
    """
    d, k = _checked_matrix("pseudoinverse", pseudoinverse).shape
    check_tensor("z", z)
    if z.shape[-1:] != (2 * k,):
        raise DataError(
            f"a pseudoinverse of shape {(d, k)} is for {2 * k} features, got z of shape "
            f"{tuple(z.shape)}."
        )
    z = checked_points(z, 2 * k, "z")
    check_device("pseudoinverse", pseudoinverse, z)
    x = phases_of(z, layout) @ pseudoinverse.mT.double()
    return x if z.dtype == torch.float64 else x.float()


def phases_of(z: Tensor, layout: str) -> Tensor:
    """Return the phases of features (..., 2 k) in turns within half a turn of 0, float64."""
    cos, sin = split_pairs(z.double(), is_interleaved(layout))
    return torch.atan2(sin, cos) / (2.0 * math.pi)


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
    finish = (float(np.float32(amplitude)), is_interleaved(layout), dtype)
    return _derivatives.features(x, source, *quarter_turns, *finish)


def _kind(value: object) -> str:
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__


def checked_increments(increments: Tensor) -> Tensor:
    if not isinstance(increments, Tensor) or increments.dtype != torch.int64:
        raise DataError(
            f"increments must be a tensor of int64, got {_kind(increments)}: use increment_tensor."
        )
    if increments.ndim != 1 or increments.layout != torch.strided:
        raise DataError(
            f"increments must have one axis and be dense, got shape {tuple(increments.shape)}."
        )
    return increments


def _checked_matrix(name: str, matrix: Tensor) -> Tensor:
    if not isinstance(matrix, Tensor) or not matrix.is_floating_point():
        raise DataError(f"{name} must be a floating tensor, got {_kind(matrix)}.")
    if matrix.ndim != 2 or matrix.layout != torch.strided:
        raise DataError(f"{name} must be a dense matrix, got shape {tuple(matrix.shape)}.")
    return matrix
