"""Input, weights, tags and specs: what estimators share."""

import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from primal._checks import (
    raised_as,
    reject_lost_values,
    reject_masked,
    reject_objects,
    wave_array,
)
from primal._lazy import frozen
from primal._specs import from_spec, make_spec, plain, spec_fields
from primal.errors import DataError, PrimalError, SpecError


@contextmanager
def checked_by_host(name: str) -> Iterator[None]:
    """Raise what scikit-learn rejects as a DataError, or a TypeError as it asks, that names it."""
    try:
        with raised_as(DataError, name, keep=(PrimalError, TypeError)):
            yield
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error


def validate_data(estimator: Any, X: Any, *arguments: Any, **options: Any) -> Any:
    """Like scikit-learn's function of this name; what it would convert with a loss is rejected.

    It would take the values under a mask, round integers beyond 2**53, and count dates in the unit
    that they have. Tables become arrays of objects where the values of columns have to be kept.
    """
    # Integers stay what they are for estimators of positions and of names.
    as_floats = options.get("dtype", "numeric") not in ("numeric", None)
    with checked_by_host("X and y" if arguments else "X"):
        reject_lost_values("X", X, as_floats=as_floats)
        if arguments:
            numeric = options.get("y_numeric", False)
            arguments = (checked_targets(arguments[0], numeric=numeric), *arguments[1:])
        values = None if as_floats else own_values(X)
        if values is None:
            return validation.validate_data(  # type: ignore[missing-attribute]  # since 1.6
                estimator, X, *arguments, **options
            )
        reset = options.pop("reset", True)
        validation.validate_data(estimator, X, reset=reset, skip_check_array=True)  # type: ignore[missing-attribute]
        finite: dict[str, Any] = {"ensure_all_finite": False}  # what is missing may be a category
        return validation.check_array(values, dtype=None, **finite)


def own_values(X: Any) -> np.ndarray | None:
    """Return the values of a table of pandas or polars as objects, or None if an array holds them.

    NumPy has one type for all columns: that of floats for integers in several types, or with
    missing values.
    """
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
    elif hasattr(X, "to_series"):
        columns = [X.to_series(j) for j in range(X.shape[1])]
    else:
        return None
    types = {str(column.dtype) for column in columns}
    first = columns[0].dtype if columns else None
    plain = len(types) == 1 and isinstance(first, np.dtype) and first.kind != "O"
    if plain or not columns or all(name.lower().startswith("float") for name in types):
        return None
    found = np.empty(X.shape, dtype=object)
    for j, column in enumerate(columns):
        found[:, j] = np.fromiter(column.to_list(), dtype=object, count=len(found))
    return found


