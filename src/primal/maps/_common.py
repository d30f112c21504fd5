"""What all maps share: layouts, output types, read-only attributes, normal rows."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar, overload

import numpy as np

from primal._arithmetic import fold_sum
from primal._checks import one_of
from primal._parallel import row_blocks
from primal.exact import row_exponents

T = TypeVar("T")

LAYOUTS = ("block", "interleaved")
PRECISIONS = ("exact", "fast")
DTYPES = ("float32", "float64")
LARGEST_AMPLITUDE = 1e38  # below the largest float32
_DTYPES = {name: np.dtype(name) for name in DTYPES}
# Slices of rows with about a million entries: converted copies stay at a few MB.
blocks = partial(row_blocks, n_entries=1 << 20)


def output_dtype(dtype: object) -> np.dtype:
    """Return float32 or float64 from a name, a NumPy type or a dtype."""
    if isinstance(dtype, str) and dtype in _DTYPES:
        return _DTYPES[dtype]
    try:
        name = np.dtype(dtype).name  # type: ignore[arg-type]
    except (TypeError, ValueError):
        name = str(dtype)
    return np.dtype(one_of("dtype", name, DTYPES))


def apart(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return x, copied if its memory is that of the output, which is written block by block."""
    return x.copy() if np.may_share_memory(x, out) else x


def normalized(rows: np.ndarray) -> np.ndarray:
    """Return rows of mean 0 and variance 1; constant rows become 0.

    Sums in one fixed order: the same bits for a row on its own as in a batch.
    """
    d = rows.shape[1]
    # In its own power of two first: squares of very large or small numbers leave float64.
    scaled = np.ldexp(rows, -row_exponents(rows)[:, None])
    centered = scaled - (fold_sum(scaled) / d)[:, None]
    # The computed mean of equal numbers may differ from them by a rounding.
    centered[rows.max(axis=1) == rows.min(axis=1)] = 0.0
    deviation = np.sqrt(fold_sum(centered * centered) / d)
    return centered / np.where(deviation > 0.0, deviation, 1.0)[:, None]


class read_only(Generic[T]):
    """A property that returns what is kept under another name, typed and with its own words."""

    def __init__(self, path: str, doc: str) -> None:
        self._get, self.__doc__ = attrgetter(path), doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"{owner.__name__}.{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> read_only[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> read_only[T] | T:
        return self if instance is None else self._get(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} cannot be changed: make a new map.")
