"""The elementary functions behind the Gaussian bases, against 200-bit arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal._arithmetic import exp, fold_sum, log, normal_quantile, unit_fractions
from primal.exact._laws import _fractions, chi_lengths

ULP = 2.0**-52
POWERS = 2.0 ** -np.arange(1.0, 53.0)


def largest_relative_error(function, reference, x):
    worst = mpmath.mpf(0)
    with mpmath.workprec(200):
        for argument, found in zip(x.tolist(), function(x).tolist(), strict=True):
            true = reference(mpmath.mpf(argument))
            if true == 0:
                assert found == 0.0
            else:
                worst = max(worst, abs((found - true) / true))
    return float(worst)


def exact_normal_quantile(u):
    """Newton steps on the distribution function; erfc keeps all digits in the tail."""
    z = mpmath.mpf(float(normal_quantile(np.array([float(u)]))[0]))
    for _ in range(4):
        excess = mpmath.erfc(-z / mpmath.sqrt(2)) / 2 - u
        z -= excess * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(z * z / 2)
    return z


def test_log():
    x = np.concatenate(
        [
            np.exp(np.linspace(-700.0, 700.0, 1501)),
            1.0 + np.linspace(-0.5, 1.0, 1501),
            1.0 + POWERS,
            1.0 - POWERS[1:],
            [5e-324, 2.0**-1022, 1.7976931348623157e308],
        ]
    )
    # Two roundings at the end, each half a unit in the last place of the result.
    assert largest_relative_error(log, mpmath.log, x) <= 1.5 * ULP


def test_exp():
    x = np.concatenate([np.linspace(-699.0, 699.0, 2501), np.linspace(-1.0, 1.0, 1001), POWERS])
    assert largest_relative_error(exp, mpmath.exp, x) <= ULP


def test_normal_quantile():
    even = unit_fractions(primal.increments(400))
    edges = np.array([0.075, 0.925, np.nextafter(0.075, 0), np.nextafter(0.925, 1)])
    tails = np.concatenate([POWERS, 0.5 + POWERS[1:] / 2.0, [2.0**-53, 1.0 - 2.0**-53]])
    u = np.concatenate([even, edges, tails])
    # The published accuracy of the rational approximations is about 1e-15.
    assert largest_relative_error(normal_quantile, exact_normal_quantile, u) <= 1e-15


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_unit_fractions_are_inside_and_antisymmetric(turns):
    turns = np.array(turns, dtype=np.uint64)
    u, mirrored = unit_fractions(turns), unit_fractions(~turns)
    assert ((u > 0.0) & (u < 1.0)).all()
    np.testing.assert_array_equal(u, 1.0 - mirrored)
    np.testing.assert_array_equal(normal_quantile(u), -normal_quantile(mirrored))
    assert np.abs(u - turns.astype(np.float64) * 2.0**-64).max() <= 2.0**-52


@given(st.integers(0, 70), st.integers(1, 5))
def test_fold_sum_of_integers_is_exact(n, rows):
    values = (np.arange(rows * n, dtype=np.float64) ** 2).reshape(rows, n) - 100.0
    before = values.copy()
    expected = [sum(int(v) for v in row) for row in values]
    assert fold_sum(values).tolist() == expected
    np.testing.assert_array_equal(values, before)


def test_fold_sum_has_a_fixed_order():
    # Halves are folded: (1 + 1e16) + (-1e16 + 1) and not left to right, which would give 1.
    assert fold_sum(np.array([1.0, -1e16, 1e16, 1.0])).item() == 0.0
    assert fold_sum(np.array([1.0, 1e16, 1.0, -1e16])).item() == 2.0


@pytest.mark.parametrize("d", [2, 3, 8, 20, 64, 300])
def test_row_lengths_are_chi_quantiles(d):
    lengths = chi_lengths(d, 60)
    u = _fractions(0, 60)
    with mpmath.workprec(200):
        for r, target in zip(lengths.tolist(), u.tolist(), strict=True):
            reached = mpmath.gammainc(
                d / mpmath.mpf(2), 0, mpmath.mpf(r) ** 2 / 2, regularized=True
            )
            # The distribution function is a running sum of 512 panels below one: about
            # sqrt(512) roundings of 2**-53 each.
            assert abs(reached - target) <= 3e-15


@pytest.mark.parametrize("d", [2, 8, 64, 300])
def test_row_lengths_agree_with_scipy(d):
    stats = pytest.importorskip("scipy.stats")
    u = _fractions(0, 500)
    np.testing.assert_allclose(chi_lengths(d, 500), stats.chi(d).ppf(u), rtol=1e-12)


def test_row_lengths_do_not_depend_on_how_many_there_are():
    np.testing.assert_array_equal(chi_lengths(8, 20), chi_lengths(8, 300)[:20])
