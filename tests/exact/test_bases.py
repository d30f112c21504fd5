"""Bases: golden entries and fingerprints, conditioning, growth, identity."""

import json

import mpmath
import numpy as np
import pytest
from exact_reference import defined_frequencies
from hypothesis import given, settings
from hypothesis import strategies as st

import primal
from primal.exact import BASES, BASIS_VERSION, Basis
from primal.exact._root_tables import log_indices

# These change only with BASIS_VERSION.
FINGERPRINTS = {
    ("paper", 3, 8, 0.5): "2411144101ac55ba7788b7099a4a4cef0f0859f5de6cf34d81277f3675e40a34",
    ("paper", 12, 24): "76f28105d892ee0b42afc361eec5e8ba03a8de4115e49a47e0c372a85c561dd1",
    ("signed", 3, 8, 0.5): "ac84f9f9e8391f1a3f88c2d0e6089620c613a62437792afc2ae47fb6c97d0b50",
    ("signed", 12, 24): "8b3e1bf6fac28ef5e8acad84983a25c2616b88ab171cbc729f926bf5214e0dc1",
    ("table", 3, 8, 0.5): "a789fb4205e1c3d20380f7957305c9dabb0d8b9d1a3c98cafadf055d4813b4a4",
    ("table", 12, 24): "e8c46e94b255846d1bd6021e693dea478e75fa94a8233c9be85555b189bcd1f8",
    ("kronecker", 3, 8, 0.5): "18e23466b105ec4010032961c094a3a6cb1b8f77249d1258df5b8798aaf924d3",
    ("kronecker", 12, 24): "40379a501d63f634e843d768ec37ec63650d3af6a5bb424c68571a00cbce56b5",
    ("paper", 3, 8, 0.5, "log"): (
        "6c445655074f92e9a3b1cbcffaf7fc4680ec5a79a453b3eb7f26886fe65bc20e"
    ),
    ("signed", 2, 4, (0.5, 1.0, 2.0, 4.0)): (
        "ea581ca1adb8269fd6be8a2f64d5cf26d4f57c0b3f9f6e7304753ee76f9ae579"
    ),
}

# Computed independently in double precision, to two digits.
CONDITION_NUMBERS = {
    ("paper", 2, 4): "42",
    ("paper", 8, 8): "6e+03",
    ("paper", 8, 64): "3.2e+03",
    ("paper", 64, 64): "3.5e+06",
    ("paper", 64, 512): "6.1e+05",
    ("signed", 2, 2): "1.3e+02",
    ("signed", 2, 4): "1.5",
    ("signed", 8, 8): "19",
    ("signed", 8, 64): "1.9",
    ("signed", 64, 64): "2.7e+02",
    ("signed", 64, 512): "2.2",
    ("table", 2, 4): "2.7",
    ("table", 8, 8): "34",
    ("table", 8, 64): "1.7",
    ("table", 64, 64): "6.5e+02",
    ("kronecker", 8, 8): "38",
}


@pytest.mark.parametrize("arguments", FINGERPRINTS)
def test_golden_fingerprints(arguments):
    assert BASIS_VERSION == 1
    assert Basis(*arguments).fingerprint == FINGERPRINTS[arguments]


def test_golden_signs():
    expected = [[-1, -1, 1, 1], [-1, 1, -1, -1]]
    assert np.sign(Basis("signed", 4, 2).frequencies).tolist() == expected


@pytest.mark.parametrize(
    ("name", "d", "rows"),
    [
        ("paper", 2, [[1.414214, 1.732051], [2.236068, 2.645751]]),
        ("table", 3, [[-0.524763, -1.852835, 1.117224], [1.023694, -0.325120, 0.749028]]),
        ("kronecker", 2, [[0.579659, 0.819929], [1.537017, -1.354782]]),
    ],
)
def test_golden_entries(name, d, rows):
    np.testing.assert_allclose(Basis(name, d, 2).frequencies, rows, rtol=0, atol=1e-6)


@pytest.mark.parametrize("arguments", CONDITION_NUMBERS)
def test_condition_numbers(arguments):
    assert f"{Basis(*arguments).condition_number:.2g}" == CONDITION_NUMBERS[arguments]


