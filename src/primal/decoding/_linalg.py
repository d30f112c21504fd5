"""Linear algebra in a fixed order of operations.

BLAS and LAPACK round differently from one processor to the next, and with the number of threads.
Decoded x must not depend on that, so all of its sums are made here, by `row_products`.
"""

import numpy as np

from primal.decoding import _kernels

# Rounding of the entries of a covariance, relative to the deviations.
_TOLERANCE = 4.0 * np.finfo(np.float64).eps


def products(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return rows (n, k) @ matrix (k, r), every sum from its first term to its last."""
    return _kernels.row_products(rows, matrix)


def squared_lengths(rows: np.ndarray) -> np.ndarray:
    """Return the sums of squares of rows (n, k)."""
    return products(np.square(rows), np.ones((rows.shape[1], 1)))[:, 0]


def orthonormal_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return L (m, m), lower triangular, and Q (m, n), orthonormal, with rows = L Q.

    Modified Gram-Schmidt, each row made orthogonal a second time (Giraud et al. 2005: twice is
    enough). The diagonal is positive; where a row depends on those before it, it is 0.
    """
    basis, m = np.array(rows, dtype=np.float64), len(rows)
    factor = np.zeros((m, m))
    for j in range(m):
        row = basis[j : j + 1]
        again = products(row, basis[:j].T)
        row -= products(again, basis[:j])
        factor[j, :j] += again[0]
        factor[j, j] = np.sqrt(products(row, row.T)[0, 0])
        row /= factor[j, j] if factor[j, j] > 0.0 else 1.0
        factor[j + 1 :, j] = products(basis[j + 1 :], row.T)[:, 0]
        basis[j + 1 :] -= factor[j + 1 :, j : j + 1] * row
    return factor, basis


def solve_lower(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return L**-1 B for a lower triangular L (m, m) and B (m, n), by forward substitution."""
    solved = np.array(right, dtype=np.float64)
    for i in range(len(lower)):
        solved[i] -= products(lower[i : i + 1, :i], solved[:i])[0]
        solved[i] /= lower[i, i]
    return solved


def pivoted_cholesky(
    covariance: np.ndarray, *, low_rank: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return F (d, r) with F F^T = covariance, r its rank, and the rounding of F xi, shape (d,).

    A covariance of low rank holds its directions only to the rounding of its entries: a direction
    of small variance is off by this, relative to itself, times the ratio of the deviations. The
    rounding is the deviation of x outside of the columns that follows; 0 if there are d of them.
    """
    d = len(covariance)
    # Pivots are compared as correlations; powers of two are exact.
    variances = np.diag(covariance)
    scales = np.exp2(np.rint(0.5 * np.log2(np.where(variances > 0.0, variances, 1.0))))
    rest = covariance / scales[:, None] / scales
    least = 4.0 * d * _TOLERANCE if low_rank else 0.0
    columns: list[np.ndarray] = []
    smallest = 1.0
    while len(columns) < d:
        j = int(np.argmax(np.diag(rest)))
        pivot = float(rest[j, j])
        if pivot <= least:
            break
        smallest = min(smallest, pivot)
        columns.append(rest[:, j] / np.sqrt(pivot))
        rest = rest - columns[-1][:, None] * columns[-1]
        rest[j] = rest[:, j] = 0.0
    rounding = np.zeros(d)
    if len(columns) < d:
        rounding = 4.0 * _TOLERANCE / np.sqrt(smallest) * np.sqrt(variances)
    return scales[:, None] * np.array(columns).T.reshape(d, -1), rounding
