"""Labels and arrays in the file of a fitted model, checked when they are read."""

from typing import Any

import numpy as np

from primal._checks import require_memory
from primal.errors import DataError, ParameterError


def packed_labels(labels: np.ndarray) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return labels as their type and strings, or as their type and an array of numbers."""
    found: dict[str, Any] = {"dtype": labels.dtype.str, "texts": None}
    if labels.dtype.kind in "biuf":
        return found, {"classes": labels}
    texts = labels.tolist()
    if labels.dtype.kind not in "UO" or not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"labels must be numbers or text to be saved, got {texts!r:.60}.")
    return found | {"texts": texts}, {}


def unpacked_labels(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the labels that :func:`packed_labels` was given, of the same type."""
    texts, dtype = found["texts"], np.dtype(found["dtype"])
    if texts is None:
        return arrays.pop("classes").astype(dtype, casting="equiv")
    if dtype.kind not in "UO" or not all(isinstance(text, str) for text in texts):
        raise DataError(f"classes must be strings, got {texts!r:.60} of type {dtype}.")
    require_memory(len(texts) * dtype.itemsize, f"{len(texts)} labels of type {dtype}")
    return np.array(texts, dtype=dtype)


def checked_array(
    arrays: dict[str, np.ndarray],
    name: str,
    shape: tuple[int, ...],
    *dtypes: str,
    finite: bool = True,
) -> np.ndarray:
    """Return an array of a file if it has the shape and one of the types, and is finite."""
    found = arrays.pop(name, np.empty(0))
    numbers = np.isfinite(found) if finite else ~np.isnan(found)
    if found.shape != shape or found.dtype.str not in dtypes or not numbers.all():
        raise DataError(
            f"{name} must be finite, of shape {shape} and type {' or '.join(dtypes)}, got "
            f"{found.shape} and {found.dtype.str}."
        )
    return found
