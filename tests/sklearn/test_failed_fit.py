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
    PrimeOnlineClassifier,
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
    (PrimeOnlineClassifier(16), {"batch_size": 0}),
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
    if not isinstance(estimator, PrimeOnlineClassifier):  # of which a part is one pass
        np.testing.assert_array_equal(answer(again), expected)
