"""The estimators keep scikit-learn's contract: its own checks, and what users rely on."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from scipy import sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import RidgeClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.fixes import parse_version  # noqa: E402

from primal.exact import wave_columns  # noqa: E402
from primal.sklearn import (  # noqa: E402
    PrimeFeatures,
    PrimeGaussianProcessRegressor,
    PrimeHasher,
    PrimePositions,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)

X = np.random.default_rng(0).standard_normal((60, 3))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def broken_checks(estimator):
    """Checks of scikit-learn that fail for any estimator of this kind."""
    old = parse_version(sklearn.__version__) < parse_version("1.7.1")
    if old and isinstance(estimator, PrimePositions):
        return {"check_positive_only_tag_during_fit": "subtracts a fraction from integers in place"}
    return {}


@parametrize_with_checks(
    [
        PrimeFeatures(32),
        PrimeFeatures(9, form="offset", gamma="median"),
        PrimeFeatures(8, kernel="matern32", layout="block"),
        PrimePositions(8),
        PrimeHasher(8),
        PrimeRidgeClassifier(40),
        PrimeRidgeRegressor(40, alpha=0.01),
        PrimeGaussianProcessRegressor(n_components=40),
    ],
    expected_failed_checks=broken_checks,
)
@pytest.mark.filterwarnings("ignore:means are about:primal.NumericalWarning")  # of 40 features
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("dtype", "error"), [("float32", 2e-7), ("float64", 1e-13)])
@pytest.mark.parametrize("form", ["pair", "offset"])
def test_dtype_is_kept_and_so_is_its_precision(form, dtype, error):
    x = X.astype("float32")
    features = PrimeFeatures(64, gamma=0.5, form=form).fit(x)
    Z = features.transform(x.astype(dtype))
    assert Z.dtype == dtype
    m = features.map_
    turns = x.astype(np.float64) @ m.basis.frequencies.T
    if form == "offset":
        cosines = np.cos(2 * np.pi * (turns + m.finish.offsets * 2.0**-32))
        np.testing.assert_allclose(Z / m.amplitude, cosines, rtol=0, atol=error)
    else:
        for wave, found in zip((np.cos, np.sin), wave_columns(Z, m.layout), strict=True):
            expected = wave(2 * np.pi * turns)
            np.testing.assert_allclose(found / m.amplitude, expected, rtol=0, atol=error)


def test_integers_become_float64():
    x = np.arange(6).reshape(3, 2)
    assert PrimeFeatures(4).fit_transform(x).dtype == np.float64


@pytest.mark.parametrize("form", ["pair", "offset"])
def test_sparse_equals_dense_bit_for_bit(form):
    x = np.where(np.abs(X) > 1.0, X, 0.0)
    dense = PrimeFeatures(17, form=form).fit(x)
    thin = PrimeFeatures(17, form=form).fit(sparse.csr_array(x))
    assert thin.gamma_ == pytest.approx(dense.gamma_)
    np.testing.assert_array_equal(thin.data_min_, dense.data_min_)
    for container in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        np.testing.assert_array_equal(dense.transform(container(x)), dense.transform(x))


def test_sparse_input_is_not_made_dense_as_a_whole(monkeypatch):
    largest = []
    original = sparse.csr_array.toarray

    def toarray(self, *args, **kwargs):
        largest.append(self.shape[0])
        return original(self, *args, **kwargs)

    random = np.random.default_rng(0)
    x = sparse.csr_array(random.random((5_000, 8)) * (random.random((5_000, 8)) < 0.05))
    features = PrimeFeatures(1024).fit(x)
    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    assert features.transform(x).shape == (5_000, 1024)
    assert max(largest) < 5_000
    assert sum(largest) == 5_000


def test_pickle_is_small_and_exact():
    x = np.random.default_rng(0).standard_normal((20, 64))
    assert len(pickle.dumps(PrimeFeatures())) < 300
    for kernel in ("rbf", "matern12", "laplacian"):
        features = PrimeFeatures(4096, kernel=kernel).fit(x)
        stored = pickle.dumps(features)
        assert len(stored) < 3000
        np.testing.assert_array_equal(pickle.loads(stored).transform(x), features.transform(x))


def test_clone_forgets_the_fit():
    fitted = PrimeFeatures(7, gamma=[1.0, 2.0, 3.0], kernel="cauchy").fit(X)
    copy = clone(fitted)
    assert copy.get_params()["gamma"] == [1.0, 2.0, 3.0]
    with pytest.raises(sklearn.exceptions.NotFittedError):
        copy.transform(X)
    assert not hasattr(copy, "safe_gamma_")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (PrimeFeatures(5), "primefeatures0"),
        (PrimePositions(4), "a_0"),
        (PrimeHasher(4), "a_0"),
    ],
)
def test_set_output(library, estimator, name):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"a": [1, 2, 3], "b": [4, 5, 7]})
    out = clone(estimator).set_output(transform=library).fit(frame).transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert next(iter(out.columns)) == name
    plain = clone(estimator).fit(frame).transform(frame)
    np.testing.assert_array_equal(out.to_numpy(), plain)


def test_feature_names():
    features = PrimeFeatures(3).fit(X)
    assert features.get_feature_names_out().tolist() == [f"primefeatures{i}" for i in range(3)]
    positions = PrimePositions(2).fit([[1, 2]])
    assert positions.get_feature_names_out().tolist() == ["x0_0", "x0_1", "x1_0", "x1_1"]
    assert positions.get_feature_names_out(["u", "v"]).tolist() == ["u_0", "u_1", "v_0", "v_1"]
    with pytest.raises(ValueError, match="length equal"):
        positions.get_feature_names_out(["u"])


def test_grid_search_in_a_pipeline():
    pipe = make_pipeline(PrimeFeatures(form="pair"), RidgeClassifier(alpha=0.1))
    grid = {
        "primefeatures__gamma": ["scale", "median", 5.0],
        "primefeatures__n_components": [2, 64],
    }
    search = GridSearchCV(pipe, grid, cv=3).fit(X, Y)
    assert search.best_params_["primefeatures__n_components"] == 64
    assert search.best_score_ > 0.8


def test_partial_fit_keeps_gamma_and_widens_the_range():
    features = PrimeFeatures(8).partial_fit(X[:20]).partial_fit(X[20:])
    assert features.gamma_ == PrimeFeatures(8).fit(X[:20]).gamma_
    np.testing.assert_array_equal(features.data_max_, X.max(axis=0))
    assert features.n_samples_seen_ == 60


def test_batches_and_order_do_not_matter():
    features = PrimeFeatures(33).fit(X)
    Z = features.transform(X)
    np.testing.assert_array_equal(features.transform(X[::-1]), Z[::-1])
    rows = np.concatenate([features.transform(row[None]) for row in X])
    np.testing.assert_array_equal(rows, Z)


@pytest.mark.slow
def test_array_api_checks_of_scikit_learn():
    pytest.importorskip("sklearn", minversion="1.7")  # before it had no such check with weights
    code = """
from sklearn.utils.estimator_checks import check_array_api_input
from primal.sklearn import (
    PrimeFeatures, PrimeHasher, PrimePositions, PrimeRidgeClassifier, PrimeRidgeRegressor,
)
for estimator in (
    PrimeFeatures(32),
    PrimeFeatures(32, gamma=1e-4),
    PrimeFeatures(9, form="offset"),
    PrimePositions(8),
    PrimeHasher(8),
    PrimeRidgeClassifier(40),
    PrimeRidgeRegressor(40),
):
    check_array_api_input(
        type(estimator).__name__, estimator, array_namespace="numpy", check_sample_weight=True,
        expect_only_array_outputs=False,
    )
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
