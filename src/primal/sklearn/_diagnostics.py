"""How well features approximate their kernel, on given data."""

from __future__ import annotations

from typing import Any

import numpy as np

from primal._checks import one_of, real_matrix, require_memory
from primal._errors import OptionError
from primal.sklearn._encode import FeaturePlan, amplitude, encode
from primal.sklearn._gamma import dense_rows, resolved_gamma, spread_rows
from primal.sklearn._kernels import KERNELS, Kernel

__all__ = ["kernel_error", "kernel_matrix"]


def kernel_matrix(kernel: str, X: np.ndarray, gamma: float | np.ndarray) -> np.ndarray:
    """Return the exact kernel of every two rows of X, shape (n, n), float64.

    Parameters
    ----------
    kernel : str
        Name of a kernel with a closed form.
    X : array_like of shape (n, d)
    gamma : float or array_like of shape (d,)

    Examples
    --------
    >>> from primal.sklearn import kernel_matrix
    >>> kernel_matrix("laplacian", [[0.0, 0.0], [1.0, 2.0]], 0.5).round(4)
    array([[1.    , 0.2231],
           [0.2231, 1.    ]])
    """
    values = KERNELS[one_of("kernel", kernel, KERNELS)].values
    if values is None:
        raise OptionError(
            f"kernel {kernel!r} has no closed form to compare with: its features define it."
        )
    X = real_matrix("X", X)
    gamma = resolved_gamma(gamma, kernel, X)
    n_rows, n_columns = X.shape
    require_memory(8 * n_rows * (n_rows + n_columns), f"the kernel of {n_rows} rows of X")
    scaled = X.astype(np.float64) * _unit_factor(KERNELS[kernel], gamma)
    return np.stack([values(scaled - row) for row in scaled])


def kernel_error(
    plan: FeaturePlan, kernel: str, gamma: float | np.ndarray, X: Any, n_rows: int
) -> float:
    """Return |Z Z' - K| / |K| over `n_rows` rows of X."""
    rows = dense_rows(X, spread_rows(X.shape[0], n_rows))
    exact = kernel_matrix(kernel, rows, gamma)
    Z = encode(plan, rows, np.dtype(np.float64))
    # The amplitude of a map that has grown is still that of its first size.
    Z *= amplitude(plan.n_components) / plan.amplitude
    return float(np.linalg.norm(Z @ Z.T - exact) / np.linalg.norm(exact))


def _unit_factor(kernel: Kernel, gamma: float | np.ndarray) -> float | np.ndarray:
    """Return what x is multiplied with to have the kernel of gamma = 1."""
    return np.asarray(gamma, dtype=np.float64) ** kernel.power
