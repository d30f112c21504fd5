"""Bayesian linear regression on features: sums over rows, posterior, evidence and its gradient.

Targets are y = z(x) . w + noise with w ~ N(0, signal I), that is a Gaussian process whose kernel
is signal z(x) . z(x'). With Z the features of all rows and A = Z' Z + (noise / signal) I the
posterior of w has the mean inv(A) Z' y and the covariance noise inv(A): D x D numbers, however many
rows there are (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2.1 and 5.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from primal._checks import require_memory
from primal._parallel import row_blocks
from primal.errors import DataError
from primal.exact import wave_columns
from primal.maps import KernelPrime
from primal.sklearn._features import BLOCK_FEATURES

_FLOAT = np.empty(0)
_syrk, _trmm = get_blas_funcs(("syrk", "trmm"), (_FLOAT,))
_potrf, _potrs, _trtri = get_lapack_funcs(("potrf", "potrs", "trtri"), (_FLOAT,))


@dataclass(eq=False)
class Sums:
    """Float64 sums over rows of features (D,) and targets (m,); `gram` has its upper triangle only.

    Targets are counted from `origin`, near their mean, which keeps sums of squares accurate.
    """

    origin: np.ndarray
    n_rows: int
    target_sums: np.ndarray
    target_squares: np.ndarray
    gram: np.ndarray
    feature_sums: np.ndarray
    cross: np.ndarray

    @classmethod
    def empty(cls, n_features: int, origin: np.ndarray) -> Sums:
        m = len(origin)
        # The matrix, its factor and a copy on the way.
        require_memory(24 * n_features * (n_features + m), f"a process of {n_features} features")
        gram = np.zeros((n_features, n_features), order="F")
        cross = np.zeros((n_features, m))
        return cls(origin, 0, np.zeros(m), np.zeros(m), gram, np.zeros(n_features), cross)

    def add_targets(self, Y: np.ndarray) -> None:
        """Count rows of targets (n, m); their features come by `add_features`."""
        apart = Y - self.origin
        with np.errstate(over="ignore"):
            squares = self.target_squares + np.square(apart).sum(axis=0)
        if not np.isfinite(squares).all():
            raise DataError("y has numbers whose squares are beyond float64: scale y.")
        self.n_rows += len(Y)
        self.target_sums += apart.sum(axis=0)
        self.target_squares = squares

    def add_features(self, Z: np.ndarray, Y: np.ndarray) -> None:
        """Add features (n, D) of rows whose targets (n, m) have been counted."""
        # In place and one triangle only: half of the work of Z.T @ Z, and no second matrix.
        self.gram = _syrk(1.0, Z.T, beta=1.0, c=self.gram, overwrite_c=1)
        self.feature_sums += Z.sum(axis=0)
        self.cross += Z.T @ (Y - self.origin)

    def add_rows(self, m: KernelPrime, X: np.ndarray, lengths: np.ndarray, Y: np.ndarray) -> None:
        """Add the features of X / lengths (n, d)."""
        for rows, _, Z in feature_blocks(m, X, lengths):
            self.add_features(Z, Y[rows])

    def normalization(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the standard deviation of the targets, 1 where they are constant."""
        means = self.target_sums / self.n_rows
        variances = np.maximum(self.target_squares / self.n_rows - means**2, 0.0)
        # Below the rounding of the sums a column is constant.
        constant = variances <= 1e-28 * (np.abs(self.origin) + np.abs(means)) ** 2
        return self.origin + means, np.where(constant, 1.0, np.sqrt(variances))

    def relative(self, offset: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Z' y (D, m) and sums of y**2 (m,) of the targets (y - offset) / scale."""
        shift = self.origin - offset
        cross = self.cross + np.outer(self.feature_sums, shift)
        squares = self.target_squares + shift * (2.0 * self.target_sums + self.n_rows * shift)
        return cross / scale, squares / scale**2


class Posterior(NamedTuple):
    """Weights w ~ N(mean, noise inv(A)): `mean` (D, m), `inverse_factor` R with R' R = inv(A)."""

    mean: np.ndarray
    inverse_factor: np.ndarray
    log_determinant: float  # of A
    signal: float
    noise: float

    @property
    def ratio(self) -> float:
        return self.noise / self.signal

    def spread(self, Z: np.ndarray, *, back: bool = False) -> np.ndarray:
        """Return R z for rows of features, shape (n, D), or R' z; Z is overwritten.

        The covariance of two predictions is the noise times the product of their R z.
        """
        # A triangular product: half of the work of a full one, in place.
        factor = self.inverse_factor
        return _trmm(1.0, factor, Z.T, lower=1, trans_a=int(back), overwrite_b=1).T

    def log_evidence(self, misfit: float, n_rows: int) -> float:
        """Return log p(y), summed over targets; `misfit` is y' inv(K) y times the noise."""
        D, m = self.mean.shape
        log_determinant = (
            n_rows * math.log(self.noise) + self.log_determinant - D * math.log(self.ratio)
        )
        constant = n_rows * math.log(2.0 * math.pi)
        return -0.5 * (misfit / self.noise + m * (log_determinant + constant))


def posterior(gram: np.ndarray, cross: np.ndarray, signal: float, noise: float) -> Posterior:
    """Return the posterior from the upper triangle of Z' Z (D, D) and Z' y (D, m).

    Raises
    ------
    DataError
        If the noise is lost in the rounding of the matrix.
    """
    matrix = np.array(gram, order="F")
    matrix[np.diag_indices_from(matrix)] += noise / signal
    factor, failed = _potrf(matrix, lower=0, overwrite_a=1, clean=1)  # A = U' U
    if failed:
        raise _lost(noise, signal, gram)
    log_determinant = 2.0 * float(np.log(np.diagonal(factor)).sum())
    mean = _potrs(factor, cross, lower=0)[0]
    inverse = _trtri(factor, lower=0, overwrite_c=1)[0]
    # Lower, in the order of columns that BLAS takes as it is.
    return Posterior(mean, np.asfortranarray(inverse.T), log_determinant, signal, noise)


def _lost(noise: float, signal: float, gram: np.ndarray) -> DataError:
    return DataError(
        f"the noise, {noise:.3g} for a signal of {signal:.3g}, is lost in the rounding of sums up "
        f"to {np.abs(np.diagonal(gram)).max():.3g}: raise alpha or the noise level."
    )


def predictions(
    m: KernelPrime, X: np.ndarray, lengths: np.ndarray, found: Posterior, *, squares: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means at X (n, t) and, if asked for, the variances over the noise (n,)."""
    means, variances = np.empty((len(X), found.mean.shape[1])), np.empty(len(X) if squares else 0)
    for rows, _, Z in feature_blocks(m, X, lengths):
        means[rows] = Z @ found.mean
        if squares:
            variances[rows] = np.square(found.spread(Z)).sum(axis=1)
    return means, variances


class Evidence(NamedTuple):
    """log p(y), and its derivatives by log signal, log noise and the log length of each input."""

    value: float
    by_signal: float
    by_noise: float
    by_lengths: np.ndarray


def feature_blocks(
    m: KernelPrime, X: np.ndarray, lengths: np.ndarray
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield rows of X (n, d) in blocks: which, divided by `lengths`, and their features.

    A block's features are overwritten by those of the next.
    """
    buffer: np.ndarray | None = None
    for rows in row_blocks(len(X), m.D, BLOCK_FEATURES):
        x = X[rows] / lengths
        buffer = np.empty((len(x), m.D)) if buffer is None else buffer[: len(x)]
        yield rows, x, m.encode(x, dtype="float64", out=buffer)


def evidence(
    m: KernelPrime,
    X: np.ndarray,
    Y: np.ndarray,
    lengths: np.ndarray,
    signal: float,
    noise: float,
    *,
    gradient: bool,
) -> Evidence:
    """Return the evidence of targets Y (n, t) at X (n, d) under pairs of features of X / lengths.

    Rows pass twice, first for the posterior and then for what it leaves of the targets: with
    r = y - Z w the misfit |r|**2 + |w|**2 noise / signal has no error of first order in w. Of few
    rows the matrix is that of the kernel instead of the features'.
    """
    if 2 * len(X) <= m.D:
        return _evidence_of_few(m, X / lengths, Y, signal, noise, gradient=gradient)
    sums = Sums.empty(m.D, np.zeros(Y.shape[1]))
    # One block is made once, and more of them twice: their features would not fit into memory.
    whole = list(feature_blocks(m, X, lengths)) if len(X) * m.D <= BLOCK_FEATURES else None
    for rows, _, Z in whole or feature_blocks(m, X, lengths):
        sums.add_features(Z, Y[rows])
    found = posterior(sums.gram, sums.cross, signal, noise)
    squares, by_lengths = 0.0, np.zeros(m.d)
    for rows, x, Z in whole or feature_blocks(m, X, lengths):
        residual = Y[rows] - Z @ found.mean
        squares += float(np.square(residual).sum())
        if gradient:
            by_trace = found.spread(found.spread(Z.copy()), back=True)
            slopes = residual @ (found.mean.T / noise) - Y.shape[1] * by_trace
            by_lengths += _by_lengths(m, x, Z, slopes)
    weights = float(np.square(found.mean).sum())
    value = found.log_evidence(squares + found.ratio * weights, len(X))
    # What the data leave undetermined of the D weights.
    free = found.ratio * float(np.square(found.inverse_factor).sum())
    by_signal = 0.5 * (weights / signal - Y.shape[1] * (m.D - free))
    by_noise = 0.5 * (squares / noise - Y.shape[1] * (len(X) - m.D + free))
    return Evidence(value, by_signal, by_noise, by_lengths)


def _evidence_of_few(
    m: KernelPrime, x: np.ndarray, Y: np.ndarray, signal: float, noise: float, *, gradient: bool
) -> Evidence:
    """Return the same for x = X / lengths by K = signal Z Z' + noise I, (n, n)."""
    n, n_targets = Y.shape
    Z = m.encode(x, dtype="float64")
    gram = Z @ Z.T
    factor, failed = _potrf(signal * gram + noise * np.eye(n), lower=0)
    if failed:
        raise _lost(noise, signal, gram)
    solved = _potrs(factor, Y, lower=0)[0]
    log_determinant = 2.0 * float(np.log(np.diagonal(factor)).sum()) + n * math.log(2.0 * math.pi)
    value = -0.5 * (float((Y * solved).sum()) + n_targets * log_determinant)
    if not gradient:
        return Evidence(value, 0.0, 0.0, np.zeros(m.d))
    by_kernel = solved @ solved.T - n_targets * _potrs(factor, np.eye(n), lower=0)[0]
    by_signal = 0.5 * signal * float((by_kernel * gram).sum())
    by_noise = 0.5 * noise * float(np.trace(by_kernel))
    return Evidence(value, by_signal, by_noise, _by_lengths(m, x, Z, signal * by_kernel @ Z))


def _by_lengths(m: KernelPrime, x: np.ndarray, Z: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return the derivatives of the sum of slopes * Z by the logarithms of the lengths, (d,)."""
    cos, sin = wave_columns(Z, m.layout)
    by_cos, by_sin = wave_columns(slopes, m.layout)
    by_phase = (2.0 * math.pi) * (by_sin * cos - by_cos * sin)
    return -np.einsum("nj,nj->j", x, by_phase @ m.frequencies)
