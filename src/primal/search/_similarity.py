"""Similarity computed on codes, without turning them back into waves.

Sums are of integers, so their order does not matter: NumPy and Numba give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from primal._checks import require_memory
from primal._forks import load_compiled
from primal._parallel import over_rows
from primal.engines import engine, row_blocks
from primal.errors import DataError
from primal.search._accuracy import kernel_from_hamming
from primal.search._stored import checked_codes, is_phases, words
from primal.turns import waves

# Cosines in the table are whole numbers of this: 2**33 terms fit into 64 bits.
TABLE_UNIT = 2.0**-30
# Entries of the largest temporary array of NumPy's ways: a few MB.
_BLOCK_ENTRIES = 1 << 18


def similarity(
    a: np.ndarray, b: np.ndarray, stored: str, *, n_frequencies: int | None = None
) -> np.ndarray:
    """Return the similarity of every row of a with every row of b.

    Parameters
    ----------
    a, b : ndarray of shape (n, columns) and (m, columns)
        Codes, as ``phases_to_uint8``, ``phases_to_uint16``, ``phases_to_bits`` or a map's
        ``encode`` make them.
    stored : {"bits", "uint8-phase", "uint16-phase", "float16", "float32"}
    n_frequencies : int, optional
        Number k of frequencies; needed for bits when 2 k is not a multiple of 8.

    Returns
    -------
    similarity : ndarray of shape (n, m), dtype=float64
        Estimates of mean_j cos(2 pi difference_j), the cosine similarity of the waves: for
        phases the cosine of their difference, looked up; for bits what
        :func:`kernel_from_hamming` makes of the number of bits that differ.

    Examples
    --------
    >>> import primal
    >>> from primal.search import similarity
    >>> from primal.turns import phases_to_bits, phases_to_uint8
    >>> m = primal.DynamicPrime(2, 512, 0.2, basis="auto")
    >>> turns = m.turns([[1.0, 2.0], [1.2, 1.9]])
    >>> z = m.encode([[1.0, 2.0], [1.2, 1.9]])
    >>> print(f"{z[0] @ z[1] / 256:.4f}")
    0.9618
    >>> print(f"{similarity(*phases_to_uint8(turns)[:, None], 'uint8-phase')[0, 0]:.4f}")
    0.9621
    >>> print(f"{similarity(*phases_to_bits(turns)[:, None], 'bits')[0, 0]:.4f}")
    0.9603
    """
    a = checked_codes("a", a, stored, n_frequencies)
    b = checked_codes("b", b, stored, n_frequencies)
    if a.shape[1] != b.shape[1]:
        raise DataError(
            f"a and b must have equally many columns, got {a.shape[1]} and {b.shape[1]}."
        )
    if a.shape[1] == 0:
        raise DataError("codes without columns have no similarity.")
    require_memory(8 * len(a) * len(b), f"a similarity matrix of {len(a)} x {len(b)}")
    if stored == "bits":
        k = n_frequencies or 4 * a.shape[1]
        return similarity_of_distances(k)[hamming_distances(words(a), words(b))]
    if is_phases(stored):
        sums = pair_sums(a, b, cosine_table(a.dtype))
        return sums * (TABLE_UNIT / a.shape[1])
    return a.astype(np.float64) @ b.astype(np.float64).T / (a.shape[1] / 2)


@cache
def cosine_table(dtype: np.dtype) -> np.ndarray:
    """Return the cosine of every phase of 8 or 16 bits, int32 in units of ``TABLE_UNIT``."""
    n_bits = 8 * dtype.itemsize
    turns = np.arange(1 << n_bits, dtype=np.uint64) << np.uint64(64 - n_bits)
    table = np.rint(waves(turns)[0] / TABLE_UNIT).astype(np.int32)
    table.flags.writeable = False
    return table


@cache
def similarity_of_distances(n_frequencies: int) -> np.ndarray:
    """Return the similarity that 0, 1, ..., 2 k differing bits stand for, float64."""
    distances = np.arange(2 * n_frequencies + 1)
    values = kernel_from_hamming(1.0 - distances / n_frequencies)
    values.flags.writeable = False
    return values


def hamming_distances(a: np.ndarray, b: np.ndarray, engine_name: str | None = None) -> np.ndarray:
    """Return the number of bits in which rows of words differ, int32 of shape (n, m)."""
    out = np.zeros((len(a), len(b)), dtype=np.int32)
    return _summed(a, b, out, "hamming", lambda x, y: np.bitwise_count(x ^ y), (), engine_name)


def pair_sums(a: np.ndarray, b: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return sum_j table[a_j - b_j] for all pairs of rows, int64 of shape (n, m)."""
    out = np.zeros((len(a), len(b)), dtype=np.int64)
    return _summed(a, b, out, "lookup", lambda x, y: table[x - y], (table,))


def _summed(
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    kernel: str,
    term: Callable[[np.ndarray, np.ndarray], np.ndarray],
    more: tuple[np.ndarray, ...],
    engine_name: str | None = None,
) -> np.ndarray:
    """Sum a term over the columns of all pairs of rows, by the kernel of that name or by NumPy."""
    if engine(engine_name, n_phases=out.size * a.shape[1]).name == "numba":
        compiled = getattr(load_compiled("primal.search._numba_kernels"), kernel)

        def work(first: int, last: int) -> None:
            compiled(a[first:last], b, *more, out[first:last])

        over_rows(len(a), 1 + _BLOCK_ENTRIES // max(1, b.size), work)
        return out
    columns = np.ascontiguousarray(b.T)
    for rows in row_blocks(len(a), len(b), _BLOCK_ENTRIES):
        for c in range(a.shape[1]):
            out[rows] += term(a[rows, c, None], columns[c])
    return out
