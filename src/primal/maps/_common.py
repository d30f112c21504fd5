"""What both maps share: layouts, output types, specs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from primal._checks import one_of
from primal.engines import row_blocks

LAYOUTS = ("block", "interleaved")
PRECISIONS = ("exact", "fast")
DTYPES = ("float32", "float64")
_DTYPES = {name: np.dtype(name) for name in DTYPES}
_BLOCK_ENTRIES = 1 << 20


def output_dtype(dtype: object) -> np.dtype:
    """Return float32 or float64 from a name, a NumPy type or a dtype."""
    if isinstance(dtype, str) and dtype in _DTYPES:
        return _DTYPES[dtype]
    try:
        name = np.dtype(dtype).name  # type: ignore[arg-type]
    except (TypeError, ValueError):
        name = str(dtype)
    return np.dtype(one_of("dtype", name, DTYPES))


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Return slices of rows with about a million entries: converted copies stay at a few MB."""
    return row_blocks(n_rows, n_columns, _BLOCK_ENTRIES)
