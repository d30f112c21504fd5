"""``save`` and ``load``: fitted estimators as one small file that holds no code."""

import json
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from primal._checks import file_path, raised_as
from primal._files import parsed_json, read_tensors, write_tensors
from primal._specs import make_spec
from primal.errors import DataError, ParameterError

_VERSION = 1


class SavedMixin(BaseEstimator):
    """An estimator that is JSON fields and arrays, which `_state` gives and `_from_state` takes."""

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        raise NotImplementedError

    @classmethod
    def _from_state(cls, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        raise NotImplementedError

    def save(self, path: object) -> None:
        """Write the fitted estimator into one file in the format of safetensors.

        Unlike a pickle it runs nothing when it is read, it is small, and other versions of
        scikit-learn and Python read it.

        Parameters
        ----------
        path : str or Path
            Written whole or not at all.
        """
        check_is_fitted(self)
        fields, arrays = self._state()
        document = make_spec(type(self).__name__, **fields)
        with raised_as(ParameterError, "parameters cannot be saved as JSON"):
            text = json.dumps(document, allow_nan=False)
        target = file_path("path", path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(target, text, arrays)

    @classmethod
    def load(cls, path: object) -> Self:
        """Return what :meth:`save` of an estimator of this class wrote.

        Raises
        ------
        DataError
            For a file that is damaged, of another class, or not one of ours.
        """
        target = file_path("path", path)
        text, arrays = read_tensors(target)
        fields = parsed_json(text.encode(), f"the text in {target}")
        found = fields if isinstance(fields, dict) else {}
        kind, version = found.pop("type", None), found.pop("version", None)
        if kind != cls.__name__ or version != _VERSION:
            raise DataError(
                f"{target} must hold a {cls.__name__} of version {_VERSION}, got {kind!r:.60} of "
                f"version {version!r:.20}."
            )
        with raised_as(DataError, f"{target} holds no {cls.__name__}", keep=()):
            return cls._from_state(found, arrays)


def packed_labels(labels: np.ndarray) -> tuple[list[str] | None, dict[str, np.ndarray]]:
    """Return labels as JSON texts, or as an array where they are numbers."""
    if labels.dtype.kind in "biuf":
        wide = {"b": "?", "i": "<i8", "u": "<u8", "f": "<f8"}[labels.dtype.kind]
        return None, {"classes": labels.astype(wide)}
    texts = labels.tolist()
    if not all(isinstance(text, str) for text in texts):
        raise ParameterError(f"labels must be numbers or text to be saved, got {texts!r:.60}.")
    return texts, {}


def checked_array(
    arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...], *dtypes: str
) -> np.ndarray:
    """Return an array of a file if it has the shape and one of the types, and is finite."""
    found = arrays.pop(name, np.empty(0))
    if found.shape != shape or found.dtype.str not in dtypes or not np.isfinite(found).all():
        raise DataError(
            f"{name} must be finite, of shape {shape} and type {' or '.join(dtypes)}, got "
            f"{found.shape} and {found.dtype.str}."
        )
    return found
