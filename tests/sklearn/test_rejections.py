"""What estimators cannot do is said in time, in our words, and leaves them as they were."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels

from primal.errors import DataError, NotInvertibleError, ParameterError, PrimalError
from primal.maps import on
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeFeatures,
    PrimeGaussianProcessRegressor,
    PrimeHasher,
    PrimePositions,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)

X = np.random.default_rng(5).normal(size=(40, 3))
y = X @ [1.0, 2.0, 3.0]
labels = (X[:, 0] > 0.0).astype(int)
KERNEL = 1.0 * kernels.RBF(3.0) + kernels.WhiteKernel(0.01)
REGRESSORS = [
    PrimeRidgeRegressor(16),
    PrimeGaussianProcessRegressor(KERNEL, n_components=256, optimizer=None),
]


@pytest.mark.parametrize(
    ("estimator", "name", "said"),
    [
        (PrimeFeatures(16), "method", "method must be one of"),
        (PrimeFeatures(16), "kernel", "kernel must be one of"),
        (PrimeFeatures(16), "form", "form must be one of"),
        (PrimeRidgeRegressor(16), "alpha", "alpha must be"),
        (REGRESSORS[1], "optimizer", "optimizer must be"),
        (REGRESSORS[1], "kernel", "kernel must be"),
    ],
)
def test_an_array_is_no_name(estimator, name, said):
    wrong = clone(estimator).set_params(**{name: np.array(["auto", "rbf"])})
    with pytest.raises(ParameterError, match=said):
        wrong.fit(X, y)


@pytest.mark.parametrize("dtype", ["int8", "bool", "int64"])
def test_features_to_invert_are_floats(dtype):
    positions = PrimePositions(8).fit(np.arange(9)[:, None])
    for estimator in (PrimeFeatures(8, gamma="manifold").fit(X), positions):
        with pytest.raises(DataError, match=f"X must contain cosines .* got {dtype}"):
            estimator.inverse_transform(np.ones((2, 8), dtype))


class TestInverse:
    def test_a_column_without_a_part_is_not_certified(self):
        kernel = on(0, "rbf", 1e-4) + on(1, "rbf", 1e-4)
        features = PrimeFeatures(64, kernel=kernel).fit(X)
        certificate = features.inverse_certificate_
        assert certificate.peak_turns < 0.5
        assert not certificate.invertible
        assert "column 2" in certificate.reason
        assert not hasattr(features, "inverse_transform")
        seen = PrimeFeatures(64, kernel=kernel).fit(X[:, :2])
        assert seen.inverse_certificate_.invertible
        np.testing.assert_allclose(seen.inverse_transform(seen.transform(X[:, :2])), X[:, :2])

    def test_an_open_direction_is_not_certified(self):
        x = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 16))
        assert not PrimeFeatures(32, gamma=1e-3).fit(x).inverse_certificate_.invertible
        with pytest.raises(NotInvertibleError, match="use D = 128"):
            PrimeFeatures(32, gamma="manifold").fit(x)

    def test_condition_number_of_nothing(self):
        with pytest.raises(NotFittedError):
            PrimeFeatures().condition_number_


class TestRange:
    def test_the_row_is_named(self):
        features, wide = PrimeFeatures(2048).fit(X), np.zeros((5000, 3))
        wide[4321, 1] = 1e200
        with pytest.raises(DataError, match=r"^row 4321 of x"):
            features.transform(wide)
        with pytest.raises(DataError, match=r"^rows 4096 to 4999 of X: row 225 "):
            features.transform(sparse.csr_array(wide))

    @pytest.mark.parametrize("kind", [PrimeRidgeClassifier, PrimeCentroidClassifier])
    def test_a_rejected_part_changes_nothing(self, kind):
        model = kind(16).partial_fit(X, labels)
        before = model.decision_function(X)
        for rows, names in ((1e200 * X, labels + 5), (2.0 * X, np.array(["a", "b"])[labels])):
            with pytest.raises(DataError):
                model.partial_fit(rows, names)
            assert model.classes_.tolist() == [0, 1]
            assert model.features_.n_samples_seen_ == len(X)
            assert (model.features_.data_max_ == X.max(axis=0)).all()
            np.testing.assert_array_equal(model.decision_function(X), before)

    def test_a_rejected_part_of_a_process_changes_nothing(self):
        model = REGRESSORS[1].fit(X, y)
        before = model.log_marginal_likelihood_value_
        for rows, targets in ((1e200 * X, y), (X, 1e200 * y)):
            with pytest.raises(DataError):
                model.partial_fit(np.concatenate([X, rows]), np.concatenate([y, targets]))
            assert model.n_samples_seen_ == len(X)
            assert model.log_marginal_likelihood_value_ == before


class TestTargets:
    @pytest.mark.parametrize("model", REGRESSORS)
    def test_names_are_no_targets(self, model):
        with pytest.raises(DataError, match="y must hold numbers"):
            model.fit(X, np.array(["a", "b"])[labels])

    @pytest.mark.parametrize("model", REGRESSORS)
    def test_targets_whose_squares_overflow(self, model):
        with pytest.raises(DataError, match="scale y"):
            model.fit(X, 1e200 * y).predict(X)

    def test_a_number_for_alpha_needs_no_squares(self):
        plain, large = (PrimeRidgeRegressor(16, alpha=1.0).fit(X, s * y) for s in (1.0, 2.0**600))
        np.testing.assert_array_equal(large.predict(X), 2.0**600 * plain.predict(X))


class TestRidge:
    @pytest.mark.parametrize("alpha", [1e-20, 1e-300])
    def test_a_penalty_lost_in_rounding(self, alpha):
        with pytest.raises(ParameterError, match="lost in the rounding"):
            PrimeRidgeRegressor(64, alpha=alpha).fit(X[:5], y[:5]).predict(X)

    @pytest.mark.parametrize("alpha", ["aic", -1.0, [1.0]])
    def test_a_penalty_changed_after_the_fit_is_checked(self, alpha):
        model = PrimeRidgeRegressor(16).fit(X, y).set_params(alpha=alpha)
        with pytest.raises(ParameterError, match="alpha must be"):
            model.predict(X)

    def test_a_loaded_model_takes_another_penalty(self, tmp_path):
        fitted = PrimeRidgeRegressor(16).fit(X, y)
        fitted.save(tmp_path / "model")
        loaded = PrimeRidgeRegressor.load(tmp_path / "model")
        assert type(loaded.alpha_) is float
        found, right = (model.set_params(alpha=2.0).predict(X) for model in (loaded, fitted))
        np.testing.assert_array_equal(found, right)

    def test_weights_beyond_float64(self):
        with pytest.raises(DataError, match="scale it down"):
            PrimeRidgeRegressor(16).fit(X, y, np.full(len(X), 1e300))


class TestGaussianProcess:
    @pytest.mark.parametrize(
        "kernel",
        [
            # Noise times noise, equal to the noise that is added.
            kernels.RBF(1.0) * kernels.WhiteKernel(1.0) + kernels.WhiteKernel(1.0),
            3.0 * kernels.Matern(nu=1.5) * kernels.WhiteKernel(2.0) + kernels.WhiteKernel(2.0),
            0.0 * kernels.RBF(1.0),
            kernels.ConstantKernel(np.inf) * kernels.RBF(1.0),
        ],
    )
    def test_kernels_that_features_do_not_have(self, kernel):
        with pytest.raises(ParameterError, match="kernel must"):
            PrimeGaussianProcessRegressor(kernel, optimizer=None, n_components=32).fit(X, y)

    @pytest.mark.parametrize("theta", ["abc", ["a", "b", "c"], [800.0] * 3, [-800.0] * 3])
    def test_hyperparameters_that_are_none(self, theta):
        with pytest.raises(PrimalError):
            REGRESSORS[1].fit(X, y).log_marginal_likelihood(theta)

    def test_parameters_changed_after_the_fit_wait_for_the_next(self):
        model = PrimeGaussianProcessRegressor(KERNEL, n_components=256, optimizer=None).fit(X, y)
        before, theta = model.predict(X), model.kernel_.theta
        evidence = model.log_marginal_likelihood(theta)
        model.set_params(normalize_y=True, alpha=7.0).partial_fit(X[:1], y[:1])
        np.testing.assert_allclose(model.predict(X), before, atol=1e-2)
        assert model.log_marginal_likelihood(theta) == evidence


class TestCodes:
    @pytest.mark.parametrize("wrong", [[[None, 1]], [[10**30, 1]]])
    def test_positions_are_integers(self, wrong):
        with pytest.raises(DataError, match=r"whole numbers|X contains None at row 0, column 0"):
            PrimePositions(8).fit(wrong)

    def test_positions_of_half_precision(self):
        found = PrimePositions(8).fit_transform(np.array([[3.0]], dtype=np.float16))
        np.testing.assert_array_equal(found, PrimePositions(8).fit_transform([[3]]))

    def test_a_set_is_no_category(self):
        with pytest.raises(DataError, match="strings or numbers"):
            PrimeHasher(8).fit(np.array([[{1}]], dtype=object))