@pytest.mark.parametrize("budget", [1e2, 1e3, 1e4, 1e9])
@pytest.mark.parametrize(("d", "k"), [(30, 30), (30, 80), (80, 30)])
def test_condition_number_at_least_is_a_lower_bound(d, k, budget):
    basis = Basis("signed", d, k)
    bound = basis.condition_number_at_least(budget)
    assert 1.0 <= bound <= basis.condition_number * (1.0 + 1e-10)
    if budget == 1e9:
        assert bound == basis.condition_number


@pytest.mark.parametrize("sigma", [1.0, 0.007, 1e-30, 3e20])
@pytest.mark.parametrize("name", ["paper", "signed"])
def test_roots_are_equation_one_to_62_bits(name, sigma):
    basis = Basis(name, 5, 12, sigma)
    table = basis.table
    with mpmath.workprec(200):
        for i, row in enumerate(defined_frequencies(basis)):
            unit = mpmath.ldexp(1, int(table.exponents[i]) - 62)
            for j, frequency in enumerate(row):
                missing = abs(frequency) - abs(int(table.mantissas[i, j])) * unit
                assert 0 <= missing < unit


def test_equation_one_at_a_large_index():
    # Entry (i, j), counted from 1, is sqrt(p_n) with n = (i - 1) d + j; p_1000000 = 15485863.
    basis = Basis("paper", 1000, 1000)
    mantissa, exponent = int(basis.table.mantissas[-1, -1]), int(basis.table.exponents[-1])
    with mpmath.workprec(200):
        missing = mpmath.sqrt(15485863) - mpmath.ldexp(mantissa, exponent - 62)
        assert 0 <= missing < mpmath.ldexp(1, exponent - 62)
    assert basis.frequencies[-1, -1] == np.sqrt(15485863.0)
    assert basis.frequencies[999, 0] == np.sqrt(float(primal.primes(1, start=999_000)[0]))


@settings(max_examples=120)
@given(
    name=st.sampled_from(BASES),
    d=st.integers(1, 12),
    k=st.integers(1, 30),
    more=st.integers(0, 40),
    sigma=st.floats(1e-3, 1e3),
)
def test_a_smaller_basis_is_a_prefix(name, d, k, more, sigma):
    small, large = Basis(name, d, k, sigma), Basis(name, d, k + more, sigma)
    assert_prefix(small, large)
    assert small.grow(k + more) == large


@settings(max_examples=10)
@given(name=st.sampled_from(["paper", "signed"]), k=st.integers(1, 20), more=st.integers(0, 30))
def test_a_smaller_basis_of_log_primes_is_a_prefix(name, k, more):
    assert_prefix(Basis(name, 3, k, 0.5, "log"), Basis(name, 3, k + more, 0.5, "log"))


@given(
    name=st.sampled_from([name for name in BASES if name != "hadamard"]),
    sigma=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=12),
    data=st.data(),
)
def test_a_smaller_basis_with_its_own_sigmas_is_a_prefix(name, sigma, data):
    k = data.draw(st.integers(1, len(sigma)))
    small, large = Basis(name, 3, k, sigma[:k]), Basis(name, 3, len(sigma), sigma)
    assert_prefix(small, large)
    assert small.grow(len(sigma), sigma) == large


def assert_prefix(small: Basis, large: Basis) -> None:
    k = small.n_frequencies
    np.testing.assert_array_equal(small.table.mantissas, large.table.mantissas[:k])
    np.testing.assert_array_equal(small.table.exponents, large.table.exponents[:k])


@pytest.mark.parametrize("d", [1, 2, 5, 6, 9, 64])
def test_auto_depends_on_d_alone(d):
    expected = "kronecker" if d <= 6 else "hadamard"
    for k in (1, 3, 200):
        assert Basis("auto", d, k).name == expected
        assert Basis("auto", d, k) == Basis(expected, d, k)


