"""Points to measure a chance with, in place of random numbers: always the same ones."""

import numpy as np

from primal._arithmetic import unit_fractions
from primal.exact import increments

# Numbers are fractions of M sqrt(p), with one prime p for each; frequencies use another M.
_MULTIPLIER = 1_048_589.0


def fractions(n: int, columns: int) -> np.ndarray:
    """Return numbers that are spread evenly over (0, 1) and unrelated, float64 (n, columns)."""
    turns = increments(n * columns, sigma=_MULTIPLIER)
    return unit_fractions(turns).reshape(n, columns)
