"""What a row of codes may hold: names, types, and the checks of arrays of them."""

from __future__ import annotations

import numpy as np

from primal._checks import one_of, real_array, whole_number
from primal.errors import DataError

__all__ = ["STORED", "checked_codes", "is_phases", "is_waves", "n_columns", "words"]

# The type of one entry.
STORED = {
    "bits": np.dtype(np.uint8),
    "uint8-phase": np.dtype(np.uint8),
    "uint16-phase": np.dtype(np.uint16),
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
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
        if stored == "bits":
            _check_padding(name, value, k)
        elif is_waves(stored):
            _check_lengths(name, value, k)
    return np.ascontiguousarray(value)


def words(bits: np.ndarray) -> np.ndarray:
    """Return rows of bytes as the widest unsigned integers that fit, without a copy."""
    dtype = next(word for word in _WORDS if bits.shape[1] % np.dtype(word).itemsize == 0)
    return bits.view(dtype)


def _check_padding(name: str, value: np.ndarray, k: int) -> None:
    used = 2 * k % 8
    if used and len(value) and int(value[:, -1].max()) >> used:
        raise DataError(
            f"{name} has bits set beyond the last of {2 * k}: pass what phases_to_bits returned."
        )


def _check_lengths(name: str, value: np.ndarray, k: int) -> None:
    """Reject rows that are not waves: cos**2 + sin**2 is 1 at every frequency."""
    squares = np.einsum("ij,ij->i", value, value, dtype=np.float32) / k
    wrong = np.flatnonzero(~(np.abs(squares - 1.0) < _LENGTH_TOLERANCE))
    if len(wrong):
        raise DataError(
            f"row {wrong[0]} of {name} has the squared length {squares[wrong[0]] * k:.4g} and "
            f"waves of {k} frequencies have {k}: pass what a map's encode returned."
        )
