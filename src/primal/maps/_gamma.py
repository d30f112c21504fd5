"""Gamma from data: scikit-learn's "scale", the median distance, one value for each input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primal._checks import one_of, real_array, real_matrix
from primal.errors import DataError, ParameterError
from primal.exact import increments, static_turns
from primal.maps._kernels import KERNELS, checked_gamma

# Rows whose distances give the median: half a million pairs.
_MEDIAN_ROWS = 1000


def resolved_gamma(
    gamma: object, kernel: str, X: Any, weights: np.ndarray | None = None
) -> float | np.ndarray:
    """Return gamma as one positive float, or as one for each column of X.

    Parameters
    ----------
    gamma : float, "scale", "median" or array_like of shape (d,)
    kernel : str
        A key of `KERNELS`.
    X : ndarray or sparse array of shape (n, d)
    weights : ndarray of shape (n,), optional
        Positive weights of the rows.

    Raises
    ------
    ParameterError
        If gamma is neither, or not positive and finite.
    """
    if isinstance(gamma, str):
        if gamma == "scale":
            return scale_gamma(X, kernel, weights)
        if gamma == "median":
            return median_gamma(X, kernel, weights)
        raise ParameterError(
            f"gamma must be 'scale', 'median', 'manifold', a positive number or one for each "
            f"column, got {gamma!r}."
        )
    return checked_gamma(gamma, X.shape[1], one_of("kernel", kernel, KERNELS))


def scale_gamma(X: Any, kernel: str = "rbf", sample_weight: np.ndarray | None = None) -> float:
    """Return gamma="scale": 1 / (d Var X) as scikit-learn means it, 1 for constant X.

    The gamma of the Laplacian kernel multiplies a distance, not its square, so there it is
    1 / (d Std X).

    Parameters
    ----------
    X : array_like or sparse matrix of shape (n, d)
        All of it is read.
    kernel, sample_weight
        As in :func:`median_gamma`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from primal.maps import scale_gamma
    >>> scale_gamma(np.array([[0.0, 2.0], [4.0, 2.0]]))
    0.25
    """
    X, sample_weight = _checked(X, kernel, sample_weight)
    if X.min() == X.max():  # whose computed mean may differ from them by a rounding
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        if sample_weight is not None:
            mean = column_means(X, sample_weight).mean()
            square = X.multiply(X) if is_sparse(X) else np.square(X - mean)
            variance = float(column_means(square, sample_weight).mean())
            variance -= float(np.square(mean)) if is_sparse(X) else 0.0
        elif is_sparse(X):
            variance = float(X.multiply(X).mean()) - float(np.square(X.mean()))
        else:
            variance = float(np.var(X, dtype=np.float64))
    width = math.sqrt(max(variance, 0.0)) if kernel == "laplacian" else variance
    return _usable(X.shape[1] * width, "scale")


def median_gamma(X: Any, kernel: str = "rbf", sample_weight: np.ndarray | None = None) -> float:
    """Return gamma="median": the median distance between rows becomes the length scale.

    For rbf and Matern kernels this is 1 / (2 m**2), with m the median Euclidean distance
    between two different rows; 1 / m**2 for cauchy; 1 / m for laplacian, with the sum of
    absolute differences as the distance.

    Parameters
    ----------
    X : array_like or sparse matrix of shape (n, d)
        At most 1000 rows are compared, spread evenly over X.
    kernel : str, default="rbf"
        Name of a kernel.
    sample_weight : ndarray of shape (n,), optional
        A row of weight w counts like w equal rows.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from primal.maps import median_gamma
    >>> round(median_gamma(np.array([[0.0], [2.0], [4.0]])), 6)
    0.125
    """
    X, sample_weight = _checked(X, kernel, sample_weight)
    picked = spread_rows(X.shape[0], _MEDIAN_ROWS)
    rows = dense_rows(X, picked)
    # In a power of two of their own: squares of very large or small numbers leave float64.
    exponent = int(np.frexp(np.abs(rows).max())[1])
    # Differences, not a Gram matrix: equal rows must come out at exactly zero.
    distances = _distances(np.ldexp(rows, -exponent), squared=kernel != "laplacian")
    apart = distances > 0.0
    if not apart.any():
        return 1.0
    if sample_weight is None:
        median = np.median(distances[apart])
    else:
        weights = sample_weight[picked]
        first, second = np.tril_indices(len(picked), -1)
        median = _weighted_median(distances[apart], (weights[first] * weights[second])[apart])
    unit = KERNELS[kernel]  # the length scale is 1 / scale(gamma)
    return _usable(unit.factor * float(median), "median", round(1.0 / unit.power), exponent)


def _usable(length: float, name: str, power: int = 1, exponent: int = 0) -> float:
    """Return one over a power of a length in units of 2**exponent, if it is a positive float."""
    try:
        gamma = math.ldexp((1.0 / length) ** power, -power * exponent)
    except ArithmeticError:
        gamma = math.inf
    if not 0.0 < gamma < math.inf:
        raise DataError(
            f"X has numbers too large or too small for gamma={name!r}: scale X, or give a gamma."
        )
    return gamma


def _checked(X: Any, kernel: str, weights: object) -> tuple[Any, np.ndarray | None]:
    """Return X, and the weights relative to each other, without rows of weight 0."""
    one_of("kernel", kernel, KERNELS)
    if is_sparse(X):
        X = X.tocsr()
        X = X if real_array("the stored values of X", X.data).dtype.kind == "f" else X.astype(float)
        if 0 in X.shape:
            raise DataError(f"X must have rows and columns, got shape {X.shape}.")
    else:
        X = real_matrix("X", X)
    if weights is None:
        return X, None
    weights = real_array("sample_weight", weights)
    if weights.shape != (X.shape[0],) or weights.min() < 0 or not weights.any():
        raise DataError(
            f"sample_weight must hold a number for each of {X.shape[0]} rows, none negative and "
            f"not all 0, got shape {weights.shape}."
        )
    kept = np.flatnonzero(weights)
    X = X if len(kept) == len(weights) else X[kept]
    return X, _relative(weights[kept].astype(np.float64))


def _relative(weights: np.ndarray) -> np.ndarray:
    """Return positive weights over a power of two, the largest below 1: no sum overflows."""
    return np.ldexp(weights, -int(np.frexp(weights.max())[1]))


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """Return the median of values, each as often as its weight says."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    # What lies within the rounding of the sums is the middle: then it is between two values.
    middle = np.searchsorted(below, below[-1] * np.array([0.5 - 1e-9, 0.5 + 1e-9]))
    return float(values[order[middle]].mean())


