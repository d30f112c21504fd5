"""``spec`` of a fitted transformer: its parameters and what `fit` has found, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from primal._specs import make_spec, spec_fields
from primal.errors import SpecError


class SpecMixin(BaseEstimator):
    """A transformer that is made again from its parameters and a few fitted attributes.

    A subclass names those attributes and takes them back in `_restore`.
    """

    _fitted_names: ClassVar[tuple[str, ...]]

    @property
    def spec(self) -> dict[str, Any]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this fitted estimator."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        parameters.pop("random_state", None)  # ignored, and any object
        names = getattr(self, "feature_names_in_", None)
        return make_spec(
            type(self).__name__,
            parameters={name: _plain(value) for name, value in parameters.items()},
            fitted={name: _plain(getattr(self, name)) for name in self._fitted_names},
            feature_names=None if names is None else names.tolist(),
        )

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        fields = spec_fields(cls.__name__, fields, ("parameters", "fitted", "feature_names"))
        made = cls(**fields["parameters"])
        made._restore(spec_fields(cls.__name__, fields["fitted"], cls._fitted_names))
        if fields["feature_names"] is not None:
            columns = np.array(fields["feature_names"], dtype=object)
            if columns.shape != (made.n_features_in_,):  # type: ignore[missing-attribute]
                raise SpecError(f"there must be one feature name for each column, got {columns!r}.")
            made.feature_names_in_ = columns  # type: ignore[missing-attribute]
        return made

    def _restore(self, fitted: dict[str, Any]) -> None:
        raise NotImplementedError


def columns(name: str, values: Any, dtype: type, n: int | None = None) -> np.ndarray:
    """Return one number for each column, of a spec: finite, n of them if n is given."""
    found = np.array(values, dtype=dtype)
    if found.ndim != 1 or not len(found) or n not in (None, len(found)):
        raise SpecError(f"{name} must hold one number for each column, got shape {found.shape}.")
    if not np.isfinite(found).all() or found.tolist() != list(values):
        raise SpecError(f"{name} must hold finite numbers of type {found.dtype}, got {values!r}.")
    return found


def _plain(value: Any) -> Any:
    """Return numbers, names and lists as JSON has them."""
    if hasattr(value, "spec"):
        return value.spec
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
