"""What a row of codes may hold, the checks of arrays of them, and how vectors become codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from primal._checks import one_of, positions, raised_as, real_array, whole_number
from primal._specs import from_spec
from primal.engines import row_blocks, wave_columns
from primal.errors import DataError, MissingPackageError, ParameterError, SpecError
from primal.maps import DynamicPrime, KernelPrime, StaticPrime
from primal.turns import (
    phases_to_bits,
    phases_to_uint8,
    phases_to_uint16,
    round_turns,
    static_turns,
    waves,
)

Map = DynamicPrime | KernelPrime | StaticPrime
# The type of one entry.
STORED = {
    "bits": np.dtype(np.uint8),
    "uint8-phase": np.dtype(np.uint8),
    "uint16-phase": np.dtype(np.uint16),
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
}
# Phases made at once: 16 MB.
_BLOCK_PHASES = 1 << 22
_COMPACT = {
    "bits": phases_to_bits,
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
}
# float16 waves have a squared length within 0.1 % of k.
_LENGTH_TOLERANCE = 0.01
_WORDS = (np.uint64, np.uint32, np.uint16, np.uint8)


def is_phases(stored: str) -> bool:
    """Whether a code holds one integer for each frequency."""
    return stored.endswith("-phase")


def is_waves(stored: str) -> bool:
    """Whether a code holds the cosines and sines themselves."""
    return stored.startswith("float")


def n_columns(stored: str, n_frequencies: int) -> int:
    """Return the number of entries of a code of k frequencies."""
    if stored == "bits":
        return -(-2 * n_frequencies // 8)
    return n_frequencies if is_phases(stored) else 2 * n_frequencies


def checked_codes(name: str, value: object, stored: str, n_frequencies: int | None) -> np.ndarray:
    """Return codes as a contiguous array of rows, if they are some; k = None takes any columns.

    Bits beyond the last output have to be 0, and waves to have the length of waves.
    """
    dtype = STORED[one_of("stored", stored, STORED)]
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 2:
        array = isinstance(value, np.ndarray)
        found = f"{value.dtype} {value.shape}" if array else type(value).__name__
        raise DataError(
            f"{name} stored as {stored!r} must be {dtype} of shape (n, ...), got {found}."
        )
    if is_waves(stored):
        real_array(name, value)
    if n_frequencies is not None:
        k = whole_number("n_frequencies", n_frequencies, least=1)
        if value.shape[1] != n_columns(stored, k):
            raise DataError(
                f"{name} stored as {stored!r} must have {n_columns(stored, k)} columns for {k} "
                f"frequencies, got {value.shape[1]}."
            )
        if stored == "bits" and 2 * k % 8 and (value[:, -1] >> (2 * k % 8)).any():
            raise DataError(
                f"{name} has bits set beyond the last of {2 * k}: pass what phases_to_bits "
                "returned."
            )
        if is_waves(stored):
            _check_lengths(name, value, k)
    return np.ascontiguousarray(value)


def words(bits: np.ndarray) -> np.ndarray:
    """Return rows of bytes as the widest unsigned integers that fit, without a copy."""
    dtype = next(word for word in _WORDS if bits.shape[1] % np.dtype(word).itemsize == 0)
    return bits.view(dtype)


def _check_lengths(name: str, value: np.ndarray, k: int) -> None:
    """Reject rows that are not waves: cos**2 + sin**2 is 1 at every frequency."""
    squares = np.einsum("ij,ij->i", value, value, dtype=np.float32) / k
    wrong = np.flatnonzero(~(np.abs(squares - 1.0) < _LENGTH_TOLERANCE))
    if len(wrong):
        raise DataError(
            f"row {wrong[0]} of {name} has the squared length {squares[wrong[0]] * k:.4g} and "
            f"waves of {k} frequencies have {k}: pass what a map's encode returned."
        )


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
        if stored in _COMPACT:
            out[rows] = _COMPACT[stored](turns)
        else:
            cos, sin = wave_columns(out[rows], m.layout)
            cos[...], sin[...] = waves(turns)
    return out[0] if single else out
