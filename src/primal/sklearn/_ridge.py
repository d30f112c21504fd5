"""``PrimeRidgeClassifier`` and ``PrimeRidgeRegressor``: sums over rows and one linear system.

Features, rounded to multiples of 2**-18, are whole numbers whose products float64 adds without
error: the Gram matrix is one of integers. Their sums do not depend on the order in which batches,
classes and machines come, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import linalg
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from primal._checks import (
    flag,
    one_of,
    positive_scale,
    raised_as,
    reject_masked,
    require_memory,
    whole_number,
)
from primal._lazy import frozen
from primal.errors import DataError, ParameterError
from primal.maps import KernelSum
from primal.sklearn._contract import ManyTargets, checked_by_host
from primal.sklearn._models import BITS, PrimeClassifier, PrimeModel
from primal.sklearn._saved import checked_array

# A sum of this many products of 2**36 stays within 2**53.
_BLOCK_ROWS = 1 << 16
# More rows could overflow the 64-bit sums.
_MOST_ROWS = 1 << 26
_ALPHAS = tuple(10.0**exponent for exponent in np.arange(-6.0, 3.0, 0.5).tolist())
_LEAST_CHANCE = 2.0**-20  # of a label: no regression is certain
_SUMS = ("gram", "feature_sums", "cross", "target_sums", "target_squares")
_LARGEST_WEIGHT = 2.0**900  # sums of products of features and weights stay far below infinity


class Solution(NamedTuple):
    """A linear model of the features: Z @ coef + intercept."""

    alpha: float
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(eq=False)
class Moments:
    """Sums over `n_rows` rows of features and targets, each counted as often as its weight says.

    Sums of products of features, in units of 2**-36, and of features, in units of 2**-18, are
    int64; float64 once weights come that are not whole numbers. `cross` (D, m), the sum of feature
    times target in units of 2**-18, is float64, and exact for targets 0 and 1.
    """

    n_rows: int | float
    gram: np.ndarray
    feature_sums: np.ndarray
    cross: np.ndarray
    target_sums: np.ndarray
    target_squares: np.ndarray
    _solutions: dict[tuple[Any, ...], Solution] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, n_features: int, n_targets: int) -> Moments:
        n_entries = n_features * (n_features + n_targets)
        require_memory(8 * n_entries, f"a regression on {n_features} features")
        return cls(
            0,
            np.zeros((n_features, n_features), dtype=np.int64),
            np.zeros(n_features, dtype=np.int64),
            np.zeros((n_features, n_targets)),
            np.zeros(n_targets),
            np.zeros(n_targets),
        )

    def add(self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add rows Q (n, D), targets Y (n, m) and weights (n,), exactly if these are whole."""
        exact = self.gram.dtype == np.int64 and _are_counts(weights)
        n_new = len(Q) if weights is None else weights.sum()
        n_rows = self.n_rows + (int(n_new) if exact else float(n_new))
        if exact and n_rows > _MOST_ROWS:
            raise DataError(
                f"{n_rows} rows are more than the {_MOST_ROWS} that 64-bit sums hold: fit on fewer."
            )
        if not n_rows < _LARGEST_WEIGHT:
            raise DataError(f"sample_weight adds up to {n_rows:.3g} over all rows: scale it down.")
        kind = np.int64 if exact else np.float64
        self.gram, self.feature_sums = (
            sums.astype(kind, copy=False) for sums in (self.gram, self.feature_sums)
        )
        for rows in _blocks(len(Q), weights):
            part = Q[rows]
            counted = part if weights is None else part * weights[rows, None]
            self.gram += (counted.T @ part).astype(kind, copy=False)
            self.feature_sums += counted.sum(axis=0).astype(kind, copy=False)
        weighted = Y if weights is None else Y * weights[:, None]
        self.cross += Q.T @ weighted
        self.target_sums += weighted.sum(axis=0)
        with np.errstate(over="ignore"):  # `solve` says so where squares are used
            self.target_squares += (weighted * Y).sum(axis=0)
        self.n_rows = n_rows
        self._solutions.clear()

    def with_targets(self, n_targets: int, places: np.ndarray) -> Moments:
        """Return the sums with more targets, zero so far; the old ones go to `places`."""
        cross = np.zeros((len(self.cross), n_targets))
        sums, squares = np.zeros(n_targets), np.zeros(n_targets)
        cross[:, places], sums[places] = self.cross, self.target_sums
        squares[places] = self.target_squares
        return Moments(self.n_rows, self.gram, self.feature_sums, cross, sums, squares)

    def with_features(
        self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None
    ) -> Moments:
        """Return the sums with new features appended; the block of the old ones is kept.

        Q holds all features, old ones first, of the rows that were added before, in any order.
        """
        old, kind = len(self.gram), self.gram.dtype
        counted = Q if weights is None else Q * weights[:, None]
        feature_sums = counted.sum(axis=0)
        n_rows = len(Q) if weights is None else weights.sum()
        differences = np.append(feature_sums[:old] - self.feature_sums, n_rows - self.n_rows)
        # Sums with weights that are no counts are rounded, in the order in which they came.
        rounding = 0.0 if kind == np.int64 else 1e-9 * self.n_rows * 2.0**BITS
        if np.abs(differences).max() > rounding:
            raise DataError(
                "X and sample_weight are not the rows that the model was fitted on: growing keeps "
                f"their Gram matrix and needs all {self.n_rows} of them, in any order."
            )
        gram = np.zeros((Q.shape[1], Q.shape[1]), dtype=kind)
        gram[:old, :old] = self.gram
        for rows in _blocks(len(Q), weights):
            new = (counted[rows].T @ Q[rows, old:]).astype(kind)
            gram[:, old:] += new
            gram[old:, :old] += new[:old].T
        cross = np.concatenate([self.cross, counted[:, old:].T @ Y])
        targets = (self.target_sums.copy(), self.target_squares.copy())
        return Moments(self.n_rows, gram, feature_sums.astype(kind), cross, *targets)

    def solve(
        self, alpha: float | str, amplitude: float, n_counted: float | None = None
    ) -> Solution:
        """Return the ridge regression of the targets on `amplitude` times the features.

        The intercept is free of the penalty. With alpha="gcv" the sums determine which of `_ALPHAS`
        has the least generalised cross-validation error, for `n_counted` rows; by default as many
        as all weights add up to. Solutions are kept until rows are added.
        """
        n_counted = self.n_rows if n_counted is None else n_counted
        key = (alpha, amplitude, n_counted)
        if key in self._solutions:
            return self._solutions[key]
        unit = amplitude * 2.0**-BITS
        feature_means = self.feature_sums * (unit / self.n_rows)
        target_means = self.target_sums / self.n_rows
        gram = self.gram * unit**2 - self.n_rows * np.outer(feature_means, feature_means)
        cross = self.cross * unit - np.outer(feature_means, self.target_sums)
        if isinstance(alpha, str) and n_counted <= 1.0 and self.gram.dtype != np.int64:
            raise DataError(
                f"sample_weight adds up to {n_counted:.3g}, and alpha='gcv' counts rows by it: "
                "scale it to add up to the number of rows, or give alpha as a number."
            )
        if isinstance(alpha, str):
            if not np.isfinite(self.target_squares).all():
                raise DataError(
                    "y has numbers too large for alpha='gcv': scale y, or give alpha as a number."
                )
            squares = self.target_squares - self.n_rows * target_means**2
            penalty, coef = _gcv(gram, cross, float(squares.sum()), n_counted)
        else:
            penalty = alpha
            gram[np.diag_indices_from(gram)] += penalty
            try:
                coef = np.asarray(linalg.cho_solve(linalg.cho_factor(gram), cross))
            except linalg.LinAlgError:
                raise ParameterError(
                    f"alpha = {penalty:.3g} is lost in the rounding of sums up to "
                    f"{gram.diagonal().max():.3g}: raise it."
                ) from None
        self._solutions[key] = Solution(penalty, coef, target_means - feature_means @ coef)
        return self._solutions[key]


