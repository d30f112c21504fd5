"""What a row of codes may hold, how vectors become codes, and the similarity of codes.

Sums are of integers, so their order does not matter: NumPy and Numba give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from primal._checks import one_of, positions, raised_as, real_array, require_memory, whole_number
from primal._forks import load_compiled
from primal._parallel import over_rows
from primal._specs import from_spec
from primal.engines import engine, row_blocks, wave_columns
from primal.errors import DataError, MissingPackageError, ParameterError, SpecError
from primal.maps import DynamicPrime, KernelPrime, StaticPrime
from primal.search._accuracy import kernel_from_hamming
from primal.turns import (
    phases_to_bits,
    phases_to_uint8,
    phases_to_uint16,
    round_turns,
    static_turns,
    waves,
)

Map = DynamicPrime | KernelPrime | StaticPrime
# What a row may hold, and the type of one entry.
STORED = {
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "uint8-phase": np.dtype(np.uint8),
    "uint16-phase": np.dtype(np.uint16),
    "bits": np.dtype(np.uint8),
}
# Phases made at once: 16 MB.
_BLOCK_PHASES = 1 << 22
COMPACT = {
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
    "bits": phases_to_bits,
}
# float16 waves have a squared length within 0.1 % of k.
_LENGTH_TOLERANCE = 0.01
_WORDS = (np.uint64, np.uint32, np.uint16, np.uint8)
# Cosines in the table are whole numbers of this: 2**33 terms fit into 64 bits.
TABLE_UNIT = 2.0**-30
# Entries of the largest temporary array of NumPy's ways: a few MB.
_BLOCK_ENTRIES = 1 << 18


def is_phases(stored: str) -> bool:
    """Whether a code holds one integer for each frequency."""
    return stored.endswith("-phase")


def is_waves(stored: str) -> bool:
    """Whether a code holds the cosines and sines themselves."""
    return stored.startswith("float")


def n_columns(stored: str, n_frequencies: int) -> int:
    if stored == "bits":
        return -(-2 * n_frequencies // 8)
    return n_frequencies if is_phases(stored) else 2 * n_frequencies


def checked_codes(name: str, value: object, stored: str, n_frequencies: int | None) -> np.ndarray:
    """Return codes as a contiguous array of rows, if they are some.

    k = None takes any number of columns, for waves any even one. Bits beyond the last output have
    to be 0, and waves to have the length of waves.
    """
    dtype = STORED[one_of("stored", stored, STORED)]
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 2:
        array = isinstance(value, np.ndarray)
        found = f"{value.dtype} {value.shape}" if array else type(value).__name__
        raise DataError(
            f"{name} stored as {stored!r} must be {dtype} of shape (n, ...), got {found}."
        )
    if n_frequencies is None and not is_waves(stored):
        return np.ascontiguousarray(value)
    given = max(1, value.shape[1] // 2) if n_frequencies is None else n_frequencies
    k = whole_number("n_frequencies", given, least=1)
    if value.shape[1] != n_columns(stored, k):
        raise DataError(
            f"{name} stored as {stored!r} must have {n_columns(stored, k)} columns for {k} "
            f"frequencies, got {value.shape[1]}."
        )
    if stored == "bits" and 2 * k % 8 and (value[:, -1] >> (2 * k % 8)).any():
        raise DataError(
            f"{name} has bits set beyond the last of {2 * k}: pass what phases_to_bits returned."
        )
    if is_waves(stored):
        # cos**2 + sin**2 is 1 at every frequency.
        real_array(name, value)
        squares = np.einsum("ij,ij->i", value, value, dtype=np.float32) / k
        wrong = np.flatnonzero(~(np.abs(squares - 1.0) < _LENGTH_TOLERANCE))
        if len(wrong):
            raise DataError(
                f"row {wrong[0]} of {name} has the squared length {squares[wrong[0]] * k:.4g} and "
                f"waves of {k} frequencies have {k}: pass what the encode of an index, a "
                "DynamicPrime or a StaticPrime returned."
            )
    return np.ascontiguousarray(value)


def words(bits: np.ndarray) -> np.ndarray:
    """Return rows of bytes as the widest unsigned integers that fit, without a copy."""
    dtype = next(word for word in _WORDS if bits.shape[1] % np.dtype(word).itemsize == 0)
    return bits.view(dtype)


def checked_map(m: Any) -> Map:
    """Return a map whose phases come in pairs of cosine and sine: given, by spec, or fitted."""
    if isinstance(m, Mapping):
        with raised_as(SpecError, "m is not the spec of a map", keep=(MissingPackageError,)):
            rebuilt = from_spec(m)
        if not isinstance(rebuilt, Map):
            raise SpecError(f"an index needs the spec of a map, got that of a {m['type']}.")
        return checked_map(rebuilt)
    m = getattr(m, "map_", m)
    if not isinstance(m, Map):
        raise ParameterError(
            "m must be a map (DynamicPrime, KernelPrime or StaticPrime), its spec, or fitted "
            f"PrimeFeatures, got {type(m).__name__}."
        )
    if isinstance(m, KernelPrime) and (m.form != "pair" or m.D % 2):
        raise ParameterError(
            f"codes are made from pairs of cosine and sine, got {m.D} features of form "
            f"{m.form!r}: use an even number and form='pair'."
        )
    if isinstance(m, KernelPrime) and m.is_weighted:
        raise ParameterError(
            f"codes hold phases and no weights, got features of method {m.method!r}, whose "
            "frequencies have weights: use method='growable'."
        )
    return m


def encoded(m: Map, x: object, stored: str) -> np.ndarray:
    """Return the codes of raw vectors, (n, columns) or (columns,) for one, made block by block."""
    if isinstance(m, StaticPrime):
        array, wanted, ndim = positions(x), "(n,) or ()", 0
    else:
        array, wanted, ndim = real_array("x", x, last=m.d), f"(n, {m.d}) or ({m.d},)", 1
    if array.ndim not in (ndim, ndim + 1):
        raise DataError(f"x must have shape {wanted}, got {array.shape}.")
    single = array.ndim == ndim
    array = array[None] if single else array
    k = m.D // 2
    out = np.empty((len(array), n_columns(stored, k)), dtype=STORED[stored])
    for rows in row_blocks(len(array), k, _BLOCK_PHASES):
        if isinstance(m, StaticPrime):
            turns = round_turns(static_turns(array[rows].astype(np.uint64), m.increments))
        else:
            turns = m.turns(array[rows])
        if stored in COMPACT:
            out[rows] = COMPACT[stored](turns)
        else:
            cos, sin = wave_columns(out[rows], m.layout)
            cos[...], sin[...] = waves(turns)
    return out[0] if single else out


def similarity(
    a: np.ndarray, b: np.ndarray, stored: str, *, n_frequencies: int | None = None
) -> np.ndarray:
    """Return the similarity of every row of a with every row of b.

    Estimates of mean_j cos(2 pi difference_j), the cosine similarity of the waves: for phases the
    cosine of their difference, looked up; for bits what :func:`kernel_from_hamming` makes of the
    number of bits that differ.

    Parameters
    ----------
    a, b : ndarray of shape (n, c) and (m, c)
        Codes, as ``phases_to_uint8``, ``phases_to_uint16``, ``phases_to_bits`` or a map's
        ``encode`` make them.
    stored : {"float32", "float16", "uint8-phase", "uint16-phase", "bits"}
        Which of these they are.
    n_frequencies : int, optional
        Needed for bits when twice this number is not a multiple of 8.

    Returns
    -------
    ndarray of shape (n, m), dtype=float64

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
        table, out = cosine_table(a.dtype), np.zeros((len(a), len(b)), dtype=np.int64)
        _summed(a, b, out, "lookup", lambda x, y: table[x - y], table)
        return out * (TABLE_UNIT / a.shape[1])
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


def hamming_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the number of bits in which rows of words differ, int32 of shape (n, m)."""
    out = np.zeros((len(a), len(b)), dtype=np.int32)
    return _summed(a, b, out, "hamming", lambda x, y: np.bitwise_count(x ^ y))


def _summed(
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    kernel: str,
    term: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *more: np.ndarray,
) -> np.ndarray:
    """Sum a term over the columns of all pairs of rows, by the kernel of that name or by NumPy."""
    if engine(n_phases=out.size * a.shape[1]).name == "numba":
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
