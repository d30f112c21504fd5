"""Mixed-integer least squares: real and whole x and whole n behind y = A x - n + noise.

There are two ways. Few rows, and any with correlated noise or known whole parts, go through all
solutions that could be right (`_matrix_search`). Many rows of equal, independent noise are a code
of x, and go the way of codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from primal._checks import (
    callback,
    raised_as,
    real_array,
    reject_lost_values,
    require_memory,
    sized_array,
    whole_number,
)
from primal._parallel import over_rows
from primal.bases import FrequencyTable
from primal.decoding import _kernels
from primal.decoding._certificate import DecodingCertificate
from primal.decoding._matrix_law import MatrixLaw, joined_prior, noise_covariance
from primal.decoding._matrix_search import NearestPoints
from primal.decoding._model import PhaseModel
from primal.decoding._phases import wrapped
from primal.decoding._priors import Box, Gaussian, Integers, Prior
from primal.decoding._search import Search
from primal.decoding._setup import set_up
from primal.errors import DataError

_BLOCK_ROWS = 1 << 12
# At least so many have their candidates in memory while a plan is made.
_ROWS_AT_ONCE = 16
_LARGEST_VALUE = 2.0**52
# More rows of equal, independent noise go the way of codes.
_MOST_SEARCHED = 40
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class MatrixResult:
    """What became of each row of y.

    Attributes
    ----------
    x : ndarray of shape (..., d), dtype=float64
        Mean of x given the whole numbers; NaN where nothing fits.
    whole : ndarray of shape (..., k), dtype=int64
        n, such that A x - y - n is noise; 0 where it was known.
    status : ndarray of shape (...), dtype=str
        ``"unique"``: this solution agrees with the noise and the prior, and either fewer than
        2**-30 wrong ones are expected to, or the search went through all others and found none.
        ``"ambiguous"``: others agree, or may. ``"failed"``: none does; `whole` is then the nearest.
    probability : ndarray of shape (...), dtype=float64
        Chance that the whole numbers are right, among the candidates and by the stated laws.
    residual : ndarray of shape (..., c), dtype=float64
        Squared distance of each candidate in standard deviations, noise and prior together; it is
        chi-squared with as many degrees of freedom as there are rows in y, plus whole inputs.
        Infinite where there are fewer candidates.
    candidates : ndarray of shape (..., c, d), dtype=float64
    candidate_whole : ndarray of shape (..., c, k), dtype=int64
        The nearest solutions, best first, filled up with NaN and 0.
    """

    x: np.ndarray
    whole: np.ndarray
    status: np.ndarray
    probability: np.ndarray
    residual: np.ndarray
    candidates: np.ndarray
    candidate_whole: np.ndarray


class MatrixPlan:
    """All of the work that does not depend on y; made by :func:`plan_matrix`.

    Parameters
    ----------
    method, law, n_candidates
        Given by :func:`plan_matrix`; not for direct use.

    Attributes
    ----------
    certificate : DecodingCertificate
        What can be promised without data.

    Examples
    --------
    >>> from primal.decoding import Box, plan_matrix
    >>> plan = plan_matrix([[0.3], [2.7]], prior=Box(1.0), noise=0.001)
    >>> found = plan.solve([[0.3 * 0.8, 2.7 * 0.8 - 2.0]])
    >>> found.x.round(4).tolist(), found.whole.tolist(), found.status.tolist()
    ([[0.8]], [[0, 2]], ['unique'])
    """

    def __init__(self, method: NearestPoints | _ByCode, law: MatrixLaw, n_candidates: int) -> None:
        self._method, self._n_candidates = method, n_candidates
        self._shape, self._std = law.matrix.shape, law.std

    @property
    def certificate(self) -> DecodingCertificate:
        return self._method.certificate

    def solve(self, y: object) -> MatrixResult:
        """Return x and n behind rows of y.

        Parameters
        ----------
        y : array_like of shape (..., k)
            Measured values, whole numbers off or not, below 2**52 in size.

        Raises
        ------
        DataError
            If y has the wrong shape, NaN or infinity in it, or numbers so large that their own
            rounding exceeds the noise that the plan was made for.
        """
        k, d = self._shape
        values, largest = sized_array("y", y, last=k)
        if largest >= _LARGEST_VALUE:
            raise DataError(f"y must be below 2**52 in size, got {largest:g}: it has no fraction.")
        self._require_fractions(values)
        rows, c = np.ascontiguousarray(values.reshape(-1, k)), self._n_candidates
        n = len(rows)
        require_memory(16 * n * c * (k + d), f"{c} candidates for each of {n} rows")
        x, whole = np.empty((n, c, d)), np.empty((n, c, k), dtype=np.int64)
        residual, status, probability = np.empty((n, c)), np.empty(n, dtype="<U9"), np.empty(n)

        def work(first: int, last: int) -> None:
            for start in range(first, last, _BLOCK_ROWS):
                part = slice(start, min(last, start + _BLOCK_ROWS))
                found = self._method(rows[part])
                x[part], whole[part], residual[part], status[part], probability[part] = found

        over_rows(n, 16, work)
        best = np.where((status == "failed")[:, None], np.nan, x[:, 0])
        shape = values.shape[:-1]
        return MatrixResult(
            best.reshape(*shape, d),
            whole[:, 0].reshape(values.shape),
            status.reshape(shape),
            probability.reshape(shape),
            residual.reshape(*shape, c),
            x.reshape(*shape, c, d),
            whole.reshape(*shape, c, k),
        )

    def _require_fractions(self, values: np.ndarray) -> None:
        """Raise DataError where the rounding of values (..., k) exceeds the noise of their row.

        A solution that fits such values is not the one that they were measured of.
        """
        if values.dtype.kind != "f" or values.size == 0:
            return
        sizes = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
        # A power of two is rounded as the numbers below it are.
        steps = np.spacing(np.nextafter(sizes, sizes.dtype.type(0.0))).astype(np.float64)
        rounding = steps / math.sqrt(12.0)
        row = int(np.argmax(rounding / self._std))
        if rounding[row] > 1.01 * self._std[row]:
            raise DataError(
                f"y is as large as {sizes[row]:.3g} in column {row}, where {values.dtype} rounds "
                f"it by {rounding[row]:.2g}, and the stated noise is {self._std[row]:.2g}: take "
                "whole numbers off before y is rounded, or make the plan with a larger noise."
            )


class _ByCode:
    """Many rows of equal, independent noise: by the decoder of codes.

    That puts no more rows into the lattice than it needs and predicts the others. It keeps the
    likeliest partial solutions instead of searching all, so its "unique" rests on `log2_spurious`.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        prior: Prior,
        noise: float,
        n_candidates: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        # Rows of equal length are taken as they come, and neighbors are often alike, as samples of
        # a signal are: every part of the matrix should have some among the first.
        self._rows = np.argsort(np.arange(len(matrix)) * _GOLDEN % 1.0)
        table = FrequencyTable.from_floats(matrix[self._rows])
        self._model = model = PhaseModel(table, prior.model(matrix.shape[1]), noise)
        self._search = Search(set_up(model, None, progress), None)
        self._n_candidates, self._matrix = n_candidates, matrix

    @property
    def certificate(self) -> DecodingCertificate:
        return self._search.certificate

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        c, d = self._n_candidates, self._matrix.shape[1]
        _, status, _, candidates = self._search(wrapped(y)[:, self._rows])
        x = np.full((len(y), c, d), np.nan)
        x[:, : candidates.shape[1]] = candidates[:, :c]
        found = ~np.isnan(x[:, :, 0])
        products = _kernels.row_products
        fitted = products(np.where(found[:, :, None], x, 0.0).reshape(-1, d), self._matrix.T)
        off = fitted.reshape(len(y), c, -1) - y[:, None]
        whole = np.where(found[:, :, None], np.rint(off), 0.0)
        law = self._model.prior
        xi = (x - law.mean) @ np.linalg.pinv(law.factor).T
        cost = np.square((off - whole) / self._model.noise_turns).sum(axis=2)
        cost = np.where(found, cost + np.square(xi).sum(axis=2), np.inf)
        # In rows that fail a later one may be nearer, by any distance.
        weights = np.exp(np.minimum(700.0, 0.5 * (cost[:, :1] - cost))).sum(axis=1)
        chance = np.where(status == "failed", 0.0, 1.0 / np.maximum(1.0, weights))
        return x, whole.astype(np.int64), cost, status, chance


