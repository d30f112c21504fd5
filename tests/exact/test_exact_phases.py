"""Phases against the real-number definition, in 200-bit arithmetic."""

import warnings
from functools import cache

import mpmath
import numpy as np
import pytest
from exact_reference import (
    circle_distances,
    defined_turns,
    exact_phases,
    first_primes,
    rounded,
    turn_errors,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import primal
from primal._selftest import sample_points
from primal.exact import BASES, Basis, Finish, engine, static_turns

LARGEST_ERROR = 2.0**-25  # turns, of the 32-bit phases
LARGEST_DEEP_ERROR = 2.0**-40  # turns, behind float64 output
DIMENSIONS = (1, 2, 3, 8, 20, 64, 300)


@cache
def basis_of(name: str, d: int) -> Basis:
    return Basis(name, d, 6, 0.7)


def turns_of(basis: Basis, x: np.ndarray) -> np.ndarray:
    out = np.empty((len(x), basis.n_frequencies), dtype=np.uint32)
    engine().dynamic_turns(basis.table, x, out)
    return out


def rows_of_every_scale(basis: Basis) -> np.ndarray:
    """Points whose longest phases go from 2**-20 to nearly 2**32 turns."""
    log2_turns = np.arange(-20, 32, 3)
    points = sample_points(len(log2_turns), basis.d)
    # Full 53-bit numbers: short ones would never need the later digits.
    points = points / 3.0
    peak = np.abs(points).max(axis=1) * basis.table.l1_norms.max()
    return points * (2.0**log2_turns / peak)[:, None]


@pytest.mark.parametrize("t", [1, 10**6, 10**12, 2**62 + 1])
@pytest.mark.parametrize("sigma", [1.0, 0.37])
def test_static_phases_are_short_by_at_most_t_units(t, sigma):
    increments = primal.increments(40, sigma=sigma)
    turns = static_turns(np.array([t], dtype=np.uint64), increments)[0].tolist()
    with mpmath.workprec(300):
        for p, turn in zip(first_primes(40), turns, strict=True):
            missing = t * mpmath.mpf(sigma) * mpmath.sqrt(p) - mpmath.ldexp(turn, -64)
            missing -= mpmath.floor(missing)
            assert missing <= mpmath.ldexp(t, -64)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("name", BASES)
def test_every_scale_of_every_basis(name, d):
    basis = basis_of(name, d)
    x = rows_of_every_scale(basis)
    turns = turns_of(basis, x)
    np.testing.assert_array_equal(turns, rounded(defined_turns(basis.table, x)))
    assert turn_errors(exact_phases(basis, x), turns).max() <= LARGEST_ERROR


@pytest.mark.parametrize(("name", "d"), [("paper", 300), ("table", 64), ("kronecker", 3)])
def test_rows_whose_integers_have_the_least_room(name, d):
    # All entries just below a power of two: sums of digits are as large as they can be.
    basis = basis_of(name, d)
    pattern = np.where(sample_points(1, d) < 0, -1.0, 1.0) * (1.0 - 2.0**-53)
    exponents = np.arange(-30, 31 - int(np.frexp(basis.table.l1_norms.max())[1]))
    x = np.concatenate([pattern, np.abs(pattern)]) * 2.0 ** exponents[:, None, None]
    x = x.reshape(-1, d)
    turns = turns_of(basis, x)
    np.testing.assert_array_equal(turns, rounded(defined_turns(basis.table, x)))
    assert turn_errors(exact_phases(basis, x), turns).max() <= LARGEST_ERROR


def test_phases_above_a_hundred_thousand_turns():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", primal.errors.ConditioningWarning)
        m = primal.DynamicPrime(300, 16, 1000.0)
    x = sample_points(8, 300)
    phases = exact_phases(m.basis, x)
    assert min(max(abs(phase) for phase in row) for row in phases) > 1e5
    assert turn_errors(phases, m.turns(x)).max() <= LARGEST_ERROR


number = st.one_of(
    st.just(0.0),
    st.just(-0.0),
    st.floats(-1.0, 1.0),
    st.builds(lambda m, e: m * 2.0**e, st.floats(-1.0, 1.0), st.integers(-1074, 0)),
    st.sampled_from([5e-324, -5e-324, 2.0**-1022, -(2.0**-1074) * 3, 1.0 - 2.0**-53]),
)


@given(
    name=st.sampled_from(BASES),
    d=st.sampled_from([1, 2, 3, 8, 20]),
    scale=st.one_of(st.floats(-30.0, 5.0).map(lambda e: 10.0**e), st.just(1.0)),
    data=st.data(),
)
@settings(max_examples=150)
def test_any_row(name, d, scale, data):
    basis = basis_of(name, d)
    rows = data.draw(st.lists(st.lists(number, min_size=d, max_size=d), min_size=1, max_size=3))
    x = np.array(rows) * scale
    turns = turns_of(basis, x)
    np.testing.assert_array_equal(turns, rounded(defined_turns(basis.table, x)))
    assert turn_errors(exact_phases(basis, x), turns).max() <= LARGEST_ERROR


@given(
    name=st.sampled_from(BASES),
    d=st.sampled_from([1, 3, 20]),
    exponents=st.lists(st.integers(-40, 20), min_size=2, max_size=12),
)
def test_a_row_alone_has_the_bits_of_a_batch(name, d, exponents):
    basis = basis_of(name, d)
    x = sample_points(len(exponents), d) * 2.0 ** np.array(exponents)[:, None]
    x /= max(1.0, np.abs(x).max() * basis.table.l1_norms.max() * 2.0**-31)
    together = turns_of(basis, x)
    alone = np.concatenate([turns_of(basis, x[i : i + 1]) for i in range(len(x))])
    np.testing.assert_array_equal(together, alone)


def test_a_phase_does_not_depend_on_the_other_frequencies():
    # 40 frequencies rise far above the first six, which keep their bits.
    small, large = basis_of("paper", 3), Basis("paper", 3, 40, 0.7)
    x = rows_of_every_scale(large)
    np.testing.assert_array_equal(turns_of(small, x), turns_of(large, x)[:, :6])


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("name", BASES)
def test_float64_features_rest_on_deep_phases(name, d):
    basis = basis_of(name, d)
    x = rows_of_every_scale(basis)
    peak = np.abs(x).max(axis=1) * basis.table.l1_norms.max()
    # 62-bit frequencies leave about turns * 2**-60.
    x = x[peak < 2.0**18]
    out = np.empty((len(x), 2 * basis.n_frequencies))
    engine().features(basis.table, x, out, Finish("block"))
    k = basis.n_frequencies
    # arctan2 of float64 waves is good to 1e-15, a thousandth of what is tested.
    found = np.arctan2(out[:, k:], out[:, :k]) / (2.0 * np.pi)
    errors = circle_distances(exact_phases(basis, x), found.tolist())
    assert errors.max() <= LARGEST_DEEP_ERROR
