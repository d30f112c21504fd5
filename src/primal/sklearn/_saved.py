"""``save`` and ``load``: fitted estimators as one small file that holds no code."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from primal._checks import file_path, raised_as, require_memory
from primal._files import read_object, write_object
from primal._specs import make_spec
from primal.errors import DataError, ParameterError


class SavedMixin(BaseEstimator):
    """An estimator that is JSON fields and arrays, which `_state` gives and `_from_state` takes."""

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        raise NotImplementedError

    @classmethod
    def _from_state(cls, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        raise NotImplementedError

    def save(self, path: object) -> None:
        """Write the fitted estimator atomically into one file in the format of safetensors.

        Unlike a pickle, reading the file runs no code, and other versions of scikit-learn and
        Python read it.

        Parameters
        ----------
        path : str or Path
            In a folder that exists. A file that was not saved by Primal is never replaced.

        Raises
        ------
        DataError
            If the file cannot be written, or exists and was not saved by Primal.
        """
        check_is_fitted(self)
        fields, arrays = self._state()
        write_object(file_path("path", path), make_spec(type(self).__name__, **fields), arrays)

    @classmethod
    def load(cls, path: object) -> Self:
        """Return what :meth:`save` of an estimator of this class wrote.

        Raises
        ------
        DataError
            If the file is damaged, which its digest shows, or holds something else.
        """
        target = file_path("path", path)
        fields, arrays = read_object(target, cls.__name__)
        with raised_as(DataError, f"{target} holds no {cls.__name__}", keep=()):
            return cls._from_state(fields, arrays)


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
