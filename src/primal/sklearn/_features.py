"""``PrimeFeatures``: the feature map as a scikit-learn transformer."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted

from primal._checks import one_of, raised_as, real_number, whole_number
from primal._parallel import row_blocks
from primal._specs import from_spec
from primal.errors import (
    DataError,
    MemoryLimitError,
    NotInvertibleError,
    ParameterError,
    SpecError,
)
from primal.maps import (
    KERNELS,
    METHODS,
    SCORED_ROWS,
    KernelPrime,
    KernelSum,
    as_kernel,
    column_means,
    column_widths,
    dense_rows,
    expected_error,
    resolved_gamma,
    spread_rows,
)
from primal.sklearn._contract import (
    SpecMixin,
    checked_features,
    column_range,
    validate_data,
    weighted_rows,
)
from primal.sklearn._inverse import (
    InverseCertificate,
    NoInverseError,
    certify,
    invert,
    obstacle,
)

DTYPES = (np.float64, np.float32)
# Features made at once, 16 MB of float32: fewer, and starting the engine's threads shows;
# more, and sparse rows made dense take too much memory.
BLOCK_FEATURES = 1 << 22
# What gamma="manifold" keeps free: room for noise, and for inputs a tenth beyond the range.
_MARGIN_TURNS = 0.05


class PrimeFeatures(SpecMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Approximate a kernel by cosines and sines of prime frequencies.

    The inner product of two rows of the result approximates the kernel of the two rows of X. Takes
    the arguments of :class:`sklearn.kernel_approximation.RBFSampler`, with the same meaning. Two
    defaults differ: RBFSampler has gamma=1.0 and n_components=100. Features have the type and
    the precision of X, and float32 ones take about a quarter of the time. A pickle holds
    parameters and a few numbers.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features D; odd numbers are allowed.
    gamma : "scale", "median", "manifold", float or array_like of shape (d,), default="scale"
        ``"scale"`` is 1 / (d Var X), as scikit-learn means it; ``"median"`` makes the median
        distance between rows the length scale; ``"manifold"`` is the largest at which phases of
        the range of X stay 0.05 turns below half a turn, so that `inverse_transform` holds; an
        array has one value for each column (automatic relevance determination).
    kernel, basis, form, layout, precision
        As in :class:`primal.KernelPrime`, which has the formulas and choices. The kernel
        ``"prime"`` has no closed form, and gamma is the scale of its coarsest frequency. A kernel
        of several parts (:func:`primal.maps.on`) has a gamma in each of them, ``"scale"`` and
        ``"median"`` of their columns among them.
    method : {"auto", "growable", "lattice", "spectral"}, default="auto"
        As in :class:`primal.KernelPrime`, made for the standard deviation of each column of X.
        ``"auto"`` is quadrature where theory promises 0.4 of the error or less, mostly up to 5
        columns, and ``"growable"``, which alone can `grow`, elsewhere and for gamma="manifold".
    random_state : ignored
        There are no random numbers; it is here so that code written for RBFSampler runs.

    Attributes
    ----------
    gamma_, basis_, form_, map_ : float or ndarray of shape (d,), str, str, KernelPrime
        Those in use; ``map_.encode(X)`` are the features.
    method_, predicted_error_ : str, float or None
        The method in use, and the relative error of the kernel matrix to expect of other rows: that
        of up to 128 of the rows of `fit`, with their rounding; 1.0 stands for all that is larger.
        None for the prime kernel, and inside of a model. See `kernel_error`.
    center_ : ndarray of shape (d,), dtype=float64, or None
        Where the offsets of offset cosines are counted from: the mean of X, rounded to a
        millionth of each column's range. None for pairs.
    amplitude_ : float
        Factor of every cosine and sine: sqrt(2 / D) at the time of `fit`; `grow` keeps it.
    data_min_, data_max_, n_samples_seen_ : ndarray of shape (d,), dtype=float64, and int
        Range and number of the rows seen.
    inverse_certificate_, safe_gamma_, condition_number_ : InverseCertificate, float, float
        Whether `inverse_transform` holds for the range of the data seen; the largest gamma at
        which it does, for ``method="growable"``; how much it can amplify noise.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeFeatures
    >>> X = np.linspace(-1, 1, 60).reshape(20, 3)
    >>> features = PrimeFeatures(256, gamma=0.5).fit(X)
    >>> Z = features.transform(X)
    >>> Z.shape
    (20, 256)
    >>> exact = np.exp(-0.5 * np.square(X[0] - X[9]).sum())
    >>> bool(abs(Z[0] @ Z[9] - exact) < 0.01)
    True
    """

    n_features_in_: int
    predicted_error_: float | None
    _fitted_names = ("map_", "data_min_", "data_max_", "n_samples_seen_", "predicted_error_")

    def __init__(
        self,
        n_components: int = 1024,
        *,
        kernel: str | KernelSum = "rbf",
        gamma: Any = "scale",
        basis: str = "auto",
        form: str = "pair",
        layout: str = "interleaved",
        precision: str = "exact",
        method: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.basis = basis
        self.form = form
        self.layout = layout
        self.precision = precision
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PrimeFeatures:
        """Choose gamma from X (n, d), which may be sparse, and note its range.

        A row with the `sample_weight` w counts like w equal rows in gamma="scale" and `center_`;
        one of weight 0 is not looked at.
        """
        X, _, weights = weighted_rows(sample_weight, self._validated(X, reset=True))
        self._fit(X, weights)
        if self.map_.kernel != "prime":
            rows = dense_rows(X, spread_rows(X.shape[0], SCORED_ROWS))
            self.predicted_error_ = expected_error(self.map_, rows, X.dtype)
        return self

    def _fit(self, X: Any, weights: np.ndarray | None) -> None:
        low, high = _range(X)
        kernel, method, width = as_kernel(self.kernel), one_of("method", self.method, METHODS), None
        if method != "growable":
            width = column_widths(X, weights)
        if isinstance(kernel, KernelSum):
            gamma, kernel = self.gamma, kernel.resolved(X, weights)
            gamma = 1.0 if isinstance(gamma, str) and gamma == "scale" else gamma
        elif isinstance(self.gamma, str) and self.gamma == "manifold":
            # The frequencies of others are longer, and their phases wrap.
            method = "growable" if method == "auto" else method
            gamma, width = self._invertible_gamma(low, high), None
        else:
            gamma = resolved_gamma(self.gamma, kernel, X, weights)
        m = self._new_map(X.shape[1], gamma, kernel=kernel, method=method, width=width)
        if m.form == "offset":
            center = _rounded_center(X, weights, low, high)
            with raised_as(DataError, "the mean of X", keep=(MemoryLimitError,)):
                m = self._new_map(X.shape[1], gamma, center=center)
        self.data_min_, self.data_max_, self.n_samples_seen_ = low, high, X.shape[0]
        self.predicted_error_ = None
        self._set_map(m)

    def partial_fit(self, X: Any, y: Any = None) -> PrimeFeatures:
        """Note the range of one more batch; the first call fits.

        Gamma, the center and widths come from the first batch: others would change features already
        in use.
        """
        if not hasattr(self, "map_"):
            return self.fit(X)
        X = self._validated(X, reset=False)
        low, high = _range(X)
        require_range(self.map_, low, high)
        self.data_min_ = np.minimum(self.data_min_, low)
        self.data_max_ = np.maximum(self.data_max_, high)
        self.n_samples_seen_ += X.shape[0]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features (n, n_components) of X (n, d), which may be sparse."""
        if self._is_plain(X):
            # The map checks the values; scikit-learn's checks would take longer than one row.
            with suppress(DataError):
                return transformed(self.map_, X, X.dtype)
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return transformed(self.map_, X, X.dtype)

    def _is_plain(self, X: Any) -> bool:
        """Whether X needs no conversion: floats of the right shape, columns without names."""
        fitted = vars(self)
        return (
            type(X) is np.ndarray
            and X.dtype in DTYPES
            and X.ndim == 2
            and len(X) > 0
            and "map_" in fitted
            and "feature_names_in_" not in fitted
            and X.shape[1] == fitted["n_features_in_"]
        )

    @property
    def inverse_transform(self) -> Callable[[Any], Any]:
        """Return the points (n, d) whose features (n, n_components), of any scale, these are.

        A fitted estimator has this method only if its features can be inverted, as scikit-learn
        wants it: ``hasattr(features, "inverse_transform")`` asks. Otherwise the
        NotInvertibleError names the gamma that would do. A PhaseWrapWarning says that a row
        decodes to a point beyond the certified range.
        """
        if hasattr(self, "map_") and not self.inverse_certificate_.invertible:
            reason = self.inverse_certificate_.reason
            raise NoInverseError(f"these features cannot be inverted: {reason}")
        return self._inverse_transform

    def _inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        Z = checked_features(X)
        if Z.shape[1] != self._n_features_out:
            raise ParameterError(
                f"X must have the {self._n_features_out} columns that transform returns, "
                f"got {Z.shape[1]}."
            )
        return invert(self.map_, self.inverse_certificate_, Z).astype(Z.dtype, copy=False)

    def grow(self, n_components: int, *, rescale: bool = False) -> PrimeFeatures:
        """Return fitted features with more columns; the old ones keep theirs and every bit.

        The amplitude stays that of the fit, so inner products now approximate (n_components / old
        number) times the kernel. `rescale` sets it to sqrt(2 / D) again: one common factor.
        """
        check_is_fitted(self)
        grown = copy.copy(self)
        grown.n_components = whole_number("n_components", n_components, least=1)
        grown._set_map(self.map_.grow(grown.n_components, rescale=rescale))
        before, after = self.map_.predicted_error, grown.map_.predicted_error
        if self.predicted_error_ is not None and before and after:
            # That of Gaussian points falls by the same law.
            grown.predicted_error_ = min(1.0, self.predicted_error_ * (after / before))
        return grown

    def kernel_error(self, X: Any, n_pairs: int = 160_000) -> float:
        """Return the relative error of the kernel matrix, |Z Z' - K| / |K| in Frobenius norm.

        sqrt(n_pairs) rows are compared, spread evenly over X (n, d). The prime kernel, without
        closed form, raises ParameterError.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        n_rows = math.isqrt(whole_number("n_pairs", n_pairs, least=1))
        rows = dense_rows(X, spread_rows(X.shape[0], n_rows))
        return self.map_.kernel_error(rows, n_pairs, dtype=X.dtype)

    @property
    def inverse_certificate_(self) -> InverseCertificate:
        check_is_fitted(self)
        return certify(self.map_, self.data_min_, self.data_max_)

    @property
    def safe_gamma_(self) -> float | np.ndarray:
        return self.inverse_certificate_.safe_gamma

    @property
    def condition_number_(self) -> float:
        check_is_fitted(self)
        return self.map_.basis.condition_number

    def _new_map(self, d: int, gamma: Any, **changed: Any) -> KernelPrime:
        n_components = whole_number("n_components", self.n_components, least=1)
        names = ("kernel", "basis", "form", "layout", "precision", "method")
        options = {name: getattr(self, name) for name in names} | changed
        return KernelPrime(d, n_components, gamma=gamma, **options)

    def _invertible_gamma(self, low: np.ndarray, high: np.ndarray) -> float:
        """Return the largest gamma at which phases of the range stay `_MARGIN_TURNS` below 0.5.

        Of the growable map, which has an inverse at any D.
        """
        m = self._new_map(len(low), 1.0, method="growable")
        certificate = certify(m, low, high)
        if reason := obstacle(m, 0.0, certificate.safe_gamma):
            raise NotInvertibleError(f"gamma='manifold' is for features with an inverse: {reason}")
        ratio = (0.5 - _MARGIN_TURNS) / 0.5
        return float(KERNELS[str(self.kernel)].gamma_after(certificate.safe_gamma, ratio))

    def _set_map(self, m: KernelPrime) -> None:
        self.map_, self._n_features_out = m, m.D
        self.gamma_ = m.gamma if isinstance(m.gamma, float) else np.array(m.gamma)
        self.basis_, self.form_, self.amplitude_ = str(m.spec["basis"]), m.form, m.amplitude
        self.center_ = None if m.center is None else np.array(m.center)
        self.method_ = m.method

    def _restore(self, fitted: dict[str, Any]) -> None:
        m = from_spec(fitted["map_"])
        if not isinstance(m, KernelPrime):
            raise SpecError(f"the map behind features is a KernelPrime, got {type(m).__name__}.")
        self._set_map(m)
        self.n_features_in_ = m.d
        self.data_min_, self.data_max_ = column_range(fitted, float, m.d)
        self.n_samples_seen_ = whole_number("n_samples_seen_", fitted["n_samples_seen_"], least=1)
        error = fitted["predicted_error_"]
        self.predicted_error_ = (
            None if error is None else real_number("predicted_error_", error, above=-1.0, below=1.1)
        )

    def _validated(self, X: Any, *, reset: bool) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _range(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest number of every column, float64."""
    low, high = min_max_axis(X, axis=0) if sparse.issparse(X) else (X.min(0), X.max(0))
    return low.astype(np.float64), high.astype(np.float64)


def transformed(m: KernelPrime, X: Any, dtype: np.dtype) -> np.ndarray:
    """Return the features of dense or sparse rows; sparse ones are made dense a block at a time."""
    out = np.empty((X.shape[0], m.D), dtype)
    if not sparse.issparse(X):
        return m.encode(X, dtype=dtype, out=out)
    for rows in row_blocks(len(out), m.D, BLOCK_FEATURES):
        with raised_as(DataError, f"rows {rows.start} to {rows.stop - 1} of X", keep=()):
            m.encode(dense_rows(X, rows), dtype=dtype, out=out[rows])
    return out


def require_range(m: KernelPrime, low: np.ndarray, high: np.ndarray) -> None:
    """Raise a DataError unless every x between `low` and `high` (d,) has features."""
    with raised_as(DataError, "the least (row 0) and the largest (row 1) of X", keep=()):
        m.turns(np.stack([low, high]))


def fitted_features(estimator: Any, X: Any, weights: np.ndarray | None = None) -> PrimeFeatures:
    """Return the features that an estimator's own parameters name, fitted to X."""
    names = ("n_components", "kernel", "gamma", "basis", "form", "precision")
    # Whatever rows come first, growable ones are the same. Parts of a kernel have none.
    method = "auto" if isinstance(as_kernel(estimator.kernel), KernelSum) else "growable"
    features = PrimeFeatures(**{name: getattr(estimator, name) for name in names}, method=method)
    features.n_features_in_ = X.shape[1]
    features._fit(X, weights)
    if features.form_ == "offset":
        # Counted from zero: with gamma as a number, whatever rows come first.
        features._set_map(features._new_map(features.n_features_in_, features.gamma_))
    return features


def _rounded_center(
    X: Any, weights: np.ndarray | None, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the mean of every column, rounded to a step of 2**-20 of its width or less."""
    # So the last digits of a sum, which depend on its order, do not show in the features.
    step = np.ldexp(1.0, np.frexp(high - low)[1] - 21)
    return np.where(high > low, np.rint(column_means(X, weights) / step) * step, low)
