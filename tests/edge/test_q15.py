"""Integer waves: all 2**20 phases that differ, against real cosines."""

import numpy as np
import pytest

from primal.edge._q15 import waves_q15
from primal.errors import DataError

# The middle of every phase that the 19 bits of a rest tell apart, and its edges.
STEPS = np.arange(2**20, dtype=np.uint32) << np.uint32(12)


@pytest.mark.parametrize("inside", [0, 1, 4095])
def test_within_092_units_of_the_true_waves_everywhere(inside):
    turns = STEPS + np.uint32(inside)
    angles = turns * (2 * np.pi / 2**32)
    for found, exact in zip(waves_q15(turns), (np.cos(angles), np.sin(angles)), strict=True):
        assert np.abs(found - 32767 * exact).max() <= 0.92


def test_there_are_no_other_phases():
    turns = STEPS + np.uint32(4096 // 2)
    for more in (1, 1000, 2047):
        # Within half a step of a multiple of 2**13 the integers are the same.
        np.testing.assert_array_equal(waves_q15(turns), waves_q15(turns + np.uint32(more)))


def test_quadrant_points_are_exact_and_symmetries_hold():
    quarter = np.array([0, 2**30, 2**31, 3 * 2**30], dtype=np.uint32)
    cos, sin = waves_q15(quarter)
    assert cos.tolist() == [32767, 0, -32767, 0]
    assert sin.tolist() == [0, 32767, 0, -32767]
    turns = STEPS + np.uint32(77)
    cos, sin = waves_q15(turns)
    back_cos, back_sin = waves_q15(np.uint32(0) - turns)
    np.testing.assert_array_equal(cos, back_cos)
    np.testing.assert_array_equal(sin, -back_sin)


def test_other_types_are_refused():
    with pytest.raises(DataError, match="uint32"):
        waves_q15(np.zeros(3))
