"""What is known about x before its code is seen: a box, a Gaussian law, or whole numbers.

The lattice decoder needs a Gaussian law to weigh combinations with. A box is given the mean and
variance of the uniform law on it; the limits themselves are checked at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._arithmetic import normal_quantile
from primal._checks import real_array, require_memory, whole_number
from primal.decoding._bounds import chi_squared_limit, log2_ball, log2_shifted_within
from primal.decoding._linalg import pivoted_cholesky
from primal.errors import DataError, ParameterError

# A deviation from this share of the uniform law's on is that law, cut to few bits.
_LEAST_UNIFORM = 0.95
# How many of its standard deviations a decoded value may lie beyond a limit.
_LIMIT_DEVIATIONS = 6.0
Stated = float | Sequence[float] | np.ndarray
Floats = float | tuple[float, ...]


@dataclass(frozen=True, eq=False)
class PriorModel:
    """A prior for d inputs: x = mean + factor @ xi, factor (d, r) and xi standard normal.

    `low` and `high` (d,) are limits of x, and `step` is its spacing, when x is a whole multiple of
    it; infinite where there are none. `rounding` (d,) is the deviation of x from all of this that
    the rounding of a covariance matrix of low rank leaves open.
    """

    mean: np.ndarray
    factor: np.ndarray
    low: np.ndarray
    high: np.ndarray
    step: np.ndarray
    rounding: np.ndarray

    @property
    def is_bounded(self) -> bool:
        return bool(np.isfinite(self.high).any())

    @property
    def is_whole(self) -> bool:
        return bool(np.isfinite(self.step).any())

    @property
    def largest_cost(self) -> float:
        """The most that inputs within limits can add to the sum of squares of xi."""
        bounded = np.isfinite(self.high)
        far = np.maximum(self.high - self.mean, self.mean - self.low)[bounded]
        return float(np.square(far / self.factor[bounded].max(axis=1, initial=0.0)).sum())

    def draw(self, fractions: np.ndarray) -> np.ndarray:
        """Return xi (n, r) for fractions (n, r) that are uniform in (0, 1).

        They are uniform within limits, unless a narrower distribution was stated, else normal.
        """
        xi = normal_quantile(fractions)
        for j in np.flatnonzero(np.isfinite(self.high)):
            column = int(self.factor[j].argmax())  # an input with limits has one of its own
            mean, std, low, high = self.mean[j], self.factor[j, column], self.low[j], self.high[j]
            grid = self.step[j] if np.isfinite(self.step[j]) else 0.0
            if std > _LEAST_UNIFORM * (high - low + grid) / math.sqrt(12.0):
                x = low - grid / 2.0 + (high - low + grid) * fractions[:, column]
            else:
                x = mean + std * xi[:, column]
            if grid:
                x = np.clip(mean + grid * np.rint((x - mean) / grid), low, high)
            xi[:, column] = (x - mean) / std
        return xi

    def contains(self, x: np.ndarray, xi: np.ndarray, x_std: np.ndarray) -> np.ndarray:
        """Return which rows of x (n, d) lie within the prior, allowing for their uncertainty."""
        if self.is_bounded:
            return self.within_limits(x, x_std)
        return np.square(xi).sum(axis=1) <= chi_squared_limit(xi.shape[1])

    def within_limits(self, x: np.ndarray, x_std: np.ndarray) -> np.ndarray:
        """Return which rows of x (n, d) keep the limits, of those inputs that have any."""
        slack = _slack(self.high - self.low, x_std)
        inside = (x >= self.low - slack) & (x <= self.high + slack)
        return np.logical_and.reduce(inside, axis=1)

    def reaches(self, x_shift: np.ndarray, xi_shift: np.ndarray, x_std: np.ndarray) -> np.ndarray:
        """Return which shifts (n, d) lead from some x that is contained to another one."""
        if self.is_bounded:
            width = self.high - self.low
            near = np.abs(x_shift) <= width + 2.0 * _slack(width, x_std)
            return np.logical_and.reduce(near, axis=1)
        return np.square(xi_shift).sum(axis=1) <= 4.0 * chi_squared_limit(xi_shift.shape[1])

    def log2_overlap(self, x_shift: np.ndarray, xi_shift: np.ndarray) -> np.ndarray:
        """Return log2 of the chance that x, drawn from the prior and shifted, stays within it."""
        if self.is_bounded:
            width = self.high - self.low + (self.step if self.is_whole else 0.0)
            with np.errstate(divide="ignore"):  # log2 of 0: never within
                return np.log2(np.maximum(0.0, 1.0 - np.abs(x_shift) / width)).sum(axis=1)
        r = xi_shift.shape[1]
        return log2_shifted_within(r, chi_squared_limit(r), np.square(xi_shift).sum(axis=1))

    @property
    def log2_volume(self) -> float:
        """log2 of the volume, in units of xi, of what `contains` accepts."""
        r = self.factor.shape[1]
        if self.is_bounded:
            return r * math.log2(2.0 * math.sqrt(3.0))
        return log2_ball(r, chi_squared_limit(r))


class _Stated:
    """A prior as stated: every attribute is a float, or a tuple of one float for each input.

    Priors with the same attributes are equal.
    """

    def model(self, d: int) -> PriorModel:
        """Return this prior for d inputs."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        stated = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({stated})"


