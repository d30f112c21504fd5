"""Codes of the columns of a table, side by side, and the names of their features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primal._checks import raised_as, whole_number
from primal.errors import DataError
from primal.maps import StaticPrime

# Far more than any machine holds: beyond it D, rounded up to even, would be named instead.
MOST_COMPONENTS = 1 << 48


def code_map(n_components: object) -> StaticPrime:
    """Return the map whose first `n_components` outputs are a code."""
    D = whole_number("n_components", n_components, least=1, most=MOST_COMPONENTS)
    # Interleaved: a shorter code is a prefix, and an odd one only lacks its last sine.
    return StaticPrime(D + D % 2, layout="interleaved")


def column_codes(s: StaticPrime, n_components: int, t: np.ndarray) -> np.ndarray:
    """Return codes of integer positions, one block of features for each column.

    Parameters
    ----------
    s : StaticPrime
    n_components : int
        Features of a code, at most s.D; a code of even length has the norm 1.
    t : ndarray of shape (n, n_columns), dtype=int64

    Returns
    -------
    Z : ndarray of shape (n, n_columns * n_components), dtype=float32
    """
    Z = s.encode(np.ascontiguousarray(t))[..., :n_components].reshape(len(t), -1)
    Z *= np.float32(math.sqrt(2.0 / n_components))
    return Z


def code_names(estimator: Any, D: int, input_features: Any) -> np.ndarray:
    """Return D names for each input column: its own name and a number."""
    fitted = getattr(estimator, "feature_names_in_", None)
    names = fitted
    if input_features is not None:
        with raised_as(DataError, "input_features must be names"):
            names = np.asarray(input_features, dtype=object)
        if names.shape != (estimator.n_features_in_,):
            raise DataError(
                f"input_features should have length equal to the number of columns, "
                f"{estimator.n_features_in_}, got shape {names.shape}."
            )
        if fitted is not None and not np.array_equal(fitted, names):
            raise DataError("input_features is not equal to feature_names_in_: pass None.")
    if names is None:
        names = [f"x{j}" for j in range(estimator.n_features_in_)]
    return np.array([f"{name}_{i}" for name in names for i in range(D)], dtype=object)
