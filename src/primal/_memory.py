"""New arrays in memory that older ones have left.

The pages of a fresh array of many megabytes can cost as much time as the features in them. So the
memory of a result that nobody holds any more is kept for the next one, up to a limit.
"""

from __future__ import annotations

import math

import numpy as np

# Smaller arrays come from memory that the allocator keeps anyway.
_LEAST_BYTES = 1 << 20
_MOST_KEPT_BYTES = 1 << 27
_kept: list[np.ndarray] = []  # the latest last


class _Lease:
    """What views of an array keep alive; the last one that goes gives the memory back."""

    def __init__(self, memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._memory = memory
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (memory.ctypes.data, False),
        }

    def __del__(self, kept: list[np.ndarray] = _kept) -> None:
        kept.append(self._memory)
        while sum(map(len, kept)) > _MOST_KEPT_BYTES:
            kept.pop(0)


def new_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array with any content, C-contiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from primal._memory import new_array
    >>> first = new_array((1000, 1000), np.dtype(np.float32))
    >>> address = first.ctypes.data
    >>> del first
    >>> new_array((1000, 1000), np.dtype(np.float32)).ctypes.data == address
    True
    """
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes < _LEAST_BYTES:
        return np.empty(shape, dtype)
    fits = [i for i, memory in enumerate(_kept) if n_bytes <= len(memory) <= 2 * n_bytes]
    memory = _kept.pop(fits[-1]) if fits else np.empty(n_bytes, dtype=np.uint8)
    return np.asarray(_Lease(memory, shape, dtype))
