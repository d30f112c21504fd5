"""`primal.arrow.RidgeSums`: the same bytes and the model of `fit`, from any parts in any order."""

import json
import pickle
import random

import numpy as np
import pytest

import primal
from primal.errors import DataError, ParameterError

pytest.importorskip("pyarrow")
pytest.importorskip("sklearn")

import pyarrow as pa

from primal.arrow import Encoder, RidgeSums
from primal.sklearn import PrimeRidgeClassifier, PrimeRidgeRegressor

N, D_IN, D_OUT = 600, 3, 48
X = np.random.default_rng(0).standard_normal((N, D_IN))
Y = np.sin(X[:, 0]) * 10.0 ** np.random.default_rng(1).integers(-5, 5, N)
LABELS = np.where(X[:, 0] > 0.5, "b", np.where(X[:, 1] > 0, "a", "c"))
TABLE = pa.table(
    {"x": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D_IN), "y": Y, "label": LABELS}
).append_column("z", pa.array(-X[:, 2]))
M = primal.KernelPrime(D_IN, D_OUT, gamma=0.3)
E = Encoder(M, "x")
REAL, BOTH = RidgeSums(E, "y"), RidgeSums(E, ["y", "z"])
CLASSES = RidgeSums(E, "label", classes=["c", "a", "b"])


def cut(seed):
    r = random.Random(seed)
    cuts = sorted(r.sample(range(N), 5))
    parts = [TABLE.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, N], strict=True)]
    r.shuffle(parts)
    return parts


def body(row):
    return row.column("sums")[0].as_py()


