"""Learners with a kernel made of parts; scikit-learn's own kernels and models are the oracles."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Kernel,
    WhiteKernel,
)
from sklearn.linear_model import Ridge

from primal.errors import ParameterError, SpecError
from primal.maps import on
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeGaussianProcessRegressor,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform([0.0, -1.0, -1.0], [20.0, 1.0, 1.0], size=(160, 3))
NEW = RANDOM.uniform([0.0, -1.0, -1.0], [20.0, 1.0, 1.0], size=(40, 3))
Y = np.sin(2.0 * np.pi * X[:, 0] / 3.0) + X[:, 1] * X[:, 2] + 0.1 * RANDOM.normal(size=160)
LABELS = np.digitize(Y, [-0.5, 0.5])
# Length scales 1 and 0.7.
KERNEL = on(0, "periodic", 2.0, period=3.0) + 0.5 * on([1, 2], "rbf", 0.5 / 0.49)


class OfColumns(Kernel):
    """The same kernel by scikit-learn's own ones, which look at all columns."""

    periodic, smooth = ExpSineSquared(1.0, 3.0), RBF(0.7)

    def __init__(self):
        pass

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        K = self.periodic(X[:, :1], Y[:, :1]) + 0.5 * self.smooth(X[:, 1:], Y[:, 1:])
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X):
        return np.full(len(X), 1.5)

    def is_stationary(self):
        return True


def test_a_process_with_known_amplitude_and_noise_is_that_of_scikit_learn():
    ours = PrimeGaussianProcessRegressor(KERNEL, optimizer=None, alpha=0.01).fit(X, Y)
    theirs = GaussianProcessRegressor(OfColumns(), optimizer=None, alpha=0.01).fit(X, Y)
    assert ours.map_.kernel_error(X) < 1e-9
    assert ours.posterior_error_ < 1e-6
    for option in ("return_std", "return_cov"):
        found, expected = (m.predict(NEW, **{option: True}) for m in (ours, theirs))
        for values, others in zip(found, expected, strict=True):
            np.testing.assert_allclose(values, others, rtol=0, atol=1e-6)
    value = ours.log_marginal_likelihood_value_
    assert value == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-6)
    assert value == pytest.approx(ours.log_marginal_likelihood(np.empty(0)), rel=1e-9)


