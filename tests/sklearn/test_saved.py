"""Fitted estimators in safetensors files: the same answers, few bytes, and no harm from a file."""

from __future__ import annotations

import contextlib
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from primal._files import read_tensors, write_tensors
from primal.errors import DataError, ParameterError
from primal.kernels import on
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeFeatures,
    PrimeOnlineClassifier,
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
        (PrimeOnlineClassifier(64, epochs=3), Y.astype(float)),
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


@pytest.mark.parametrize(
    "kind", [PrimeFeatures, PrimeRidgeClassifier, PrimeCentroidClassifier, PrimeOnlineClassifier]
)
def test_parameters_come_back_as_they_were(kind, tmp_path):
    kernel = on([0, 1], "rbf", "scale") + 0.5 * on(3, "periodic", 0.5, period=2.0)
    model = kind(32, kernel=kernel).fit(X, Y)
    model.save(tmp_path / "m")
    loaded = kind.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert repr(loaded) == repr(model)


@pytest.mark.parametrize("kind", [PrimeRidgeClassifier, PrimeOnlineClassifier])
def test_a_number_of_features_that_waits_for_the_next_fit(kind, tmp_path):
    model = kind(32, gamma=0.3).fit(X, Y)
    expected = model.decision_function(X)
    model.set_params(n_components=64).save(tmp_path / "m")
    loaded = kind.load(tmp_path / "m")
    assert loaded.n_components == 32
    np.testing.assert_array_equal(loaded.decision_function(X), expected)


def test_features_and_names_of_columns(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for model in (PrimeFeatures(32).fit(frame), PrimeRidgeClassifier(32).fit(frame, Y)):
        model.save(tmp_path / "m")
        loaded = type(model).load(tmp_path / "m")
        assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        answer = "transform" if isinstance(model, PrimeFeatures) else "predict"
        np.testing.assert_array_equal(getattr(loaded, answer)(frame), getattr(model, answer)(frame))


def test_sums_continue_where_the_file_has_them(tmp_path):
    for kind in (PrimeCentroidClassifier, PrimeOnlineClassifier):
        model = kind(64, gamma=0.3).partial_fit(X[::2], Y[::2])
        model.save(tmp_path / "m")
        loaded = kind.load(tmp_path / "m").partial_fit(X[1::2], Y[1::2])
        model.partial_fit(X[1::2], Y[1::2])
        np.testing.assert_array_equal(loaded.prototypes_, model.prototypes_)
    ridge = PrimeRidgeClassifier(64).fit(X, Y)
    ridge.save(tmp_path / "m")
    loaded = PrimeRidgeClassifier.load(tmp_path / "m")
    for more in (lambda: loaded.partial_fit(X, Y), lambda: loaded.grow(80, X, Y)):
        with pytest.raises(DataError, match="no sums: fit a new one"):
            more()
    assert loaded.fit(X, Y).score(X, Y) == ridge.score(X, Y)


def test_the_file_is_small_and_a_safetensors_file(tmp_path):
    model = PrimeRidgeClassifier(256).fit(X, Y)
    path = tmp_path / "m"
    model.save(path)
    assert path.stat().st_size < len(pickle.dumps(model)) / 20
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = safetensors.load_file(path)
    np.testing.assert_array_equal(arrays["coef"].T, model.coef_)
    # The other way round: their writer, our reader.
    safetensors.save_file(arrays, tmp_path / "theirs", {"primal": read_tensors(path)[0]})
    loaded = PrimeRidgeClassifier.load(tmp_path / "theirs")
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
    with pytest.raises(DataError, match="must hold a PrimeRidgeRegressor"):
        PrimeRidgeRegressor.load(saved)
    for content in (b"", b"1234567", (1 << 62).to_bytes(8, "little"), pickle.dumps(1) * 9):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(DataError):
            PrimeRidgeClassifier.load(tmp_path / "other")
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(DataError):
            PrimeRidgeClassifier.load(path)


def test_damage_ends_in_an_error_or_in_a_model(saved):
    content = saved.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, length, 3):
            damaged[place] = rng.integers(0, 256)
        cut = len(damaged) if rng.random() < 0.7 else int(rng.integers(0, len(damaged)))
        saved.write_bytes(bytes(damaged[:cut]))
        with contextlib.suppress(DataError):
            assert PrimeRidgeClassifier.load(saved).coef_.shape == (3, 16)


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
        lambda f, a: f["learned"].update(classes=[[1], 2]),
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
    text, arrays = read_tensors(saved)
    fields = json.loads(text)
    change(fields, arrays)
    write_tensors(saved, json.dumps(fields), arrays)
    with pytest.raises(DataError, match="holds no PrimeRidgeClassifier"):
        PrimeRidgeClassifier.load(saved)


@pytest.mark.parametrize(
    "record",
    [
        {"dtype": "F64", "shape": [2], "data_offsets": [8, 24]},
        {"dtype": "F64", "shape": [1 << 39, 1 << 39], "data_offsets": [0, 1 << 81]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]},
        {"dtype": "O", "shape": [2], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": ["F64"], "shape": [2], "data_offsets": [0, 16]},
        7,
    ],
)
def test_wrong_offsets_shapes_and_types_are_refused(record, tmp_path):
    header = json.dumps({"__metadata__": {"primal": "{}"}, "a": record}).encode()
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    with pytest.raises(DataError):
        read_tensors(tmp_path / "m")
