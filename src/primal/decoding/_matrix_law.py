"""What any matrix, its prior and its noise say about x: one lattice, with a row for each integer.

Everything that is real is normal: x = mean + F xi, and noise = diag(s) e + K w. What is left for
the integers is the lattice M = [diag(s) | A F | K]. Inputs that are whole add a row x_j / step
without noise; a row whose n is known is scaled until it cannot reach half a turn, which says the
same.
"""

import math

import numpy as np

from primal._arithmetic import normal_quantile
from primal._checks import real_array
from primal.decoding._draws import fractions
from primal.decoding._lattice import Lattice
from primal.decoding._linalg import pivoted_cholesky, products
from primal.decoding._model import as_integers
from primal.decoding._priors import (
    Box,
    Gaussian,
    Integers,
    PriorModel,
    as_prior,
    is_symmetric,
    short_float,
)
from primal.errors import DataError, ParameterError

# Deviations that a scaled row with a known whole part keeps from half a turn.
_KNOWN_DEVIATIONS = 256.0
_LEAST_NOISE, _LARGEST_DEVIATION = 1e-100, 1e100
# Of the products that A x is summed from, as a share of them.
_SUM_ROUNDING = 2.0**-51


class MatrixLaw:
    """Matrix (k, d) and prior, and the rows of the lattice that they make with the noise.

    These are, one after the other, the `known` rows of the matrix, times `scale`, the inputs
    `whole_inputs` and the rows `open_rows` with unknown n: `noise` (m,) and `spread_t` (r, m), in
    turns. The first columns of the spread are those of the prior. `std` (k,) is the deviation of
    the noise that a row of the matrix has by itself.
    """

    def __init__(
        self, matrix: np.ndarray, prior: PriorModel, covariance: np.ndarray, known: np.ndarray
    ) -> None:
        """Make the law of noise with a covariance (k, k), and known n where `known` (k,)."""
        std, loadings = _split(covariance)
        std = np.hypot(std, np.sqrt(np.square(matrix) @ np.square(prior.rounding)))
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.concatenate([products(matrix, prior.factor), loadings], axis=1)
            lengths = np.sqrt(np.square(spread).sum(axis=1) + np.square(std))
        if not lengths.max() <= _LARGEST_DEVIATION:
            raise DataError(
                f"y must vary by less than {_LARGEST_DEVIATION:g}, got {lengths.max():.3g} by A, "
                "prior and noise: state them in a larger unit."
            )
        sizes = np.abs(matrix)
        sums = (sizes @ np.abs(prior.factor)).sum(axis=1) + sizes @ np.abs(prior.mean)
        row = int(np.argmax(sums * _SUM_ROUNDING / std))
        if std[row] < sums[row] * _SUM_ROUNDING:
            raise DataError(
                f"float64 holds row {row} of A x to {sums[row] * _SUM_ROUNDING:.2g}, and its "
                f"stated noise is {std[row]:.2g}: state a larger noise or a narrower prior."
            )
        self.matrix, self.prior, self.std = matrix, prior, std
        self.known, self.open_rows = np.flatnonzero(known), np.flatnonzero(~known)
        # A power of two, so that scaling is exact.
        self.scale = np.exp2(-np.ceil(np.log2(2.0 * _KNOWN_DEVIATIONS * lengths[self.known])))
        self.whole_inputs = np.flatnonzero(np.isfinite(prior.step))
        steps = np.zeros((len(self.whole_inputs), spread.shape[1]))
        by_step = prior.factor / prior.step[:, None]
        steps[:, : prior.factor.shape[1]] = by_step[self.whole_inputs]
        rows = [self.scale[:, None] * spread[self.known], steps, spread[self.open_rows]]
        self.spread_t = np.ascontiguousarray(np.concatenate(rows).T)
        self.noise = np.concatenate(
            [self.scale * std[self.known], np.zeros(len(steps)), std[self.open_rows]]
        )

    @property
    def lattice(self) -> Lattice:
        return Lattice(self.noise, *as_integers(self.spread_t.T))

    def phases(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return phases (n, m) of values (n, k), and the whole turns taken from the open rows."""
        centered = y - products(self.prior.mean[None], self.matrix.T)
        known, taken = centered[:, self.known] * self.scale, np.rint(centered[:, self.open_rows])
        steps = np.zeros((len(y), len(self.whole_inputs)))
        left = centered[:, self.open_rows] - taken
        return np.concatenate([known, steps, left], axis=1), taken.astype(np.int64)

    def draw(self, n: int) -> np.ndarray:
        """Return unwrapped phases (n, m) of x from the prior and noise as stated, always the same.

        Those of whole inputs are whole numbers.
        """
        r, q = self.prior.factor.shape[1], len(self.spread_t)
        drawn = fractions(n, q + len(self.noise))
        normal = normal_quantile(drawn)
        normal[:, :r] = self.prior.draw(drawn[:, :r])
        return normal[:, :q] @ self.spread_t + self.noise * normal[:, q:]

    def whole_values(self, turns: np.ndarray) -> np.ndarray:
        """Return the whole inputs of whole turns (n, m)."""
        j, first = self.whole_inputs, len(self.known)
        step = self.prior.step[j]
        return step * (np.rint(self.prior.mean[j] / step) + turns[:, first : first + len(j)])


def joined_prior(prior: object, d: int) -> PriorModel:
    """Return the law of d inputs."""
    kinds = (Box, Gaussian, Integers)
    prior = as_prior(prior)
    one = isinstance(prior, kinds)
    each = [prior] if one else list(prior) if isinstance(prior, (list, tuple)) else []
    if not all(isinstance(p, kinds) for p in each) or (not one and len(each) != d):
        raise ParameterError(
            f"prior must be a Box, a Gaussian or Integers, or {d} of them, or limits (low, high), "
            f"got {prior!r}."
        )
    models = [p.model(d if one else 1) for p in each if d]
    factor = np.zeros((d, sum(m.factor.shape[1] for m in models)))
    row = column = 0
    for m in models:
        rows, columns = m.factor.shape
        factor[row : row + rows, column : column + columns] = m.factor
        row, column = row + rows, column + columns

    mean, low, high, step, rounding = (
        np.concatenate([np.zeros(0), *(getattr(m, name) for m in models)])
        for name in ("mean", "low", "high", "step", "rounding")
    )
    return PriorModel(mean, factor, low, high, step, rounding)


def noise_covariance(noise: object, covariance: object, k: int) -> np.ndarray:
    """Return the covariance of k rows."""
    if (noise is None) == (covariance is None):
        raise ParameterError("state the noise of y, or its covariance, and not both.")
    if covariance is None:
        std = real_array("noise", noise)
        if (
            std.shape not in ((), (k,))
            or not ((std >= _LEAST_NOISE) & (std <= _LARGEST_DEVIATION)).all()
        ):
            raise DataError(
                f"noise must be positive, one number or one per row, got {noise!r:.100}."
            )
        return np.diag(np.square(np.broadcast_to(std, k)))
    matrix = real_array("covariance", covariance, last=k)
    if matrix.shape != (k, k) or not is_symmetric(matrix):
        raise DataError(f"covariance must be a symmetric {k} x {k} matrix, got {matrix.shape}.")
    return (matrix + matrix.T) / 2.0


def _split(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return s (k,) and K (k, q) with the covariance diag(s**2) + K K^T."""
    diagonal = np.diag(covariance)
    correlated = np.any(covariance - np.diag(diagonal))
    values = np.linalg.eigvalsh(covariance) if correlated else np.sort(diagonal)
    if values[0] <= (1e-15 * values[-1] if correlated else 0.0):
        raise DataError(
            f"covariance must be positive definite, got one with the eigenvalue {values[0]:.3g}."
        )
    if not correlated:
        return np.sqrt(diagonal), np.zeros((len(diagonal), 1))
    # Half of what could be taken from all rows, in few bits: another LAPACK finds the same.
    alone = float(short_float(np.array(values[0] / 2.0)))
    alone_matrix = alone * np.eye(len(values))
    shared, _ = pivoted_cholesky(covariance - alone_matrix, low_rank=False)
    return np.full(len(values), math.sqrt(alone)), shared
