"""Phases in few bits are the nearest ones, on every machine, and come back as they are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

import primal
from primal.exact import pack, unpack

TURNS = hnp.arrays(np.uint32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=9))
N_BITS = pytest.mark.parametrize("n_bits", [1, 3, 4, 8, 13, 16, 31, 32])


@N_BITS
@given(turns=TURNS)
def test_the_nearest_step_of_the_turn_wins_and_ties_go_up(n_bits, turns):
    steps = [(int(t) * 2**n_bits + 2**31) // 2**32 % 2**n_bits for t in turns.ravel()]
    codes = pack(turns, n_bits)
    assert codes.dtype == np.uint8
    assert codes.shape == (*turns.shape[:-1], math.ceil(n_bits * turns.shape[-1] / 8))
    found = unpack(codes, n_bits, turns.shape[-1])
    assert found.dtype == np.uint32
    assert found.shape == turns.shape
    assert found.ravel().tolist() == [step << (32 - n_bits) for step in steps]
    np.testing.assert_array_equal(pack(found, n_bits), codes)


@pytest.mark.parametrize("n_bits", [4, 8])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 0, 3)])
def test_nothing_is_packed_to_nothing(shape, n_bits):
    codes = pack(np.zeros(shape, np.uint32), n_bits)
    assert codes.shape == (*shape[:-1], math.ceil(n_bits * shape[-1] / 8))


def test_a_byte_holds_one_phase_of_eight_bits():
    codes = pack(np.arange(256, dtype=np.uint32) << np.uint32(24), 8)
    np.testing.assert_array_equal(codes, np.arange(256))


def test_the_highest_bit_comes_first_and_unused_bits_are_zero():
    turns = np.array([1, 3, 2], dtype=np.uint32) << np.uint32(29)
    assert pack(turns, 3).tolist() == [0b00101101, 0]
    turns[-1] = 0xFFFFFFFF
    assert pack(turns, 32).tolist() == [0x20, 0, 0, 0, 0x60, 0, 0, 0, 255, 255, 255, 255]


@pytest.mark.parametrize("wrong", [[1, 2], np.arange(3), np.zeros(3, np.uint64), np.uint32(3)])
def test_only_uint32_turns_are_packed(wrong):
    with pytest.raises(primal.errors.DataError, match=r"m\.turns\(x\)"):
        pack(wrong, 8)


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ([1, 2], "list"),
        (np.zeros(2, np.uint16), "uint16 of shape (2,)"),
        (np.zeros((4, 3), np.uint8), "uint8 of shape (4, 3)"),
        (np.uint8(3), "uint8"),
    ],
)
def test_only_bytes_of_such_rows_are_unpacked(wrong, found):
    with pytest.raises(primal.errors.DataError) as caught:
        unpack(wrong, 3, 4)
    assert f"2 bytes in a row (4 phases of 3 bits), got {found}" in str(caught.value)


@pytest.mark.parametrize("n_bits", [0, 33, 8.0])
def test_a_phase_has_1_to_32_bits(n_bits):
    for use in (lambda n: pack(np.zeros(1, np.uint32), n), lambda n: unpack(np.uint8([0]), n, 1)):
        with pytest.raises(primal.errors.ParameterError, match="n_bits"):
            use(n_bits)


@pytest.mark.parametrize("read", [lambda turns: pack(turns, 8), primal.exact.waves])
def test_masked_phases_are_refused(read):
    """Their masks would be lost on the way to bits and waves."""
    masked = np.ma.array(np.arange(3, dtype=np.uint32), mask=[False, True, False])
    with pytest.raises(primal.errors.DataError, match="turns is masked: 1 of 3"):
        read(masked)
