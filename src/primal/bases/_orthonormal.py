"""Gram-Schmidt with one order of operations.

Row b of a block has its part along row 0 taken away, then along row 1, and so on; at last it is
divided by its length. Each step is elementwise or a sum in the order of `fold_sum`, so the way
through the rows is free. It goes by panels of a few finished rows, which are taken
from all later rows while they are in cache: row by row, 3000 x 3000 entries would pass through
memory 3000 times.
"""

import numpy as np

from primal.bases._arithmetic import fold_sum

# Rows of a panel, and entries of later rows taken at once by NumPy.
_PANEL = 16
_ENTRIES = 1 << 17


def orthonormalize(blocks: np.ndarray) -> None:
    """Make the rows of each block (n, rows, d), float64, orthonormal in place, in row order.

    A row depends on earlier rows only, so short blocks are prefixes of long ones.
    """
    n, n_rows, d = blocks.shape
    # A batch of small blocks saves Python steps; large ones go one at a time.
    at_once = max(1, (1 << 15) // max(1, n_rows * d))
    for first in range(0, n, at_once):
        _by_panels(blocks[first : first + at_once])


def _by_panels(blocks: np.ndarray) -> None:
    n, n_rows, d = blocks.shape
    step = max(_PANEL, _ENTRIES // (n * d))
    for first in range(0, n_rows, _PANEL):
        panel = blocks[:, first : first + _PANEL]
        for a in range(panel.shape[1]):
            row = panel[:, a]
            row /= np.sqrt(fold_sum(row * row))[:, None]
            _take_away(row, panel[:, a + 1 :])
        for start in range(first + _PANEL, n_rows, step):
            later = blocks[:, start : start + step]
            for a in range(_PANEL):
                _take_away(panel[:, a], later)


def _take_away(row: np.ndarray, later: np.ndarray) -> None:
    """Subtract from later rows their part along a row of length one."""
    overlap = fold_sum(later * row[:, None])
    later -= overlap[..., None] * row[:, None]