def test_amplitude_and_noise_are_chosen_by_evidence_and_parts_stay():
    ours = PrimeGaussianProcessRegressor(KERNEL, n_components=256).fit(X, Y)
    kernel = ConstantKernel() * OfColumns() + WhiteKernel()
    theirs = GaussianProcessRegressor(kernel).fit(X, Y)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, rtol=0, atol=1e-3)
    value, gradient = ours.log_marginal_likelihood(ours.kernel_.theta, eval_gradient=True)
    expected = theirs.log_marginal_likelihood(ours.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(expected[0], abs=1e-3)
    np.testing.assert_allclose(gradient, expected[1], rtol=0, atol=1e-2)
    assert ours.map_.kernel == KERNEL
    for values, others in zip(
        ours.predict(NEW, return_std=True), theirs.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_allclose(values, others, rtol=0, atol=1e-3)
    # What was found is a kernel of scikit-learn, for both.
    again = PrimeGaussianProcessRegressor(ours.kernel_, n_components=256, optimizer=None).fit(X, Y)
    np.testing.assert_array_equal(again.predict(NEW), ours.predict(NEW))
    exact = GaussianProcessRegressor(ours.kernel_, optimizer=None).fit(X, Y)
    np.testing.assert_allclose(exact.predict(NEW), ours.predict(NEW), rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.kernel_(X, NEW), exact.kernel_.k1(X, NEW), rtol=0, atol=0)


def test_parts_of_data_pickles_and_samples_of_a_process():
    options = {"kernel": KERNEL, "n_components": 128, "optimizer": None, "alpha": 0.01}
    rows = np.concatenate([X, X])  # the first part is as wide as the whole: the same features
    whole = PrimeGaussianProcessRegressor(**options).fit(rows, np.tile(Y, 2))
    parts = PrimeGaussianProcessRegressor(**options).partial_fit(X, Y).partial_fit(X, Y)
    assert parts.map_ == whole.map_
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=0, atol=1e-9)
    again = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(again.predict(NEW), parts.predict(NEW))
    mean, std = whole.predict(NEW, return_std=True)
    samples = whole.sample_y(NEW, 4000, random_state=0)
    np.testing.assert_allclose(samples.mean(axis=1), mean, rtol=0, atol=5 * std.max() / 4000**0.5)
    np.testing.assert_allclose(samples.std(axis=1), std, rtol=5 / 8000**0.5)
    np.testing.assert_allclose(whole.sample_y(NEW[3:4], 2, 0)[0], samples[3, :2], rtol=1e-9)


def test_gamma_from_columns_is_kept_in_the_fitted_kernel():
    model = PrimeGaussianProcessRegressor(on([1, 2], "rbf", "scale"), n_components=128).fit(X, Y)
    (_, (part,)) = model.map_.kernel.terms[0]
    assert part.gamma == pytest.approx(1.0 / (2.0 * X[:, 1:].var()))
    assert model.kernel is not model.kernel_


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (on(3), "column 3"),
        (on(0) + WhiteKernel(0.1), "pass it alone"),
        (WhiteKernel(0.1) + 2.0 * on(0), "pass it alone"),
        (ConstantKernel(2.0) * on(0), "pass it alone"),
        (RBF(1.0) + RBF(2.0), "made of parts by primal.maps.on"),
    ],
    ids=range(5),
)
def test_kernels_that_do_not_fit_are_rejected(kernel, message):
    with pytest.raises(ParameterError, match=message):
        PrimeGaussianProcessRegressor(kernel, n_components=16).fit(X, Y)


def test_ridge_is_scikit_learns_on_the_same_features():
    ours = PrimeRidgeRegressor(256, kernel=KERNEL, alpha=0.1).fit(X, Y)
    Z, Z_new = (ours.features_.transform(rows) for rows in (X, NEW))
    theirs = Ridge(0.1).fit(Z, Y)
    # Features are rounded to 2**-18 of the largest.
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(Z_new), rtol=0, atol=2e-5)
    parts = PrimeRidgeRegressor(256, kernel=KERNEL, alpha=0.1).partial_fit(X, Y).partial_fit(X, Y)
    whole = PrimeRidgeRegressor(256, kernel=KERNEL, alpha=0.2).fit(X, Y)
    parts.alpha = 0.4  # two of each row, with twice the penalty
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", [PrimeRidgeClassifier, PrimeCentroidClassifier])
def test_classifiers_learn_with_parts_and_are_saved(model, tmp_path):
    made = model(256, kernel=KERNEL).fit(X, LABELS)
    assert made.features_.method_ == "composed"
    assert made.score(NEW, np.digitize(np.sin(2.0 * np.pi * NEW[:, 0] / 3.0), [-0.5, 0.5])) > 0.6
    made.save(tmp_path / "model")
    loaded = model.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(NEW), made.predict(NEW))
    again = model(**loaded.get_params()).fit(X, LABELS)
    np.testing.assert_array_equal(again.decision_function(NEW), made.decision_function(NEW))


def test_what_parts_cannot_do_says_what_to_do():
    made = PrimeRidgeClassifier(64, kernel=KERNEL).fit(X, LABELS)
    with pytest.raises(ParameterError, match=r"cannot grow.*make a new map with a larger D"):
        made.grow(128, X, LABELS)
    with pytest.raises(ParameterError, match="every part of a kernel has its own gamma"):
        PrimeRidgeClassifier(64, kernel=KERNEL, gamma=0.5).fit(X, LABELS)
    with pytest.raises(ParameterError, match="needs an even D"):
        PrimeRidgeClassifier(63, kernel=KERNEL).fit(X, LABELS)
    with pytest.raises(SpecError, match="type"):
        PrimeRidgeClassifier(64, kernel={"type": "unknown"}).fit(X, LABELS)