def test_one_sigma_for_each_frequency_is_for_a_matrix():
    assert Basis("auto", 40, 2, (1.0, 2.0)).name == "kronecker"
    with pytest.raises(primal.errors.ParameterError, match=r"one sigma for all frequencies, got"):
        Basis("hadamard", 40, 2, (1.0, 2.0))


@pytest.mark.parametrize("name", ["auto", "hadamard"])
def test_one_sigma_is_one_whatever_holds_it(name):
    assert Basis(name, 9, 64, np.array(0.5)) == Basis(name, 9, 64, 0.5)


def test_equal_specs_are_equal_objects():
    ones = [Basis("table", 3, 2, 1), Basis("table", np.int64(3), 2, np.float32(1.0))]
    assert ones[0] == ones[1]
    assert hash(ones[0]) == hash(ones[1])
    lists = [Basis("table", 3, 2, [1, 2]), Basis("table", 3, 2, np.array([1.0, 2.0]))]
    assert lists[0] == lists[1]
    assert hash(lists[0]) == hash(lists[1])
    assert len({*ones, *lists, Basis("table", 3, 2, 2.0), Basis("signed", 3, 2)}) == 4


def test_the_spec_is_json():
    spec = Basis("signed", 2, 3, (0.1, 0.2, 0.3), "log").spec
    assert json.loads(json.dumps(spec)) == {
        "type": "Basis",
        "version": 1,
        "name": "signed",
        "d": 2,
        "n_frequencies": 3,
        "sigma": [0.1, 0.2, 0.3],
        "primes": "log",
    }


def test_log_indices_are_distinct_and_prefix_stable():
    longest = log_indices(20_000)
    assert len(np.unique(longest)) == 20_000
    assert longest.min() >= 0
    assert longest.max() < 1 << 21
    for n in (1, 2, 3, 17, 1000):
        np.testing.assert_array_equal(log_indices(n), longest[:n])


def test_log_indices_are_even_in_the_logarithm():
    # The first 2**9 exponents are 21 i / 512 in some order: each octave gets 512 / 21.
    octaves = np.floor(np.log2(log_indices(512)[::-1] + 1.0)).astype(int)
    counts = np.bincount(octaves, minlength=21)
    # The first octaves hold fewer indices than their share; what moves up stays close.
    np.testing.assert_array_less(np.abs(counts[9:] - 512 / 21), 1.5)


def test_log_indices_can_fill_the_whole_pool():
    # Low octaves have fewer indices than wishes, so the top runs over and starts again below.
    assert sorted(log_indices(4096, 12)) == list(range(4096))


def test_a_pool_is_a_range_of_frequencies_whatever_d_is():
    last = np.sqrt(primal.primes(1 << 12)[-1])
    for d in (1, 2, 8, 32):
        found = Basis("paper", d, 64, primes="log-12").frequencies
        assert found.min() == pytest.approx(np.sqrt(2.0))
        assert 0.9 * last < found.max() < 1.0001 * last
        grown = Basis("paper", d, 64, primes="log-12").grow(100).frequencies
        np.testing.assert_array_equal(grown[:64], found)
        consecutive = Basis("paper", d, 64).frequencies
        assert consecutive.max() == pytest.approx(np.sqrt(primal.primes(64 * d)[-1]))


def test_the_primes_of_a_small_pool_by_hand():
    # Exponents 0, 3/2, 3/4, 9/4 of 2, rounded down: indices 0, 1, then 0 again, which moves
    # up past 1 to 2, and 3, in a pool of 2, 3, 5, 7, 11, 13, 17, 19.
    squares = np.square(Basis("paper", 1, 4, primes="log-3").frequencies[:, 0])
    assert squares.round().astype(int).tolist() == [2, 3, 5, 7]


def test_a_pool_that_is_too_small_names_one_that_is_not():
    with pytest.raises(primal.PrimalError, match=r'pool of 64 cannot .* 100 .*"log-7"'):
        Basis("paper", 10, 10, primes="log-6").table


def test_the_table_cannot_be_changed():
    table = Basis("paper", 2, 2).table
    with pytest.raises(ValueError, match="read-only"):
        table.mantissas[0, 0] = 1
