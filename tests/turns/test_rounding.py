"""Phases in few bits are the nearest ones, on every machine, and come back as they are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

import primal
from primal.turns import (
    phases_to_bits,
    phases_to_turns,
    phases_to_uint8,
    phases_to_uint16,
    phases_to_waves,
    waves,
)

TURNS = hnp.arrays(np.uint32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=9))
# Around every multiple of an eighth of a turn, where signs change.
EDGES = np.array(
    [(eighth * 2**29 + step) % 2**32 for eighth in range(8) for step in (-2, -1, 0, 1, 2)],
    dtype=np.uint32,
)


def unpacked(bits, n_bits):
    return np.unpackbits(bits, axis=-1, bitorder="little")[..., :n_bits]


class TestPhases:
    @given(TURNS)
    def test_the_nearest_step_of_the_turn_wins_and_ties_go_up(self, turns):
        for n_bits, code in ((8, phases_to_uint8), (16, phases_to_uint16)):
            wanted = [(int(t) * 2**n_bits + 2**31) // 2**32 % 2**n_bits for t in turns.ravel()]
            found = code(turns)
            assert found.dtype == f"uint{n_bits}"
            assert found.shape == turns.shape
            assert found.ravel().tolist() == wanted

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_waves_of_codes_are_those_of_the_phase_they_name(self, dtype):
        n_bits = 8 * np.dtype(dtype).itemsize
        codes = np.arange(2**n_bits).astype(dtype).reshape(-1, 4)
        z = phases_to_waves(codes)
        assert z.dtype == np.float32
        cos, sin = waves(codes.astype(np.uint32) << np.uint32(32 - n_bits))
        np.testing.assert_array_equal(z[:, 0::2], cos)
        np.testing.assert_array_equal(z[:, 1::2], sin)
        np.testing.assert_array_equal(phases_to_waves(codes, "float16"), z.astype(np.float16))
        angle = 2 * np.pi * codes / 2**n_bits
        wide = phases_to_waves(codes, np.float64)
        assert np.abs(wide[:, 0::2] - np.cos(angle)).max() < 1e-15
        assert np.abs(wide[:, 1::2] - np.sin(angle)).max() < 1e-15

    def test_a_code_names_its_own_phase(self):
        codes = np.arange(256).astype(np.uint8)
        np.testing.assert_array_equal(phases_to_turns(codes), codes.astype(np.uint32) << 24)
        np.testing.assert_array_equal(phases_to_uint8(phases_to_turns(codes)), codes)
        wide = np.arange(2**16, dtype=np.uint16)
        np.testing.assert_array_equal(phases_to_uint16(phases_to_turns(wide)), wide)


class TestBits:
    @given(TURNS)
    def test_bits_are_the_signs_of_the_waves(self, turns):
        cos, sin = waves(turns)
        wanted = np.stack([cos >= 0, sin >= 0], axis=-1).reshape(*turns.shape[:-1], -1)
        np.testing.assert_array_equal(unpacked(phases_to_bits(turns), wanted.shape[-1]), wanted)

    def test_also_where_a_wave_is_zero(self):
        bits = unpacked(phases_to_bits(EDGES[:, None]), 2)
        cos, sin = waves(EDGES)
        assert (cos == 0).sum() == (sin == 0).sum() == 2
        np.testing.assert_array_equal(bits, np.stack([cos >= 0, sin >= 0], axis=1))

    def test_of_both_maps(self):
        x = np.random.default_rng(0).normal(0, 5, (50, 3))
        m = primal.DynamicPrime(3, 22, basis="signed", layout="interleaved")
        np.testing.assert_array_equal(unpacked(phases_to_bits(m.turns(x)), 22), m.encode(x) >= 0)

    @pytest.mark.parametrize("k", [1, 3, 4, 5, 33])
    def test_unused_bits_are_zero(self, k):
        bits = phases_to_bits(np.zeros((2, k), dtype=np.uint32))  # both waves are >= 0 there
        assert bits.shape == (2, math.ceil(2 * k / 8))
        assert np.bitwise_count(bits).sum() == 2 * 2 * k


@pytest.mark.parametrize("code", [phases_to_uint8, phases_to_uint16, phases_to_bits])
@pytest.mark.parametrize("wrong", [[1, 2], np.arange(3), np.zeros(3, np.uint64), np.uint32(3)])
def test_only_uint32_turns_are_taken(code, wrong):
    with pytest.raises(primal.errors.DataError, match=r"m\.turns\(x\)"):
        code(wrong)


@pytest.mark.parametrize(
    "read", [phases_to_uint8, phases_to_uint16, phases_to_bits, primal.turns.waves]
)
def test_masked_phases_are_refused(read):
    """Their masks would be lost on the way to bits and waves."""
    masked = np.ma.array(np.arange(3, dtype=np.uint32), mask=[False, True, False])
    with pytest.raises(primal.errors.DataError, match="turns is masked: 1 of 3"):
        read(masked)


def test_waves_come_from_phases_only():
    with pytest.raises(primal.errors.DataError, match="float32"):
        phases_to_waves(np.zeros(3, np.float32))
    with pytest.raises(primal.errors.DataError, match=r"shape \(\)"):
        phases_to_waves(np.array(3, np.uint8))
    for wrong in ("int8", "nonsense"):
        with pytest.raises(primal.errors.ParameterError, match="dtype"):
            phases_to_waves(np.zeros(3, np.uint8), wrong)
