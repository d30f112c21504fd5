"""From fitted estimators to headers: scalers, read-outs, labels, specs and the command."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from edge_targets import HOSTS

import primal
from primal import hdc
from primal.cli import cli
from primal.edge import SensorMap, SensorModel, as_sensor, export_c, to_js, to_onnx
from primal.errors import ParameterError, SpecError

pytest.importorskip("sklearn")
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression, PoissonRegressor, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)
from sklearn.svm import SVC

from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeFeatures,
    PrimeGaussianProcessRegressor,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, random_state=0)


MODELS = {
    "ridge": PrimeRidgeClassifier(128),
    "offsets": PrimeRidgeClassifier(101, form="offset"),
    "centroids": PrimeCentroidClassifier(128),
    "standard": make_pipeline(StandardScaler(), PrimeRidgeClassifier(128)),
    "two scalers": make_pipeline(MaxAbsScaler(), MinMaxScaler((-1, 2)), PrimeRidgeClassifier(128)),
    "linear": make_pipeline(StandardScaler(), PrimeFeatures(128), RidgeClassifier()),
}


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_of_the_fitted_model(name, digits):
    x_train, x_test, y_train, _ = digits
    model = MODELS[name].fit(x_train, y_train)
    sensor = as_sensor(model, inputs="uint8")
    assert (sensor.predict(x_test.astype(int)) == model.predict(x_test)).mean() >= 0.998


@pytest.mark.parametrize("kind", ["lsb16", "lsb32", "hadamard32", "hadamard64"])
def test_every_kind_keeps_the_labels_of_digits_in_half_a_page_of_memory(kind, digits, tmp_path):
    x_train, x_test, y_train, y_test = digits
    fitted = PrimeRidgeClassifier(128).fit(x_train, y_train)
    model = as_sensor(fitted, kind=kind, inputs="uint8")
    guesses = model.predict(x_test.astype(int))
    assert (guesses == fitted.predict(x_test)).mean() >= 0.998
    assert (guesses == y_test).mean() >= 0.965
    report = export_c(model, tmp_path / "digits.h")
    assert report.table_bytes < (5500 if kind.startswith("hadamard") else 20_000)
    assert report.ram_bytes <= 64 * 8 + 40


def test_features_of_few_columns_have_factors_and_go_into_headers(tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:]
    for kind in ("lsb16", "lsb32"):
        model = make_pipeline(StandardScaler(), PrimeFeatures(64), LogisticRegression()).fit(X, y)
        assert model[1].method_ == "lattice"
        sensor = as_sensor(model, scale=0.1, kind=kind, inputs="uint8")
        n = np.rint(10 * X).astype(int)
        np.testing.assert_array_equal(sensor.predict(n), model.predict(X))
        assert export_c(sensor, tmp_path / "iris.h").table_bytes < 1200
    features = as_sensor(model[:2], scale=0.1)
    assert np.abs(features.encode(n) - model[:2].transform(X)).max() < 1e-5


def test_units_of_a_converter_are_folded_in(digits):
    x_train, x_test, y_train, _ = digits
    model = make_pipeline(StandardScaler(), PrimeRidgeClassifier(128)).fit(x_train, y_train)
    n = (x_test * 100 + 1000).astype(int)
    sensor = as_sensor(model, scale=0.01, zero=1000)
    assert (sensor.predict(n) == model.predict(x_test)).mean() >= 0.998


def test_two_classes_and_one_difference(digits):
    x_train, x_test, y_train, _ = digits
    odd = make_pipeline(PrimeFeatures(128), LogisticRegression()).fit(x_train, y_train % 2)
    sensor = as_sensor(odd, inputs="uint8")
    assert (sensor.predict(x_test.astype(int)) == odd.predict(x_test)).mean() >= 0.998


def test_estimates_of_a_regressor(digits):
    x_train, x_test, y_train, _ = digits
    model = PrimeRidgeRegressor(128).fit(x_train, np.stack([y_train, -y_train], axis=1))
    sensor = as_sensor(model, inputs="uint8")
    values = sensor.scores(x_test.astype(int)) * sensor.score_unit
    assert np.abs(values - model.predict(x_test)).max() < 0.05


def test_features_alone(digits):
    features = PrimeFeatures(64).fit(digits[0])
    sensor = as_sensor(features, inputs="uint8")
    assert isinstance(sensor, SensorMap)
    n = digits[1].astype(int)
    assert np.abs(sensor.encode(n) - features.transform(digits[1])).max() < 1e-6


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (make_pipeline(Normalizer(), PrimeRidgeClassifier(16)), "Normalizer"),
        (make_pipeline(MinMaxScaler(clip=True), PrimeRidgeClassifier(16)), "clip=True"),
        (LogisticRegression(), "LogisticRegression"),
        (PrimeGaussianProcessRegressor(n_components=16, optimizer=None), "not a linear read-out"),
    ],
)
@pytest.mark.filterwarnings("ignore:means are about:primal.NumericalWarning")
def test_what_is_not_linear_in_the_columns_is_refused(model, says, digits):
    model.fit(digits[0][:50], digits[2][:50])
    with pytest.raises(ParameterError, match=says):
        as_sensor(model)


@pytest.mark.parametrize(
    "readout",
    [
        SVC(kernel="linear"),  # coefficients of pairs of classes, three for three
        PoissonRegressor(),  # of a logarithm
        PLSRegression(2),  # of centered features
        PrimeRidgeClassifier(32),  # of features of these features
        PrimeRidgeRegressor(16),
    ],
    ids=lambda readout: type(readout).__name__,
)
def test_coefficients_of_something_else_than_features_are_refused(readout):
    model = make_pipeline(PrimeFeatures(32), readout).fit(*load_iris(return_X_y=True))
    with pytest.raises(ParameterError, match="does not answer with its coefficients"):
        as_sensor(model)


def test_read_outs_without_an_intercept(digits):
    x_train, x_test, y_train, _ = digits
    features = PrimeFeatures(64)
    model = make_pipeline(features, RidgeClassifier(fit_intercept=False)).fit(x_train, y_train)
    sensor = as_sensor(model, inputs="uint8")
    assert (sensor.predict(x_test.astype(int)) == model.predict(x_test)).mean() >= 0.998


HOSTILE = {
    "end of a comment": "*/ int broken; /*",
    "end after replacing": "**//",
    "spliced end": "*\\\n/",
    "trigraph": "*??/\n/",
    "quotes": "a\"b'c`",
    "lines": "a\r\nb\x0b\x0c\x85\u2028",
    "control": "\x00\x1b[31m\x7f",
    "keyword": "int",
    "empty": "",
    "long": "x" * 100_000,
    "unicode": "\u00e9\u4e2d\U0001f600",
    "direction": "\u202eabc\u2066",
    "format": "%s%n{0}\\",
    "markup": "</script><!--",
    "comma": "a, b",
    "no text": "\ud800",
}


@pytest.mark.parametrize("label", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("compiler", HOSTS, ids=lambda target: target.name)
def test_labels_are_text_in_a_comment(label, compiler, tmp_path):
    compiler.require()
    sensor = SensorMap(primal.DynamicPrime(2, 8), 0.01)
    model = SensorModel(sensor, np.eye(2, 8), labels=[label, "b"])
    export_c(model, tmp_path / "m.h")
    program = (
        '#define PRIMAL_SELFTEST\n#include "m.h"\nint main(void) { return primal_selftest(); }\n'
    )
    options = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")
    assert compiler.run(compiler.build(tmp_path, program, *options)) == b""
    (labels,) = re.findall(r"/\* labels: (.*) \*/", (tmp_path / "m.h").read_text(encoding="utf-8"))
    if label in ("a, b", "", HOSTILE["unicode"], HOSTILE["keyword"]):
        assert labels == f"{label!r}, 'b'"


@pytest.mark.parametrize("label", HOSTILE.values(), ids=HOSTILE)
def test_labels_come_back_from_specs_and_files(label, tmp_path):
    x = np.linspace(-1, 1, 40).reshape(20, 2)
    y = np.array([label, "b"], dtype=object)[np.arange(20) % 2]
    fitted = PrimeRidgeClassifier(8).fit(x, y)
    fitted.save(tmp_path / "m")
    assert PrimeRidgeClassifier.load(tmp_path / "m").classes_.tolist() == fitted.classes_.tolist()
    model = as_sensor(fitted, scale=0.01)
    again = primal.from_spec(json.loads(json.dumps(model.spec)))
    assert again.labels.tolist() == model.labels.tolist() == fitted.classes_.tolist()


@pytest.mark.parametrize("columns", [["*/", 'a"\n'], ["\u202e", "x" * 10_000]])
def test_names_of_columns_are_in_no_export(columns, tmp_path):
    pandas = pytest.importorskip("pandas")
    x = np.linspace(-1, 1, 40).reshape(20, 2)
    frame = pandas.DataFrame(x, columns=columns)
    plain, named = (PrimeRidgeClassifier(8).fit(X, x[:, 0] > 0) for X in (x, frame))
    for fitted, path in ((plain, "a.h"), (named, "b.h")):
        export_c(fitted, tmp_path / path)
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()
    assert to_js(plain.features_.map_) == to_js(named.features_.map_)
    pytest.importorskip("onnx")
    assert to_onnx(plain) == to_onnx(named)


def test_a_scale_of_zero_is_refused_before_it_divides(digits):
    model = make_pipeline(StandardScaler(), PrimeRidgeClassifier(16)).fit(digits[0], digits[2])
    with pytest.raises(ParameterError, match=r"scale must be positive, got 0\.0"):
        as_sensor(model, scale=0)


def test_what_is_not_fitted_is_refused():
    with pytest.raises(ParameterError, match="fitted"):
        as_sensor(PrimeRidgeClassifier(16))


def test_specs_of_models_and_the_command(digits, tmp_path, monkeypatch):
    HOSTS[0].require()
    monkeypatch.chdir(tmp_path)
    fitted = PrimeRidgeClassifier(64).fit(digits[0], digits[2])
    model = as_sensor(fitted, inputs="uint8")
    (tmp_path / "digits.json").write_text(json.dumps(model.spec))
    again = primal.from_spec(json.loads((tmp_path / "digits.json").read_text()))
    assert isinstance(again, SensorModel)
    n = digits[1].astype(int)
    np.testing.assert_array_equal(again.scores(n), model.scores(n))
    done = CliRunner().invoke(cli, ["export", "c", "digits.json", "a.h", "--name", "digits"])
    assert done.exit_code == 0, done.output
    assert "B of tables" in done.output
    assert "B of code (cc -Os)" in done.output
    export_c(model, "b.h", name="digits")
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()


@pytest.mark.parametrize("kind", [PrimeRidgeClassifier, PrimeCentroidClassifier])
def test_the_command_takes_files_of_estimators(kind, digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted = kind(32, gamma=0.001).fit(digits[0], digits[2])
    fitted.save("digits.safetensors")
    words = ["export", "c", "digits.safetensors", "a.h", "--inputs", "uint8"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    export_c(fitted, "b.h", inputs="uint8")
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("memory", "contains a KeyValueMemory: pass a file of a fitted PrimeRidge"),
        ("damaged", "is damaged, its digest has changed"),
        (None, "m cannot be read: No such file or directory"),
        (b"", "is not JSON"),
        (b"{}", "does not know specs of type None"),
        (b"[1]", "must hold a JSON object, got list"),
        (bytes(100), "is not JSON"),
        (json.dumps(primal.Basis("hadamard", 2, 4).spec).encode(), "a Basis cannot be exported"),
    ],
)
def test_the_command_says_which_files_it_takes(content, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory = hdc.KeyValueMemory(hdc.Space(8))
    if isinstance(content, bytes):
        (tmp_path / "m").write_bytes(content)
    elif content:
        memory.save("m")
    if content == "damaged":
        (tmp_path / "m").write_bytes((tmp_path / "m").read_bytes()[:-1] + b"1")
    found = CliRunner().invoke(cli, ["export", "c", "m", "a.h"])
    assert isinstance(found.exception, primal.PrimalError)
    assert message in str(found.exception)
    assert not (tmp_path / "a.h").exists()


def test_the_command_needs_a_folder_for_the_header(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.json").write_text(json.dumps(primal.StaticPrime(8).spec))
    found = CliRunner().invoke(cli, ["export", "c", "m.json", "new/a.h"])
    assert "new/a.h cannot be written (No such file or directory)" in str(found.exception)
    assert not (tmp_path / "new").exists()


def test_the_command_folds_units_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    m = primal.KernelPrime(3, 16)
    (tmp_path / "m.json").write_text(json.dumps(m.spec))
    words = ["export", "c", "m.json", "a.h", "--scale", "0.5,1,2", "--zero", "7", "--kind", "lsb16"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    export_c(m, "b.h", scale=[0.5, 1, 2], zero=7, kind="lsb16")
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()
    wrong = CliRunner().invoke(cli, [*words[:4], "--scale", "x"])
    assert wrong.exit_code == 2
    assert "one number" in wrong.output


def test_a_spec_whose_scores_could_overflow_is_refused(digits):
    fitted = PrimeRidgeClassifier(64).fit(digits[0], digits[2])
    spec = as_sensor(fitted).spec
    for value in (32767, 40000):
        wrong = {**spec, "weights": np.full((10, 64), value).tolist()}
        with pytest.raises(SpecError, match="32 bits"):
            primal.from_spec(wrong)
