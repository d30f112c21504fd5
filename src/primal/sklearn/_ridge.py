"""``PrimeRidgeClassifier`` and ``PrimeRidgeRegressor``: exact sums and one linear system."""

from __future__ import annotations

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
from primal._sums import BITS, ExactSums, Moments, are_counts
from primal.errors import DataError, ParameterError
from primal.maps import METHODS, KernelPrime, KernelSum
from primal.sklearn._contract import ManyTargets, checked_by_host
from primal.sklearn._features import PrimeFeatures
from primal.sklearn._models import PrimeClassifier, PrimeModel
from primal.sklearn._saved import checked_array

_ALPHAS = tuple(10.0**exponent for exponent in np.arange(-6.0, 3.0, 0.5).tolist())
_LEAST_CHANCE = 2.0**-20  # of a label: no regression is certain
_LARGEST_WEIGHT = 2.0**900  # sums of products of features and weights stay far below infinity


class Solution(NamedTuple):
    """A linear model of the features: Z @ coef + intercept."""

    alpha: float
    coef: np.ndarray
    intercept: np.ndarray


class RoundedSums(ExactSums):
    """The same sums in float64, for weights that are not counts of rows."""

    _kind = np.float64
    _rounding = 1e-9

    @classmethod
    def of(cls, sums: Moments) -> RoundedSums:
        made = cls(len(sums.gram) - 1, len(sums.squares))
        made._gram[0], made._cross[0, :, :, 0] = sums.gram, sums.cross
        made._squares[0, :, 0, 0] = sums.squares
        return made

    def add(
        self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None, first: int = 0
    ) -> None:
        total = self._gram[0, -1, -1] + (len(Q) if weights is None else weights.sum())
        if not total < _LARGEST_WEIGHT:
            raise DataError(f"sample_weight adds up to {total:.3g} over all rows: scale it down.")
        with np.errstate(over="ignore"):  # `solve` raises where squares are used
            super().add(Q, Y, weights, first)

    def moments(self) -> Moments:
        return Moments(self._gram[0], self._cross[0, :, :, 0], self._squares[0, :, 0, 0])

    @staticmethod
    def _pieces(Y: np.ndarray) -> tuple[np.ndarray, int]:
        return Y[:, :, None], 0

    def _carry(self) -> None:
        self._pending = 0


