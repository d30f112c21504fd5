"""``PrimeFeatures`` with weights: made for the widths of X, with the bits of the core."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel
from sklearn.linear_model import BayesianRidge

import primal
from primal.errors import ParameterError
from primal.maps import column_widths, on, scale_gamma
from primal.sklearn import PrimeFeatures, PrimeRidgeRegressor

X = np.random.default_rng(0).standard_normal((200, 2)) * [1.0, 0.2] + [3.0, -1.0]


def test_auto_says_what_it_chose_and_what_it_predicts():
    features = PrimeFeatures(128).fit(X)
    assert features.method_ == "lattice"
    error = features.kernel_error(X)
    assert error < 1e-3 * PrimeFeatures(128, method="growable").fit(X).kernel_error(X)
    # The closed form for Gaussian data, which these are.
    expected = features.map_.basis.nodes.errors[0]
    assert 0.3 * expected < error < 2.0 * expected
    wide = PrimeFeatures(128, gamma=1e6).fit(X)
    assert wide.method_ == "growable"


ROWS = {
    "normal": np.random.default_rng(1).standard_normal((600, 3)),
    "uniform": np.random.default_rng(2).uniform(-1.0, 1.0, (600, 2)),
    "clusters": np.random.default_rng(3).normal(size=(600, 5))
    + 4.0 * np.eye(5)[np.arange(600) % 5],
    "skew": np.random.default_rng(4).exponential(size=(600, 12)),
    "one-hot": np.eye(40)[np.arange(600) % 40],
    "classification": make_classification(600, 40, random_state=0)[0],
}


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "laplacian"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("factor", [0.1, 1.0, 10.0])
def test_errors_of_other_rows_are_those_that_are_predicted(name, kernel, factor):
    fitted, other = ROWS[name][:300], ROWS[name][300:]
    for dtype in ("float64", "float32"):
        features = PrimeFeatures(256, kernel=kernel, gamma=factor * scale_gamma(fitted, kernel))
        error = features.fit(fitted.astype(dtype)).kernel_error(other.astype(dtype))
        assert error / 3.0 < features.predicted_error_ < 3.0 * error
        assert features.predicted_error_ <= 1.0
        assert primal.from_spec(features.spec).predicted_error_ == features.predicted_error_


def test_rounding_is_part_of_the_prediction():
    x = np.linspace(-1.0, 1.0, 300)[:, None]
    wide, narrow = (PrimeFeatures(256).fit(x.astype(t)) for t in ("float64", "float32"))
    assert 1e-17 < wide.predicted_error_ < 1e-13
    assert 1e-9 < narrow.predicted_error_ < 1e-6
    m = primal.KernelPrime(1, 256, gamma=0.5, method="lattice", width=1.0)
    assert m.kernel_error(x) < 1e-13 < 1e-9 < m.kernel_error(x, dtype="float32")
    assert 1e-17 < m.predicted_error < 1e-13


@pytest.mark.parametrize("form", ["pair", "offset"])
def test_predictions_follow_the_features_when_they_grow(form):
    x = ROWS["skew"]
    small = PrimeFeatures(64, method="growable", form=form).fit(x)
    for n in (64, 256, 1024):
        grown = small.grow(n)
        error = grown.kernel_error(x)
        assert error / 3.0 < grown.predicted_error_ < 3.0 * error
    assert PrimeFeatures(64, kernel="prime").fit(x).grow(128).predicted_error_ is None


@pytest.mark.parametrize("method", ["lattice", "spectral", "auto"])
def test_same_bits_as_the_core(method):
    features = PrimeFeatures(64, method=method, kernel="matern52").fit(X)
    width = column_widths(X)
    m = primal.KernelPrime(
        2, 64, "matern52", features.gamma_, method=method, width=width, form="pair"
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


def test_far_tails_widen_what_quadrature_is_made_for():
    """Beyond it lie copies of the kernel: by deviations alone the error was 2.6 times as large."""
    random = np.random.default_rng(3)
    X = random.standard_normal((400, 1)) * random.laplace(size=(400, 3))
    squares = np.square(X[:, None] - X).sum(axis=-1)
    gamma = 1.0 / float(np.median(squares[np.triu_indices(400, 1)]))
    errors = [
        PrimeFeatures(1024, gamma=gamma, method=method).fit(X).kernel_error(X)
        for method in ("auto", "growable")
    ]
    assert errors[0] <= 1.02 * errors[1]


@pytest.mark.parametrize("law", ["normal", "uniform", "laplace", "student"])
def test_widths_have_the_second_or_the_fourth_moment(law):
    random = np.random.default_rng(4)
    shape = (500, 3)
    draws = (
        random.standard_t(5, size=shape) if law == "student" else getattr(random, law)(size=shape)
    )
    X = 0.01 * draws + [0.0, 1.0, -5.0]
    apart = X - X.mean(axis=0)
    moments = [np.mean(apart**2, axis=0) ** 0.5, (np.mean(apart**4, axis=0) / 3.0) ** 0.25]
    ratios = column_widths(X) / np.maximum(*moments)
    assert (ratios >= 1.0 - 1e-12).all()
    assert (ratios <= 1.25).all()
    np.testing.assert_array_equal(column_widths(sparse.csr_array(X)), column_widths(X))
    counts = np.arange(500) % 4
    repeated = column_widths(np.repeat(X, counts, axis=0))
    np.testing.assert_array_equal(column_widths(X, counts.astype(float)), repeated)
    np.testing.assert_array_equal(column_widths(2.0**300 * X), 2.0**300 * column_widths(X))


def test_kernels_of_parts_take_gamma_from_their_columns():
    kernel = on(0, "rbf", "scale") * on(0, "periodic", 2.0, period=0.5) + on(1, "cauchy", "median")
    features = PrimeFeatures(128, kernel=kernel).fit(X)
    resolved = features.map_.kernel
    assert resolved.terms[0][1][0].gamma == scale_gamma(X[:, :1])
    m = primal.KernelPrime(2, 128, resolved, width=column_widths(X))
    assert features.map_ == m
    np.testing.assert_array_equal(features.transform(X), m.encode(X, dtype="float64"))
    assert features.kernel_error(X) < 3.0 * features.predicted_error_ < 0.1
    rows = sparse.csr_array(X)  # whose variance has other last digits
    np.testing.assert_allclose(features.fit(rows).transform(rows), m.encode(X), atol=1e-6)
    again = primal.from_spec(json.loads(json.dumps(features.spec)))
    np.testing.assert_array_equal(again.transform(X), features.transform(X))
    assert again.fit(X).map_ == clone(features).fit(X).map_ == m
    assert not features.inverse_certificate_.invertible
    with pytest.raises(ParameterError, match="leave out gamma='manifold'"):
        PrimeFeatures(64, kernel=kernel, gamma="manifold").fit(X)


def test_bayesian_regression_on_features_is_the_gaussian_process_of_the_kernel():
    random = np.random.default_rng(5)
    t = np.sort(random.uniform(0.0, 40.0, (300, 1)), axis=0)
    y = np.sin(2.0 * np.pi * t[:, 0] / 7.0) * np.exp(-t[:, 0] / 30.0) + 0.1 * random.normal(
        size=300
    )
    # scikit-learn's length scales: sqrt(2 / gamma) of the sine, 1 / sqrt(2 gamma).
    kernel = on(0, "periodic", 2.0, period=7.0) * on(0, "rbf", 0.002) + 0.5 * on(0, "rbf", 0.01)
    features = PrimeFeatures(512, kernel=kernel).fit(t)
    model = BayesianRidge(fit_intercept=False).fit(features.transform(t), y)
    signal, noise = 1.0 / model.lambda_, 1.0 / model.alpha_
    exact = signal * (
        ExpSineSquared(1.0, 7.0) * RBF(1.0 / np.sqrt(0.004)) + 0.5 * RBF(1.0 / np.sqrt(0.02))
    ) + WhiteKernel(noise)
    process = GaussianProcessRegressor(exact, optimizer=None).fit(t, y)
    new = np.linspace(0.0, 40.0, 91)[:, None]
    mean, std = model.predict(features.transform(new), return_std=True)
    exact_mean, exact_std = process.predict(new, return_std=True)
    np.testing.assert_allclose(mean, exact_mean, atol=1e-4)
    np.testing.assert_allclose(std, exact_std, rtol=1e-3)
