"""What attacks are given: rows, labels, and the codes that an encoder makes of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import raised_as, real_array, real_matrix
from primal.errors import DataError

Encoder = Callable[[np.ndarray], Any]
# Squares of larger rows, and sums of them, may leave float64.
_LARGEST = 1e100


def matrix(name: str, value: object, like: np.ndarray | None = None) -> np.ndarray:
    """Return rows as float64 of shape (n, d), with as many columns as those of `like`."""
    rows = real_matrix(name, value).astype(np.float64)
    if len(rows) < 2:
        raise DataError(f"{name} must have at least two rows, got shape {rows.shape}.")
    if like is not None and rows.shape[1] != like.shape[1]:
        raise DataError(
            f"{name} must have the columns of the other rows, {like.shape[1]}, got {rows.shape}."
        )
    if (largest := float(np.abs(rows).max())) > _LARGEST:
        raise DataError(
            f"{name} must be below {_LARGEST:g} in size, got {largest:.3g}: scale it down."
        )
    return rows


def labels_of(name: str, values: object, n: int, rows: str = "X") -> np.ndarray:
    """Return labels of n rows, those of the argument `rows`, as an array."""
    with raised_as(DataError, f"{name} must be labels"):
        labels = np.asarray(values)
        np.unique(labels)
    if labels.shape != (n,):
        raise DataError(
            f"{name} must be one label for each of {n} rows of {rows}, got shape {labels.shape}."
        )
    return labels


def codes(encode: Encoder, rows: np.ndarray) -> np.ndarray:
    """Return what an encoder makes of rows, as float64 of shape (n, D)."""
    found = real_array("codes", encode(rows)).astype(np.float64)
    if found.ndim < 2 or len(found) != len(rows) or not found.size:
        raise DataError(
            f"the encoder must return a code for each of {len(rows)} rows, got shape {found.shape}."
        )
    return found.reshape(len(rows), -1)