def _are_counts(weights: np.ndarray | None) -> bool:
    """Whether weights are whole numbers, with which float64 sums of a block are exact."""
    if weights is None:
        return True
    return bool((weights == np.rint(weights)).all() and weights.max(initial=0.0) <= _BLOCK_ROWS)


def _blocks(n: int, weights: np.ndarray | None) -> Iterator[slice]:
    """Return the rows in parts of at most `_BLOCK_ROWS`, counted with their weights."""
    if weights is None:
        yield from (slice(first, first + _BLOCK_ROWS) for first in range(0, n, _BLOCK_ROWS))
        return
    first, total = 0, np.cumsum(np.maximum(weights, 1.0))
    while first < n:
        before = total[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(total, before + _BLOCK_ROWS, side="right")))
        yield slice(first, last)
        first = last


def _gcv(
    gram: np.ndarray, cross: np.ndarray, target_square: float, n: float
) -> tuple[float, np.ndarray]:
    """Return the alpha with the least error (RSS / n) / (1 - df / n)**2, and its solution."""
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ cross
    energy = np.square(rotated).sum(axis=1)

    def error(alpha: float) -> float:
        shrunk = values + alpha
        residual = target_square - float((energy * (shrunk + alpha) / shrunk**2).sum())
        freedom = 1.0 + float((values / shrunk).sum())
        # Saturated models fit anything: no error estimate is left for them.
        spare = 1.0 - freedom / n
        return max(residual, 0.0) / spare**2 if spare > 1e-3 else np.inf

    best = min(_ALPHAS[::-1], key=error)
    return best, vectors @ (rotated / (values + best)[:, None])