def solve(
    sums: Moments, alpha: float | str, amplitude: float, n_counted: float | None = None
) -> Solution:
    """Return the ridge regression of the targets on `amplitude` times the features.

    The intercept is free of the penalty. With alpha="gcv" the sums determine which of `_ALPHAS`
    has the least generalized cross-validation error, for `n_counted` rows; by default as many as
    all weights add up to.
    """
    n_rows, target_sums = float(sums.gram[-1, -1]), sums.cross[-1]
    unit = amplitude * 2.0**-BITS
    feature_means = sums.gram[-1, :-1] * (unit / n_rows)
    target_means = target_sums / n_rows
    gram = sums.gram[:-1, :-1] * unit**2 - n_rows * np.outer(feature_means, feature_means)
    cross = sums.cross[:-1] * unit - np.outer(feature_means, target_sums)
    if isinstance(alpha, str):
        if not np.isfinite(sums.squares).all():
            raise DataError(
                "y has numbers too large for alpha='gcv': scale y, or give alpha as a number."
            )
        squares = sums.squares - n_rows * target_means**2
        n_counted = n_rows if n_counted is None else n_counted
        alpha, coef = _gcv(gram, cross, float(squares.sum()), n_counted)
    else:
        gram[np.diag_indices_from(gram)] += alpha
        try:
            coef = np.asarray(linalg.cho_solve(linalg.cho_factor(gram), cross))
        except linalg.LinAlgError:
            raise ParameterError(
                f"alpha = {alpha:.3g} is lost in the rounding of sums up to "
                f"{gram.diagonal().max():.3g}: raise it."
            ) from None
    return Solution(alpha, coef, target_means - feature_means @ coef)


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

    alpha: float | str
    _sums: ExactSums
    _solutions: dict[tuple[Any, ...], Solution]  # of these sums

    def grow(self, n_components: int, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Return the model with more features; sums over pairs of old ones are kept.

        The result is the model that `fit` with more features returns, bit for bit, for less work.
        This model is not modified. X, y and sample_weight are all rows seen so far, in any order;
        others are rejected.
        """
        return self._grown(n_components, X, y, sample_weight)

    @property
    def alpha_(self) -> float:
        return self._solution().alpha

    def _solution(self) -> Solution:
        check_is_fitted(self)
        alpha = self._checked_alpha()
        key = (alpha, self._unit, self._class_weights())
        if key not in self._solutions:
            sums = self._sums.moments()
            n_counted = self._n_counted(sums)
            n_all = sums.gram[-1, -1] if n_counted is None else n_counted
            if isinstance(alpha, str) and isinstance(self._sums, RoundedSums) and n_all <= 1.0:
                raise DataError(
                    f"sample_weight adds up to {n_all:.3g}, and alpha='gcv' counts rows by it: "
                    "scale it to add up to the number of rows, or give alpha as a number."
                )
            self._solutions[key] = solve(sums, alpha, self._unit, n_counted)
        return self._solutions[key]

    def _class_weights(self) -> tuple[Any, ...] | None:
        """Return weights of classes, which change the number of rows for alpha="gcv"."""
        return None

    def _n_counted(self, sums: Moments) -> float | None:
        """Return the number of rows for alpha="gcv", None for the sum of their weights."""
        return None

    def _checked_alpha(self) -> float | str:
        is_rule = isinstance(self.alpha, str) and self.alpha == "gcv"
        return "gcv" if is_rule else positive_scale("alpha", self.alpha)

    def _new_sums(self, n_targets: int) -> ExactSums:
        self._checked_alpha()
        return ExactSums(self._n_features, n_targets)

    def _keep(self, sums: ExactSums) -> None:
        self._sums, self._solutions = sums, {}

    def _add(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        n_targets = self._sums.n_targets
        if targets.shape[1] != n_targets:
            raise DataError(
                f"y has {targets.shape[1]} targets, and the model was fitted on {n_targets}."
            )
        for rows in self._blocks(X):
            own = None if weights is None else weights[rows]
            if type(self._sums) is ExactSums and not are_counts(own):
                self._sums = RoundedSums.of(self._sums.moments())
            self._sums.add(self._whole_features(X[rows]), targets[rows], own)
        self._keep(self._sums)

    def _widen(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        n = self._n_features
        require_memory(8 * n * (n + X.shape[0]), f"a regression on {n} features")
        self._keep(self._sums.with_features(self._whole_features(X), targets, weights))

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        found = self._solution()
        fields["learned"] |= {"alpha": found.alpha}
        if type(self._sums) is ExactSums:
            arrays["sums"] = np.frombuffer(self._sums.to_bytes(), np.uint8)
        else:
            arrays |= self._sums.moments()._asdict()
        return fields, arrays | {"coef": found.coef, "intercept": found.intercept}

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._learned(fields, arrays)
        alpha = positive_scale("alpha", fields.pop("alpha"))
        labels = getattr(self, "classes_", None)
        n_targets = arrays.get("intercept", np.empty(0)).size if labels is None else len(labels)
        D = self._n_features
        if "sums" in arrays:
            sums = ExactSums.from_bytes(arrays.pop("sums").tobytes())
        else:
            shape = (D + 1, D + 1)
            gram = checked_array(arrays, "gram", shape, "<f8")
            cross = checked_array(arrays, "cross", (D + 1, n_targets), "<f8")
            squares = checked_array(arrays, "squares", (n_targets,), "<f8", finite=False)
            sums = RoundedSums.of(Moments(gram, cross, squares))
        if (sums.n_features, sums.n_targets) != (D, n_targets) or sums.moments().gram[-1, -1] <= 0:
            raise DataError(f"the sums must be of {D} features, {n_targets} targets and some rows.")
        self._keep(sums)
        # As it was solved where it was saved: another machine may round otherwise.
        coef = checked_array(arrays, "coef", (D, n_targets), "<f8")
        intercept = checked_array(arrays, "intercept", (n_targets,), "<f8")
        key = (self._checked_alpha(), self._unit, self._class_weights())
        self._solutions[key] = Solution(alpha, coef, intercept)

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
        super().__init__(
            n_components, kernel=kernel, gamma=gamma, basis=basis, form=form, precision=precision
        )
        self.alpha = alpha
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

    def _class_weights(self) -> tuple[Any, ...] | None:
        return tuple(self.class_weight.items()) if isinstance(self.class_weight, dict) else None

    def _n_counted(self, sums: Moments) -> float | None:
        if not isinstance(self.class_weight, dict):
            return None
        # A class that weighs more has no more rows. Sums of targets are those of weights.
        each = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
        weights, totals = np.array(each), sums.cross[-1]
        return float((totals[weights > 0.0] / weights[weights > 0.0]).sum())

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
        self._keep(
            self._new_sums(n_classes) if first else self._sums.with_targets(n_classes, places)
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

    All sums are exact, as in the classifier, whatever the size of the targets. Weights and
    attributes are those of
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
        self._keep(self._new_sums(self._targets(y).shape[1]))

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return self._floats(y).reshape(len(y), -1)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields, arrays = super()._state()
        fields["learned"]["n_outputs"] = self._n_outputs
        return fields, arrays

    def _learned(self, fields: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._n_outputs = whole_number("n_outputs", fields.pop("n_outputs"), least=1, most=2)
        super()._learned(fields, arrays)


def ridge_of_sums(
    m: KernelPrime,
    sums: ExactSums,
    bounds: tuple[np.ndarray, np.ndarray],
    classes: tuple[Any, ...] | None,
    is_column: bool,
    alpha: float | str,
) -> PrimeRidgeClassifier | PrimeRidgeRegressor:
    """Return the model fitted to rows with these sums and bounds (d,) of x, for `primal.arrow`.

    Targets are membership of classes, or one column or several of numbers.
    """
    names = ("kernel", "gamma", "form", "precision")
    options = {name: getattr(m, name) for name in names} | {"basis": m.spec["basis"]}
    model: Any = (PrimeRidgeRegressor if classes is None else PrimeRidgeClassifier)(
        m.D, alpha=alpha, **options
    )
    method = m.method if m.method in METHODS else "auto"
    features = PrimeFeatures(m.D, layout=m.layout, method=method, **options)
    features._set_map(m)
    features.n_features_in_ = model.n_features_in_ = m.d
    features.data_min_, features.data_max_ = bounds
    features.n_samples_seen_, features.predicted_error_ = sums.n_rows, None
    model.features_ = features
    if classes is None:
        model._n_outputs = 1 if is_column else 2
    else:
        model.classes_, model._has_several_labels = np.array(classes), False
    model._keep(sums)
    model._checked_alpha()
    return model
