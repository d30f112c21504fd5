"""PrimeRidgeClassifier compared with RidgeClassifier on the same features."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_multilabel_classification
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import RidgeClassifier

from primal.edge import as_sensor
from primal.errors import DataError, ParameterError
from primal.sklearn import PrimeRidgeClassifier, PrimeRidgeRegressor

X, Y = load_iris(return_X_y=True)
LABELED, LABELS = make_multilabel_classification(120, 4, n_classes=3, random_state=0)
SETS = {
    "three classes": (X, Y),
    "two classes": load_breast_cancer(return_X_y=True),
    "texts": (X, np.array(["a", "b", "c"])[Y]),
    "several labels": (LABELED, LABELS),
    "sparse labels": (LABELED, sparse.csr_array(LABELS)),
    "two labels": (LABELED, LABELS[:, :2]),
}
WEIGHTS = {
    "none": None,
    "balanced": "balanced",
    "dict": {0: 3.0, 1: 0.25, 2: 1.0},
}


def assert_as_ridge_classifier(name, sample_weight=None, class_weight=None):
    x, y = SETS[name]
    ours = PrimeRidgeClassifier(48, alpha=0.1, class_weight=class_weight)
    ours.fit(x, y, sample_weight)
    Z = ours.features_.transform(x)
    # Sums are of features rounded to 2**-18 of their amplitude.
    rounded = ours._whole_features(x) * (ours._unit * 2.0**-18)
    peer = RidgeClassifier(alpha=0.1, class_weight=class_weight)
    decision = ours.decision_function(x)
    expected = peer.fit(rounded, y, sample_weight).decision_function(Z)
    np.testing.assert_allclose(decision, expected, rtol=0, atol=1e-7)
    answers = peer.predict(Z)
    answers = answers.toarray() if sparse.issparse(answers) else answers
    np.testing.assert_array_equal(ours.predict(x), answers)
    assert ours.predict(x).dtype == answers.dtype
    np.testing.assert_array_equal(ours.classes_, peer.classes_)
    # Without that rounding they agree to three digits.
    plain = peer.fit(Z, y, sample_weight).decision_function(Z)
    np.testing.assert_allclose(decision, plain, rtol=0, atol=5e-3)
    rows = Z @ ours.coef_.T + ours.intercept_
    np.testing.assert_allclose(rows[:, 1] if decision.ndim == 1 else rows, decision, atol=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_decisions_are_those_of_ridge_classifier(name):
    assert_as_ridge_classifier(name)


@pytest.mark.parametrize("name", ["three classes", "several labels"])
def test_rows_have_weights(name):
    n = len(SETS[name][0])
    assert_as_ridge_classifier(name, sample_weight=np.random.default_rng(0).uniform(0.1, 3.0, n))


@pytest.mark.parametrize("class_weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("rows", [slice(None), slice(30, 130)])
def test_classes_have_weights_that_multiply_those_of_rows(class_weight, rows):
    x, y, weights = X[rows], Y[rows], np.random.default_rng(1).uniform(0.1, 3.0, 150)[rows]
    SETS["part"] = x, y
    assert_as_ridge_classifier("part", None, class_weight)
    assert_as_ridge_classifier("part", weights, class_weight)


def test_labels_have_weights():
    assert_as_ridge_classifier("several labels", None, "balanced")


def test_whole_class_weights_are_repeated_rows():
    settings = {"gamma": 0.3, "alpha": 0.1}
    twice = PrimeRidgeClassifier(32, **settings, class_weight={0: 2, 1: 1, 2: 1}).fit(X, Y)
    rows = np.repeat(np.arange(150), np.where(Y == 0, 2, 1))
    again = PrimeRidgeClassifier(32, **settings).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(twice.coef_, again.coef_)
    streamed = PrimeRidgeClassifier(32, **settings, class_weight={0: 2, 1: 1, 2: 1})
    for label in (1, 0, 2):
        streamed.partial_fit(X[label == Y], Y[label == Y])
    np.testing.assert_array_equal(streamed.coef_, again.coef_)
    grown = twice.grow(64, X, Y)
    np.testing.assert_array_equal(
        grown.coef_, clone(twice).set_params(n_components=64).fit(X, Y).coef_
    )


def test_the_penalty_does_not_grow_bolder_with_the_weights_of_classes():
    penalties = [
        PrimeRidgeClassifier(64, class_weight=dict.fromkeys(range(3), scale)).fit(X, Y).alpha_
        for scale in (1, 1000)
    ]
    # The sums are 1000 times as large, the number of rows is the same.
    assert penalties[1] == pytest.approx(1000.0 * penalties[0], rel=1e-9)


def test_labels_come_in_parts_and_grow():
    settings = {"gamma": 0.3, "alpha": 0.01}
    whole = PrimeRidgeClassifier(32, **settings).fit(LABELED, LABELS)
    parts = PrimeRidgeClassifier(32, **settings).partial_fit(LABELED[:50], LABELS[:50])
    parts.partial_fit(LABELED[50:], LABELS[50:].astype(bool))
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    larger = PrimeRidgeClassifier(64, **settings).fit(LABELED, LABELS)
    np.testing.assert_array_equal(whole.grow(64, LABELED, LABELS).coef_, larger.coef_)
    chances = whole.predict_proba(LABELED)
    assert ((chances > 0.0) & (chances < 1.0)).all()
    np.testing.assert_array_equal(chances > 0.5, whole.predict(LABELED))
    assert whole.score(LABELED, LABELS) > 0.4


def test_a_column_is_one_label_of_each_row():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        column = PrimeRidgeClassifier(16, gamma=0.3).fit(X, Y[:, None])
    np.testing.assert_array_equal(column.coef_, PrimeRidgeClassifier(16, gamma=0.3).fit(X, Y).coef_)


@pytest.mark.parametrize("class_weight", [{0: 2.0, 1: 1.0, 2: 0.5}, "balanced", None])
def test_class_weights_are_saved(class_weight, tmp_path):
    model = PrimeRidgeClassifier(16, gamma=0.3, class_weight=class_weight).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = PrimeRidgeClassifier.load(tmp_path / "model")
    assert loaded.class_weight == class_weight
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_labels_are_saved(tmp_path):
    model = PrimeRidgeClassifier(16, gamma=0.3).fit(LABELED, LABELS[:, :2])
    model.save(tmp_path / "model")
    loaded = PrimeRidgeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(LABELED), model.predict(LABELED))


@pytest.mark.parametrize(
    ("settings", "y", "kind", "said"),
    [
        ({"class_weight": "heavy"}, Y, ParameterError, "^class_weight.* 'balanced', got 'heavy'"),
        ({"class_weight": {0: 1.0, 7: 2.0}}, Y, DataError, "^class_weight: .* not in class_weight"),
        ({"class_weight": {0: -1.0}}, Y, DataError, "not negative"),
        ({"class_weight": np.ones(3)}, Y, ParameterError, "^class_weight, if it is no dict"),
        ({"class_weight": {0: 1.0}}, LABELS, DataError, "^class_weight: "),
        ({}, np.stack([Y, Y], axis=1), DataError, "y contains several classes in several columns"),
        ({}, 2 * (np.eye(150, 3) > 0), DataError, "several labels for each row must be 0 or 1"),
    ],
)
def test_what_cannot_be_fitted_is_named(settings, y, kind, said):
    with pytest.raises(kind, match=said):
        PrimeRidgeClassifier(16, **settings).fit(X[: len(y)], y)


def test_parts_have_to_be_alike():
    with pytest.raises(ParameterError, match="class_weight='balanced' needs all rows at once"):
        PrimeRidgeClassifier(16, class_weight="balanced").partial_fit(X, Y)
    model = PrimeRidgeClassifier(16).fit(LABELED, LABELS)
    for y in (LABELS[:, :2], LABELS[:, 0]):
        with pytest.raises(DataError, match="y must have the 3 columns"):
            model.partial_fit(LABELED, y)
    with pytest.raises(DataError, match="y must have one label for each row"):
        PrimeRidgeClassifier(16).fit(LABELED, LABELS[:, 0]).partial_fit(LABELED, LABELS)
    with pytest.raises(DataError, match="classes"):
        model.partial_fit(LABELED, LABELS, classes=[0, 1])


def test_several_labels_are_not_exported_as_one():
    several = PrimeRidgeClassifier(16, gamma=0.3).fit(LABELED, LABELS)
    with pytest.raises(ParameterError, match="several labels for each row"):
        as_sensor(several)


@pytest.mark.parametrize("kind", [PrimeRidgeClassifier, PrimeRidgeRegressor])
def test_errors_name_the_public_class(kind):
    for call in (lambda: kind(weights=1), lambda: kind().fit(X), lambda: kind().fit(X, Y, x=1)):
        with pytest.raises(TypeError, match=rf"^{kind.__name__}\."):
            call()