class _Ridge(PrimeModel):
    """Sums of products of features and targets, and the linear system that they make."""

    _moments: Moments

    def __init__(
        self,
        n_components: int = 1024,
        *,
        alpha: float | str = "gcv",
        kernel: str | KernelSum = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "pair",
        precision: str = "exact",
    ) -> None:
        super().__init__(
            n_components, kernel=kernel, gamma=gamma, basis=basis, form=form, precision=precision
        )
        self.alpha = alpha

    def grow(self, n_components: int, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the model with more features; sums over pairs of old ones are kept.

        The result is the model that `fit` with more features gives, for less work: bit for bit, for
        a classifier. This model stays as it is. X, y and sample_weight are
        all rows seen so far, in any order; others are rejected.
        """
        return self._grown(n_components, X, y, sample_weight)

    @property
    def alpha_(self) -> float:
        return self._solution().alpha

    def _solution(self) -> Solution:
        check_is_fitted(self)
        return self._moments.solve(self._checked_alpha(), self._unit, self._n_counted())

    def _n_counted(self) -> float | None:
        """Return the number of rows for alpha="gcv", None for the sum of their weights."""
        return None

    def _checked_alpha(self) -> float | str:
        is_rule = isinstance(self.alpha, str) and self.alpha == "gcv"
        return "gcv" if is_rule else positive_scale("alpha", self.alpha)

    def _new_moments(self, n_targets: int) -> Moments:
        self._checked_alpha()
        return Moments.empty(self._n_features, n_targets)

    def _add(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        n_targets = self._moments.cross.shape[1]
        if targets.shape[1] != n_targets:
            raise DataError(
                f"y has {targets.shape[1]} targets, and the model was fitted on {n_targets}."
            )
        for rows in self._blocks(X):
            own = None if weights is None else weights[rows]
            self._moments.add(self._whole_features(X[rows]), targets[rows], own)

    def _widen(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        n = self._n_features
        require_memory(8 * n * (n + X.shape[0]), f"a regression on {n} features")
        self._moments = self._moments.with_features(self._whole_features(X), targets, weights)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        found, sums = self._solution(), self._moments
        fields["learned"] |= {"alpha": found.alpha, "n_rows": sums.n_rows}
        arrays |= {name: getattr(sums, name) for name in _SUMS}
        return fields, arrays | {"coef": found.coef, "intercept": found.intercept}

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._learned(fields, arrays)
        alpha = positive_scale("alpha", fields.pop("alpha"))
        labels = getattr(self, "classes_", None)
        n_targets = arrays.get("intercept", np.empty(0)).size if labels is None else len(labels)
        D, n_rows = self._n_features, fields.pop("n_rows")
        exact = isinstance(n_rows, int)  # else it is a sum of weights
        kind = "<i8" if exact else "<f8"
        self._moments = Moments(
            whole_number("n_rows", n_rows) if exact else positive_scale("n_rows", n_rows),
            checked_array(arrays, "gram", (D, D), kind),
            checked_array(arrays, "feature_sums", (D,), kind),
            checked_array(arrays, "cross", (D, n_targets), "<f8"),
            checked_array(arrays, "target_sums", (n_targets,), "<f8"),
            checked_array(arrays, "target_squares", (n_targets,), "<f8", finite=False),
        )
        # As it was solved where it was saved: another machine may round otherwise.
        coef = checked_array(arrays, "coef", (D, n_targets), "<f8")
        intercept = checked_array(arrays, "intercept", (n_targets,), "<f8")
        n_counted = self._n_counted()
        n_counted = self._moments.n_rows if n_counted is None else n_counted
        key = (self._checked_alpha(), self._unit, n_counted)
        self._moments._solutions[key] = Solution(alpha, coef, intercept)

    def _answers(self, Z: np.ndarray) -> np.ndarray:
        solution = self._solution()
        return Z @ solution.coef + solution.intercept


class PrimeRidgeClassifier(_Ridge, PrimeClassifier):
    """Classify by ridge regression of class membership on prime features.

    Decides as scikit-learn's :class:`sklearn.linear_model.RidgeClassifier` on the same features,
    rounded to 2**-18 of their amplitude. Sums are exact integers. With gamma given as a number,
    fitting in any order and in any parts, class by class for instance, gives the same model as
    fitting at once, bit for bit. A row with the `sample_weight` w counts like w equal rows, in
    alpha="gcv" and in gamma="scale" and "median" too. Sums with whole weights up to 65536 are
    exact, with other weights they are rounded.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features.
    alpha : float or "gcv", default="gcv"
        Penalty; ``"gcv"`` takes the one with the least generalised cross-validation error,
        which needs no second pass over the data.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies those of its rows, but in the number of rows that
        alpha="gcv" counts; ``"balanced"`` is n / (n_classes n_class) and needs all rows in one
        `fit`.
    kernel, gamma, basis, form, precision
        As in :class:`PrimeFeatures`. When data come in parts, gamma="scale" and "median" look
        at the first part only: pass a number to make the order irrelevant. Features of a kernel
        made of parts are for the width of the first part, and cannot grow.

    Attributes
    ----------
    classes_, features_, alpha_ : ndarray of shape (n_classes,), PrimeFeatures, float
        Labels seen, sorted, or numbers of the columns of y; the fitted feature map; the penalty in
        use.
    coef_, intercept_ : ndarray of shape (n_classes, n_components) and (n_classes,)
        Of targets 1 for a class and -1 for others; one row for each, also when there are two.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from primal.sklearn import PrimeRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> at_once = PrimeRidgeClassifier(64, gamma=0.3).fit(X, y)
    >>> in_parts = PrimeRidgeClassifier(64, gamma=0.3)
    >>> for label in (2, 0, 1):  # one class after the other
    ...     in_parts = in_parts.partial_fit(X[y == label], y[y == label])
    >>> bool((at_once.coef_ == in_parts.coef_).all())
    True
    >>> round(at_once.score(X, y), 2)
    0.99
    """

    _y_options: ClassVar[dict[str, Any]] = {"multi_output": True}
    _has_several_labels: bool

    def __init__(
        self,
        n_components: int = 1024,
        *,
        alpha: float | str = "gcv",
        class_weight: Any = None,
        kernel: str | KernelSum = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "pair",
        precision: str = "exact",
    ) -> None:
        options = {"kernel": kernel, "gamma": gamma, "basis": basis}
        super().__init__(n_components, alpha=alpha, form=form, precision=precision, **options)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, d), weights, and labels y (n,) or several labels 0 and 1 of each row (n, m).

        A row with the `sample_weight` w counts like w equal rows, also where gamma is chosen.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows X (n, d), labels y (n,) or (n, m) and weights; labels never seen are added."""
        return self._fit(X, y, sample_weight, classes=classes, part=True)

    @property
    def coef_(self) -> np.ndarray:
        return 2.0 * self._solution().coef.T

    @property
    def intercept_(self) -> np.ndarray:
        return 2.0 * self._solution().intercept - 1.0

    def decision_function(self, X: Any) -> np.ndarray:
        """Return estimates of 1 for each class and -1 for others, (n, n_classes).

        Of two classes that of the second one, (n,).
        """
        check_is_fitted(self)
        if len(self.classes_) == 2 and not self._has_several_labels:
            return super().decision_function(X)
        return 2.0 * self._values(X) - 1.0

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest value, (n,), or which labels are likelier than not."""
        check_is_fitted(self)
        if not self._has_several_labels:
            return super().predict(X)
        return (self._values(X) > 0.5).astype(np.int64)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities, (n, n_classes): estimates, negative ones set to zero.

        Those of several labels are within 2**-20 and 1 - 2**-20.
        """
        # The regression of membership estimates the probability itself; estimates add up to one.
        values = self._values(X)
        if self._has_several_labels:
            return np.clip(values, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
        clipped = np.maximum(values, 0.0)
        return clipped / clipped.sum(axis=1, keepdims=True)

    def _weighted(self, y: np.ndarray, sample_weight: Any, *, part: bool) -> Any:
        given = self.class_weight
        if given is None:
            return sample_weight
        if not isinstance(given, dict):
            one_of("class_weight, if it is no dict,", given, ("balanced",))
        if part and isinstance(given, str):
            raise ParameterError(
                f"class_weight={given!r} needs all rows at once: call fit, or pass a dict."
            )
        if part:  # which need not have all classes
            given = {label: own for label, own in given.items() if label in y}
        with checked_by_host("class_weight"):
            of_classes = compute_sample_weight(given, y)
        if sample_weight is None:
            return of_classes
        with raised_as(DataError, "sample_weight must be numbers, one for each row"):
            reject_masked("sample_weight", sample_weight)
            return of_classes * np.asarray(sample_weight, dtype=np.float64)

    def _n_counted(self) -> float | None:
        if not isinstance(self.class_weight, dict):
            return None
        # A class that weighs more has no more rows. Sums of targets are those of weights.
        each = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
        weights, sums = np.array(each), self._moments.target_sums
        return float((sums[weights > 0.0] / weights[weights > 0.0]).sum())

    def _start(self, y: np.ndarray) -> None:
        self._has_several_labels = y.ndim == 2
        if not self._has_several_labels:
            super()._start(y)
            return
        self.classes_ = np.arange(y.shape[1])
        self._spread(y.shape[1], np.empty(0, dtype=np.int64))

    def _meet(self, y: np.ndarray, classes: Any) -> None:
        n = len(self.classes_)
        if self._has_several_labels and (y.shape[1:] != (n,) or classes is not None):
            raise DataError(
                f"y must have the {n} columns of the first part, and no classes, got shape "
                f"{y.shape} and classes={classes!r:.60}."
            )
        if not self._has_several_labels:
            if y.ndim == 2:
                raise DataError(f"y must have one label for each row, got shape {y.shape}.")
            super()._meet(y, classes)

    def _spread(self, n_classes: int, places: np.ndarray) -> None:
        first = not len(places)
        self._moments = (
            self._new_moments(n_classes) if first else self._moments.with_targets(n_classes, places)
        )

    def _targets(self, y: np.ndarray) -> np.ndarray:
        if self._has_several_labels:
            return y.astype(np.float64)
        return np.eye(len(self.classes_))[super()._targets(y)]

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        fields["learned"]["has_several_labels"] = self._has_several_labels
        return fields, arrays

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        several = fields.pop("has_several_labels")
        self._has_several_labels = flag("has_several_labels", several)
        super()._learned(fields, arrays)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class PrimeRidgeRegressor(ManyTargets, _Ridge):
    """Regress by ridge regression on prime features.

    The Gram matrix is exact, as in the classifier; sums of real targets are rounded, so models
    fitted in different orders agree to rounding. Weights and attributes are those of
    :class:`PrimeRidgeClassifier`, with a row of `coef_` for each target.

    Parameters
    ----------
    n_components, alpha, kernel, gamma, basis, form, precision
        As in :class:`PrimeRidgeClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeRidgeRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = PrimeRidgeRegressor(64, gamma=1.0).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, d), targets y (n,) or (n, m), and weights of rows.

        A row with the `sample_weight` w counts like w equal rows, also where gamma is chosen.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows; the first call fits."""
        return self._fit(X, y, sample_weight, part=True)

    @property
    def coef_(self) -> np.ndarray:
        return frozen(self._solution().coef.T)

    @property
    def intercept_(self) -> np.ndarray:
        return frozen(self._solution().intercept.view())

    def predict(self, X: Any) -> np.ndarray:
        """Return the estimates, of the shape that y had in `fit`."""
        values = self._values(X)
        return values[:, 0] if self._n_outputs == 1 else values

    def _start(self, y: np.ndarray) -> None:
        self._n_outputs = y.ndim
        self._moments = self._new_moments(self._targets(y).shape[1])

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return self._floats(y).reshape(len(y), -1)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        fields["learned"]["n_outputs"] = self._n_outputs
        return fields, arrays

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._n_outputs = whole_number("n_outputs", fields.pop("n_outputs"), least=1, most=2)
        super()._learned(fields, arrays)