def column_means(X: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the mean of every column of a dense or sparse X, weighted or not, as float64."""
    if weights is None:
        return np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(-1)
    weights = _relative(weights)
    return np.asarray(X.T @ weights, dtype=np.float64).reshape(-1) / weights.sum()


def column_widths(X: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the width of every column of a dense or sparse X, rounded up, float64 of shape (d,).

    Its standard deviation, or that of a Gaussian law with its fourth moment, if that is larger: far
    tails would meet the copies of the kernel that a lattice makes. Rounded to one of four steps in
    each octave, so that a few more rows, or the folds of a cross-validation, mostly get the same
    frequencies. A constant column has the smallest positive width that means anything, 2**-20 of
    the largest.
    """
    means, sparse = column_means(X, weights), is_sparse(X)
    if sparse:
        variances = column_means(X.multiply(X).tocsr(), weights) - means * means
    else:
        variances = column_means(np.square(X - means), weights)
    widths = np.sqrt(np.maximum(variances, 0.0))
    largest = float(widths.max(initial=0.0))
    if not largest < math.inf:
        raise DataError("X has numbers too large to have a variance: scale X.")
    units = np.where(widths > 0.0, widths, 1.0)
    if sparse:
        scaled, m = X.multiply(1.0 / units).tocsr(), means / units
        raw = [column_means(scaled.power(n), weights) for n in (2, 3, 4)]
        fourths = raw[2] - m * (4.0 * raw[1] - m * (6.0 * raw[0] - 3.0 * m * m))
    else:
        fourths = column_means(np.square(np.square((X - means) / units)), weights)
    widths *= np.sqrt(np.sqrt(np.maximum(fourths / 3.0, 1.0)))
    return rounded_up(np.maximum(widths, (largest or 1.0) * 2.0**-20))


def rounded_up(widths: np.ndarray) -> np.ndarray:
    """Return positive widths rounded up to one of four steps in each octave."""
    mantissas, exponents = np.frexp(widths)
    return np.ldexp(np.ceil(8.0 * mantissas) / 8.0, exponents)


def spread_rows(n: int, n_rows: int) -> np.ndarray:
    """Return the indices of at most `n_rows` of n rows, spread evenly and in rising order.

    Rows with the smallest fraction of i sqrt(2): even, free of chance, and without a fixed
    step that could fall in with a period of the data.
    """
    if n <= n_rows:
        return np.arange(n)
    turns = static_turns(np.arange(n, dtype=np.uint64), increments(1))[:, 0]
    return np.sort(np.argpartition(turns, n_rows - 1)[:n_rows])


def dense_rows(X: Any, rows: Any) -> np.ndarray:
    """Return some rows of a dense or sparse X as a dense float64 array."""
    picked = X[rows]
    return np.asarray(picked.toarray() if is_sparse(picked) else picked, dtype=np.float64)


def is_sparse(X: Any) -> bool:
    return hasattr(X, "toarray")


def _distances(rows: np.ndarray, *, squared: bool) -> np.ndarray:
    """Return the Euclidean distances of all pairs of rows, or sums of absolute differences."""
    parts = []
    for i in range(1, len(rows)):
        apart = rows[:i] - rows[i]
        parts.append(
            np.sqrt(np.einsum("ij,ij->i", apart, apart)) if squared else np.abs(apart).sum(axis=1)
        )
    return np.concatenate(parts) if parts else np.empty(0)
