"""``PrimeGaussianProcessRegressor``: a Gaussian process whose cost is linear in the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from primal._checks import (
    flag,
    positive_scale,
    raised_as,
    reject_masked,
    require_memory,
    whole_number,
)
from primal.errors import DataError, NumericalWarning, ParameterError, PrimalError
from primal.exact import increments, static_turns
from primal.maps import KernelPrime, kernel_matrix, spread_rows
from primal.sklearn._contract import (
    ManyTargets,
    ReadOnlyArrays,
    checked_by_host,
    validate_data,
)
from primal.sklearn._evidence import (
    Posterior,
    Sums,
    evidence,
    feature_blocks,
    posterior,
    predictions,
)
from primal.sklearn._features import require_range
from primal.sklearn._posterior_maps import (
    Beyond,
    Comparison,
    Known,
    beyond_copies,
    growable_map,
    posterior_map,
    too_wide,
)
from primal.sklearn._priors import new_kernel, read_prior

# Of choosing hyperparameters and features for each other.
_MOST_ROUNDS = 3
_LARGEST_ERROR = 0.1  # of the mean: what is above is reported


class PrimeGaussianProcessRegressor(ManyTargets, ReadOnlyArrays):
    """Gaussian process regression on prime features, in time linear in the rows.

    Bayesian linear regression on float64 features whose inner product approximates the kernel: the
    posterior of :class:`sklearn.gaussian_process.GaussianProcessRegressor` within the error of that
    approximation, from sums of n_components x n_components numbers. Takes its arguments, with the
    same meaning. What differs: the default kernel is fitted, hyperparameters are chosen from at
    most `optimizer_rows` rows, restarts are spread evenly instead of drawn, and a sample is a
    function, without white noise.

    Parameters
    ----------
    kernel : kernel of scikit-learn or KernelSum, optional
        ``RBF`` or ``Matern`` (nu 0.5, 1.5, 2.5 or inf), with one length scale or one for each
        column, times constants and plus white noise. By default
        ``1.0 * RBF(1.0) + WhiteKernel(1.0)``. A kernel made of parts (:func:`primal.maps.on`)
        keeps every gamma, period and factor as given: the amplitude of the whole and the noise are
        chosen, and with optimizer=None they are its own factors and `alpha`.
    n_components : int, default=1024
        Number of features; an odd one is rounded up, cosines and sines come in pairs.
    alpha : float, default=1e-10
        Noise added to that of the kernel, and like in scikit-learn not part of the predicted
        spread.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Of the hyperparameters that are not fixed; a callable as in scikit-learn; None keeps them.
    n_restarts_optimizer : int, default=0
        Further starts, spread evenly over the bounds by roots of primes.
    normalize_y : bool, default=False
        Fit (y - mean) / standard deviation, of all rows seen.
    optimizer_rows : int or None, default=2048
        Hyperparameters are chosen from this many rows, spread evenly; None takes all.
    random_state : ignored
        Fitting draws nothing; it is here so that code written for scikit-learn runs.

    Attributes
    ----------
    kernel_, map_ : kernel of scikit-learn, KernelPrime
        With the hyperparameters in use; the features, which take X divided by length scales. Up
        to 8 columns they are chosen in `fit` by their divergence from the exact process on few of
        the rows: growable ones, or a lattice of frequencies.
    X_train_, y_train_ : ndarray of shape (n_kept, d) and (n_kept,) or (n_kept, m), dtype=float64
        The rows that hyperparameters were chosen from.
    n_samples_seen_ : int
        Rows of `fit` and `partial_fit`.
    log_marginal_likelihood_value_ : float
        Of all rows seen, at the hyperparameters in use.
    posterior_error_ : float
        Estimate of the distance of means from those of the exact process, root mean square over
        functions of the prior and in units of its standard deviation: from 320 of the rows, of
        which half predict the others by features and by the kernel itself, with as much noise as
        makes them tell what all rows seen do. A :class:`primal.NumericalWarning` of `fit` says
        that it is above 0.1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> from primal.sklearn import PrimeGaussianProcessRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> kernel = 1.0 * RBF(1.0) + WhiteKernel(1e-4)
    >>> model = PrimeGaussianProcessRegressor(kernel, n_components=64).fit(x, np.sin(x[:, 0]))
    >>> mean, std = model.predict([[1.0], [60.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 1e-3), bool(std[1] > 100 * std[0])
    (True, True)
    >>> sample = model.sample_y([[1.0], [2.0]], random_state=3)
    >>> bool(np.allclose(sample[1], model.sample_y([[2.0]], random_state=3)))  # one function
    True
    """

    n_features_in_: int
    _sums: Sums
    _posterior: Posterior | None

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_components: int = 1024,
        alpha: float = 1e-10,
        optimizer: str | Callable[..., Any] | None = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        optimizer_rows: int | None = 2048,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.optimizer_rows = optimizer_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose hyperparameters and fit to X (n, d) and y (n,) or (n, m), outputs apart."""
        X, y = self._checked(X, y, reset=True)
        vars(self).pop("_posterior", None)
        self._is_normalized = flag("normalize_y", self.normalize_y)
        self._alpha = positive_scale("alpha", self.alpha)
        self.kernel_ = new_kernel(self.kernel, X, fitted=self.optimizer is not None)
        prior, d = read_prior(self.kernel_), X.shape[1]
        if len(prior.lengths) not in (1, d):
            raise ParameterError(
                f"kernel has {len(prior.lengths)} length scales for the {d} columns of X: give one "
                "or one for each."
            )
        n_kept = len(X)
        if self.optimizer_rows is not None:
            n_kept = whole_number("optimizer_rows", self.optimizer_rows, least=1)
        kept = spread_rows(len(X), n_kept)
        self.X_train_, self.y_train_ = X[kept], y[kept]
        self._low, self._high = X.min(axis=0), X.max(axis=0)
        D = whole_number("n_components", self.n_components, least=1)
        self._sums = Sums.empty(D + D % 2, _columns(y).mean(axis=0))
        self._sums.add_targets(_columns(y))
        self._choose_hyperparameters(X)
        self._add(X, y)
        self._posterior = self._solution()
        if (error := self.posterior_error_) > _LARGEST_ERROR:
            warnings.warn(
                f"means are about {error:.0%} of the prior's deviation from those of the exact "
                f"process, above {_LARGEST_ERROR:.0%}: {self.map_.D} features are few for the "
                f"noise and {len(X)} rows. Raise n_components, or take what is fitted for a "
                "smoother model.",
                NumericalWarning,
                stacklevel=2,
            )
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Add rows; the first call fits, and its hyperparameters stay."""
        if not hasattr(self, "_posterior"):
            return self.fit(X, y)
        X, y = self._checked(X, y, reset=False)
        if y.shape[1:] != self.y_train_.shape[1:]:
            raise DataError(
                f"y has the shape {y.shape}, and in fit it had {self.y_train_.shape}: the number "
                "of targets must be the same."
            )
        # What is rejected changes nothing.
        known = self._known()
        lengths = known.prior.lengths
        require_range(self.map_, X.min(axis=0) / lengths, X.max(axis=0) / lengths)
        if (far := too_wide(self.map_, known, X)).any():
            raise DataError(
                f"{far.sum()} of {len(X)} rows lie so far from those of the first call that the "
                f"features, which were made for them, repeat themselves there, such as "
                f"{X[far.argmax()]}: call fit on rows from everywhere first."
            )
        self._sums.add_targets(_columns(y))
        self._add(X, y)
        self._low = np.minimum(self._low, X.min(axis=0))
        self._high = np.maximum(self._high, X.max(axis=0))
        self._posterior = None
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the mean at X (n, d), and its standard deviation or covariance if asked for.

        The spread includes the white noise of the kernel, as in scikit-learn, and what rows leave
        undetermined beyond the frequencies of the features. So far from the rows that features
        repeat themselves, both are those of the prior.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, m), dtype=float64
        std : ndarray of the shape of mean
        cov : ndarray of shape (n, n) or (n, n, m)
        """
        asked = flag("return_std", return_std), flag("return_cov", return_cov)
        if all(asked):
            raise ParameterError("return_std and return_cov exclude each other: ask for one.")
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        found, known = self._solved(), self._known()
        prior, far = known.prior, beyond_copies(self.map_, known, X)
        offset, scale = self._normalization()
        if not return_cov:
            parts = (self.map_, X, prior.lengths, found)
            means, variances = predictions(*parts, squares=return_std)
            means[far] = 0.0
            mean = _squeezed(offset + scale * means)
            if not return_std:
                return mean
            variances = variances * found.ratio
            variances[far] = 1.0
            std = np.sqrt(prior.signal * Beyond.of(self.map_, known).added(variances) + prior.white)
            return mean, _squeezed(np.multiply.outer(std, scale))
        require_memory(8 * len(X) * (len(X) + self.map_.D), f"a covariance of {len(X)} rows")
        means, spread = np.empty((len(X), len(scale))), np.empty((len(X), self.map_.D))
        for rows, _, Z in feature_blocks(self.map_, X, prior.lengths):
            means[rows] = Z @ found.mean
            spread[rows] = found.spread(Z)
        means[far], spread[far] = 0.0, 0.0
        covariance = found.ratio * (spread @ spread.T)
        if far.any():
            x = X[far] / prior.lengths
            covariance[np.ix_(far, far)] = kernel_matrix(self.map_.kernel, x, self.map_.gamma)
        diagonal = Beyond.of(self.map_, known).added(np.diagonal(covariance))
        np.fill_diagonal(covariance, diagonal + prior.white / prior.signal)
        mean = _squeezed(offset + scale * means)
        return mean, _squeezed(np.multiply.outer(prior.signal * covariance, scale**2))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Return functions drawn from the posterior, at X (n, d).

        A function is one draw of the weights: the same `random_state`, an int, gives the same
        functions at any X, and the first of them whatever n_samples is. It has the frequencies of
        the features alone: the spread of `predict` is a little wider. So far from the rows that
        features repeat themselves, it goes on, after a jump, as a function of the prior.

        Returns
        -------
        samples : ndarray of shape (n, n_samples) or (n, m, n_samples), dtype=float64
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        n_samples = whole_number("n_samples", n_samples, least=1)
        found, known = self._solved(), self._known()
        offset, scale = self._normalization()
        shape = (n_samples, len(scale), self.map_.D)
        require_memory(8 * n_samples * len(scale) * (self.map_.D + len(X)), "the samples")
        with checked_by_host("random_state"):
            draws = check_random_state(random_state).standard_normal(shape)
        weights = found.mean.T + np.sqrt(found.noise) * (draws @ found.inverse_factor)
        values = _functions(self.map_, X, known, weights)
        if (far := beyond_copies(self.map_, known, X)).any():
            # Other features of the kernel, which never repeat themselves.
            weights = np.sqrt(known.prior.signal) * draws
            values[far] = _functions(growable_map(known, self.map_.D), X[far], known, weights)
        values = offset[:, None] + scale[:, None] * values
        return values[:, 0] if len(scale) == 1 else values

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Return log p(y) of the rows `X_train_` for hyperparameters theta, and its gradient.

        Without theta, `log_marginal_likelihood_value_`, which is that of all rows seen.

        Parameters
        ----------
        theta : array_like of shape (n_hyperparameters,), optional
            As in ``kernel_.theta``: logarithms, from left to right.
        eval_gradient : bool, default=False
            Return the gradient by theta, too.
        clone_kernel : ignored
            The kernel is never changed.
        """
        check_is_fitted(self)
        if theta is None:
            if flag("eval_gradient", eval_gradient):
                raise ParameterError("eval_gradient needs theta: pass kernel_.theta.")
            return self.log_marginal_likelihood_value_
        reject_masked("theta", theta)
        with raised_as(ParameterError, "theta must be numbers"):
            theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != self.kernel_.theta.shape or not np.isfinite(theta).all():
            raise ParameterError(
                f"theta must be {len(self.kernel_.theta)} finite numbers, one for each "
                f"hyperparameter of {self.kernel_}, got {theta!r}."
            )
        found = self._evidence(theta, gradient=flag("eval_gradient", eval_gradient))
        return found if eval_gradient else found[0]

    def _evidence(self, theta: np.ndarray, *, gradient: bool) -> tuple[float, np.ndarray]:
        """Return log p(y) of `X_train_`, and its gradient by theta if asked for."""
        with np.errstate(over="ignore"):
            prior = read_prior(self.kernel_.clone_with_theta(theta))
        offset, scale = self._normalization()
        Y = (_columns(self.y_train_) - offset) / scale
        noise = prior.white + self._alpha
        parts = (self.map_, self.X_train_, Y, prior.lengths, prior.signal, noise)
        found = evidence(*parts, gradient=gradient)
        by_white = found.by_noise * prior.white / noise
        return found.value, prior.gradient(found.by_signal, found.by_lengths, by_white)

    @property
    def log_marginal_likelihood_value_(self) -> float:
        check_is_fitted(self)
        found = self._solved()
        cross, squares = self._sums.relative(*self._normalization())
        misfit = float(squares.sum() - (cross * found.mean).sum())
        return found.log_evidence(misfit, self._sums.n_rows)

    @property
    def posterior_error_(self) -> float:
        check_is_fitted(self)
        return Comparison(self._known()).mean_error(self.map_)

    @property
    def n_samples_seen_(self) -> int:
        check_is_fitted(self)
        return self._sums.n_rows

    def _known(self, X: np.ndarray | None = None) -> Known:
        prior = read_prior(self.kernel_)
        rows = self.X_train_ if X is None else X
        return Known(
            prior, prior.white + self._alpha, rows, self._sums.n_rows, self._low, self._high
        )

    def _choose_hyperparameters(self, X: np.ndarray) -> None:
        """Set `kernel_` and the features, `map_`, for each other."""
        D = len(self._sums.gram)
        if self.optimizer is None or not len(self.kernel_.theta):
            self.map_ = posterior_map(self._known(X), D)
            return
        n_restarts = whole_number("n_restarts_optimizer", self.n_restarts_optimizer)
        # Features made for some lengths repeat the kernel at much shorter ones: the search is with
        # others, and those for the lengths it finds have a round of their own.
        self.map_ = growable_map(self._known(X), D)
        for _ in range(_MOST_ROUNDS):
            self._optimize(n_restarts)
            before, self.map_, n_restarts = self.map_, posterior_map(self._known(X), D), 0
            if self.map_ == before:
                break

    def _optimize(self, n_restarts: int) -> None:
        """Set `kernel_` to the best that the optimizer finds from where it is and from restarts."""

        def cost(theta: np.ndarray, eval_gradient: bool = True) -> Any:
            try:
                value, gradient = self._evidence(theta, gradient=eval_gradient)
            except PrimalError:  # noise lost in rounding, or phases beyond their range
                value, gradient = -np.inf, np.zeros_like(theta)
            return (-value, -gradient) if eval_gradient else -value

        bounds, first = self.kernel_.bounds, self.kernel_.theta
        if n_restarts and not np.isfinite(bounds).all():
            raise ParameterError("n_restarts_optimizer needs finite bounds of every parameter.")
        rows = np.arange(1, n_restarts + 1, dtype=np.uint64)
        shares = static_turns(rows, increments(len(first))) / 2.0**64
        starts = [first, *(bounds[:, 0] + shares * (bounds[:, 1] - bounds[:, 0]))]
        ends = [self._optimum(cost, start, bounds) for start in starts]
        best = min(ends, key=lambda end: end[1])
        self.kernel_ = self.kernel_.clone_with_theta(best[0])

    def _optimum(self, cost: Any, start: np.ndarray, bounds: np.ndarray) -> tuple[Any, float]:
        if callable(self.optimizer):
            found = self.optimizer(cost, start, bounds=bounds)
            with raised_as(ParameterError, "optimizer must return theta and its cost"):
                theta, value = found
                return theta, float(value)
        if not (isinstance(self.optimizer, str) and self.optimizer == "fmin_l_bfgs_b"):
            raise ParameterError(
                f"optimizer must be 'fmin_l_bfgs_b', a callable or None, got {self.optimizer!r}."
            )
        found = minimize(cost, start, method="L-BFGS-B", jac=True, bounds=bounds)
        if not found.success:
            warnings.warn(
                f"L-BFGS-B stopped after {found.nit} steps without converging ({found.message}): "
                "scale the data, change the bounds of the kernel or start elsewhere.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return found.x, found.fun

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_posterior")

    def _add(self, X: np.ndarray, y: np.ndarray) -> None:
        self._sums.add_rows(self.map_, X, read_prior(self.kernel_).lengths, _columns(y))

    def _solved(self) -> Posterior:
        if self._posterior is None:
            self._posterior = self._solution()
        return self._posterior

    def _solution(self) -> Posterior:
        prior, cross = read_prior(self.kernel_), self._sums.relative(*self._normalization())[0]
        return posterior(self._sums.gram, cross, prior.signal, prior.white + self._alpha)

    def _normalization(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what is subtracted from targets, and what they are divided by."""
        if self._is_normalized:
            return self._sums.normalization()
        return np.zeros_like(self._sums.origin), np.ones_like(self._sums.origin)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        X, y = validate_data(self, X, y, dtype=np.float64, reset=reset, **self._y_options)
        return X, self._floats(y)


def _functions(m: KernelPrime, X: np.ndarray, known: Known, weights: np.ndarray) -> np.ndarray:
    """Return the values at X (n, d) of functions with weights (t, m, D), shape (n, m, t)."""
    values = np.empty((len(X), *weights.shape[1::-1]))
    for rows, _, Z in feature_blocks(m, X, known.prior.lengths):
        values[rows] = np.moveaxis(Z @ np.moveaxis(weights, -1, 1), 0, -1)
    return values


def _columns(y: np.ndarray) -> np.ndarray:
    return y.reshape(len(y), -1)


def _squeezed(values: np.ndarray) -> np.ndarray:
    """Return values without their last axis, the targets, if there is one target."""
    return values[..., 0] if values.shape[-1] == 1 else values
