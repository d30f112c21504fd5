"""Codes and features of checked tensors; the layers call these."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from primal.torch import _derivatives, _operators
from primal.torch._inputs import check_device, is_interleaved, output_dtype
from primal.torch._tables import SharedTable


def static_prime(
    t: Tensor, increments: Tensor, *, layout: str = "block", dtype: torch.dtype | None = None
) -> Tensor:
    """Return the codes (*t.shape, 2 k) of integer positions: cosines and sines of t * increment.

    Increments are int64 (k,), in units of 2**-64 turn. The default type is PyTorch's.
    """
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
    """Return exact features (..., 2 k) of x (..., d), the same bits everywhere.

    They are cosines and sines of the phases of x, times the amplitude, which is rounded to float32
    except for float64 features. Their type is that of x by default, of integers PyTorch's. A row
    with NaN, infinity or a value above ``table.x_limit`` has NaN features, on every device.
    Features are differentiable in x, any number of times.
    """
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

    Frequencies (k, d) are in turns per unit of x. Features are differentiable in x and in the
    frequencies, any number of times. A phase of 2**20 turns or more has NaN features.
    """
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
    if dtype != torch.float64:
        amplitude = float(np.float32(amplitude))
    request = amplitude, is_interleaved(layout), dtype
    return _derivatives.features(x, source, *quarter_turns, *request)
