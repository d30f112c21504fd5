"""What all learners on prime features share: features, rows in blocks, parts, classes, growth."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from primal._checks import file_path, raised_as, reject_masked
from primal._files import read_object, write_object
from primal._parallel import row_blocks
from primal._specs import from_spec, make_spec, plain, spec_fields
from primal._sums import rounded
from primal.errors import DataError, SpecError
from primal.maps import KernelSum
from primal.sklearn._contract import (
    ReadOnlyArrays,
    checked_by_host,
    restore_names,
    restored,
    stored,
    validate_data,
    weighted_rows,
)
from primal.sklearn._features import (
    BLOCK_FEATURES,
    DTYPES,
    PrimeFeatures,
    fitted_features,
    transformed,
)
from primal.sklearn._saved import packed_labels, unpacked_labels


class PrimeModel(ReadOnlyArrays, metaclass=ABCMeta):
    """A learner on prime features, which keeps sums over rows and can add to them later."""

    features_: PrimeFeatures
    n_features_in_: int
    _y_options: ClassVar[dict[str, Any]] = {}  # of scikit-learn's check of y

    def __init__(
        self,
        n_components: int = 1024,
        *,
        kernel: str | KernelSum = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "pair",
        precision: str = "exact",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.form = form
        self.precision = precision

    @abstractmethod
    def _start(self, y: np.ndarray) -> None:
        """Make the sums of no rows, for targets such as y holds."""

    @abstractmethod
    def _add(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows to the sums."""

    @abstractmethod
    def _answers(self, Z: np.ndarray) -> np.ndarray:
        """Return the value of every target for rows of features, shape (n, m)."""

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return what y means to the sums."""

    def _widen(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        """Replace the sums by those of more features, from all rows seen so far."""
        raise NotImplementedError

    def _meet(self, y: np.ndarray, classes: Any) -> None:
        """Make room for targets that have not been seen before."""

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None, part: bool = False
    ) -> Self:
        first = not (part and hasattr(self, "features_"))
        X, y, weights = self._checked(X, y, sample_weight, reset=first, part=part)
        before = dict(vars(self))
        try:
            if first:
                self.features_ = fitted_features(self, X, weights)
                self._start(y)
            else:
                self.features_ = copy(self.features_).partial_fit(X)
            if part:
                self._meet(y, classes)
            self._add(X, self._targets(y), weights)
        except BaseException:  # of an interrupt, too: a part that is rejected changes nothing
            vars(self).clear()
            vars(self).update(before)
            if first:
                vars(self).pop("features_", None)
            raise
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "features_")

    def _grown(self, n_components: int, X: Any, y: Any, sample_weight: Any = None) -> Self:
        check_is_fitted(self)
        X, y, weights = self._checked(X, y, sample_weight, reset=False)
        grown = copy(self)
        grown.features_ = self.features_.grow(n_components, rescale=True)
        grown.n_components = n_components
        grown._widen(X, grown._targets(y), weights)
        return grown

    def _values(self, X: Any) -> np.ndarray:
        """Return the value of every target for every row of X, shape (n, m)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)
        parts = [self._answers(self.features_.transform(X[rows])) for rows in self._blocks(X)]
        return np.concatenate(parts)

    def _blocks(self, X: Any) -> Iterator[slice]:
        return row_blocks(X.shape[0], self._n_features, BLOCK_FEATURES)

    def _whole_features(self, X: Any) -> np.ndarray:
        """Return features over their largest amplitude, as whole numbers in units of 2**-18."""
        m = self.features_.map_
        largest_one = m.with_amplitude(m.amplitude / self._unit)
        return rounded(transformed(largest_one, X, np.dtype(np.float32)))

    @property
    def _n_features(self) -> int:
        """Features in use: `n_components` may have been set since."""
        return self.features_.map_.D

    @property
    def _unit(self) -> float:
        """The largest amplitude: of every feature, but where frequencies have weights."""
        return float(self.features_.map_.amplitudes.max())

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, part: bool = False
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=DTYPES, reset=reset, **self._y_options
        )
        if is_classifier(self):
            with checked_by_host("y"):
                check_classification_targets(y)
            y = checked_labels(y)
        return weighted_rows(self._weighted(y, sample_weight, part=part), X, y)

    def _weighted(self, y: np.ndarray, sample_weight: Any, *, part: bool) -> Any:
        """Return the weights of rows with those that an estimator's own parameters give."""
        return sample_weight

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

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        parameters = self.get_params(deep=False) | {"n_components": self._n_features}
        fields = {
            "parameters": stored(parameters),
            "features": self.features_.spec,
            "feature_names": plain(getattr(self, "feature_names_in_", None)),
            "learned": {},
        }
        return fields, {}

    @classmethod
    def _from_state(cls, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        fields = spec_fields(
            cls.__name__, fields, ("parameters", "features", "feature_names", "learned")
        )
        names = cls().get_params(deep=False)
        made = cls(**restored(spec_fields(cls.__name__, fields["parameters"], names)))
        features = from_spec(fields["features"])
        if not isinstance(features, PrimeFeatures) or made.n_components != features.map_.D:
            raise SpecError(f"features must be {made.n_components} PrimeFeatures.")
        made.features_, made.n_features_in_ = features, features.n_features_in_
        restore_names(made, fields["feature_names"])
        left = dict(fields["learned"])
        made._learned(left, arrays)
        if arrays or left:
            raise SpecError(f"these do not belong here: {', '.join([*arrays, *left])}.")
        return made

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take what was learned out of the fields and arrays of a file."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.sparse = True
        return tags


def checked_labels(y: Any) -> np.ndarray:
    """Return labels (n,), or 0 and 1 for several labels of each row (n, m)."""
    y = y.toarray() if sparse.issparse(y) else y
    if y.ndim == 1 or y.shape[1] == 1:
        return column_or_1d(y, warn=True)
    if type_of_target(y) != "multilabel-indicator":
        raise DataError(
            "y contains several classes in several columns: fit a model for each column, for "
            "instance with MultiOutputClassifier."
        )
    if not np.isin(y, (0, 1)).all():
        raise DataError(f"several labels for each row must be 0 or 1, got {np.unique(y)}.")
    return y


class PrimeClassifier(ClassifierMixin, PrimeModel):
    """A learner of labels; targets are their places in `classes_`."""

    classes_: np.ndarray

    @abstractmethod
    def _spread(self, n_classes: int, places: np.ndarray) -> None:
        """Make the sums those of more classes; those at present, if any, go to `places`."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the value of each class, (n, n_classes); for two classes the difference, (n,)."""
        values = self._values(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest value, shape (n,)."""
        best = self._values(X).argmax(axis=1)  # says so if there are no classes_ yet
        return self.classes_[best]

    def _start(self, y: np.ndarray) -> None:
        self.classes_ = np.unique(y)
        self._spread(len(self.classes_), np.empty(0, dtype=np.int64))

    def _meet(self, y: np.ndarray, classes: Any) -> None:
        reject_masked("classes", classes)
        with raised_as(DataError, "classes must be labels such as y holds", keep=()):
            expected = y if classes is None else np.concatenate([y, np.asarray(classes)])
            labels = unique_labels(self.classes_, expected)
        if len(labels) > len(self.classes_):
            self._spread(len(labels), np.searchsorted(labels, self.classes_))
            self.classes_ = labels

    def _targets(self, y: np.ndarray) -> np.ndarray:
        if not np.isin(y, self.classes_).all():
            raise DataError("y holds labels that the model has not seen: use partial_fit first.")
        return np.searchsorted(self.classes_, y)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        labels, numbers = packed_labels(self.classes_)
        return fields | {"learned": {"classes": labels}}, arrays | numbers

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        labels = unpacked_labels(fields.pop("classes"), arrays)
        if labels.ndim != 1 or not np.array_equal(np.unique(labels), labels):
            raise SpecError(f"classes must be sorted, each of them once, got {labels!r:.60}.")
        self.classes_ = labels
