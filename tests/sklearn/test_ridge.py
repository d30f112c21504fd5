"""PrimeRidge: closed form, streams, new classes, growth."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primal
from primal.errors import DataError

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.linear_model import Ridge

from primal.sklearn import PrimeRidgeClassifier, PrimeRidgeRegressor
from primal.sklearn._ridge import RoundedSums

X, Y = load_iris(return_X_y=True)
DX, DY = load_diabetes(return_X_y=True)


def assert_same_model(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.alpha_ == other.alpha_


@pytest.mark.parametrize("alpha", [0.01, "gcv"])
def test_class_by_class_equals_all_at_once_to_the_bit(alpha):
    at_once = PrimeRidgeClassifier(50, gamma=0.3, alpha=alpha).fit(X, Y)
    streamed = PrimeRidgeClassifier(50, gamma=0.3, alpha=alpha)
    for label in (2, 0, 1):
        streamed.partial_fit(X[label == Y], Y[label == Y])
        assert streamed.predict(X[label == Y]).tolist().count(label) > 40
    assert streamed.classes_.tolist() == [0, 1, 2]
    assert_same_model(at_once, streamed)
    np.testing.assert_array_equal(at_once.predict_proba(X), streamed.predict_proba(X))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), n_parts=st.integers(1, 12))
def test_any_order_and_any_parts_give_the_same_bits(seed, n_parts):
    order = np.random.default_rng(seed).permutation(len(X))
    streamed = PrimeRidgeClassifier(20, gamma=0.3, alpha=0.1)
    for part in np.array_split(order, n_parts):
        streamed.partial_fit(X[part], Y[part])
    assert_same_model(PrimeRidgeClassifier(20, gamma=0.3, alpha=0.1).fit(X, Y), streamed)


def test_announced_classes_change_nothing():
    streamed = PrimeRidgeClassifier(20, gamma=0.3, alpha=0.1)
    streamed.partial_fit(X[:75], Y[:75], classes=[0, 1, 2]).partial_fit(X[75:], Y[75:])
    assert_same_model(PrimeRidgeClassifier(20, gamma=0.3, alpha=0.1).fit(X, Y), streamed)


@pytest.mark.parametrize("form", ["pair", "offset"])
def test_growth_equals_a_fit_with_more_features_to_the_bit(form):
    settings = {"gamma": 0.3, "alpha": 0.01, "form": form}
    small = PrimeRidgeClassifier(21, **settings).fit(X, Y)
    kept, before = small._sums.moments().gram, small.decision_function(X)
    order = np.random.default_rng(0).permutation(len(X))
    grown = small.grow(64, X[order], Y[order])
    np.testing.assert_array_equal(grown._sums.moments().gram[:21, :21], kept[:21, :21])
    assert_same_model(PrimeRidgeClassifier(64, **settings).fit(X, Y), grown)
    assert grown.n_components == 64
    grown.partial_fit(X[:3], Y[:3])
    assert grown.coef_.shape == (3, 64)
    # The model that was grown is another one, whatever becomes of its successor.
    assert small.n_components == small.features_.n_components == 21
    small._solutions.clear()
    np.testing.assert_array_equal(small.decision_function(X), before)


def test_growth_does_not_recompute_old_sums():
    grown = PrimeRidgeClassifier(16, gamma=0.3, alpha=0.1).fit(X, Y)
    grown._sums._gram[0, 0, 0] += 12345  # a mark that only copying preserves
    mark = grown._sums.moments().gram[0, 0]
    assert grown.grow(32, X, Y)._sums.moments().gram[0, 0] == mark


def test_growth_needs_the_same_rows():
    model = PrimeRidgeClassifier(16, gamma=0.3).fit(X, Y)
    for rows in (slice(0, 149), slice(149, None)):
        with pytest.raises(primal.errors.DataError, match="all 150"):
            model.grow(32, X[rows], Y[rows])
    with pytest.raises(primal.errors.DataError, match="all 150"):
        model.grow(32, X + 0.1, Y)
    with pytest.raises(primal.errors.DataError, match="all 150"):
        model.grow(32, X, Y[::-1])
    with pytest.raises(primal.errors.DataError, match="all 150"):
        model.grow(32, X, Y, sample_weight=np.full(150, 1.0 + 2.0**-40))
    with pytest.raises(primal.errors.DataError, match="not seen"):
        model.grow(32, X, Y + 1)
    assert model.n_components == 16
    assert model.predict(X).shape == (150,)


@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_agrees_with_ridge(alpha):
    ours = PrimeRidgeRegressor(64, alpha=alpha, gamma="median").fit(DX, DY)
    Z = ours.features_.transform(DX)
    peer = Ridge(alpha=alpha).fit(Z, DY)
    # Features are rounded to 2**-18 in the sums.
    np.testing.assert_allclose(ours.predict(DX), peer.predict(Z), rtol=2e-3)
    assert ours.score(DX, DY) == pytest.approx(peer.score(Z, DY), abs=1e-4)


def test_gcv_is_leave_one_out_without_refitting():
    # GCV replaces each leverage by the mean one; on even data both pick the same penalty.
    generator = np.random.default_rng(0)
    x = generator.uniform(-2.0, 2.0, (150, 2))
    noisy = np.sin(3.0 * x[:, 0]) + 0.3 * generator.standard_normal(150)
    model = PrimeRidgeRegressor(128, gamma=1.0).fit(x, noisy)
    Z = model.features_.transform(x)
    centred = Z - Z.mean(axis=0)

    def leave_one_out(alpha):
        gram = centred.T @ centred + alpha * np.eye(128)
        hat = centred @ np.linalg.solve(gram, centred.T) + 1.0 / 150
        return np.mean(np.square((noisy - hat @ noisy) / (1.0 - np.diag(hat))))

    grid = 10.0 ** np.arange(-6.0, 3.0, 0.5)
    best = grid[np.argmin([leave_one_out(alpha) for alpha in grid])]
    assert abs(np.log10(model.alpha_ / best)) <= 0.51
    truth = np.sin(3.0 * x[:, 0])
    assert np.square(model.predict(x) - truth).mean() < 0.02


@pytest.mark.parametrize("scale", [1.0, 1e-250, 3e200])
def test_regression_streams_and_grows_to_the_bit(scale):
    targets = scale * DY
    settings = {"gamma": 0.5, "alpha": 0.1}
    at_once = PrimeRidgeRegressor(64, **settings).fit(DX, targets)
    streamed = PrimeRidgeRegressor(32, **settings)
    for part in np.array_split(np.random.default_rng(0).permutation(len(DX)), 5):
        streamed.partial_fit(DX[part], targets[part])
    grown = streamed.grow(64, DX[::-1], targets[::-1])
    assert streamed.n_components == 32
    assert_same_model(grown, at_once)


def test_several_targets():
    both = np.stack([DY, DY**2], axis=1)
    model = PrimeRidgeRegressor(32, alpha=0.1).fit(DX, both)
    single = PrimeRidgeRegressor(32, alpha=0.1).fit(DX, DY)
    assert model.predict(DX).shape == (442, 2)
    np.testing.assert_allclose(model.predict(DX)[:, 0], single.predict(DX), rtol=1e-9)


def test_probabilities():
    model = PrimeRidgeClassifier(64).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.min() >= 0.0
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(model.decision_function(X), 2.0 * model._values(X) - 1.0)
    binary = PrimeRidgeClassifier(64).fit(X, Y == 1)
    np.testing.assert_array_equal(binary.decision_function(X) > 0, binary.predict(X))


def test_sparse_and_pickle():
    model = PrimeRidgeClassifier(64, gamma=0.3).fit(sparse.csr_array(X), Y)
    assert_same_model(model, PrimeRidgeClassifier(64, gamma=0.3).fit(X, Y))
    again = pickle.loads(pickle.dumps(model))
    assert_same_model(again, model)
    again.partial_fit(X[:5], Y[:5])
    assert again._sums.n_rows == 155
    assert model._sums.n_rows == 150


@pytest.mark.parametrize("alpha", [0.0, -1.0, "auto"])
def test_bad_alpha(alpha):
    with pytest.raises(primal.errors.ParameterError, match="alpha"):
        PrimeRidgeClassifier(8, alpha=alpha).fit(X, Y)


def test_spirals():
    gallery = Path(__file__).parents[2] / "docs" / "gallery"
    if not gallery.exists():
        pytest.skip("the gallery is not part of this installation")
    sys.path.insert(0, str(gallery))
    classification = pytest.importorskip("classification")
    assert classification.spiral_accuracy(128) >= 0.98


def test_digits_learns():
    x, y = load_digits(return_X_y=True)
    model = PrimeRidgeClassifier(256).fit(x[:1200], y[:1200])
    assert model.score(x[1200:], y[1200:]) > 0.93


class TestWeights:
    @pytest.mark.parametrize("Estimator", [PrimeRidgeClassifier, PrimeRidgeRegressor])
    @pytest.mark.parametrize("alpha", ["gcv", 0.1])
    @pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
    def test_counts_are_repeated_rows_bit_for_bit(self, Estimator, alpha, container):
        rng = np.random.default_rng(0)
        x, counts = rng.standard_normal((80, 3)), rng.integers(0, 4, 80)
        y = (x[:, 0] * x[:, 1] > 0).astype(float)
        options = {"gamma": 0.3, "alpha": alpha}
        rows = np.repeat(np.arange(80), counts)
        repeated = Estimator(24, **options).fit(container(x[rows]), y[rows])
        weighted = Estimator(24, **options).fit(container(x), y, sample_weight=counts)
        np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
        assert weighted.alpha_ == repeated.alpha_
        parts = Estimator(24, **options)
        for part in (slice(50, 80), slice(50)):
            parts.partial_fit(container(x[part]), y[part], sample_weight=counts[part])
        np.testing.assert_array_equal(parts.coef_, repeated.coef_)
        grown = weighted.grow(40, container(x[::-1]), y[::-1], sample_weight=counts[::-1])
        fresh = Estimator(40, **options).fit(container(x[rows]), y[rows])
        np.testing.assert_array_equal(grown.coef_, fresh.coef_)

    def test_real_weights_are_those_of_a_weighted_ridge(self):
        rng = np.random.default_rng(1)
        x, weights = rng.standard_normal((200, 3)), rng.uniform(0.1, 3.0, 200)
        y = np.sin(x).sum(axis=1)
        ours = PrimeRidgeRegressor(32, alpha=0.5, gamma=0.2).fit(x, y, sample_weight=weights)
        Z = ours.features_.transform(x)
        theirs = Ridge(alpha=0.5).fit(Z, y, sample_weight=weights)
        # Features are rounded to 2**-18 here.
        np.testing.assert_allclose(ours.predict(x), theirs.predict(Z), atol=1e-4)
        plain = PrimeRidgeRegressor(32, alpha=0.5, gamma=0.2).fit(x, y)
        assert np.abs(ours.predict(x) - plain.predict(x)).max() > 1e-2
        grown = ours.grow(48, x[::-1], y[::-1], sample_weight=weights[::-1])
        fresh = PrimeRidgeRegressor(48, alpha=0.5, gamma=0.2).fit(x, y, sample_weight=weights)
        np.testing.assert_allclose(grown.coef_, fresh.coef_, rtol=1e-6, atol=1e-9)
        with pytest.raises(DataError, match="not the rows"):
            fresh.grow(64, x, y, sample_weight=weights[::-1])

    def test_parts_with_other_weights_end_exactness(self):
        whole = {"sample_weight": np.full(150, 2)}
        model = PrimeRidgeClassifier(16, gamma=0.3, alpha=0.1)
        model.partial_fit(X, Y, **whole)
        assert not isinstance(model._sums, RoundedSums)
        model.partial_fit(X, Y, sample_weight=np.full(150, 0.5))
        assert isinstance(model._sums, RoundedSums)
        weighted = PrimeRidgeClassifier(16, gamma=0.3, alpha=0.1)
        weighted.fit(X, Y, sample_weight=np.full(150, 2.5))
        np.testing.assert_allclose(model.coef_, weighted.coef_, rtol=1e-9)

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            (np.ones(3), r"each of the 4 rows, got shape \(3,\)"),
            (np.ones((4, 1)), r"got shape \(4, 1\)"),
            ([1.0, -1.0, 1.0, 1.0], "from -1.0 to 1.0"),
            ([1.0, np.nan, 1.0, 1.0], "finite"),
            (["a", "b", "c", "d"], "must be numbers"),
            (0.0, "zero in every row"),
        ],
    )
    def test_wrong_weights(self, weights, said):
        x, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
        with pytest.raises(DataError, match=said):
            PrimeRidgeClassifier(4).fit(x, y, sample_weight=weights)

    def test_weights_that_add_up_to_one_leave_nothing_to_validate_with(self):
        x, y = np.random.default_rng(0).standard_normal((50, 2)), np.arange(50.0)
        model = PrimeRidgeRegressor(4).fit(x, y, sample_weight=np.full(50, 0.02))
        with pytest.raises(DataError, match="add up to the number of rows"):
            model.predict(x)
