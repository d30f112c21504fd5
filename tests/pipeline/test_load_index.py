"""Stored codes become an index that finds what an index of the vectors finds."""

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from primal import DynamicPrime, KernelPrime, pipeline
from primal.errors import DataError, ParameterError, PrimalError
from primal.search import Index

KINDS = ["bits", "uint8-phase", "uint16-phase", "float16", "float32"]
X = np.random.default_rng(0).normal(size=(500, 3))


@pytest.fixture(autouse=True)
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)


def encode(out, m, **options):
    pipeline.encode("x.npy", out, m, rows_per_part=200, **options)
    return out


def replaced(out, columns):
    """Put other columns into an output that says to hold what it held."""
    metadata = pq.read_schema(out).metadata
    table = pa.table(columns, names=["features"] * len(columns))
    pq.write_table(table.replace_schema_metadata(metadata), out, row_group_size=200)


@pytest.mark.parametrize("name", ["out", "out.parquet", "out.npy"])
@pytest.mark.parametrize("stored", KINDS)
@pytest.mark.parametrize("kernel", [False, True])
def test_it_finds_what_an_index_of_the_vectors_finds(name, stored, kernel):
    m = KernelPrime(3, 36, gamma=0.5) if kernel else DynamicPrime(3, 36, 0.2, basis="auto")
    found = pipeline.load_index(encode(name, m, stored=stored))
    wanted = Index.from_vectors(X, m, stored=stored)
    assert found.spec == wanted.spec
    np.testing.assert_array_equal(found.ids, wanted.ids)
    # Waves of a kernel were scaled and back: neighbors that are level may change over.
    n = 1 if kernel and stored.startswith("float") else 4
    ours, theirs = found.search(X, n), wanted.search(X, n)
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    tolerance = 1e-3 if stored == "float16" else 1e-6
    np.testing.assert_allclose(ours.similarities, theirs.similarities, atol=tolerance)


def test_rows_without_features_are_refused():
    bad = X.copy()
    bad[7] = np.nan
    np.save("x.npy", bad)
    m = DynamicPrime(3, 36, 0.2)
    for name in ("out.parquet", "out.npy"):
        encode(name, m, on_error="null")
        with pytest.raises(DataError, match="rows without features: encode with on_error"):
            pipeline.load_index(name)
    encode("whole", m, on_error="skip")
    assert len(pipeline.load_index("whole")) == 499


def test_a_folder_that_is_not_complete_is_refused():
    encode("out", DynamicPrime(3, 36, 0.2), shard=(0, 2))
    with pytest.raises(ParameterError, match="is not complete"):
        pipeline.load_index("out")


def test_features_that_have_no_phases_are_refused():
    encode("out", KernelPrime(3, 7, gamma=0.5, form="offset"))
    with pytest.raises(ParameterError, match="pairs of cosine and sine"):
        pipeline.load_index("out")


@pytest.mark.parametrize(
    ("stored", "change"),
    [
        ("bits", lambda features: features.cast(pa.list_(pa.uint16(), 5))),
        ("bits", lambda features: pa.array([{"a": 1}] * len(features))),
        ("bits", lambda features: pa.array([[255] * 5] * len(features), features.type)),
        ("float32", lambda features: pa.array([[9.0] * 36] * len(features), features.type)),
    ],
)
def test_codes_that_were_changed_are_refused(stored, change):
    encode("out.parquet", DynamicPrime(3, 36, 0.2), stored=stored)
    replaced("out.parquet", [change(pq.read_table("out.parquet")["features"].combine_chunks())])
    with pytest.raises(DataError):
        pipeline.load_index("out.parquet")


def test_what_is_no_output_is_refused(tmp_path):
    (tmp_path / "text").write_text("no parquet")
    pq.write_table(pa.table({"features": [1.0]}), "plain.parquet")
    for name in ("text", "missing", "plain.parquet"):
        with pytest.raises(PrimalError, match=r"cannot be read|not made by primal"):
            pipeline.load_index(name)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a"] * 500).dictionary_encode(),
        pa.array([[("a", 1)]] * 500, pa.map_(pa.string(), pa.int64())),
        pa.array([[1] * 5] * 499 + [None], pa.list_(pa.uint8(), 5)),
        pa.array([[1] * 5] * 500, pa.list_(pa.uint8())),
    ],
)
def test_columns_of_other_kinds_are_refused(column):
    encode("out.parquet", DynamicPrime(3, 36, 0.2), stored="bits")
    replaced("out.parquet", [column])
    with pytest.raises(DataError, match=r"the map makes fixed_size_list|rows without features"):
        pipeline.load_index("out.parquet")


def test_two_columns_of_features_are_refused():
    codes = pa.array([[1] * 5] * 500, pa.list_(pa.uint8(), 5))
    encode("out.parquet", DynamicPrime(3, 36, 0.2), stored="bits")
    replaced("out.parquet", [codes, codes])
    with pytest.raises(DataError, match="it has 2 columns 'features'"):
        pipeline.load_index("out.parquet")


def test_parts_of_different_codes_are_refused():
    for name, sigma in (("out", 0.1), ("other", 0.2)):
        encode(name, DynamicPrime(3, 36, sigma), stored="bits")
    shutil.copy("other/part-00000-000001.parquet", "out")
    with pytest.raises(DataError, match=r"000001\.parquet is a part of another run"):
        pipeline.load_index("out")


def test_metadata_that_say_too_little_are_refused():
    encode("out.parquet", DynamicPrime(3, 36, 0.2), stored="bits")
    table = pq.read_table("out.parquet")
    good = json.loads(table.schema.metadata[b"primal"])
    without = [{k: v for k, v in good.items() if k != name} for name in ("spec", "stored", "parts")]
    for wrong in (None, [], {}, good | {"spec": 3}, good | {"stored": "int4"}, *without):
        metadata = {"primal": json.dumps(wrong)}
        pq.write_table(table.replace_schema_metadata(metadata), "out.parquet", row_group_size=200)
        with pytest.raises(PrimalError):
            pipeline.load_index("out.parquet")
