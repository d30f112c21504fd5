"""The kinds of codes: their names, their types and the checks of arrays of them."""

from __future__ import annotations

import numpy as np

from primal._checks import one_of, real_array, whole_number
from primal.errors import DataError

__all__ = ["KINDS", "checked_codes", "columns_of", "is_phases", "is_waves", "words"]

# What one row is made of.
KINDS = {
    "bits": np.dtype(np.uint8),
    "uint8-phase": np.dtype(np.uint8),
    "uint16-phase": np.dtype(np.uint16),
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
}
# float16 waves have a squared length within 0.1 % of k.
_LENGTH_TOLERANCE = 0.01
_WORDS = (np.uint64, np.uint32, np.uint16, np.uint8)


def is_phases(kind: str) -> bool:
    """Whether a code holds one integer for each frequency."""
    return kind.endswith("-phase")


def is_waves(kind: str) -> bool:
    """Whether a code holds the cosines and sines themselves."""
    return kind.startswith("float")


def columns_of(kind: str, n_frequencies: int) -> int:
    """Return the number of columns of codes of k frequencies."""
    if kind == "bits":
        return -(-2 * n_frequencies // 8)
    return n_frequencies if is_phases(kind) else 2 * n_frequencies


def checked_codes(name: str, value: object, kind: str, n_frequencies: int | None) -> np.ndarray:
    """Return codes of a kind as a contiguous array of rows.

    Parameters
    ----------
    name : str
        Of the argument, for messages.
    value : ndarray of shape (n, columns)
    kind : str
        One of ``KINDS``.
    n_frequencies : int or None
        None takes any number of columns.

    Raises
    ------
    DataError
        If the type or the shape is not that of such codes, bits beyond the last output are
        set, or waves are not finite.
    """
    dtype = KINDS[one_of("kind", kind, KINDS)]
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != 2:
        array = isinstance(value, np.ndarray)
        found = f"{value.dtype} {value.shape}" if array else type(value).__name__
        raise DataError(f"{name} of kind {kind!r} must be {dtype} of shape (n, ...), got {found}.")
    if n_frequencies is not None:
        columns = columns_of(kind, whole_number("n_frequencies", n_frequencies, least=1))
        if value.shape[1] != columns:
            raise DataError(
                f"{name} of kind {kind!r} must have {columns} columns for {n_frequencies} "
                f"frequencies, got {value.shape[1]}."
            )
        _check_padding(name, value, kind, n_frequencies)
        _check_lengths(name, value, kind, n_frequencies)
    if is_waves(kind):
        real_array(name, value)
    return np.ascontiguousarray(value)


def words(bits: np.ndarray) -> np.ndarray:
    """Return rows of bytes as the widest unsigned integers that fit, without a copy."""
    dtype = next(word for word in _WORDS if bits.shape[1] % np.dtype(word).itemsize == 0)
    return bits.view(dtype)


def _check_padding(name: str, value: np.ndarray, kind: str, n_frequencies: int) -> None:
    used = 2 * n_frequencies % 8
    if kind == "bits" and used and len(value) and int(value[:, -1].max()) >> used:
        raise DataError(
            f"{name} has bits set beyond the last of {2 * n_frequencies}: pass what "
            "waves_to_bits returned."
        )


def _check_lengths(name: str, value: np.ndarray, kind: str, n_frequencies: int) -> None:
    """Refuse rows that are not waves: cos**2 + sin**2 is 1 at every frequency."""
    if not is_waves(kind) or not len(value):
        return
    squares = np.einsum("ij,ij->i", value, value, dtype=np.float32) / n_frequencies
    wrong = np.flatnonzero(~(np.abs(squares - 1.0) < _LENGTH_TOLERANCE))
    if len(wrong):
        raise DataError(
            f"row {wrong[0]} of {name} has the squared length "
            f"{squares[wrong[0]] * n_frequencies:.4g} and waves of {n_frequencies} frequencies "
            f"have {n_frequencies}: pass what a map's encode returned."
        )
