"""`primal.arrow.Encoder`: the bits of one process in every engine, shapes of columns, bad rows."""

import hashlib
import inspect
import json
import pickle
import subprocess
import sys
from typing import get_type_hints

import numpy as np
import pytest

import primal
from primal.errors import DataError, ParameterError, SpecError

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from primal.arrow import Encoder
from primal.vectors import VectorCodes

D_IN, D_OUT, N = 4, 64, 3000
M = primal.DynamicPrime(D_IN, D_OUT, sigma=0.1)
CODES = VectorCodes(D_OUT, bits=2, metric="l2")


@pytest.fixture(scope="module")
def table():
    x = np.random.default_rng(0).normal(size=(N, D_IN))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), D_IN)
    return pa.table({"id": np.arange(N), "x": lists})


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("in")
    for i in range(3):
        pq.write_table(table.slice(i * 1000, 1000), path / f"{i}.parquet", row_group_size=300)
    return path


def matrix_of(table):
    return table["x"].combine_chunks().flatten().to_numpy().reshape(-1, D_IN)


def digest(out):
    column = out.sort_by("id")["features"].combine_chunks()
    fields = column.flatten() if pa.types.is_struct(column.type) else [column]
    parts = [field.flatten() if hasattr(field, "flatten") else field for field in fields]
    return hashlib.sha256(b"".join(part.to_numpy().tobytes() for part in parts)).hexdigest()


def with_pyarrow(e, folder, out):
    data = ds.dataset(folder)
    ds.write_dataset(map(e, data.to_batches()), out, schema=e.schema(data.schema), format="parquet")
    return pq.read_table(out)


def with_duckdb(e, folder, out):
    con = pytest.importorskip("duckdb").connect()
    kind = f"FLOAT[{D_OUT}]"
    if e.stored != "float32":
        kind = f"STRUCT(codes UTINYINT[{D_OUT // 4}], factors FLOAT, offsets FLOAT)"
    con.create_function(
        "f", e.array, [f"DOUBLE[{D_IN}]"], kind, type="arrow", null_handling="special"
    )
    sql = f"select id, f(x::DOUBLE[{D_IN}]) as features from '{folder}/*.parquet'"
    return con.sql(sql).to_arrow_table()


def with_polars(e, folder, out):
    pl = pytest.importorskip("polars")
    kind = pl.Array(pl.Float32, D_OUT)
    if e.stored != "float32":
        codes = pl.Array(pl.UInt8, D_OUT // 4)
        kind = pl.Struct({"codes": codes, "factors": pl.Float32, "offsets": pl.Float32})
    made = pl.col("x").map_batches(
        lambda s: pl.Series(e.array(s.to_arrow())), return_dtype=kind, is_elementwise=True
    )
    return (
        pl.scan_parquet(folder).with_columns(features=made).collect(engine="streaming").to_arrow()
    )


@pytest.mark.parametrize("engine", [with_pyarrow, with_duckdb, with_polars])
@pytest.mark.parametrize("stored", ["float32", CODES], ids=["features", "codes"])
def test_engines_return_the_bits_of_one_process(engine, stored, table, folder, tmp_path):
    z = M.encode(matrix_of(table))
    expected = [z] if stored == "float32" else list(stored.encode(z))
    whole = hashlib.sha256(b"".join(part.tobytes() for part in expected)).hexdigest()
    e = Encoder(M, "x", stored=stored)
    assert digest(e(table)) == whole
    assert digest(engine(e, folder, tmp_path / "out")) == whole


def test_maps_and_fitted_features(table):
    x = matrix_of(table)
    fitted = pytest.importorskip("primal.sklearn").PrimeFeatures(32).fit(x)
    scaled = primal.KernelPrime(D_IN, 33, gamma=[1.0, 2.0, 3.0, 4.0])
    for given, m in ((fitted, fitted.map_), (scaled, scaled)):
        found = Encoder(given, "x").array(table["x"])
        np.testing.assert_array_equal(found.flatten(), m.encode(x).ravel())
    half = Encoder(M, "x", stored="float16").array(table["x"])
    assert half.type == pa.list_(pa.float16(), D_OUT)
    np.testing.assert_array_equal(half.flatten().to_numpy(), M.encode(x).astype("f2").ravel())


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_codes_of_rows(table, metric):
    x = matrix_of(table)
    codes = VectorCodes(D_IN, metric=metric).fit(x + 3.0)
    e, right = Encoder(codes, "x"), codes.encode(x)
    found = e.array(table["x"])
    assert [field.name for field in e.type] == ["codes", "factors", "offsets"]
    np.testing.assert_array_equal(found.field("codes").flatten(), right.codes.ravel())
    np.testing.assert_array_equal(found.field("factors"), right.factors)
    np.testing.assert_array_equal(found.field("offsets"), right.offsets)
    edge = min(codes.limit, 1e300)
    batch = pa.table({"x": [[edge, -edge, edge, edge], [0.0, 0.0, 3e300, 3e300], [np.nan] * 4]})
    valid = [value.is_valid for value in Encoder(codes, "x", on_error="null").array(batch["x"])]
    assert valid == [True, metric == "cosine", False]


def test_it_travels_as_its_spec_and_is_built_once():
    e = Encoder(M, ["a", "b", "c", "d"], "z", stored="float16", on_error="null")
    text = pickle.dumps(e)
    assert len(text) < 500
    assert pickle.loads(text) is pickle.loads(text)
    assert pickle.loads(text) == e == primal.from_spec(json.loads(json.dumps(e.spec)))
    assert pickle.loads(pickle.dumps(e.array)).__self__ is pickle.loads(text)
    coded = Encoder(M, "x", stored=CODES)
    assert primal.from_spec(json.loads(json.dumps(coded.spec))) == coded
    with pytest.raises(SpecError, match="more"):
        primal.from_spec(e.spec | {"more": 1})


def test_another_process_returns_the_same_bytes(table):
    e = Encoder(M, "x")
    code = (
        "import hashlib, pickle, sys, pyarrow as pa\n"
        "e, x = pickle.load(sys.stdin.buffer)\n"
        "print(hashlib.sha256(e.array(x).flatten().to_numpy().tobytes()).hexdigest())"
    )
    content = pickle.dumps((e, table["x"].combine_chunks()))
    done = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True)
    assert done.stdout.decode().strip() == digest(e(table)), done.stderr.decode()


def test_a_batch_comes_back_as_its_own_kind(table):
    e = Encoder(M, "x")
    assert isinstance(e(table), pa.Table)
    assert isinstance(e(table.to_batches()[0]), pa.RecordBatch)
    assert e(table).schema == e.schema(table.schema)


def test_spark_can_read_the_signature():
    hints = get_type_hints(Encoder(M, "x").array)
    assert hints.pop("return") is pa.Array
    assert set(hints.values()) == {pa.Array}
    assert list(inspect.signature(Encoder(M, "x").array).parameters) == ["columns"]


X = np.array([[0.5, -1.0, 2.0, 3.0], [1.0, 0.0, 0.0, 7.0], [4.0, 3.0, 2.0, 1.0]])
LISTS = pa.array(X.tolist(), pa.list_(pa.float64()))
FIXED = pa.array(X.tolist(), pa.list_(pa.float64(), 4))
SHAPES = {
    "list": LISTS,
    "large list": LISTS.cast(pa.large_list(pa.float64())),
    "fixed": FIXED,
    "float32": FIXED.cast(pa.list_(pa.float32(), 4)),
    "float16": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel().astype(np.float16)), 4),
    "int64": pa.array((2 * X).astype(int).tolist()),
    "uint8": pa.array(np.abs(2 * X).astype(np.uint8).tolist(), pa.list_(pa.uint8())),
    "bool": pa.array((X > 1).tolist()),
    "chunks": pa.chunked_array([LISTS[:1], LISTS[1:1], LISTS[1:]]),
    "slice": pa.concat_arrays([LISTS[:1], LISTS, LISTS[:2]])[1:4],
    "fixed slice": pa.concat_arrays([FIXED[:1], FIXED, FIXED[:2]])[1:4],
    "slice beside nulls": pa.array([None, *X.tolist(), None], pa.list_(pa.float64(), 4))[1:4],
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([2, 0, 1]), LISTS),
    "dictionary of numbers": pa.ListArray.from_arrays(
        [0, 4, 8, 12], pa.array(X.ravel()).dictionary_encode()
    ),
    "tensor": pa.FixedShapeTensorArray.from_numpy_ndarray(X.reshape(3, 2, 2)),
    "empty": LISTS[:0],
    "no chunk": pa.chunked_array([], pa.list_(pa.float64())),
}
EXPECTED = {
    "int64": np.trunc(2 * X),
    "uint8": np.abs(np.trunc(2 * X)),
    "bool": (X > 1).astype(float),
    "dictionary": X[[2, 0, 1]],
    "float32": X.astype(np.float32),
    "empty": X[:0],
    "no chunk": X[:0],
}


@pytest.mark.parametrize("name", SHAPES)
def test_columns_of_lists(name):
    e = Encoder(M, "x")
    found = e(pa.table({"x": SHAPES[name]}))["features"]
    right = M.encode(EXPECTED.get(name, X))
    flat = found.combine_chunks().flatten() if len(found) else np.empty(0, np.float32)
    np.testing.assert_array_equal(np.asarray(flat).reshape(right.shape), right)
    assert found.type == e.type


def test_columns_of_numbers_of_any_types():
    kinds = pa.float64(), pa.float32(), pa.int8(), pa.int64()
    columns = [pa.array(X[:, j].astype(int)).cast(kind) for j, kind in enumerate(kinds)]
    columns[3] = columns[3].dictionary_encode()
    found = Encoder(M, list("abcd")).array(*columns)
    np.testing.assert_array_equal(found.flatten(), M.encode(np.trunc(X)).ravel())
    with pytest.raises(DataError, match="4 columns, got 2"):
        Encoder(M, list("abcd")).array(*columns[:2])
    one = primal.DynamicPrime(1, 4)
    found = Encoder(one, "a").array(columns[0])
    np.testing.assert_array_equal(found.flatten(), one.encode(np.trunc(X[:, :1])).ravel())


BAD = {
    "null row": (None, r"'x' is None"),
    "null entry": ([1.0, 2.0, None, 4.0], r"'x\[2\]' is None"),
    "nan": ([np.nan, 0.0, 0.0, 0.0], r"'x\[0\]' is nan"),
    "infinity": ([0.0, 0.0, 0.0, -np.inf], r"'x\[3\]' is -inf"),
    "short": ([1.0], r"'x' is \[1.0\]: rows must have 4"),
    "empty": ([], r"'x' is \[\]: rows must have 4"),
    "long": ([1.0] * 5, r"'x' is \[1.0, 1.0, 1.0, 1.0, 1.0\]: rows must have 4"),
    "too large": ([1.0, 1e300, 2e300, 0.0], r"'x\[2\]' is 2e\+300: .* up to 4.04e\+08"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_named_or_null(name):
    row, said = BAD[name]
    kind = pa.list_(pa.float64())
    good = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(280_000)), 4)  # several blocks
    batch = pa.table({"x": pa.chunked_array([good.cast(kind), pa.array([row, [0.0] * 4], kind)])})
    with pytest.raises(DataError, match=rf"^row 70000 of this batch .*{said}.*on_error='null'"):
        Encoder(M, "x")(batch)
    out = Encoder(M, "x", on_error="null")(batch)["features"].combine_chunks()
    assert np.flatnonzero(out.is_null()).tolist() == [70_000]
    np.testing.assert_array_equal(out[-1].values, M.encode(np.zeros(4)))
    coded = Encoder(M, "x", stored=CODES, on_error="null").array(batch["x"][69_990:])
    assert np.flatnonzero(coded.is_null()).tolist() == [10]


def test_bad_rows_of_columns():
    columns = {"a": [1, 2**53 + 1, 3], "b": [1.0, 2.0, None]}
    kinds = {"a": pa.int64(), "b": pa.float64()}
    batch = pa.table({name: pa.array(own, kinds[name]) for name, own in columns.items()})
    m = primal.DynamicPrime(2, 8)
    with pytest.raises(DataError, match=r"row 1 .* 'a' is 9007199254740993: .*below 2..53"):
        Encoder(m, ["a", "b"])(batch)
    out = Encoder(m, ["a", "b"], on_error="null")(batch)["features"]
    assert [value is None for value in out.to_pylist()] == [False, True, True]
    unsigned = pa.table({"a": pa.array([2**64 - 1], pa.uint64()), "b": [1.0]})
    with pytest.raises(DataError, match=r"row 0 .* 'a' is 18446744073709551615"):
        Encoder(m, ["a", "b"])(unsigned)


def test_the_limit_of_a_map_decides_for_rows():
    m = primal.KernelPrime(2, 8, gamma=[1.0, 1e20])
    for dtype in (np.float32, np.float64):
        inside = np.nextafter(m.limit.astype(dtype), dtype(0)) * dtype(0.999)
        batch = pa.table({"a": [inside[0], inside[0] * 2], "b": np.array([inside[1]] * 2, dtype)})
        batch = batch.set_column(0, "a", pa.array(batch["a"].to_numpy().astype(dtype)))
        out = Encoder(m, ["a", "b"], on_error="null")(batch)["features"]
        assert [value is None for value in out.to_pylist()] == [False, True]


@pytest.mark.parametrize("columns", ["x", list("abcd")])
def test_columns_of_nulls_alone(columns):
    names = [columns] if isinstance(columns, str) else columns
    batch = pa.table({name: pa.nulls(2) for name in names})
    with pytest.raises(DataError, match=r"row 0 .* is None"):
        Encoder(M, columns)(batch)
    out = Encoder(M, columns, on_error="null")(batch)["features"]
    assert out.null_count == 2
    assert out.type == Encoder(M, columns).type


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pa.array(["a"]), "'x' must contain lists of 4 numbers, got string: cast"),
        (pa.array([1.0]), "'x' must contain lists of 4 numbers, got double: cast"),
        (pa.array([["a"] * 4]), "'x' must contain numbers, got string: cast"),
        (pa.array([[[1.0]] * 4]), "'x' must contain numbers, got list"),
        (pa.array([{"a": 1.0}]), "'x' must contain lists"),
    ],
)
def test_columns_of_other_types_say_what_to_do(values, said):
    with pytest.raises(DataError, match=said):
        Encoder(M, "x", on_error="null")(pa.table({"x": values}))


def test_names_have_to_be_right(table):
    for columns, output in ((["a", "b"], "z"), ("x", "x"), (list("abca"), "z"), ([], "z")):
        with pytest.raises(ParameterError, match="columns must be one column of lists or 4"):
            Encoder(M, columns, output)
    with pytest.raises(DataError, match="one column 'y', got"):
        Encoder(M, "y")(table)
    with pytest.raises(DataError, match="already has a column 'id'"):
        Encoder(M, "x", "id")(table)
    twice = pa.Table.from_arrays([table["x"], table["x"]], ["x", "x"])
    with pytest.raises(DataError, match="one column 'x'"):
        Encoder(M, "x")(twice)
    for wrong in (primal.StaticPrime(8), None, "x"):
        with pytest.raises(ParameterError, match="map must be a map of vectors"):
            Encoder(wrong, "x")
    for wrong in ("float64", VectorCodes(3), None):
        with pytest.raises(ParameterError, match="stored"):
            Encoder(M, "x", stored=wrong)
    with pytest.raises(ParameterError, match="stored"):
        Encoder(VectorCodes(4), "x", stored="float16")
    for wrong in ({"x": [[1.0] * 4]}, None, table["x"]):
        with pytest.raises(DataError, match="batches must be Arrow tables with one column"):
            Encoder(M, "x")(wrong)
    with pytest.raises(ParameterError, match="on_error"):
        Encoder(M, "x", on_error="skip")
