"""Layer normalisation of rows, with the same bits for a row alone and in a batch."""

from __future__ import annotations

import numpy as np

from primal.bases import fold_sum
from primal.turns import row_exponents

__all__ = ["normalised"]


def normalised(rows: np.ndarray) -> np.ndarray:
    """Return rows of mean 0 and variance 1; constant rows become 0.

    Sums in one fixed order: the same bits for a row on its own as in a batch.
    """
    d = rows.shape[1]
    # In its own power of two first: squares of very large or small numbers leave float64.
    scaled = np.ldexp(rows, -row_exponents(rows)[:, None])
    centred = scaled - (fold_sum(scaled) / d)[:, None]
    # The computed mean of equal numbers may differ from them by a rounding.
    centred[rows.max(axis=1) == rows.min(axis=1)] = 0.0
    deviation = np.sqrt(fold_sum(centred * centred) / d)
    return centred / np.where(deviation > 0.0, deviation, 1.0)[:, None]
