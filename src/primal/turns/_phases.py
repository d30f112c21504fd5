"""Phase arithmetic that wraps: unsigned overflow is the reduction modulo one turn."""

from __future__ import annotations

import numpy as np

from primal._checks import fixed_point


def static_turns(positions: np.ndarray, increments: np.ndarray) -> np.ndarray:
    """Return the phase of every frequency at integer positions.

    Parameters
    ----------
    positions : ndarray of shape (n,), dtype=uint64
        Negative positions in two's complement.
    increments : ndarray of shape (k,), dtype=uint64
        Units of 2**-64 turn for one step.

    Returns
    -------
    turns : ndarray of shape (n, k), dtype=uint64
        Units of 2**-64 turn. Increments are rounded down, so the phase at position t is
        short by less than t * 2**-64 turn.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.turns import static_turns
    >>> turns = static_turns(np.array([1, 2], dtype=np.uint64), primal.increments(1))
    >>> (turns / 2.0**64).round(6)
    array([[0.414214],
           [0.828427]])
    """
    fixed_point("positions", positions, np.uint64, ndim=1)
    fixed_point("increments", increments, np.uint64, ndim=1)
    # A float64 product is already wrong by 8e-3 turn at position 1e12.
    return positions[:, None] * increments


def round_turns(turns: np.ndarray) -> np.ndarray:
    """Return 64-bit turns rounded to the nearest 2**-32 turn, as uint32 (ties go up)."""
    fixed_point("turns", turns, np.uint64)
    return ((turns + np.uint64(1 << 31)) >> np.uint64(32)).astype(np.uint32)