def checked_targets(y: Any, *, numeric: bool) -> Any:
    """Return targets without missing values; integers of pandas stay integers.

    Those of a regressor are dense and no dates.
    """
    reject_masked("y", y)
    if sparse.issparse(y):
        if numeric:
            raise DataError(f"y must be dense, got {type(y).__name__}: pass y.toarray().")
        return y
    kind = getattr(y, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind not in "OmM":
        return y
    array = np.asarray(y.to_list() if hasattr(y, "to_list") else y, dtype=object)
    if not array.ndim:
        return y
    reject_objects("y", array, dates=not numeric)
    whole = {bool if isinstance(v, bool) else isinstance(v, numbers.Integral) for v in array.flat}
    if array.ndim == 1 and kind is not None and whole in ({bool}, {True}):
        return np.array(array.tolist())
    return y


def checked_features(X: Any) -> np.ndarray:
    """Return features to be inverted, float64 or float32 of shape (n, n_features)."""
    with checked_by_host("X"):
        reject_masked("X", X)
        wave_array("X", validation.check_array(X, dtype="numeric", input_name="X"))
        return validation.check_array(X, dtype=(np.float64, np.float32), input_name="X")


class ReadOnlyArrays(BaseEstimator):
    """An estimator whose fitted arrays are read-only: answers are computed from them.

    Those that it sets, and those of a copy or a pickle, which NumPy makes writable.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        fitted = name.endswith("_") or name.startswith("_")
        if fitted and isinstance(value, np.ndarray):
            value = frozen(value.view())
        super().__setattr__(name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[missing-attribute]
        for name, value in state.items():
            setattr(self, name, value)


class ManyTargets(RegressorMixin):
    """A regressor of y (n,) or (n, m)."""

    _y_options: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    @staticmethod
    def _floats(y: np.ndarray) -> np.ndarray:
        with raised_as(DataError, "y must hold numbers"):
            return y.astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.target_tags.multi_output = True
        return tags


def weighted_rows(
    sample_weight: Any, X: Any, y: np.ndarray | None = None
) -> tuple[Any, Any, np.ndarray | None]:
    """Return X, y and their weights without the rows of weight 0."""
    if sample_weight is None:
        return X, y, None
    n = X.shape[0]
    reject_masked("sample_weight", sample_weight)
    with raised_as(DataError, "sample_weight must be numbers"):
        weights = np.asarray(sample_weight)
        if weights.dtype.kind not in "biufO" or any(isinstance(w, str) for w in weights.flat):
            raise DataError(f"sample_weight must be numbers, got {sample_weight!r:.100}.")
        weights = weights.astype(np.float64)
    if weights.ndim == 0:
        weights = np.full(n, weights)
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


class SpecMixin(ReadOnlyArrays):
    """A transformer made again from its parameters and its `_fitted_names` (`_restore`)."""

    _fitted_names: ClassVar[tuple[str, ...]]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_")  # made last

    @property
    def spec(self) -> dict[str, Any]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this fitted estimator."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        parameters.pop("random_state", None)  # ignored, and any object
        return make_spec(
            type(self).__name__,
            parameters={name: plain(value) for name, value in parameters.items()},
            fitted={name: plain(getattr(self, name)) for name in self._fitted_names},
            feature_names=plain(getattr(self, "feature_names_in_", None)),
        )

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        fields = spec_fields(cls.__name__, fields, ("parameters", "fitted", "feature_names"))
        made = cls(**restored(fields["parameters"]))
        made._restore(spec_fields(cls.__name__, fields["fitted"], cls._fitted_names))
        restore_names(made, fields["feature_names"])
        return made

    def _restore(self, fitted: dict[str, Any]) -> None:
        raise NotImplementedError


def stored(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters for a file; weights of classes as pairs, since keys of JSON are texts."""

    def one(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return plain(value)
        return {"pairs": [[plain(key), plain(own)] for key, own in value.items()]}

    return {name: one(value) for name, value in parameters.items()}


def restored(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a spec or a file, kernels made of parts as objects again."""

    def one(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return dict(value["pairs"]) if set(value) == {"pairs"} else from_spec(value)

    return {name: one(value) for name, value in parameters.items()}


def restore_names(estimator: Any, names: Any) -> None:
    """Keep the names of columns of a spec or a file, if there are any."""
    if names is None:
        return
    found = np.array(names, dtype=object)
    if found.shape != (estimator.n_features_in_,) or not all(isinstance(n, str) for n in found):
        raise SpecError(f"there must be one feature name for each column, got {names!r:.100}.")
    estimator.feature_names_in_ = found


def columns(name: str, values: Any, dtype: type, n: int | None = None) -> np.ndarray:
    """Return one number for each column, of a spec: finite, n of them if n is given."""
    found = np.array(values, dtype=dtype)
    if found.ndim != 1 or not len(found) or n not in (None, len(found)):
        raise SpecError(f"{name} must hold one number for each column, got shape {found.shape}.")
    if not np.isfinite(found).all() or found.tolist() != list(values):
        raise SpecError(f"{name} must hold finite numbers of type {found.dtype}, got {values!r}.")
    return found


def column_range(
    fitted: Mapping[str, Any], dtype: type, n: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest number of each column, of a spec."""
    low = columns("data_min_", fitted["data_min_"], dtype, n)
    high = columns("data_max_", fitted["data_max_"], dtype, len(low))
    if (low > high).any():
        j = int(np.argmax(low > high))
        raise SpecError(
            f"data_min_ must not exceed data_max_, got {low[j]} and {high[j]} in column {j}."
        )
    return low, high
