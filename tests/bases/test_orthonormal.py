"""Gram-Schmidt: the blocked loops have the bits of the plain ones."""

import numpy as np
import pytest

from primal._selftest import sample_points
from primal.bases import _orthonormal
from primal.bases._arithmetic import fold_sum

# Rows and columns around the size of a panel (16), odd and even lengths.
SHAPES = [(1, 1), (2, 2), (1, 7), (15, 15), (16, 33), (17, 17), (33, 40), (50, 131), (100, 100)]


def by_definition(block: np.ndarray) -> np.ndarray:
    """Row after row, each folded sum written out."""
    rows = block.copy()
    for b in range(len(rows)):
        for a in range(b):
            rows[b] = rows[b] - folded(rows[b] * rows[a]) * rows[a]
        rows[b] = rows[b] / np.sqrt(folded(rows[b] * rows[b]))
    return rows


def folded(values: np.ndarray) -> np.float64:
    while len(values) > 1:
        half = (len(values) + 1) // 2
        upper = np.append(values[half:], [] if len(values) % 2 == 0 else [-0.0])
        values = values[:half] + upper  # -0.0 leaves every number as it is
    return values[0]


@pytest.mark.parametrize(("rows", "d"), SHAPES)
def test_it_has_the_bits_of_the_definition(rows, d):
    blocks = sample_points(3 * rows, d).reshape(3, rows, d)
    expected = [by_definition(block) for block in blocks]
    _orthonormal.orthonormalize(blocks)
    np.testing.assert_array_equal(blocks.view(np.uint64), np.array(expected).view(np.uint64))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8, 100, 4097])
def test_folded_sums(n):
    values = sample_points(3, max(n, 1))[:, :n]
    before = values.copy()
    expected = [folded(row) for row in values] if n else [0.0] * 3
    np.testing.assert_array_equal(fold_sum(values), expected)
    np.testing.assert_array_equal(values, before)
