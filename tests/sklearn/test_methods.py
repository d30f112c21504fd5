"""``PrimeFeatures`` with weights: made for the widths of X, with the bits of the core."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import primal
from primal.errors import ParameterError
from primal.kernels import column_widths
from primal.sklearn import PrimeFeatures, PrimeRidgeRegressor

X = np.random.default_rng(0).standard_normal((200, 2)) * [1.0, 0.2] + [3.0, -1.0]


def test_auto_says_what_it_chose_and_what_it_predicts():
    features = PrimeFeatures(128).fit(X)
    assert features.method_ == "lattice"
    error = features.kernel_error(X)
    assert error < 1e-3 * PrimeFeatures(128, method="growable").fit(X).kernel_error(X)
    # The prediction is the largest of several laws; this is the first of them, independent columns.
    expected = features.map_.basis.nodes.errors[0]
    assert 0.3 * expected < error < 2.0 * expected
    assert expected <= features.predicted_error_
    wide = PrimeFeatures(128, gamma=1e6).fit(X)
    assert wide.method_ == "growable"


@pytest.mark.parametrize("method", ["lattice", "descent", "auto"])
def test_same_bits_as_the_core(method):
    features = PrimeFeatures(64, method=method, kernel="matern52").fit(X)
    m = primal.KernelPrime(
        2, 64, "matern52", features.gamma_, method=method, width=column_widths(X), form="pair"
    )
    assert features.map_ == m
    np.testing.assert_array_equal(features.transform(X), m.encode(X, dtype="float64"))
    again = primal.from_spec(features.spec)
    np.testing.assert_array_equal(again.transform(X), features.transform(X))
    assert clone(features).method == method


def test_widths_do_not_depend_on_how_rows_come():
    features = PrimeFeatures(64, method="lattice", gamma=0.7)
    expected = features.fit(X).map_
    assert features.fit(X[::-1]).map_ == expected
    assert features.fit(sparse.csr_array(X)).map_ == expected
    assert features.fit(np.repeat(X, 3, axis=0)).map_ == expected
    counts = np.arange(len(X)) % 3
    repeated = features.fit(np.repeat(X, counts, axis=0)).map_
    assert features.fit(X, sample_weight=counts).map_ == repeated
    assert features.fit(np.column_stack([X[:, 0], np.ones(200)])).map_.method == "lattice"


def test_designs_invert_and_do_not_grow():
    features = PrimeFeatures(64, method="lattice", gamma=1e-3).fit(X)
    found = features.inverse_transform(features.transform(X))
    np.testing.assert_allclose(found, X, atol=1e-9)
    with pytest.raises(ParameterError, match=r"cannot grow.*method='growable'"):
        features.grow(128)
    with pytest.raises(ParameterError, match="method"):
        PrimeFeatures(8, method="best").fit(X)


def test_models_stay_growable():
    model = PrimeRidgeRegressor(64, gamma=1.0).fit(X, X[:, 0])
    assert model.features_.method_ == "growable"


def test_folds_get_the_same_frequencies():
    X = np.random.default_rng(0).standard_normal((1000, 2)) * (1.1, 30.0)
    parts = [PrimeFeatures(64, gamma=0.1).fit(X[part::5]) for part in range(5)]
    assert len({part.map_.fingerprint for part in parts}) == 1
