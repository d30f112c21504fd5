"""Gamma from data: any scale of numbers, any weights, any sparse format, or a clear error."""

import numpy as np
import pytest
from scipy import sparse

from primal.errors import DataError
from primal.maps import kernel_matrix, median_gamma, scale_gamma
from primal.sklearn import PrimeFeatures

X = np.random.default_rng(3).normal(size=(20, 3))
RULES = pytest.mark.parametrize("rule", [scale_gamma, median_gamma])


@pytest.mark.parametrize("value", [0.1, 1e10 / 3.0, -7.3e-5])
@pytest.mark.parametrize("weights", [None, np.full(7, 0.3)])
def test_constant_data_have_gamma_one(value, weights):
    constant = np.full((7, 3), value)
    assert scale_gamma(constant, sample_weight=weights) == 1.0
    assert scale_gamma(sparse.csr_array(constant), sample_weight=weights) == 1.0
    assert PrimeFeatures(8, method="growable").fit(constant).gamma_ == 1.0


@RULES
@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("laplacian", 1)])
def test_gamma_scales_with_the_data_or_says_why_not(rule, kernel, power):
    small = 60 if rule is scale_gamma else 250 // power
    for exponent in (-small, 3, small):
        found = rule(np.ldexp(X, exponent), kernel)
        assert found == pytest.approx(np.ldexp(rule(X, kernel), -power * exponent), rel=1e-14)
    with pytest.raises(DataError, match="too large or too small"):
        rule(np.ldexp(X, -1040), kernel)
    with pytest.raises(DataError, match="too large or too small"):
        rule(np.ldexp(X, 600), "rbf")


@RULES
@pytest.mark.parametrize("weight", [0.1, 1e-200, 5e-324, 1e308])
def test_equal_weights_are_none(rule, weight):
    found = rule(X, sample_weight=np.full(len(X), weight))
    assert found == pytest.approx(rule(X), rel=1e-14)


@RULES
def test_rows_of_weight_zero_do_not_count(rule):
    weights = np.where(np.arange(len(X)) < 5, 0.7, 0.0)
    assert rule(X, sample_weight=weights) == pytest.approx(rule(X[:5]), rel=1e-14)
    assert isinstance(rule(sparse.csr_array(X), sample_weight=weights), float)
    assert median_gamma(X, sample_weight=np.arange(len(X)) == 4) == 1.0  # no two rows


def test_tiny_weights_of_an_estimator():
    features = PrimeFeatures(8, gamma="median").fit(X, sample_weight=np.full(len(X), 1e-200))
    assert features.gamma_ == pytest.approx(median_gamma(X), rel=1e-14)


@RULES
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.dia_array, sparse.csc_matrix])
def test_sparse_formats(rule, kind):
    counts = np.rint(60.0 * X).astype(np.int8)  # squares of which no int8 holds
    assert rule(kind(counts)) == pytest.approx(rule(counts), rel=1e-12)


@RULES
@pytest.mark.parametrize(
    "wrong", [np.array([[np.nan, 1.0], [0.0, 2.0]]), np.array([[1j, 0.0]]), np.empty((0, 3))]
)
def test_sparse_values_are_checked(rule, wrong):
    with pytest.raises(DataError):
        rule(sparse.csr_array(wrong))


@pytest.mark.parametrize("kernel", ["rbf", "cauchy", "matern32", "matern52", "rational2"])
def test_kernels_are_zero_at_infinity(kernel):
    np.testing.assert_array_equal(kernel_matrix(kernel, [[1e308], [-1e308]]), np.eye(2))
