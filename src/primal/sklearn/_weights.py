"""Weights of rows: a row of weight w counts like w equal rows, one of weight 0 like none."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from primal.errors import DataError


def weighted_rows(
    sample_weight: Any, X: Any, y: np.ndarray | None = None
) -> tuple[Any, Any, np.ndarray | None]:
    """Return X, y and their weights without the rows of weight 0."""
    if sample_weight is None:
        return X, y, None
    n = X.shape[0]
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n, sample_weight)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise DataError(f"sample_weight must be numbers, got {sample_weight!r}.") from None
    if weights.shape != (n,):
        raise DataError(
            f"sample_weight must hold one number for each of the {n} rows, got shape "
            f"{weights.shape}."
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
        raise DataError(
            "sample_weight must be finite and not negative, got values from "
            f"{weights.min()} to {weights.max()}."
        )
    if not weights.any():
        raise DataError("sample_weight is zero in every row: one at least must be positive.")
    if weights.all():
        return X, y, weights
    kept = np.flatnonzero(weights)
    return X[kept], None if y is None else y[kept], weights[kept]
