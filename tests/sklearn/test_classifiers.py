"""Classifiers on prime features and texts: contract, definitions, order, growth, accuracy."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from primal.errors import DataError, ParameterError
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeRidgeClassifier,
)
from primal_studies.hdc._datasets import load

DIGITS = load("digits")
X, Y = DIGITS.X[:400], DIGITS.y[:400]
GAMMA = 4e-4


@parametrize_with_checks([PrimeCentroidClassifier(40)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_centroid_is_the_sum_of_features_and_cosine_decides():
    model = PrimeCentroidClassifier(65, gamma=GAMMA).fit(X, Y)
    Z = model.features_.transform(X)
    sums = np.stack([Z[label == Y].sum(axis=0) for label in range(10)])
    cosines = Z @ sums.T
    cosines /= np.linalg.norm(Z, axis=1)[:, None] * np.linalg.norm(sums, axis=1)
    # Features are rounded to 2**-18 before they are summed.
    np.testing.assert_allclose(model.decision_function(X), cosines, atol=2e-5)
    np.testing.assert_array_equal(model.predict(X), cosines.argmax(axis=1))
    np.testing.assert_allclose(np.linalg.norm(model.prototypes_, axis=1), 1.0)


def test_centroids_do_not_depend_on_the_order_of_rows_or_classes():
    at_once = PrimeCentroidClassifier(64, gamma=GAMMA).fit(X, Y)
    in_parts = PrimeCentroidClassifier(64, gamma=GAMMA)
    for label in (7, 3, 8, 0, 1, 9, 2, 6, 5, 4):
        in_parts.partial_fit(X[label == Y][::-1], Y[label == Y])
    np.testing.assert_array_equal(in_parts.class_sums_, at_once.class_sums_)
    np.testing.assert_array_equal(in_parts.classes_, at_once.classes_)


def test_a_grown_centroid_is_the_larger_one_and_keeps_its_sums():
    small = PrimeCentroidClassifier(64, gamma=GAMMA, form="pair").fit(X, Y)
    old = small.class_sums_.copy()
    grown = small.grow(256, X[::-1], Y[::-1])
    assert (small.n_components, grown.n_components) == (64, 256)
    np.testing.assert_array_equal(small.class_sums_, old)
    fresh = PrimeCentroidClassifier(256, gamma=GAMMA, form="pair").fit(X, Y)
    np.testing.assert_array_equal(grown.class_sums_[:, :64], old)
    np.testing.assert_array_equal(grown.class_sums_, fresh.class_sums_)
    np.testing.assert_array_equal(grown.predict(X), fresh.predict(X))


@pytest.mark.parametrize(
    ("rows", "labels", "said"),
    [
        (X[1:], Y[1:], "fitted on"),
        (X, np.roll(Y, 1), "fitted on"),
        (X, Y + 1, "has not seen"),
        (X, Y - 1, "has not seen"),
    ],
)
def test_growth_refuses_other_rows_and_leaves_the_model_alone(rows, labels, said):
    model = PrimeCentroidClassifier(64, gamma=GAMMA, form="pair").fit(X, Y)
    with pytest.raises(DataError, match=said):
        model.grow(128, rows, labels)
    assert model.n_components == 64
    assert model.predict(X).shape == (400,)


def test_wrong_sizes_are_refused():
    with pytest.raises(ParameterError):
        PrimeCentroidClassifier(0).fit(X, Y)


def test_ridge_reaches_the_bar_on_digits():
    scores = []
    for seed in range(3):
        X_train, y_train, X_test, y_test = DIGITS.split(seed)
        scores.append(PrimeRidgeClassifier(512).fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) >= 0.978
