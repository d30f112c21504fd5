"""Bounds, the extreme-value law, and the special functions behind them."""

import math
from statistics import NormalDist

import mpmath
import pytest

import primal
from primal.codebooks import bounds, lag_cosines, predict_coherence
from primal.codebooks._predict import _log_tilted_tail, log_direction_tail, tilted
from primal.codebooks.bounds import jacobi


@pytest.mark.parametrize("s", [1e-9, 1e-6, 0.1, 0.999, 1.0, 7.5, 39.9, 40.1, 500.0, 5e4, 1e15])
def test_tilted_cosines(s):
    with mpmath.workdps(60):
        i0, i1 = (mpmath.besseli(n, s) for n in (0, 1))
        x = i1 / i0
        law = (x, 1 - x, 1 - x / s - x * x, s * x - mpmath.log(i0))
        expected = [float(number) for number in law]
    assert list(tilted(s)) == pytest.approx(expected, rel=2e-15, abs=0.0)


@pytest.mark.parametrize("a", [0.5, 3.5, 31.5, 511.5])
@pytest.mark.parametrize("x", [1e-3, 0.3, 0.9, 0.999, 1.0])
def test_random_directions_have_the_incomplete_beta_function(a, x):
    with mpmath.workdps(60):
        expected = float(mpmath.log(mpmath.betainc(a, 0.5, 0, x, regularized=True)))
    found = log_direction_tail(round(2 * a + 1), math.sqrt(1.0 - x))
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("D", [2, 3, 64, 10_001])
@pytest.mark.parametrize("x", [0.3, 0.7, 1 - 1e-9, 1 - 1e-12, 1 - 2.0**-53])
def test_random_directions_that_almost_agree(D, x):
    with mpmath.workdps(60):
        beyond = (1 - mpmath.mpf(x)) * (1 + mpmath.mpf(x))
        tail = mpmath.betainc((D - 1) / mpmath.mpf(2), 0.5, 0, beyond, regularized=True)
        expected = float(mpmath.log(tail))
    assert log_direction_tail(D, x) == pytest.approx(expected, rel=2e-14)


@pytest.mark.parametrize(("n", "a", "b"), [(1, 0.5, -0.5), (3, 6.5, 0.5), (5, 11.0, 1.0)])
def test_jacobi_polynomials(n, a, b):
    for t in (-0.9, 0.0, 0.7):
        expected = float(mpmath.jacobi(n, a, b, t) / mpmath.jacobi(n, a, b, 1))
        assert jacobi(n, a, b, t) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    ("D", "N", "mu"),
    [
        (8, 120, 1 / 2),  # E8
        (24, 98_280, 1 / 2),  # Leech lattice
        (7, 28, 1 / 3),
        (23, 276, 1 / 5),
        (64, 2112, 1 / 8),  # Kerdock
    ],
)
def test_levenshtein_is_attained_by_famous_sets(D, N, mu):
    assert bounds.levenshtein(N, D) == pytest.approx(mu, abs=1e-12)


def test_levenshtein_in_more_dimensions_than_floats_can_tell_is_welch():
    for D in (10**9, 10**10):
        for N in (D + 1, 2 * D, D**2, D**3):
            assert bounds.levenshtein(N, D) == bounds.welch(N, D)
    assert bounds.levenshtein(10**16, 10**8) == pytest.approx(0.00014142135482, rel=1e-8)


def test_levenshtein_between_famous_sets():
    assert bounds.levenshtein(1000, 32) == pytest.approx(0.24103, abs=5e-6)
    assert bounds.levenshtein(10_000, 16) == pytest.approx(0.56076, abs=5e-6)


@pytest.mark.parametrize(
    ("D", "N", "squared"),
    [(2, 4, 1 / 3), (3, 9, 1 / 4), (2, 6, 1 / 2), (4, 40, 1 / 3), (6, 126, 1 / 4)],
)
def test_complex_levenshtein_is_attained(D, N, squared):
    assert bounds.levenshtein(N, D, "complex") ** 2 == pytest.approx(squared, abs=1e-12)


def test_levenshtein_second_piece_is_the_printed_formula():
    for D, N in ((16, 140), (32, 1000), (64, 3000)):
        expected = math.sqrt((3 * N - D * D - 2 * D) / ((D + 2) * (N - D)))
        assert bounds.levenshtein(N, D) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("D", [2, 3, 16, 64])
