"""Fitted estimators in safetensors files: the same answers, few bytes, and no harm from a file."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from primal._files import read_object, write_object
from primal._specs import make_spec
from primal._sums import ExactSums
from primal.errors import DataError, ParameterError
from primal.maps import on
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["red", "green", "blue"])[Y]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (PrimeRidgeClassifier(64), Y),
        (PrimeRidgeClassifier(65, gamma=[0.1, 0.2, 0.3, 0.4], alpha=0.1), NAMES),
        (PrimeRidgeClassifier(64, kernel="matern32"), Y > 0),
        (PrimeRidgeRegressor(64), Y + 0.5),
        (PrimeRidgeRegressor(64), np.stack([Y, -Y], axis=1)),
        (PrimeCentroidClassifier(64, gamma=np.float64(0.3)), NAMES),
        (PrimeCentroidClassifier(64), Y.astype(float)),
    ],
)
def test_a_loaded_model_answers_with_the_same_bits(model, y, tmp_path):
    model.fit(X, y)
    model.save(tmp_path / "model.safetensors")
    loaded = type(model).load(tmp_path / "model.safetensors")
    name = "decision_function" if hasattr(model, "classes_") else "predict"
    right, found = (getattr(m, name)(X) for m in (model, loaded))
    np.testing.assert_array_equal(found, right)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert loaded.n_features_in_ == 4
    assert loaded.features_.spec == model.features_.spec
    if hasattr(model, "alpha_"):
        assert loaded.alpha_ == model.alpha_
    # And again: nothing was lost on the way.
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model.safetensors").read_bytes()
    pickle.loads(pickle.dumps(loaded)).predict(X)


@pytest.mark.parametrize("kind", [PrimeRidgeClassifier, PrimeCentroidClassifier])
def test_parameters_come_back_as_they_were(kind, tmp_path):
    kernel = on([0, 1], "rbf", "scale") + 0.5 * on(3, "periodic", 0.5, period=2.0)
    model = kind(32, kernel=kernel).fit(X, Y)
    model.save(tmp_path / "m")
    loaded = kind.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert repr(loaded) == repr(model)


@pytest.mark.parametrize("kind", [PrimeRidgeClassifier, PrimeCentroidClassifier])
def test_a_number_of_features_that_waits_for_the_next_fit(kind, tmp_path):
    model = kind(32, gamma=0.3).fit(X, Y)
    expected = model.decision_function(X)
    model.set_params(n_components=64).save(tmp_path / "m")
    loaded = kind.load(tmp_path / "m")
    assert loaded.n_components == 32
    np.testing.assert_array_equal(loaded.decision_function(X), expected)


def test_features_and_names_of_columns(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = PrimeRidgeClassifier(32).fit(frame, Y)
    model.save(tmp_path / "m")
    loaded = PrimeRidgeClassifier.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "labels",
    [
        *(Y.astype(dtype) for dtype in ("i1", "u1", "<i2", ">i4", "u8", "f2", "f4", ">f8")),
        *(Y > 0, NAMES, NAMES.astype("U9"), NAMES.astype(object), pd.Series(NAMES)),
        pd.Series(NAMES, dtype="category"),
        np.array(["", "a\nb", "\u00e9\u4e2d\U0001f600"])[Y],
    ],
)
def test_labels_come_back_with_their_type(labels, tmp_path):
    for kind in (PrimeRidgeClassifier, PrimeCentroidClassifier):
        model = kind(16).fit(X, labels)
        model.save(tmp_path / "m")
        loaded = kind.load(tmp_path / "m")
        assert loaded.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(loaded.classes_, model.classes_)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.predict(X).dtype == model.predict(X).dtype


WEIGHTS = np.linspace(0.5, 1.5, len(X))


@pytest.mark.parametrize(
    ("model", "y", "weights"),
    [
        (PrimeCentroidClassifier(64, gamma=0.3), Y, {}),
        (PrimeRidgeClassifier(64, gamma=0.3), NAMES, {}),
        (PrimeRidgeClassifier(64, gamma=0.3, alpha=0.1), Y, {"sample_weight": WEIGHTS}),
        (PrimeRidgeRegressor(64, gamma=0.3), np.stack([Y, X[:, 0]], axis=1), {}),
    ],
)
def test_a_loaded_model_learns_and_grows_as_the_saved_one_does(model, y, weights, tmp_path):
    part = [slice(None, 90), slice(90, None)]  # the last class comes later
    own = [{name: values[rows] for name, values in weights.items()} for rows in part]
    model.partial_fit(X[part[0]], y[part[0]], **own[0]).save(tmp_path / "m")
    loaded = type(model).load(tmp_path / "m")
    for one in (model, loaded):
        one.partial_fit(X[part[1]], y[part[1]], **own[1])
    answer = "predict" if isinstance(model, PrimeRidgeRegressor) else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, answer)(X), getattr(model, answer)(X))
    if hasattr(model, "grow"):
        grown = [one.grow(80, X, y, **weights) for one in (model, loaded)]
        right, found = (getattr(one, answer)(X) for one in grown)
        np.testing.assert_array_equal(found, right)
    if isinstance(model, PrimeRidgeClassifier):
        loaded.set_params(alpha=10.0)
        assert loaded.alpha_ == 10.0
        np.testing.assert_array_equal(loaded.coef_, model.set_params(alpha=10.0).coef_)


def test_a_loaded_model_is_not_solved_again(tmp_path, monkeypatch):
    """Another machine would round otherwise."""
    model = PrimeRidgeClassifier(64).fit(X, Y)
    expected = model.decision_function(X)
    model.save(tmp_path / "m")
    monkeypatch.setattr("primal.sklearn._ridge._gcv", None)
    loaded = PrimeRidgeClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(X), expected)


def test_targets_whose_squares_are_infinite(tmp_path):
    model = PrimeRidgeRegressor(16, alpha=0.1).fit(X, 1e200 * Y)
    model.save(tmp_path / "m")
    loaded = PrimeRidgeRegressor.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_cannot_be_saved_is_refused(tmp_path):
    path = tmp_path / "m"
    mixed = PrimeRidgeClassifier(16).fit(X, Y)
    mixed.classes_ = np.array([1, None, "a"], dtype=object)
    with pytest.raises(ParameterError, match="labels must be numbers or text"):
        mixed.save(path)
    with pytest.raises(ParameterError, match="cannot be saved as JSON"):
        PrimeRidgeClassifier(16).fit(X, Y).set_params(gamma=object()).save(path)
    with pytest.raises(ValueError, match="not fitted"):
        PrimeRidgeClassifier(16).save(path)
    assert not path.exists()


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "m"
    PrimeRidgeClassifier(16).fit(X, Y).save(path)
    return path


def test_files_of_other_things_are_refused(saved, tmp_path):
    with pytest.raises(DataError, match="must contain a PrimeRidgeRegressor"):
        PrimeRidgeRegressor.load(saved)
    for content in (b"", b"1234567", (1 << 62).to_bytes(8, "little"), pickle.dumps(1) * 9):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(DataError):
            PrimeRidgeClassifier.load(tmp_path / "other")
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(DataError):
            PrimeRidgeClassifier.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda f, a: f.update(extra=1),
        lambda f, a: f["parameters"].update(extra=1),
        lambda f, a: f["parameters"].update(n_components=8),
        lambda f, a: f["features"].update(type="StaticPrime"),
        lambda f, a: f.update(feature_names=["a"]),
        lambda f, a: f["learned"].update(alpha=-1.0),
        lambda f, a: f["learned"].update(more=1),
        lambda f, a: f["learned"].update(classes=["a", "b"]),
        lambda f, a: f["learned"]["classes"].update(texts=["a", "b"]),
        lambda f, a: f["learned"]["classes"].update(texts=["a", "b", "c"]),
        lambda f, a: f["learned"]["classes"].update(texts=[[1], 2, 3], dtype="|O"),
        lambda f, a: f["learned"]["classes"].update(texts=["a", "b", "c"], dtype="<U999999999"),
        lambda f, a: f["learned"]["classes"].update(dtype="<f8"),
        lambda f, a: f["learned"]["classes"].update(dtype="i4,i4"),
        lambda f, a: a.update(sums=a["sums"][1:]),
        lambda f, a: a.update(sums=np.zeros(32, np.uint8)),
        lambda f, a: a.update(sums=a["sums"] * np.uint8(0)),
        lambda f, a: a.update(sums=np.frombuffer(ExactSums(8, 3).to_bytes(), np.uint8)),
        lambda f, a: a.update(sums=np.frombuffer(ExactSums(16, 2).to_bytes(), np.uint8)),
        lambda f, a: a.update(sums=np.frombuffer(ExactSums(16, 3).to_bytes(), np.uint8)),
        lambda f, a: a.update(gram=a["coef"]),
        lambda f, a: a.update(classes=a["classes"][::-1]),
        lambda f, a: a.update(coef=a["coef"][1:]),
        lambda f, a: a.update(coef=a["coef"].astype(np.float32)),
        lambda f, a: a.update(intercept=a["intercept"] * np.nan),
        lambda f, a: a.update(intercept=a["intercept"][:2]),
        lambda f, a: a.update(other=a["coef"]),
        lambda f, a: a.clear(),
    ],
)
def test_crafted_files_are_refused(saved, change):
    fields, arrays = read_object(saved, "PrimeRidgeClassifier")
    change(fields, arrays)
    write_object(saved, make_spec("PrimeRidgeClassifier", **fields), arrays)
    with pytest.raises(DataError, match="holds no PrimeRidgeClassifier"):
        PrimeRidgeClassifier.load(saved)
