"""What transformers of columns to codes share: names of features, tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from primal._checks import raised_as
from primal.errors import DataError
from primal.sklearn._specs import SpecMixin


class ColumnCodes(SpecMixin, TransformerMixin, BaseEstimator):
    """A transformer of every column to `n_components` features, side by side."""

    n_components: int
    n_features_in_: int

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the input column and the number of the feature, as "city_0"."""
        check_is_fitted(self)
        fitted = getattr(self, "feature_names_in_", None)
        names = fitted
        if input_features is not None:
            with raised_as(DataError, "input_features must be names"):
                names = np.asarray(input_features, dtype=object)
            if names.shape != (self.n_features_in_,):
                raise DataError(
                    f"input_features should have length equal to the number of columns, "
                    f"{self.n_features_in_}, got shape {names.shape}."
                )
            if fitted is not None and not np.array_equal(fitted, names):
                raise DataError("input_features is not equal to feature_names_in_: pass None.")
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        return np.array(
            [f"{name}_{i}" for name in names for i in range(self.n_components)], dtype=object
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags
