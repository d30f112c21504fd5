"""Tables of pandas and polars: nullable and Arrow columns, categories, dates, and what is missing.

What is taken means what its values mean; the rest is a clear error. The columns come from one list,
so that a table is every two of them, in both libraries.
"""

import itertools
from decimal import Decimal

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import primal
from primal._hash import stable_position
from primal.errors import DataError
from primal.sklearn import (
    PrimeCentroidClassifier,
    PrimeFeatures,
    PrimeGaussianProcessRegressor,
    PrimeHasher,
    PrimePositions,
    PrimeRidgeClassifier,
    PrimeRidgeRegressor,
)

X = np.random.default_rng(0).normal(size=(40, 3)).round(3)
WHOLE = np.random.default_rng(1).integers(0, 50, (40, 3))
Y = (X[:, 0] > 0.0).astype(int)
LARGE = 2**53 + 1  # no float64

# Columns and their values: no conversion may touch them.
COLUMNS = {
    "int64": (pd.Series([LARGE, 2, 3]), [LARGE, 2, 3]),
    "Int64": (pd.Series([LARGE, 2, 3], dtype="Int64"), [LARGE, 2, 3]),
    "int64[pyarrow]": (pd.Series([LARGE, 2, 3], dtype=pd.ArrowDtype(pa.int64())), [LARGE, 2, 3]),
    "Int64, one missing": (pd.Series([LARGE, None, 3], dtype="Int64"), [LARGE, None, 3]),
    "int64[pyarrow], one missing": (
        pd.Series([LARGE, None, 3], dtype=pd.ArrowDtype(pa.int64())),
        [LARGE, None, 3],
    ),
    "uint8": (pd.Series([255, 2, 3], dtype="uint8"), [255, 2, 3]),
    "float64": (pd.Series([1.0, 2.0, 3.0]), [1, 2, 3]),
    "float64, one missing": (pd.Series([1.5, None, 3.0]), [1.5, None, 3.0]),
    "Float64, one missing": (pd.Series([1.5, None, 3.0], dtype="Float64"), [1.5, None, 3.0]),
    "bool": (pd.Series([True, False, True]), [1, 0, 1]),
    "boolean, one missing": (pd.Series([True, None, False], dtype="boolean"), [1, None, 0]),
    "str": (pd.Series(["a", "b", "1"]), ["a", "b", "1"]),
    "string[pyarrow], one missing": (
        pd.Series(["a", None, "1"], dtype="string[pyarrow]"),
        ["a", None, "1"],
    ),
    "category": (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b", "a"]),
    "category of integers": (pd.Series([LARGE, 2, 3], dtype="category"), [LARGE, 2, 3]),
    "category, one missing": (pd.Series(["a", None, "a"], dtype="category"), ["a", None, "a"]),
}
WHOLE_COLUMNS = [
    name for name, (_, values) in COLUMNS.items() if all(isinstance(value, int) for value in values)
]
PAIRS = list(itertools.combinations_with_replacement(COLUMNS, 2))


def table(names, library):
    frame = pd.DataFrame({f"{i}": COLUMNS[name][0] for i, name in enumerate(names)})
    return frame if library == "pandas" else pl.from_pandas(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
def test_categories_are_the_values_of_a_table(names, library):
    if library == "polars" and "Int64, one missing" in names and "category of integers" in names:
        pytest.skip("pandas hands these to polars as floats")
    positions = PrimeHasher(8)._positions(table(names, library), reset=True)
    expected = [[stable_position(value) for value in COLUMNS[name][1]] for name in names]
    np.testing.assert_array_equal(positions.T, expected)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "names", list(itertools.combinations_with_replacement(WHOLE_COLUMNS, 2)), ids=" and ".join
)
def test_positions_are_the_integers_of_a_table(names, library):
    positions = PrimePositions(8)._positions(table(names, library), reset=True)
    np.testing.assert_array_equal(positions.T, [COLUMNS[name][1] for name in names])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "names",
    [("Int64, one missing", "int64"), ("int64", "str"), ("Float64, one missing", "int64")],
    ids=" and ".join,
)
def test_what_is_no_position_is_named(names, library):
    with pytest.raises(DataError, match=r"(X contains|whole numbers).* at row \d, column \d"):
        PrimePositions(8).fit(table(names, library))


def frame(values, dtype=None):
    made = pd.DataFrame(values, columns=list("abc"))
    return made if dtype is None else made.astype(dtype)


ARROW_DECIMAL = pd.ArrowDtype(pa.decimal128(10, 3))
DECIMALS = frame(X).map(lambda value: Decimal(str(value)))
NUMBERS = {
    "float32": frame(X, "float32"),
    "Float64": frame(X, "Float64"),
    "double[pyarrow]": frame(X, pd.ArrowDtype(pa.float64())),
    "Int64": frame(WHOLE, "Int64"),
    "int64[pyarrow]": frame(WHOLE, pd.ArrowDtype(pa.int64())),
    "boolean": frame(X > 0.0, "boolean"),
    "bool[pyarrow]": frame(X > 0.0, pd.ArrowDtype(pa.bool_())),
    "category of numbers": frame(WHOLE, "category"),
    "Decimal": DECIMALS,
    "decimal[pyarrow]": DECIMALS.astype(ARROW_DECIMAL),
    "sparse": frame(X, pd.SparseDtype("float64", 0.0)),
    "polars": pl.DataFrame(X, schema=list("abc")),
    "polars, decimals": pl.DataFrame(X, schema=list("abc")).cast(pl.Decimal(10, 3)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_a_table_are_numbers(name):
    rows = NUMBERS[name].to_numpy()
    values = np.array([[float(value) for value in row] for row in rows])
    found = PrimeFeatures(16, gamma=0.5).fit_transform(NUMBERS[name])
    np.testing.assert_allclose(found, PrimeFeatures(16, gamma=0.5).fit_transform(values), atol=2e-6)


MISSING = {
    "Int64": frame(WHOLE, "Int64").mask(X > 1.5),
    "boolean": frame(X > 0.0, "boolean").mask(X > 1.5),
    "double[pyarrow]": frame(X, pd.ArrowDtype(pa.float64())).mask(X > 1.5),
    "None": frame(X, object).mask(X > 1.5, None),
    "NA": frame(X, object).mask(X > 1.5, pd.NA),
    "NaN": frame(X).mask(X > 1.5),
    "polars": pl.DataFrame({"a": [None, *X[1:, 0]], "b": X[:, 1], "c": X[:, 2]}),
}
DATES = {
    "datetime64[ns]": frame(WHOLE, "datetime64[ns]"),
    "timedelta64[ns]": frame(WHOLE, "timedelta64[ns]"),
    "timestamp[pyarrow]": frame(WHOLE, "datetime64[ns]").astype(pd.ArrowDtype(pa.timestamp("ns"))),
    "period": frame(WHOLE).apply(lambda c: pd.PeriodIndex.from_ordinals(c, freq="D")),
    "one of three": pd.DataFrame({"a": X[:, 0], "b": pd.to_datetime(WHOLE[:, 1]), "c": X[:, 2]}),
    "polars, Date": pl.DataFrame(WHOLE.astype("int32"), schema=list("abc")).cast(pl.Date),
    "polars, Duration": pl.DataFrame(WHOLE, schema=list("abc")).cast(pl.Duration),
    "array": WHOLE.astype("datetime64[D]"),
}
MODELS = {
    "features": lambda X: PrimeFeatures(16, gamma=0.5).fit(X),
    "ridge": lambda X: PrimeRidgeClassifier(16, gamma=0.5).fit(X, Y),
    "centroids": lambda X: PrimeCentroidClassifier(16, gamma=0.5).fit(X, Y),
    "process": lambda X: PrimeGaussianProcessRegressor(n_components=16, optimizer=None).fit(X, Y),
    "positions": lambda X: PrimePositions(16).fit(X),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", MISSING)
def test_missing_numbers_are_an_error(name, model):
    with pytest.raises(
        DataError, match=r"Input X contains NaN|X contains .* at row \d+|whole .* at row \d+"
    ):
        MODELS[model](MISSING[name])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", DATES)
def test_dates_are_no_numbers(name, model):
    with pytest.raises(DataError, match=r"[Cc]ount (them|dates) in a unit"):
        MODELS[model](DATES[name])


REGRESSORS = {
    "ridge": lambda y: PrimeRidgeRegressor(16, gamma=0.5, alpha=0.1).fit(X, y),
    "process": lambda y: PrimeGaussianProcessRegressor(n_components=16, optimizer=None).fit(X, y),
}
CLASSIFIERS = {
    "ridge": lambda y: PrimeRidgeClassifier(16, gamma=0.5).fit(X, y),
    "centroids": lambda y: PrimeCentroidClassifier(16, gamma=0.5).fit(X, y),
}
NO_TARGETS = {
    "None": [None, *Y[1:]],
    "None in objects": np.array([None, *Y[1:]], dtype=object),
    "NA": pd.Series([pd.NA, *Y[1:]], dtype=object),
    "Int64": pd.Series([pd.NA, *Y[1:]], dtype="Int64"),
    "string": pd.Series([pd.NA, *Y[1:].astype(str)], dtype="string[pyarrow]"),
    "polars": pl.Series([None, *Y[1:].tolist()]),
    "polars, text": pl.Series([None, *Y[1:].astype(str).tolist()]),
}


@pytest.mark.parametrize("name", NO_TARGETS)
@pytest.mark.parametrize("fit", [*REGRESSORS.values(), *CLASSIFIERS.values()])
def test_missing_targets_are_an_error(name, fit):
    with pytest.raises(DataError, match=r"y contains .* at row 0|y contains NaN"):
        fit(NO_TARGETS[name])


@pytest.mark.parametrize("fit", REGRESSORS.values(), ids=REGRESSORS)
@pytest.mark.parametrize(
    "y",
    [
        pd.Series(pd.to_datetime(Y)),
        pd.Series(pd.to_timedelta(Y)),
        pl.Series(Y.astype("int32")).cast(pl.Date),
        sparse.csr_array(Y[:, None]),
        X[:, 0] + 1j,
    ],
    ids=["dates", "durations", "polars", "sparse", "complex"],
)
def test_targets_of_a_regressor_are_dense_numbers(y, fit):
    with pytest.raises(DataError, match=r"y .*(in a unit|dense)|Complex data"):
        fit(y)


@pytest.mark.parametrize("fit", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]", "boolean", "category", "int8"])
def test_labels_stay_what_they_are(dtype, fit):
    kind = pd.ArrowDtype(pa.int64()) if dtype.endswith("[pyarrow]") else dtype
    model = fit(pd.Series(Y).astype(kind))
    expected = {"boolean": np.dtype(bool), "int8": np.dtype("int8")}.get(dtype, np.dtype(np.int64))
    assert model.classes_.dtype == expected
    large = np.where(Y == 1, LARGE, LARGE - 1)
    assert fit(pd.Series(large, dtype="Int64")).classes_.tolist() == [LARGE - 1, LARGE]


@pytest.mark.parametrize(
    "weights",
    [
        pd.Series(pd.to_datetime(Y)),
        pd.Series(pd.to_timedelta(Y)),
        pd.Series(Y, dtype="Int64").mask(Y == 1),
        pd.Series(Y).astype(str),
        Y + 0j,
        [None, *Y[1:]],
    ],
    ids=["dates", "durations", "missing", "text", "complex", "None"],
)
def test_weights_are_numbers(weights):
    with pytest.raises(DataError, match="sample_weight must be"):
        PrimeRidgeRegressor(16, gamma=0.5).fit(X, Y, sample_weight=weights)


def test_weights_of_a_nullable_column_are_weights():
    expected = PrimeRidgeRegressor(16, gamma=0.5).fit(X, Y, sample_weight=1.0 + Y)
    for weights in (
        pd.Series(1 + Y, dtype="Int64"),
        pd.Series(1.0 + Y, dtype=pd.ArrowDtype(pa.float64())),
        pl.Series(1 + Y),
    ):
        found = PrimeRidgeRegressor(16, gamma=0.5).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", [PrimeFeatures(8), PrimePositions(8), PrimeHasher(8)])
def test_columns_are_known_by_their_names(estimator, library):
    tables = frame(WHOLE), frame(WHOLE)[list("cab")], frame(WHOLE).rename(columns={"a": "z"})
    known, *others = tables if library == "pandas" else map(pl.from_pandas, tables)
    estimator.fit(known)
    for other in others:
        with pytest.raises(DataError, match="feature names should match"):
            estimator.transform(other)
    np.testing.assert_array_equal(estimator.transform(known), estimator.fit_transform(tables[0]))


@pytest.mark.parametrize("estimator", [PrimeFeatures(8), PrimePositions(8), PrimeHasher(8)])
def test_names_that_occur_twice_are_an_error(estimator):
    twice = pd.DataFrame(WHOLE, columns=["a", "a", "b"])
    with pytest.raises(primal.PrimalError, match="unique column names"):
        estimator.fit(twice)