def assert_same_model(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.alpha_ == other.alpha_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sums", [REAL, BOTH, CLASSES], ids=["one", "two", "classes"])
def test_parts_and_order_change_no_byte(sums, seed):
    parts, far = cut(seed), pickle.loads(pickle.dumps(sums))
    rows = [far(part) for part in parts]
    folded = [*sums.fold(parts[:2]), *sums.fold(iter([*parts[2:], *sums.fold([])]))]
    again = list(sums.fold(folded))
    assert len(folded) == 2
    assert list(sums.fold([])) == []
    whole = sums(TABLE)
    assert body(sums.merge(*rows)) == body(sums.merge(*again)) == body(whole)
    assert_same_model(sums.finish(*rows), sums.finish(pa.concat_tables([whole])))


@pytest.mark.parametrize("alpha", ["gcv", 0.1])
def test_the_model_is_that_of_fit(alpha):
    settings = {"gamma": 0.3, "alpha": alpha}
    found = REAL.finish(*map(REAL, cut(0)), alpha=alpha)
    fitted = PrimeRidgeRegressor(D_OUT, **settings).fit(X, Y)
    assert_same_model(found, fitted)
    both = BOTH.finish(BOTH(TABLE), alpha=alpha)
    assert_same_model(
        both, PrimeRidgeRegressor(D_OUT, **settings).fit(X, np.stack([Y, -X[:, 2]], 1))
    )
    assert both.predict(X).shape == (N, 2)
    classifier = CLASSES.finish(*map(CLASSES, cut(1)), alpha=alpha)
    assert_same_model(classifier, PrimeRidgeClassifier(D_OUT, **settings).fit(X, LABELS))
    assert classifier.classes_.tolist() == ["a", "b", "c"]


def test_the_model_goes_on_and_is_saved(tmp_path):
    for sums, kind, y in (
        (REAL, PrimeRidgeRegressor, Y),
        (CLASSES, PrimeRidgeClassifier, LABELS),
    ):
        found = sums.finish(sums(TABLE.slice(0, 400)))
        found.save(tmp_path / "m")
        for one in (found, kind.load(tmp_path / "m")):
            one.partial_fit(X[400:], y[400:])
            fitted = kind(D_OUT, gamma=0.3).fit(X, y)
            assert_same_model(one, fitted)
            assert one.features_.n_samples_seen_ == N
            np.testing.assert_array_equal(one.features_.data_min_, fitted.features_.data_min_)
            np.testing.assert_array_equal(one.features_.data_max_, fitted.features_.data_max_)
        assert_same_model(found.grow(64, X, y), kind(64, gamma=0.3).fit(X, y))
        assert found.get_params()["gamma"] == 0.3


@pytest.mark.parametrize(
    "options", [{"method": "lattice"}, {"form": "offset"}, {"gamma": [1, 2, 3]}]
)
def test_any_kernel_features(options, tmp_path):
    m = primal.KernelPrime(D_IN, D_OUT, **options)
    sums = RidgeSums(Encoder(m, "x"), "y")
    found = sums.finish(*map(sums, cut(2)), alpha=1e-3)
    Z = m.encode(X, dtype="float64")
    np.testing.assert_array_equal(found.predict(X), Z @ found.coef_[0] + found.intercept_[0])
    residual = Z.T @ (Y - found.predict(X)) - 1e-3 * found.coef_[0]
    assert np.abs(residual).max() < 1e-4 * np.abs(Z.T @ Y).max()  # features are rounded
    found.save(tmp_path / "m")
    np.testing.assert_array_equal(type(found).load(tmp_path / "m").predict(X), found.predict(X))


def test_a_batch_of_sums_is_of_the_kind_of_its_rows():
    assert isinstance(REAL(TABLE), pa.Table)
    assert isinstance(REAL(TABLE.to_batches()[0]), pa.RecordBatch)
    assert REAL(TABLE).schema == RidgeSums.schema
    assert primal.from_spec(json.loads(json.dumps(CLASSES.spec))) == CLASSES
    assert pickle.loads(pickle.dumps(REAL)) is pickle.loads(pickle.dumps(REAL))


def test_rows_without_features_or_target():
    x = [[1.0, 2.0, 3.0], [np.nan, 0.0, 0.0], None, [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]]
    y, label = [1.0, 2.0, 3.0, None, np.inf], ["a", "b", "c", None, "a"]
    batch = pa.table({"x": pa.array(x, pa.list_(pa.float64())), "y": y, "label": label})
    with pytest.raises(DataError, match=r"^row 1 of this batch cannot be encoded"):
        REAL(batch.slice(0, 3))
    with pytest.raises(DataError, match=r"^row 1 of this batch has the target \[None\]"):
        REAL(batch.slice(2))
    skip = Encoder(M, "x", on_error="null")
    left_out = RidgeSums(skip, "y")
    assert body(left_out(batch)) == body(left_out(batch.slice(0, 1)))
    left_out = RidgeSums(skip, "label", classes="abc")
    assert body(left_out(batch)) == body(left_out(batch.take([0, 4])))
    left_out = RidgeSums(skip, "label", classes="ac")
    assert body(left_out(batch.slice(4))) == body(left_out(batch.slice(1)))
    with pytest.raises(DataError, match=r"row 1 .* target \['b'\]: .* add its label"):
        RidgeSums(E, "label", classes="ac")(batch.take([0, 1]))
    with pytest.raises(DataError, match=r"row 3 .* target \[None\]"):
        RidgeSums(E, "label", classes="abc")(batch.take([0, 0, 0, 3]))
    empty = REAL(batch.slice(0, 0))
    assert body(REAL.merge(empty, REAL(TABLE))) == body(REAL(TABLE))
    with pytest.raises(DataError, match="at least one row, got none"):
        REAL.finish(empty)
    with pytest.raises(DataError, match="at least one row, got none"):
        REAL.finish()


def test_labels_of_other_types():
    numbers = TABLE.append_column("n", pa.array((X[:, 0] > 0).astype(np.int32)))
    sums = RidgeSums(E, "n", classes=[1, 0])
    fitted = PrimeRidgeClassifier(D_OUT, gamma=0.3).fit(X, (X[:, 0] > 0).astype(int))
    assert_same_model(sums.finish(sums(numbers)), fitted)
    coded = TABLE.set_column(2, "label", TABLE["label"].dictionary_encode())
    assert body(CLASSES(coded)) == body(CLASSES(TABLE))
    with pytest.raises(DataError, match="labels in 'label' are not of the type of classes"):
        RidgeSums(E, "label", classes=[1, 2])(TABLE)


def test_sums_of_other_things_are_refused():
    rows = REAL(TABLE)
    for other in (BOTH, RidgeSums(Encoder(primal.KernelPrime(D_IN, D_OUT), "x"), "y")):
        with pytest.raises(DataError, match="of other features, columns, targets or classes"):
            other.finish(rows)
    for wrong in (b"", body(rows)[:-1], body(rows)[:100]):
        damaged = rows.set_column(1, "sums", pa.array([wrong], pa.binary()))
        with pytest.raises(DataError, match="damaged"):
            REAL.merge(damaged)
    with pytest.raises(ParameterError, match="an Encoder of a KernelPrime, got DynamicPrime"):
        RidgeSums(Encoder(primal.DynamicPrime(D_IN, 8), "x"), "y")
    for target, classes in (("y", [None, 1]), (["y", "z"], [0, 1]), ("y", [[1], [2]])):
        with pytest.raises(ParameterError, match="classes must be text or numbers"):
            RidgeSums(E, target, classes=classes)
    with pytest.raises(ParameterError, match="alpha"):
        REAL.finish(rows, alpha=-1.0)