def plan_matrix(
    A: object,
    *,
    prior: Prior | Sequence[Prior] | None = None,
    noise: object = None,
    covariance: object = None,
    known: object = None,
    candidates: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> MatrixPlan:
    """Return a plan that finds real or whole x and whole n with A x - y - n as small as noise.

    This is mixed-integer least squares; with an empty A, a covariance and y the float ambiguities,
    it is what satellite positioning calls LAMBDA. The plan says beforehand how often the nearest
    solution is the right one, and of each solution afterwards whether it is the only one.

    Parameters
    ----------
    A : array_like of shape (k, d)
        d may be 0: then only n is estimated.
    prior : Box, Gaussian, Integers, or sequence of d of them
        Where x lies: one for all inputs, or one for each; inputs with ``Integers`` are whole.
        None if d is 0.
    noise : float or array_like of shape (k,)
        Standard deviation of y, in units of n.
    covariance : array_like of shape (k, k)
        Of y, instead of `noise`: positive definite.
    known : array_like of shape (k,), dtype=bool, optional
        Rows without an unknown n, where A x - y itself is noise.
    candidates : int, default=4
        Solutions listed, at least 2.
    progress : callable, optional
        Called with (done, total) while the plan is made; 200 rows take about ten seconds.

    Returns
    -------
    MatrixPlan
        Its :meth:`~MatrixPlan.solve` takes rows of y.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.decoding import Gaussian, plan_matrix
    >>> A = np.array([[5.2, 1.1], [4.1, -3.7], [-1.3, 6.1], [2.2, 2.9], [0.1, 0.0], [0.0, 0.1]])
    >>> plan = plan_matrix(A, prior=Gaussian(0.0, 9.0), noise=0.01, known=[0, 0, 0, 0, 1, 1])
    >>> y = A @ [1.25, -2.5] - [3, -7, 11, 2, 0, 0]
    >>> found = plan.solve(y)
    >>> str(found.status), found.whole, found.x.round(2)
    ('unique', array([ 3, -7, 11,  2,  0,  0]), array([ 1.25, -2.5 ]))
    """
    matrix = np.array(real_array("A", A), dtype=np.float64)
    if matrix.ndim != 2 or not len(matrix):
        raise DataError(f"A must be a matrix of at least one row, got shape {matrix.shape}.")
    k, d = matrix.shape
    candidates = whole_number("candidates", candidates, least=2)
    # A success is measured on many rows at once.
    require_memory(16 * _ROWS_AT_ONCE * candidates * (k + d), f"candidates = {candidates}")
    callback("progress", progress)
    mask = np.zeros(k, dtype=bool)
    if known is not None:
        with raised_as(DataError, "known must hold a bool for each row"):
            mask = np.asarray(known)
        reject_lost_values("known", known, as_floats=False)
        if mask.shape != (k,) or not np.isin(mask, (0, 1)).all():
            raise DataError(f"known must hold a bool for each of the {k} rows, got {known!r}.")
        mask = mask.astype(bool)
    law = MatrixLaw(matrix, joined_prior(prior, d), noise_covariance(noise, covariance, k), mask)
    plain = not mask.any() and covariance is None and len(set(law.noise[law.noise > 0])) == 1
    if k > _MOST_SEARCHED and plain and isinstance(prior, (Box, Gaussian, Integers)):
        by_code = _ByCode(matrix, prior, float(law.noise[-1]), candidates, progress)
        return MatrixPlan(by_code, law, candidates)
    if len(law.noise) == len(law.known):
        raise DataError("nothing is whole: every row is known, and no input has Integers.")

    def report(share: float) -> None:
        if progress is not None:
            progress(int(100 * share), 100)

    nearest = NearestPoints(law, candidates, report)
    report(1.0)
    return MatrixPlan(nearest, law, candidates)
