"""Rows for tests of vector codes, which any language can make, and their digests."""

from __future__ import annotations

import hashlib
from itertools import product

import numpy as np

COLUMNS = (1, 8, 63, 64, 100, 300, 384, 768, 784, 1000, 1536, 4096)
KINDS = list(product((1, 2, 4, 8), ("cosine", "l2", "ip"), (False, True)))


def rows_of(n: int, d: int) -> np.ndarray:
    """Return float64 rows: entry t = i d + j is (t * 2654435761 mod 2**32) / 2**31 - 1.

    Row 1 is zeros, row 2 ones, row 3 has a single 1; rows 4 to 7 are row 0 times 1, 2**100,
    2**-100 and 2**-140.
    """
    t = np.arange(n * d, dtype=np.uint64).reshape(n, d)
    x = (t * np.uint64(2654435761) % np.uint64(2**32)).astype(np.float64) / 2.0**31 - 1
    x[1], x[2], x[3] = 0, 1, np.arange(d) == d // 2
    for row, exponent in ((4, 0), (5, 100), (6, -100), (7, -140)):
        x[row] = np.ldexp(x[0], exponent)
    return x


def given(d: int, metric: str, centered: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ten rows and their center, row 9. Except for "cosine" 2**100 is 2**50: shorter."""
    x = rows_of(10, d)
    if metric != "cosine":
        x[5] = np.ldexp(x[0], 50)
    return x, x[9].astype(np.float32) if centered else None


def digest(*arrays: np.ndarray) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()[:16]
