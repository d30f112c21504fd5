"""A fit that fails leaves an estimator that is not fitted, and that can be fitted."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels

from primal.errors import DataError, PrimalError
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeFeatures,
    PrimeGaussianProcessRegressor,
    PrimeHasher,
    PrimePositions,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)

X = np.random.default_rng(5).integers(-9, 9, size=(30, 3))
y = (X[:, 0] > 0).astype(int)
BROKEN = [
    (PrimeFeatures(16), {"gamma": "wrong"}),
    (PrimeFeatures(16), {"method": "wrong"}),
    (PrimePositions(16), {"spacing": "wrong"}),
    (PrimeHasher(16), {"n_components": 0}),
    (PrimeRidgeRegressor(16), {"alpha": -1.0}),
    (PrimeRidgeClassifier(16), {"alpha": -1.0}),
    (PrimeCentroidClassifier(16), {"gamma": 1e170}),  # phases beyond their range
    (PrimeGaussianProcessRegressor(n_components=16), {"optimizer": "wrong"}),
    (PrimeGaussianProcessRegressor(n_components=16), {"n_components": 0}),
    (
        PrimeGaussianProcessRegressor(n_components=16, optimizer=None),
        {"kernel": kernels.RBF(1e-50) + kernels.WhiteKernel(1.0)},
    ),
]


def test_offsets_are_counted_from_a_mean_that_has_phases():
    features = PrimeFeatures(4, form="offset", gamma=1.0)
    with pytest.raises(DataError, match=r"^the mean of X: center holds a value of size 1e\+12"):
        features.fit(X + 1e12)
    with pytest.raises(NotFittedError):
        features.transform(X)


@pytest.mark.parametrize(
    "estimator",
    [PrimeRidgeClassifier(16, gamma=0.3), PrimeCentroidClassifier(16, gamma=0.3)],
)
def test_a_part_has_the_features_of_the_fit(estimator):
    """Whatever was set since waits for the next fit."""
    parts, expected = (
        type(estimator)(**estimator.get_params()).partial_fit(X[:20], y[:20]) for _ in range(2)
    )
    expected.partial_fit(X[20:], y[20:] + 1)
    parts.set_params(n_components=32).partial_fit(X[20:], y[20:] + 1)
    np.testing.assert_array_equal(parts.decision_function(X), expected.decision_function(X))


def test_a_part_that_is_rejected_changes_nothing():
    classifier = PrimeCentroidClassifier(16, gamma=0.3).fit(X, y)
    regressor = PrimeRidgeRegressor(16, gamma=0.3).fit(X, y)
    for model, *wrong in ((classifier, y + 5, ["a"]), (regressor, np.stack([y, y], axis=1))):
        with pytest.raises(PrimalError):
            model.partial_fit(10 * X, *wrong)
        assert model.features_.data_max_.max() == X.max()
        assert model.features_.n_samples_seen_ == 30
    assert classifier.classes_.tolist() == [0, 1]


def test_an_interrupted_fit_is_no_fit(monkeypatch):
    model = PrimeRidgeRegressor(16, gamma=0.3)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("primal._sums.ExactSums.add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def answer(estimator):
    return (estimator.predict if hasattr(estimator, "predict") else estimator.transform)(X)


@pytest.mark.filterwarnings("ignore:means are about")
@pytest.mark.filterwarnings("ignore:L-BFGS-B stopped")
@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("estimator", "wrong"), BROKEN)
def test_it_is_not_fitted_and_can_be(estimator, wrong, method, refit):
    right = {name: getattr(estimator, name) for name in wrong}
    estimator = type(estimator)(**estimator.get_params())
    expected = answer(type(estimator)(**estimator.get_params()).fit(X, y))
    if refit and method == "fit":
        estimator.fit(X[::-1] + 1, y)
    with pytest.raises(PrimalError):
        getattr(estimator.set_params(**wrong), method)(X, y)
    estimator.set_params(**right)
    if not refit:
        with pytest.raises(NotFittedError):
            answer(estimator)
    again = getattr(estimator, method)(X, y)
    np.testing.assert_array_equal(answer(again), expected)
