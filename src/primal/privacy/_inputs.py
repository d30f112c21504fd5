"""What attacks are given: rows, labels, and the codes that an encoder makes of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import raised_as, real_array, real_matrix, reject_lost_values
from primal.errors import DataError, ParameterError
from primal.maps import DynamicPrime, KernelPrime
from primal.privacy._keyed import KeyedPrime

Encoder = Callable[[np.ndarray], Any]
# Of the largest number in an array: squares of others, and sums of them, may leave float64.
_SIZES = (1e-100, 1e100)


def matrix(name: str, value: object, like: np.ndarray | None = None) -> np.ndarray:
    """Return rows as float64 of shape (n, d), with as many columns as those of `like`."""
    rows = real_matrix(name, value).astype(np.float64)
    if len(rows) < 2:
        raise DataError(f"{name} must have at least two rows, got shape {rows.shape}.")
    if like is not None and rows.shape[1] != like.shape[1]:
        raise DataError(
            f"{name} must have the columns of the other rows, {like.shape[1]}, got {rows.shape}."
        )
    return within_sizes(name, rows)


def within_sizes(name: str, array: np.ndarray) -> np.ndarray:
    """Return an array whose largest number is zero or of a size that has a square in float64."""
    largest, (low, high) = float(np.abs(array).max()), _SIZES
    if largest > high:
        raise DataError(f"{name} must be below {high:g} in size, got {largest:.3g}: scale it down.")
    if 0.0 < largest < low:
        raise DataError(
            f"{name} must have a number above {low:g} in size, got {largest:.3g}: scale it up."
        )
    return array


def labels_of(name: str, values: object, n: int, rows: str = "X") -> np.ndarray:
    """Return labels of n rows, those of the argument `rows`, as an array; none may be missing."""
    reject_lost_values(name, values, as_floats=False)
    with raised_as(DataError, f"{name} must be labels"):
        labels = np.asarray(values)
        np.unique(labels)
        missing = np.asarray(labels != labels)  # NaN and NaT alone differ from themselves
    if labels.shape != (n,):
        raise DataError(
            f"{name} must be one label for each of {n} rows of {rows}, got shape {labels.shape}."
        )
    if missing.any():
        raise DataError(
            f"{name} holds {labels[missing.argmax()]} at row {missing.argmax()}, which equals no "
            "label: name what is missing, or leave out its rows."
        )
    return labels


def codes(encode: Encoder, rows: np.ndarray) -> np.ndarray:
    """Return what an encoder makes of rows, as float64 of shape (n, D)."""
    # A copy: what is attacked must not change, though an encoder works in place.
    found = real_array("codes", encode(rows.copy())).astype(np.float64)
    if found.ndim < 2 or len(found) != len(rows) or not found.size:
        raise DataError(
            f"the encoder must return a code for each of {len(rows)} rows, got shape {found.shape}."
        )
    return within_sizes("codes", found.reshape(len(rows), -1))


def encoder(made: Any) -> Encoder:
    """Return the function from rows to codes of a map, or of any other encoder."""
    if isinstance(made, KeyedPrime):
        return made.features
    if isinstance(made, (DynamicPrime, KernelPrime)):
        return made.encode
    if not callable(made):
        raise ParameterError(f"an encoder must be a map or a callable, got {made!r}.")
    return made