def test_bounds_rise_with_n_and_keep_their_order(D):
    sizes = [1, D, D + 1, 2 * D, D * D, D**3, 10**7]
    for field in bounds.FIELDS:
        values = [bounds.best(N, D, field).value for N in sizes]
        assert values == sorted(values)
        assert values[1] == 0.0
        assert values[-1] <= 1.0
        for N in sizes:
            assert bounds.levenshtein(N, D, field) >= bounds.welch(N, D) - 1e-12


def test_bounds_of_one_dimension():
    assert bounds.best(1, 1).value == 0.0
    assert bounds.best(2, 1).value == 1.0


def test_best_names_the_bound():
    assert bounds.best(1000, 64).name == "Welch"
    assert bounds.best(2112, 64).name == "orthoplex"
    assert bounds.best(10_000, 64).name == "Levenshtein"


def test_bad_sizes_are_refused():
    with pytest.raises(primal.errors.ParameterError, match="D must be at least 1, got 0"):
        bounds.welch(10, 0)
    with pytest.raises(primal.errors.ParameterError, match="N must be at least 1, got -3"):
        bounds.levenshtein(-3, 4)
    for bound in (bounds.welch, bounds.orthoplex, bounds.levenshtein, bounds.best):
        with pytest.raises(primal.errors.ParameterError, match="D must be at most 10"):
            bound(10**900, 10**400)
    with pytest.raises(primal.errors.ParameterError, match="got 'octonions'"):
        bounds.best(10, 4, "octonions")


def test_extreme_value_law_known_values():
    assert math.exp(log_mean_cosine_tail(32, 0.3)) == pytest.approx(0.0078998, abs=5e-8)
    for N, D, expected in (
        (1000, 64, (0.36674, 0.41678, 0.49243)),
        (10_000, 128, (0.31639, 0.34718, 0.39584)),
    ):
        found = [predict_coherence(N, D, q) for q in (0.05, 0.5, 0.95)]
        assert found == pytest.approx(expected, abs=5e-6)
    assert predict_coherence(1000, 64, model="gaussian") == pytest.approx(0.55776, abs=5e-6)


@pytest.mark.parametrize(
    ("N", "D", "median"),
    [(10**5, 128, 0.391), (10**8, 128, 0.496), (10**8, 1024, 0.180), (10**9, 16, 0.993)],
)
def test_extreme_value_law_at_large_n(N, D, median):
    assert predict_coherence(N, D) == pytest.approx(median, abs=6e-4)


def test_tail_is_the_share_of_large_similarities():
    g = lag_cosines(primal.StaticPrime(16).increments, 2_000_000)[1:]
    for x in (0.2, 0.4, 0.6):
        tail = math.exp(log_mean_cosine_tail(8, x))
        assert (g > x).mean() == pytest.approx(tail, rel=0.03)
        assert (g < -x).mean() == pytest.approx(tail, rel=0.03)


def test_as_many_codes_as_no_float_counts():
    log_target = math.log(math.log(2.0) / 2.0) - 400 * math.log(10.0)
    found = predict_coherence(10**400, 10_000)
    assert log_mean_cosine_tail(5000, found) == pytest.approx(log_target, rel=1e-12)
    found = predict_coherence(10**400, 10_000, model="gaussian")
    log_target = math.log(2.0 * math.log(2.0)) - 800 * math.log(10.0)
    assert log_direction_tail(10_000, found) == pytest.approx(log_target, rel=1e-12)


def log_mean_cosine_tail(k, x):
    """Return ln P((1/k) sum of cos(2 pi U_m) > x), 0 < x < 1, by the tilt whose mean is x."""
    gap = 1.0 - x
    high = 4.0 * x / (gap * (1.0 + x)) + 1e-12
    return _log_tilted_tail(k, bounds.bisect(lambda s: gap - tilted(s).gap, 0.0, high))


@pytest.mark.parametrize(("model", "n_draws"), [("toeplitz", 999), ("gaussian", 499_500)])
def test_similarities_of_many_dimensions_are_normal(model, n_draws):
    D = 2**48
    tail = -math.expm1(-math.log(2.0) / n_draws) / 2.0
    expected = -NormalDist().inv_cdf(tail) / math.sqrt(D)
    assert predict_coherence(1000, D, model=model) == pytest.approx(expected, rel=1e-12)


def test_bad_predictions_are_refused():
    with pytest.raises(primal.errors.ParameterError, match=r"quantile .* got 1\.5"):
        predict_coherence(1000, 64, 1.5)
    with pytest.raises(primal.errors.ParameterError, match="use 62 or 64"):
        predict_coherence(1000, 63)
    with pytest.raises(primal.errors.ParameterError, match="N must be at least 2, got 1"):
        predict_coherence(1, 64)