class Box(_Stated):
    """Every x_j within `half_width` of `center`.

    Parameters
    ----------
    half_width : float or sequence of d floats
        Positive.
    center : float or sequence of d floats, default=0.0

    Examples
    --------
    >>> from primal.decoding import Box
    >>> Box(1.0)
    Box(half_width=1.0, center=0.0)
    """

    def __init__(self, half_width: Stated, center: Stated = 0.0) -> None:
        self.half_width = _floats("half_width", half_width, positive=True)
        self.center = _floats("center", center)

    def model(self, d: int) -> PriorModel:
        """Return this prior for d inputs."""
        half, center = _spread("half_width", self.half_width, d), _spread("center", self.center, d)
        factor, free = np.diag(half / math.sqrt(3.0)), np.full(d, np.inf)
        return PriorModel(center, factor, center - half, center + half, free, np.zeros(d))


class Gaussian(_Stated):
    """x normal with a mean and a covariance, for instance those of a training set.

    Parameters
    ----------
    mean : float or sequence of d floats
    cov : float, sequence of d floats, or array of shape (d, d)
        One variance, one for each input, or a covariance matrix (it may be singular).

    Examples
    --------
    >>> from primal.decoding import Gaussian
    >>> Gaussian(0.0, [1.0, 4.0]).model(2).factor
    array([[1., 0.],
           [0., 2.]])
    """

    def __init__(self, mean: Stated, cov: Stated | Sequence[Sequence[float]]) -> None:
        self.mean = _floats("mean", mean)
        matrix = real_array("cov", cov).astype(np.float64)
        if matrix.ndim != 2:
            self.cov: Any = _floats("cov", cov, positive=True)
            return
        if not is_symmetric(matrix):
            raise DataError(f"cov must be a symmetric matrix, got shape {matrix.shape}: {matrix}.")
        self.cov = tuple(map(tuple, matrix.tolist()))

    def model(self, d: int) -> PriorModel:
        """Return this prior for d inputs."""
        mean, free, matrix = _spread("mean", self.mean, d), np.full(d, np.inf), np.array(self.cov)
        if matrix.ndim != 2:
            factor = np.diag(np.sqrt(_spread("cov", self.cov, d)))
            return PriorModel(mean, factor, -free, free, free, np.zeros(d))
        if len(matrix) != d:
            raise DataError(f"cov must be {d} x {d} for this map, got {matrix.shape}.")
        matrix = matrix / 2.0 + matrix.T / 2.0
        values = np.linalg.eigvalsh(matrix)
        if not 0.0 < values[-1] < math.inf or values[0] < -1e-9 * values[-1]:
            raise DataError(
                "cov must be a covariance matrix, got one with the eigenvalues "
                f"{values[0]:.3g} to {values[-1]:.3g}."
            )
        factor, rounding = pivoted_cholesky(matrix)
        return PriorModel(mean, factor, -free, free, free, rounding)


