"""ONNX models in onnxruntime, optimised and not: the bits, scores and labels of Python."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from primal import DynamicPrime, KernelPrime, StaticPrime
from primal._selftest import known_answers
from primal.edge import to_onnx
from primal.errors import ConditioningWarning, ParameterError

ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

LEVELS = {
    "off": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "on": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def run(model, x, level="on", **options):
    """Return the outputs of an exported model by name."""
    return run_proto(to_onnx(model, **options), x, level)


def run_proto(proto, x, level="on"):
    settings = ort.SessionOptions()
    settings.graph_optimization_level = LEVELS[level]
    session = ort.InferenceSession(proto.SerializeToString(), settings, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {session.get_inputs()[0].name: x}), strict=True))


def same_bits(found, right):
    np.testing.assert_array_equal(found.view(np.uint32), right.view(np.uint32))


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        return DynamicPrime(*arguments, **options)


@pytest.mark.parametrize("level", LEVELS)
def test_known_answers(level):
    def static(D, positions):
        return run(StaticPrime(D), positions.view(np.int64), level)["z"]

    def dynamic(basis, x):
        arguments = (basis.d, 2 * basis.n_frequencies, basis.sigma)
        m = quiet(*arguments, basis=basis.name, layout="interleaved")
        return run(m, x.astype(np.float32), level)["z"]

    assert [name for name, right in known_answers(static, dynamic).items() if not right] == []


def awkward_rows(m):
    """Rows up to the largest phase: small among large, powers of two, zeros, denormal numbers."""
    rng = np.random.default_rng(3)
    largest = 2.0**31.9 / m.basis.table.largest_l1_norm
    x = rng.uniform(-1.0, 1.0, (60, m.d)) * 10.0 ** rng.uniform(-30.0, 0.0, (60, m.d))
    x[:20] = rng.choice([-1.0, 1.0], (20, m.d)) / 2.0 ** rng.integers(0, 70, (20, m.d))
    x[20:45] *= 10.0 ** rng.uniform(-12.0, -7.0, (25, 1))
    x *= largest
    x[0], x[1, 0] = 0.0, 5e-324
    x[2:20] = np.exp2(np.floor(np.log2(np.abs(x[2:20]))))
    return x


@pytest.mark.parametrize("basis", ["paper", "table", "hadamard"])
def test_bits_for_all_sizes_of_x(basis):
    for d, D, sigma in [(1, 2, 0.37), (7, 30, 1e-90), (7, 30, 1e90), (65, 262, 0.37)]:
        m = quiet(d, D, sigma, basis=basis)
        x = awkward_rows(m)
        same_bits(run(m, x, inputs="float64")["z"], m.encode(x))


@pytest.mark.parametrize("d", [600, 2000])
def test_many_inputs_have_shorter_digits(d):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((5, d)) * 300.0).astype(np.float32)
    for basis in ("table", "hadamard"):
        m = DynamicPrime(d, 20, basis=basis)
        same_bits(run(m, x)["z"], m.encode(x))


def test_positions_and_kernels():
    t = np.array([0, 1, -1, 2**62, -(2**63), 2**63 - 1])
    for s in (StaticPrime(64, sigma=0.37, layout="interleaved"), StaticPrime(8, spacing="log")):
        same_bits(run(s, t)["z"], s.encode(t))
    x = np.random.default_rng(1).standard_normal((50, 3)).astype(np.float32)
    for m in (
        KernelPrime(3, 33, gamma=[0.1, 1.0, 7.0]),
        KernelPrime(3, 33, layout="block"),
        KernelPrime(3, 64, form="offset", center=[0.1, 0.2, 0.3]),
        KernelPrime(3, 64, "matern32", basis="hadamard"),
        KernelPrime(3, 256, gamma=0.5, method="lattice"),
        KernelPrime(3, 256, gamma=0.5, method="lattice", layout="block"),
    ):
        same_bits(run(m, x)["z"], m.encode(x))


def test_rows_without_phases_are_nan_and_others_are_not():
    m = DynamicPrime(2, 8, basis="kronecker")
    x = np.array([[1, 2], [np.nan, 0], [3, np.inf], [1e30, 0], [3, 4]], dtype=np.float32)
    z = run(m, x)["z"]
    assert np.isnan(z).all(axis=1).tolist() == [False, True, True, True, False]
    same_bits(z[[0, 4]], m.encode(x[[0, 4]]))


@pytest.fixture(scope="module")
def digits():
    """Scikit-learn's digits in float32; NumPy is enough."""
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = datasets.load_digits(return_X_y=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIMAL_ENGINE", "numpy")
        yield x.astype(np.float32), y


@pytest.fixture(scope="module")
def fitted(digits):
    return list(made_models(*digits))


def made_models(x, y):
    """Every kind of read-out, alone and behind scalers, with labels of several types."""
    from sklearn import linear_model, preprocessing
    from sklearn.pipeline import make_pipeline

    from primal import sklearn as ours

    names = np.array([f"number {label}" for label in y])
    yield ours.PrimeRidgeClassifier(128).fit(x, y)
    yield make_pipeline(preprocessing.StandardScaler(), ours.PrimeRidgeClassifier(128)).fit(x, y)
    yield make_pipeline(preprocessing.MinMaxScaler(), ours.PrimeCentroidClassifier(64)).fit(
        x, names
    )
    yield ours.PrimeRidgeClassifier(64).fit(x, y > 4)
    features = ours.PrimeFeatures(64)
    scaler = preprocessing.MaxAbsScaler()
    yield make_pipeline(scaler, features, linear_model.RidgeClassifier()).fit(x, y % 2)


@pytest.mark.parametrize("level", LEVELS)
def test_labels_of_the_digits_are_scikit_learns(digits, fitted, level):
    x, _ = digits
    for model in fitted:
        found = run(model, x, level)
        np.testing.assert_array_equal(found["label"].astype(str), model.predict(x).astype(str))


LABELS = {
    "texts": ["", 'a"b\n\x00', "*/ \u202e", "\u4e2d\U0001f600", "x" * 100_000],
    "int8": np.arange(-2, 3, dtype=np.int8),
    "float16": np.arange(5, dtype=np.float16),
    "uint64": np.arange(5, dtype=np.uint64) + 2**63,
    "other byte order": np.arange(5, dtype=">i4"),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_type_come_back(labels, digits):
    from primal.sklearn import PrimeRidgeClassifier

    x, y = digits
    model = PrimeRidgeClassifier(32).fit(x, np.asarray(labels)[y % 5])
    found = run(model, x)["label"]
    np.testing.assert_array_equal(found, model.predict(x))


def test_a_label_without_text_is_refused(digits):
    from primal.sklearn import PrimeRidgeClassifier

    model = PrimeRidgeClassifier(32).fit(digits[0], np.array(["a", "\ud800"])[digits[1] % 2])
    with pytest.raises(ParameterError, match="a label has no UTF-8 text, which ONNX needs"):
        to_onnx(model)


@pytest.mark.parametrize("level", LEVELS)
def test_features_of_few_columns_have_factors(digits, level):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from primal.sklearn import PrimeFeatures

    x, y = digits[0][:, [20, 42]].astype(np.float64), digits[1] % 3
    model = make_pipeline(StandardScaler(), PrimeFeatures(64), LogisticRegression()).fit(x, y)
    assert model[1].method_ == "lattice"
    found = run(model, x, level, inputs="float64")
    np.testing.assert_array_equal(found["label"], model.predict(x))


def test_scores_are_within_the_bound(digits):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from primal.sklearn import PrimeFeatures, PrimeRidgeRegressor

    x, y = digits
    model = PrimeRidgeRegressor(128).fit(x, np.stack([y, np.sin(y)], axis=1))
    # Features have the same bits; sums of D float64 products differ in order.
    bound = 128 * 2.0**-52 * (np.abs(model.coef_).sum(axis=1) + np.abs(model.intercept_))
    assert (np.abs(run(model, x)["scores"] - model.predict(x)) <= bound).all()
    features = make_pipeline(StandardScaler(), PrimeFeatures(64)).fit(x)
    scaled, m = features[0].transform(x.astype(np.float64)), features[1].map_
    same_bits(run(features, x)["z"], m.encode(scaled))


def test_what_cannot_be_exported_is_refused(digits):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer

    from primal.sklearn import PrimeFeatures

    x, _ = digits
    with pytest.raises(ParameterError, match="layer_norm"):
        to_onnx(DynamicPrime(2, 4, layer_norm=True))
    for step in (Normalizer(), MinMaxScaler(clip=True)):
        with pytest.raises(ParameterError, match="use StandardScaler"):
            to_onnx(make_pipeline(step, PrimeFeatures(64)).fit(x))
    with pytest.raises(ParameterError, match="not fitted"):
        to_onnx(make_pipeline(MinMaxScaler(), PrimeFeatures(64).fit(x)))
    with pytest.raises(ParameterError, match="cannot be exported"):
        to_onnx("m")
    with pytest.raises(ParameterError, match="inputs"):
        to_onnx(StaticPrime(4), inputs="float16")
