"""Mixed-integer least squares: real and integer x and integer n behind y = A x + n + noise.

There are two ways. Few rows, and any with correlated noise or known whole parts, go through all
solutions that could be right (`_matrix_search`). Many rows of equal, independent noise are a code
of x, and go the way of codes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primal._checks import (
    callback,
    flag,
    real_array,
    real_matrix,
    real_number,
    require_memory,
    sized_array,
    whole_number,
)
from primal._parallel import over_rows
from primal.decoding._certificate import DEFAULT_RISK, DecodingCertificate, describe_misfit
from primal.decoding._linalg import products
from primal.decoding._matrix_law import MatrixLaw, joined_prior, noise_covariance
from primal.decoding._matrix_search import NearestPoints
from primal.decoding._model import PhaseModel, prior_noise_turns
from primal.decoding._phases import split_missing, wrapped
from primal.decoding._priors import Box, Gaussian, Integers, Prior, as_prior
from primal.decoding._result import DecodeResult, empty_result
from primal.decoding._search import Search
from primal.decoding._setup import set_up
from primal.errors import DataError, MisfitWarning
from primal.exact import FrequencyTable

_BLOCK_ROWS = 1 << 12
# At least so many have their candidates in memory while a plan is made.
_ROWS_AT_ONCE = 16
_LARGEST_VALUE = 2.0**52
# More rows of equal, independent noise go the way of codes.
_MOST_SEARCHED = 40
_GOLDEN = 0.6180339887498949


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
    >>> found = plan.solve([[0.3 * 0.8, 2.7 * 0.8 - 2.0]])  # integers 0 and -2
    >>> found.x.round(4).tolist(), found.whole.tolist(), found.status.tolist()
    ([[0.8]], [[0, -2]], ['unique'])
    """

    def __init__(self, method: NearestPoints | _ByCode, law: MatrixLaw, n_candidates: int) -> None:
        self._method, self._n_candidates = method, n_candidates
        self._shape, self._std = law.matrix.shape, law.std

    @property
    def certificate(self) -> DecodingCertificate:
        return self._method.certificate

    def solve(self, y: object, *, check: bool = True) -> DecodeResult:
        """Return x and n behind rows of y, where y = A x + n + noise.

        Parameters
        ----------
        y : array_like of shape (..., k)
            Measured values in units of the integers: phases in turns (cycles), never in radians;
            below 2**52 in size. Without A they are the float ambiguities of LAMBDA, and `whole`
            is the nearest integers. A row with NaN fails.
        check : bool, default=True
            Warn (MisfitWarning) when the batch as a whole contradicts the stated noise or prior.
            It changes no result.

        Raises
        ------
        DataError
            If y has the wrong shape, infinity in it, or numbers so large that their own
            rounding exceeds the noise that the plan was made for.
        """
        k, d = self._shape
        y, missing = split_missing(y, last=k)
        values, largest = sized_array("y", y, last=k)
        if largest >= _LARGEST_VALUE:
            raise DataError(f"y must be below 2**52 in size, got {largest:g}: it has no fraction.")
        self._require_fractions(values)
        rows, c = np.ascontiguousarray(values.reshape(-1, k)), self._n_candidates
        n = len(rows)
        require_memory(16 * n * c * (k + d), f"{c} candidates for each of {n} rows")
        result = empty_result(n, d, c, k)
        present = np.flatnonzero(~np.broadcast_to(missing, values.shape[:-1]))

        def work(first: int, last: int) -> None:
            for start in range(first, last, _BLOCK_ROWS):
                part = present[start : min(last, start + _BLOCK_ROWS)]
                found = self._method(rows[part])
                for name, found_values in vars(found).items():
                    getattr(result, name)[part] = found_values

        over_rows(len(present), 16, work)
        if flag("check", check):
            self._warn_of_misfit(result, present)
        return result.reshaped(values.shape[:-1])

    def _warn_of_misfit(self, result: DecodeResult, present: np.ndarray) -> None:
        squares, freedom, noise = self._method.chi_squared(result)
        message = describe_misfit(
            self.certificate,
            squares[present],
            freedom,
            result.status[present] == "failed",
            noise=noise,
            unit=(1.0, "times the stated size"),
            remedy="Check that y is in units of the integers (turns, never radians), or make the "
            "plan with {} times the noise.",
            advice="check that y is A x + n in units of the integers (turns, never radians)",
        )
        if message is not None:
            warnings.warn(message, MisfitWarning, stacklevel=3)

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
        risk: float,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        # Rows of equal length are taken as they come, and neighbors are often alike, as samples of
        # a signal are: every part of the matrix should have some among the first.
        self._rows = np.argsort(np.arange(len(matrix)) * _GOLDEN % 1.0)
        table = FrequencyTable.from_floats(matrix[self._rows])
        law = prior.model(matrix.shape[1])
        model = PhaseModel(table, law, math.hypot(noise, prior_noise_turns(table, law)))
        self._search = Search(set_up(model, progress), None, risk)
        self._n_candidates, self._matrix = n_candidates, matrix

    @property
    def certificate(self) -> DecodingCertificate:
        return self._search.certificate

    def __call__(self, y: np.ndarray) -> DecodeResult:
        c, d = self._n_candidates, self._matrix.shape[1]
        found = self._search(wrapped(y)[:, self._rows])
        kept = min(c, found.candidates.shape[1])
        result = empty_result(len(y), d, c)
        result.candidates[:, :kept] = found.candidates[:, :kept]
        result.distances[:, :kept] = found.distances[:, :kept]
        listed = ~np.isnan(result.candidates[:, :, :1])
        x = np.where(listed, result.candidates, 0.0).reshape(-1, d)
        off = y[:, None] - products(x, self._matrix.T).reshape(len(y), c, -1)
        whole = np.where(listed, np.rint(off), 0.0).astype(np.int64)
        return replace(
            found,
            candidates=result.candidates,
            distances=result.distances,
            whole=whole[:, 0],
            candidate_whole=whole,
        )

    def chi_squared(self, found: DecodeResult) -> tuple[np.ndarray, float, str]:
        """Return squared deviations of the first candidates, their freedom, the noise in words."""
        n_phases, noise = self.certificate.n_phases, self._search.noise_turns
        squares = np.square(found.residual / noise) * n_phases
        return squares, self.certificate.freedom, f"a noise of {noise:.2g}"