class Integers(_Stated):
    """Every x_j a whole multiple of `step`, from low * step to high * step.

    Digital inputs carry few bits, so fewer phases than inputs can be enough.

    Parameters
    ----------
    step : float or sequence of d floats, default=1.0
        Spacing of the values.
    low, high : int or sequence of d ints, default=0 and 255
        Limits of x / step, both included.
    mean, std : float or sequence of d floats, optional
        Of x / step, when more is known than the limits; by default those of the uniform law.

    Examples
    --------
    >>> from primal.decoding import Integers
    >>> Integers(1 / 255, 0, 255).model(2).high
    array([1., 1.])
    """

    def __init__(
        self,
        step: Stated = 1.0,
        low: Stated = 0,
        high: Stated = 255,
        mean: Stated | None = None,
        std: Stated | None = None,
    ) -> None:
        self.step = _floats("step", step, positive=True)
        self.low, self.high = _floats("low", low), _floats("high", high)
        for name, value in (("low", self.low), ("high", self.high)):
            if not np.equal(np.rint(value), value).all():
                raise DataError(f"{name} counts steps and must be whole, got {value}.")
        one_each = {len(value) for value in (self.low, self.high) if isinstance(value, tuple)}
        if len(one_each) == 2 or not np.all(np.less(self.low, self.high)):
            raise DataError(f"low must be below high, got {self.low} and {self.high}.")
        self.mean = None if mean is None else _floats("mean", mean)
        if self.mean is not None:
            inside = np.greater_equal(self.mean, self.low) & np.less_equal(self.mean, self.high)
            if not inside.all():
                raise DataError(
                    f"mean must lie within the limits {self.low} and {self.high}, in steps, got "
                    f"{self.mean}: x = step * mean."
                )
        self.std = None if std is None else _floats("std", std, positive=True)

    def model(self, d: int) -> PriorModel:
        """Return this prior for d inputs; its mean is moved onto the grid."""
        stated = (("step", self.step), ("low", self.low), ("high", self.high))
        step, low, high = (_spread(name, value, d) for name, value in stated)
        mean = (low + high) / 2.0 if self.mean is None else _spread("mean", self.mean, d)
        uniform = (high - low + 1.0) / math.sqrt(12.0)
        std = uniform if self.std is None else _spread("std", self.std, d)
        # The decoder counts steps from the mean, so that must be a whole number of them.
        center = np.clip(np.rint(mean), low, high)
        factor = np.diag(step * short_float(std))
        return PriorModel(step * center, factor, step * low, step * high, step, np.zeros(d))


Prior = Box | Gaussian | Integers


def as_prior(prior: Any) -> Any:
    """Return a prior; a pair (low, high) of numbers or arrays, as bounds of SciPy, is a Box."""
    if not isinstance(prior, tuple) or len(prior) != 2:
        return prior
    if any(isinstance(p, (Box, Gaussian, Integers, str)) for p in prior):
        return prior
    low, high = (real_array(f"prior[{i}]", prior[i]).astype(np.float64) for i in range(2))
    if low.ndim > 1 or high.ndim > 1 or not np.all(low < high):
        raise ParameterError(
            f"prior = (low, high) must be limits with low below high, got {prior!r}: pass one "
            "number or one per input for each, or Box(half_width, center)."
        )
    return Box((high - low) / 2.0, low / 2.0 + high / 2.0)


def is_symmetric(matrix: np.ndarray) -> bool:
    """Return whether a matrix is symmetric, up to the rounding of products that made it."""
    if matrix.shape != matrix.T.shape:
        return False
    return np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-12 * np.abs(matrix).max(initial=0.0))


def _slack(width: np.ndarray, x_std: np.ndarray) -> np.ndarray:
    """Return how far beyond a limit x may be found."""
    return _LIMIT_DEVIATIONS * x_std + 1e-12 * width


def short_float(values: np.ndarray) -> np.ndarray:
    """Return values cut to eight significant bits.

    The lattice holds deviations of whole numbers in fixed point, without noise to hide their
    rounding: they must be exact there.
    """
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 256.0), exponent - 8)


def _floats(name: str, value: object, *, positive: bool = False) -> Floats:
    """Return a number as a float, numbers as a tuple of floats."""
    array = real_array(name, value).astype(np.float64)
    if array.ndim > 1 or array.size == 0 or (positive and not (array > 0.0).all()):
        kind = "positive, finite" if positive else "finite"
        raise DataError(f"{name} must be a {kind} number or one per input, got {value!r}.")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _spread(name: str, value: Floats, d: int) -> np.ndarray:
    """Return a stated value as one float for each of d inputs."""
    d = whole_number("d", d, least=1)
    require_memory(8 * d * d, f"a prior of d = {d} inputs")
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 1 and len(array) != d:
        raise DataError(f"{name} has {len(array)} values and this map {d} inputs: give {d} or one.")
    return np.array(np.broadcast_to(array, d))
