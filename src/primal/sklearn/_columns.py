"""``PrimePositions`` and ``PrimeHasher``: every column of integers or categories to codes."""

import math
import numbers
from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from primal._checks import reject_objects, whole_number
from primal._hash import array_values, stable_position
from primal._specs import from_spec
from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.exact import GRIDS
from primal.maps import StaticPrime
from primal.sklearn._contract import (
    SpecMixin,
    checked_by_host,
    checked_features,
    column_range,
    validate_data,
)

# Beyond this a float no longer holds every integer.
_LARGEST_EXACT_FLOAT = 2.0**53
_LARGEST_POSITION = 2**63 - 1
# Far more than any machine holds: beyond it D, rounded up to even, would be named instead.
_MOST_COMPONENTS = 1 << 48


class ColumnCodes(SpecMixin, TransformerMixin, BaseEstimator):
    """A transformer of every column to `n_components` features, side by side."""

    n_components: int
    n_features_in_: int
    _map_names: ClassVar[tuple[str, ...]] = ()  # parameters of the map

    @abstractmethod
    def _positions(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return the whole number that every entry of X stands for, int64."""

    def _note(self, t: np.ndarray, *, first: bool) -> None:
        """Note the positions of a batch."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and note what the columns of X (n, n_columns) hold.

        Positions are integers, or floats that are whole numbers; for dates the error says how to
        count. Categories are strings, numbers, None, NaN or pandas.NA.
        """
        t = self._positions(X, reset=True)
        self._make_map()
        self._note(t, first=True)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Note what one more batch holds; the first call fits. Codes do not change."""
        if not hasattr(self, "map_"):
            return self.fit(X)
        self._note(self._positions(X, reset=False), first=False)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of every column side by side: float32, (n, n_columns * n_components)."""
        check_is_fitted(self)
        return self._codes(self._positions(X, reset=False))

    def _codes(self, t: np.ndarray) -> np.ndarray:
        codes = self.map_.encode(np.ascontiguousarray(t))
        return codes[..., : self._length].reshape(len(t), -1)

    def _make_map(self) -> None:
        """Make the map, and note the length of a code: parameters may be set after `fit`."""
        D = whole_number("n_components", self.n_components, least=1, most=_MOST_COMPONENTS)
        options: dict[str, Any] = {name: getattr(self, name) for name in self._map_names}
        # Interleaved: a shorter code is a prefix, and an odd one only lacks its last sine.
        self.map_ = StaticPrime(D + D % 2, layout="interleaved", **options)
        self._length = D

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the input column and the number of the feature, as "city_0"."""
        check_is_fitted(self)
        with checked_by_host("input_features"):
            names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)  # type: ignore[bad-argument-type]
        return np.array(
            [f"{name}_{i}" for name in names for i in range(self._length)], dtype=object
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class PrimePositions(ColumnCodes):
    """Give every integer of every column a code: ``primal.StaticPrime`` for tables.

    Each column becomes `n_components` cosines and sines (of an odd number the last sine is left
    out), the bits of :class:`primal.torch.PrimePositions`. The inner product of two codes over
    n_components / 2 is their cosine similarity. By default close integers have similar codes (a
    time, a count); with ``spacing="raw"`` all codes are nearly orthogonal (a key, an index, a
    bucket).

    Parameters
    ----------
    n_components : int, default=64
    spacing : {"log", "rotary", "raw", "kronecker"}, default="log"
        How frequencies are spread; see :func:`primal.exact.spaced_increments`. ``"raw"`` are
        the codes of the paper, of which a shorter one is a prefix of a longer one.
    sigma, start, base : float, int, float
        Scale of the frequencies; index of the first prime, for ``"raw"`` and ``"kronecker"``; ratio
        of the highest to the lowest frequency, for ``"log"`` and ``"rotary"``.
    trained_length, turning : int and float, optional
        For ``"log"``, in place of `base`: the slowest frequency makes one turn in this many; share
        of the frequencies that are so, by default three quarters. The others are 0.

    Attributes
    ----------
    data_min_, data_max_, map_ : ndarray of shape (n_columns,), dtype=int64, and StaticPrime
        Range of each column seen, in which `inverse_transform` looks for integers; the map.

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

    _fitted_names = ("data_min_", "data_max_")
    _map_names = ("spacing", "sigma", "start", "base", "trained_length", "turning")

    def __init__(
        self,
        n_components: int = 64,
        *,
        spacing: str = "log",
        sigma: float = 1.0,
        start: int = 0,
        base: float = 10000.0,
        trained_length: int | None = None,
        turning: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.spacing = spacing
        self.sigma = sigma
        self.start = start
        self.base = base
        self.trained_length = trained_length
        self.turning = turning

    def _note(self, t: np.ndarray, *, first: bool) -> None:
        low, high = t.min(axis=0), t.max(axis=0)
        self.data_min_ = low if first else np.minimum(self.data_min_, low)
        self.data_max_ = high if first else np.maximum(self.data_max_, high)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return for each code the integer of the fitted range whose code is most similar, int64.

        A code that is erased, or too noisy for a range of more than 2**24 integers, raises
        DataError; an n_components of 1, or an odd one with a spacing that follows from it,
        NotInvertibleError.
        """
        check_is_fitted(self)
        Z = checked_features(X)
        D, n_columns = self._length, self.n_features_in_
        if Z.shape[1] != D * n_columns:
            raise ParameterError(f"X must have {D * n_columns} columns, got {Z.shape[1]}.")
        if D < 2 or (D % 2 and self.map_.spacing in GRIDS):
            raise NotInvertibleError(
                f"codes of {D} columns have no inverse, they lack a sine: use an even n_components."
            )
        pairs = from_spec(self.map_.spec | {"D": D - D % 2})
        found = np.empty((len(Z), n_columns), dtype=np.int64)
        for j in range(n_columns):
            low = int(self.data_min_[j])
            codes = _shifted(pairs, Z[:, j * D : j * D + pairs.D], low)
            steps = np.asarray(pairs.decode(codes, n=int(self.data_max_[j]) - low + 1))
            if (steps < 0).any():
                raise DataError(
                    f"no integer can be named for row {int(np.argmin(steps))}, column {j}: its "
                    "code is erased or too noisy. Leave such rows out."
                )
            found[:, j] = low + steps
        return found

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._make_map()
        self.data_min_, self.data_max_ = column_range(fitted, np.int64)
        self.n_features_in_ = len(self.data_min_)

    def _positions(self, X: Any, *, reset: bool) -> np.ndarray:
        array = validate_data(self, X, dtype="numeric", reset=reset)
        if array.dtype.kind not in "iubf":  # of a list, or of a table of several types
            return _whole_values(array)
        if array.dtype == np.uint64 and array.max() > _LARGEST_POSITION:
            raise DataError(
                f"positions must be below 2**63, got {array.max()}: subtract the smallest."
            )
        if array.dtype.kind in "iub":
            return array.astype(np.int64)
        whole = np.rint(array)
        wrong = (whole != array) | (np.abs(array) > np.float64(_LARGEST_EXACT_FLOAT))
        if wrong.any():
            row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
            raise DataError(
                f"positions must be whole numbers within 2**53, got {array[row, column]!r} at row "
                f"{row}, column {column}: round them, or use PrimeFeatures for real numbers."
            )
        return whole.astype(np.int64)


def _whole_values(array: np.ndarray) -> np.ndarray:
    """Return objects that are whole numbers of 64 bits as int64."""
    reject_objects("X", array)
    found = np.empty(array.shape, dtype=np.int64)
    for (row, column), value in np.ndenumerate(array):
        whole = isinstance(value, numbers.Integral)
        if isinstance(value, float) and abs(value) <= _LARGEST_EXACT_FLOAT:
            whole = value.is_integer()
        if not whole or not -_LARGEST_POSITION <= int(value) <= _LARGEST_POSITION:
            raise DataError(
                f"positions must be whole numbers of 64 bits, got {value!r} at row {row}, column "
                f"{column}: round them, or use PrimeFeatures for real numbers."
            )
        found[row, column] = int(value)
    return found


def _shifted(s: StaticPrime, Z: np.ndarray, low: int) -> np.ndarray:
    """Return codes of t as codes of t - low: every phase turned back by that of `low`."""
    turn = s.encode(np.array([low]), dtype="float64")
    z = (Z[:, 0::2] + 1j * Z[:, 1::2]) * (turn[:, 0::2] - 1j * turn[:, 1::2])
    return np.stack([z.real, z.imag], axis=-1).reshape(len(z), -1)


class PrimeHasher(ColumnCodes):
    """Give every category a nearly orthogonal code without a dictionary.

    A value is hashed to a 63-bit position (the first bits of a SHA-256), and the position has a
    code. Values never seen before have codes too.

    Parameters
    ----------
    n_components : int, default=64
        Length of the code of a value; codes have norm 1 if it is even.

    Attributes
    ----------
    map_ : primal.StaticPrime
        Encodes positions.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeHasher
    >>> X = np.array([["red", 1], ["green", 2], ["blue", 2]], dtype=object)
    >>> hasher = PrimeHasher(128).fit(X)
    >>> hasher.transform(X).shape
    (3, 256)
    """

    _fitted_names = ("n_features_in_",)

    def __init__(self, n_components: int = 64) -> None:
        self.n_components = n_components

    def _codes(self, t: np.ndarray) -> np.ndarray:
        Z = super()._codes(t)
        Z *= np.float32(math.sqrt(2.0 / self._length))
        return Z

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._make_map()
        n = fitted["n_features_in_"]
        self.n_features_in_ = whole_number("n_features_in_", n, least=1)

    def _positions(self, X: Any, *, reset: bool) -> np.ndarray:
        X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
        positions = np.empty(X.shape, dtype=np.int64)
        for j, column in enumerate(X.T):
            known: dict[object, int] = {}  # each different value of a column is hashed once
            for i, value in enumerate(array_values(column)):
                key = (type(value), value)
                if not isinstance(value, Hashable) or key not in known:
                    known[key] = stable_position(value)
                positions[i, j] = known[key]
        return positions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
