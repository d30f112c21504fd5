"""``PrimePositions``: integer columns to codes, as a scikit-learn transformer."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from primal._checks import raised_as
from primal._errors import DataError, DimensionError, NotInvertibleError, PositionError
from primal.maps import StaticPrime
from primal.sklearn._codes import code_map, code_names, column_codes
from primal.sklearn._contract import checked_by_host, validate_data

__all__ = ["PrimePositions"]

# Beyond this a float no longer holds every integer.
_LARGEST_EXACT_FLOAT = 2.0**53
_LARGEST_POSITION = 2**63 - 1
# How NumPy, pandas and polars write the types of columns of dates and durations.
_DATE_KINDS = ("datetime", "timedelta", "period", "Date", "Duration")
_DATES = (datetime.date, datetime.time, datetime.timedelta)


class PrimePositions(TransformerMixin, BaseEstimator):
    """Give every integer of every column a code: StaticPrime for tables.

    Each column becomes `n_components` columns of length 1 together, so that the inner product
    of two codes is their cosine similarity. With sigma = 1 codes of different integers are
    nearly orthogonal (a key, an index, a bucket); with a small sigma, such as 1e-4, close
    integers have similar codes (a time, a count).

    Parameters
    ----------
    n_components : int, default=64
        Length of a code. A shorter code is, up to its scale, a prefix of a longer one.
    sigma : float, default=1.0
        Scale of the frequencies.
    start : int, default=0
        Index of the first prime.

    Attributes
    ----------
    data_min_, data_max_ : ndarray of shape (n_columns,), dtype=int64
        Range of each column seen; `inverse_transform` looks for integers in it.
    map_ : StaticPrime
        The map behind the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimePositions
    >>> days = np.array([[0], [1], [364]])
    >>> positions = PrimePositions(8).fit(days)
    >>> Z = positions.transform(days)
    >>> Z.shape, Z.dtype
    ((3, 8), dtype('float32'))
    >>> positions.inverse_transform(Z).ravel()
    array([  0,   1, 364])
    """

    n_features_in_: int

    def __init__(
        self,
        n_components: int = 64,
        *,
        sigma: float = 1.0,
        start: int = 0,
    ) -> None:
        self.n_components = n_components
        self.sigma = sigma
        self.start = start

    def fit(self, X: Any, y: Any = None) -> PrimePositions:
        """Check the parameters and note the range of every column.

        Parameters
        ----------
        X : array_like of shape (n, n_columns)
            Integers, or floats that are whole numbers.
        y : ignored

        Raises
        ------
        PositionError, DataError
            If X holds anything but whole numbers that fit; for dates the message says how to
            count them.
        """
        t = self._validated(X, reset=True)
        self.map_ = code_map(self.n_components, sigma=self.sigma, start=self.start)
        self.data_min_, self.data_max_ = t.min(axis=0), t.max(axis=0)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> PrimePositions:
        """Widen the range by one more batch; the first call fits."""
        if not hasattr(self, "map_"):
            return self.fit(X)
        t = self._validated(X, reset=False)
        self.data_min_ = np.minimum(self.data_min_, t.min(axis=0))
        self.data_max_ = np.maximum(self.data_max_, t.max(axis=0))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of every column side by side.

        Returns
        -------
        Z : ndarray of shape (n, n_columns * n_components), dtype=float32
        """
        check_is_fitted(self)
        return column_codes(self.map_, self.n_components, self._validated(X, reset=False))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return for each code the integer of the fitted range whose code is most similar.

        All integers between `data_min_` and `data_max_` of a column are tried.

        Returns
        -------
        t : ndarray of shape (n, n_columns), dtype=int64

        Raises
        ------
        DataError
            If a code is erased, or too noisy for a range of more than 2**24 integers.
        """
        check_is_fitted(self)
        with checked_by_host("X"):
            Z = check_array(X, dtype=(np.float32, np.float64))
        D, n_columns = self.n_components, self.n_features_in_
        if Z.shape[1] != D * n_columns:
            raise DimensionError(f"X must have {D * n_columns} columns, got {Z.shape[1]}.")
        if D < 2:
            raise NotInvertibleError("a code of one cosine has no inverse: use 2 or more.")
        pairs = code_map(D - D % 2, sigma=self.sigma, start=self.start)
        found = np.empty((len(Z), n_columns), dtype=np.int64)
        for j in range(n_columns):
            low, n = int(self.data_min_[j]), int(self.data_max_[j] - self.data_min_[j]) + 1
            codes = _shifted(pairs, Z[:, j * D : j * D + pairs.D], low)
            steps = np.asarray(pairs.decode(codes, n=n))
            if (steps < 0).any():
                raise DataError(
                    f"no integer can be named for row {int(np.argmin(steps))}, column {j}: its "
                    "code is erased or too noisy. Leave such rows out."
                )
            found[:, j] = low + steps
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the input column and the number of the feature, as "day_0"."""
        check_is_fitted(self)
        return code_names(self, self.n_components, input_features)

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        try:
            array = validate_data(self, X, dtype="numeric", reset=reset)
            whole = array if array.dtype.kind in "iub" else np.rint(array)
        except TypeError:
            dates = _date_type(X)
            if not dates:
                raise
            raise DataError(
                f"positions must be whole numbers, got {dates}. Count dates in a unit, such as "
                "days: np.asarray(X, dtype='datetime64[D]').astype('int64')."
            ) from None
        if array.dtype == np.uint64 and array.max() > _LARGEST_POSITION:
            raise PositionError(
                f"positions must be below 2**63, got {array.max()}: subtract the smallest."
            )
        if array.dtype.kind in "iub":
            return array.astype(np.int64)
        wrong = (whole != array) | (np.abs(array) > _LARGEST_EXACT_FLOAT)
        if wrong.any():
            row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
            raise PositionError(
                f"positions must be whole numbers within 2**53, got {array[row, column]!r} at row "
                f"{row}, column {column}: round them, or use PrimeFeatures for real numbers."
            )
        return whole.astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _date_type(X: Any) -> str:
    """Return the type of the dates or durations in X; empty without any."""
    kinds = [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", [])
    named = [str(kind) for kind in kinds if str(kind).startswith(_DATE_KINDS)]
    if named or sparse.issparse(X):
        return "".join(named[:1])
    with raised_as(DataError, "X must be an array of numbers or dates"):
        values = np.asarray(X, dtype=object).ravel()
    return next((type(value).__name__ for value in values if isinstance(value, _DATES)), "")


def _shifted(s: StaticPrime, Z: np.ndarray, low: int) -> np.ndarray:
    """Return codes of t as codes of t - low: every phase turned back by that of `low`."""
    turn = s.encode(np.array([low]), dtype="float64")
    z = (Z[:, 0::2] + 1j * Z[:, 1::2]) * (turn[:, 0::2] - 1j * turn[:, 1::2])
    return np.stack([z.real, z.imag], axis=-1).reshape(len(z), -1)