def plan_matrix(
    A: object = None,
    *,
    prior: Prior | Sequence[Prior] | tuple[Any, Any] | None = None,
    noise: object = None,
    covariance: object = None,
    known: object = None,
    candidates: int = 4,
    risk: float = DEFAULT_RISK,
    progress: Callable[[int, int], None] | None = None,
) -> MatrixPlan:
    """Return a plan that finds real or integer x and integer n with y = A x + n + noise.

    This is mixed-integer least squares. Without A it is LAMBDA (Teunissen 1995) with its
    convention: ``plan_matrix(covariance=Q).solve(floats).whole`` are the integers nearest to float
    ambiguities, in the metric of Q. The plan says beforehand how often the nearest solution is the
    right one, and of each solution afterwards whether it is unique.

    Parameters
    ----------
    A : array_like of shape (k, d), optional
        None if only n is estimated.
    prior : Box, Gaussian, Integers, or sequence of d of them, optional
        Where x lies: one for all inputs, or one for each; inputs with ``Integers`` are whole. A
        pair (low, high) of limits is a Box. None without A.
    noise : float or array_like of shape (k,)
        Standard deviation of y, in units of n.
    covariance : array_like of shape (k, k)
        Of y, instead of `noise`: positive definite.
    known : array_like of shape (k,), dtype=bool, optional
        Rows without an unknown n, where A x - y itself is noise.
    candidates : int, default=4
        Solutions listed, at least 2.
    risk : float, default=2**-30
        Largest probability of another answer, under the stated noise and prior, at which an answer
        is called unique. Of many unique answers at most this fraction is wrong.
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
    >>> y = A @ [1.25, -2.5] + [3, -7, 11, 2, 0, 0]
    >>> found = plan.solve(y)
    >>> str(found.status), found.whole, found.x.round(2)
    ('unique', array([ 3, -7, 11,  2,  0,  0]), array([ 1.25, -2.5 ]))
    """
    if A is None:
        if covariance is None:
            A = np.zeros((real_array("noise", noise).size, 0))
        else:
            A = np.zeros((len(real_matrix("covariance", covariance)), 0))
    matrix = np.array(real_array("A", A), dtype=np.float64)
    if matrix.ndim != 2 or not len(matrix):
        raise DataError(f"A must be a matrix of at least one row, got shape {matrix.shape}.")
    k, d = matrix.shape
    candidates = whole_number("candidates", candidates, least=2)
    risk, prior = real_number("risk", risk, above=0.0, below=1.0), as_prior(prior)
    # A success is measured on many rows at once.
    require_memory(16 * _ROWS_AT_ONCE * candidates * (k + d), f"candidates = {candidates}")
    callback("progress", progress)
    mask = np.zeros(k, dtype=bool) if known is None else real_array("known", known)
    if mask.shape != (k,) or not np.isin(mask, (0, 1)).all():
        raise DataError(f"known must hold a bool for each of the {k} rows, got {known!r}.")
    mask = mask.astype(bool)
    law = MatrixLaw(matrix, joined_prior(prior, d), noise_covariance(noise, covariance, k), mask)
    plain = not mask.any() and covariance is None and len(set(law.noise[law.noise > 0])) == 1
    if k > _MOST_SEARCHED and plain and isinstance(prior, (Box, Gaussian, Integers)):
        by_code = _ByCode(matrix, prior, float(law.noise[-1]), candidates, risk, progress)
        return MatrixPlan(by_code, law, candidates)
    if len(law.noise) == len(law.known):
        raise DataError("nothing is whole: every row is known, and no input has Integers.")

    def report(share: float) -> None:
        if progress is not None:
            progress(int(100 * share), 100)

    nearest = NearestPoints(law, candidates, risk, report)
    report(1.0)
    return MatrixPlan(nearest, law, candidates)
