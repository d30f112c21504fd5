"""New arrays in memory that older ones have left.

The pages of a fresh array of many megabytes can cost as much time as the features in them. So the
memory of a result that nobody holds any more is kept for the next one, up to a limit.
"""

from __future__ import annotations

import math

import numpy as np

# Smaller arrays come from memory that the allocator keeps anyway.
_LEAST_BYTES = 1 << 20
# A vector that begins within a line of the cache is stored in two.
_LINE_BYTES = 64
# By address, the latest last. Threads, and the collector within them, come in between any two
# steps: each step is one operation on the dictionary or on a copy.
_kept: dict[int, np.ndarray] = {}


class _Lease:
    """What views of an array keep alive; the last one that goes gives the memory back.

    That may be while the interpreter ends and modules are gone: `__del__` needs none.
    """

    most_kept_bytes = 1 << 27
    kept = _kept

    def __init__(self, memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._memory, address = memory, memory.ctypes.data
        self._address = address + -address % _LINE_BYTES
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (self._address, False),
        }

    def __del__(self) -> None:
        self.kept[self._address] = self._memory
        found = self.kept.copy()
        excess = sum(map(len, found.values())) - self.most_kept_bytes
        for address, memory in found.items():
            if excess <= 0:
                break
            self.kept.pop(address, None)
            excess -= len(memory)


def new_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array with any content, C-contiguous; a large one begins with a cache line.

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
    for address, memory in reversed(_kept.copy().items()):
        if n_bytes + _LINE_BYTES <= len(memory) <= 2 * n_bytes:
            taken = _kept.pop(address, None)
            if taken is memory:
                return np.asarray(_Lease(memory, shape, dtype))
    memory = np.empty(n_bytes + _LINE_BYTES, dtype=np.uint8)
    return np.asarray(_Lease(memory, shape, dtype))
