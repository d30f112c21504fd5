"""Row groups of our own making are Parquet: other readers find the same rows in them."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import polars
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from primal.pipeline import _parquet
from primal.pipeline._parquet import (
    _thrift,
    _value,
    feature_group,
    stored_groups,
    table_group,
    write_file,
)
from primal.pipeline._rows import FEATURES

DTYPES = ("float32", "float16", "uint8", "uint16")


def random_codes(dtype, n, width, seed=0):
    """Return every kind of bits that the type has, NaNs and infinities included."""
    bits = np.random.default_rng(seed).integers(0, 256, (n, width * np.dtype(dtype).itemsize))
    return bits.astype(np.uint8).view(dtype)


def feature_column(codes, null):
    element = pa.field("element", pa.from_numpy_dtype(codes.dtype), nullable=False)
    values, mask = pa.array(codes.reshape(-1)), None if null is None else pa.array(null)
    kind = pa.list_(element, codes.shape[1])
    return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)


def as_file(path, kept, codes, null, *, nullable):
    """Write the rows twice over, as two row groups, and return the table that was meant."""
    features = feature_column(codes, null)
    schema = pa.schema([*kept.schema, pa.field(FEATURES, features.type, nullable=nullable)])
    given = np.zeros(len(codes), dtype=bool) if nullable and null is None else null
    with path.open("wb") as stream:
        write_file(stream, schema, [feature_group(FEATURES, kept, codes, given) for _ in range(2)])
    table = pa.Table.from_arrays([*kept.columns, features], schema=schema)
    return pa.concat_tables([table, table])


def same_bits(found, codes, null):
    """Return whether a column holds these rows, compared bit by bit."""
    valid = np.ones(len(codes), dtype=bool) if null is None else ~null
    if not np.array_equal(found.is_valid().to_numpy(zero_copy_only=False), valid):
        return False
    there = found.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, codes.shape[1])
    return there.dtype == codes.dtype and there.tobytes() == codes[valid].tobytes()


class TestFeaturePages:
    @settings(max_examples=120, deadline=None)
    @given(
        dtype=st.sampled_from(DTYPES),
        n=st.integers(1, 70),
        width=st.integers(1, 140),
        page_bytes=st.integers(1, 20_000),
        nulls=st.sampled_from(["never", "none", "some", "all"]),
        seed=st.integers(0, 99),
    )
    def test_arrow_reads_every_bit(
        self, tmp_path_factory, dtype, n, width, page_bytes, nulls, seed
    ):
        path = tmp_path_factory.mktemp("pages") / "t.parquet"
        codes = random_codes(dtype, n, width, seed)
        rng = np.random.default_rng(seed)
        null = {"some": rng.random(n) < 0.4, "all": np.ones(n, dtype=bool)}.get(nulls)
        kept = pa.table({"id": np.arange(n), "text": [f"r{i}" for i in range(n)]})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_parquet, "_PAGE_BYTES", page_bytes)
            meant = as_file(path, kept, codes, null, nullable=nulls != "never")
        file = pq.ParquetFile(path)
        found = file.read()
        found.validate(full=True)
        assert found.schema.equals(meant.schema)
        assert found.drop_columns(FEATURES).equals(meant.drop_columns(FEATURES))
        for chunk in file.iter_batches(batch_size=n, columns=[FEATURES]):
            assert same_bits(chunk.column(0), codes, null)
        assert same_bits(file.read_row_group(1, [FEATURES]).column(0).combine_chunks(), codes, null)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("nullable", [False, True])
    def test_a_column_says_of_itself_what_arrow_s_own_writer_says(self, tmp_path, dtype, nullable):
        codes = random_codes(dtype, 3000, 300)  # more than a page of any type
        null = np.arange(3000) % 7 == 3 if nullable else None
        meant = as_file(tmp_path / "ours.parquet", pa.table({}), codes, null, nullable=nullable)
        options = {"use_dictionary": False, "write_statistics": False, "row_group_size": 3000}
        pq.write_table(meant, tmp_path / "arrow.parquet", compression="none", **options)
        ours, theirs = (pq.read_metadata(tmp_path / f"{n}.parquet") for n in ("ours", "arrow"))
        assert ours.schema.equals(theirs.schema)
        assert (ours.num_rows, ours.num_row_groups) == (6000, 2)
        size = 4
        for i in range(2):
            group, expected = ours.row_group(i), theirs.row_group(i)
            assert (group.num_rows, group.num_columns) == (3000, 1)
            column, peer = group.column(0), expected.column(0)
            for name in ("physical_type", "num_values", "path_in_schema", "is_stats_set"):
                assert getattr(column, name) == getattr(peer, name), name
            assert column.data_page_offset == size
            size += column.total_compressed_size
            assert group.total_byte_size == column.total_uncompressed_size
        packed = dtype.startswith("uint")
        assert column.compression == ("ZSTD" if packed else "UNCOMPRESSED")
        stored = int(codes[~null].nbytes if nullable else codes.nbytes)
        assert stored < column.total_compressed_size < 1.02 * stored

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_polars_reads_the_same(self, tmp_path, dtype):
        codes = np.abs(np.nan_to_num(random_codes(dtype, 500, 24)))
        kept = pa.table({"id": np.arange(500)})
        as_file(tmp_path / "t.parquet", kept, codes, np.arange(500) % 3 == 1, nullable=True)
        found = polars.read_parquet(tmp_path / "t.parquet")
        assert found["id"].to_list() == [*range(500)] * 2
        expected = [None if i % 3 == 1 else row for i, row in enumerate(codes.tolist())]
        assert found[FEATURES].to_list() == expected * 2

    def test_float_features_are_not_copied(self):
        codes = random_codes("float32", 4000, 512)
        made = feature_group(FEATURES, pa.table({}), codes, None)
        views = [np.frombuffer(piece, np.uint8) for piece in made.pieces if len(piece) > 1 << 19]
        assert sum(view.nbytes for view in views) == codes.nbytes
        assert all(np.shares_memory(view, codes) for view in views)

    def test_levels_cost_five_bytes_of_a_row(self):
        codes = random_codes("float32", 512, 512)  # one page
        made = feature_group(FEATURES, pa.table({}), codes, None)
        (levels,) = made.pieces[2:-1]
        # Two lengths, a row's two runs 512 times, one run of 262,144 values that are there.
        row = bytes([2, 0]) + bytes([0xFE, 0x07, 1])
        assert levels == (2560).to_bytes(4, "little") + 512 * row + bytes(
            [4, 0, 0, 0, 0x80, 0x80, 0x20, 1]
        )


class TestRowGroups:
    def tables(self):
        rng = np.random.default_rng(3)
        kind = pa.list_(pa.field("element", pa.float32(), nullable=False), 3)
        schema = pa.schema([("id", pa.string()), ("features", kind)])
        for n in (5, 1, 30):
            values = pa.array(rng.standard_normal(3 * n).astype(np.float32))
            mask = pa.array(np.arange(n) % 4 == 2)
            lists = pa.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)
            yield pa.table([pa.array([f"r{i}" for i in range(n)]), lists], schema=schema)

    def test_a_file_put_together_holds_its_tables(self, tmp_path):
        tables = list(self.tables())
        paths = [tmp_path / f"{i}.parquet" for i in range(3)]
        for path, table in zip(paths, tables, strict=True):
            with path.open("wb") as stream:
                write_file(stream, table.schema, [table_group(table)])
        schema = tables[0].schema.with_metadata({"key": b"value"})
        with (tmp_path / "t.parquet").open("wb") as stream:
            write_file(stream, schema, (g for path in paths for g in stored_groups(path)))
        with (tmp_path / "at once.parquet").open("wb") as stream:
            write_file(stream, schema, map(table_group, tables))
        assert (tmp_path / "t.parquet").read_bytes() == (tmp_path / "at once.parquet").read_bytes()
        found = pq.read_table(tmp_path / "t.parquet")
        found.validate(full=True)
        assert found.replace_schema_metadata().equals(pa.concat_tables(tables))
        assert found.schema.metadata == {b"key": b"value"}
        metadata = pq.read_metadata(tmp_path / "t.parquet")
        assert [metadata.row_group(i).num_rows for i in range(3)] == [5, 1, 30]

    def test_footers_survive_reading_and_writing(self, tmp_path):
        table = next(self.tables())
        for options in ({}, {"compression": "zstd", "write_page_index": True, "version": "1.0"}):
            pq.write_table(table, tmp_path / "t.parquet", **options)
            data = (tmp_path / "t.parquet").read_bytes()
            footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
            assert _thrift(_value(iter(footer))) == footer

    @given(
        st.dictionaries(
            st.integers(1, 200),
            st.one_of(
                st.tuples(st.just(6), st.integers(-(2**63), 2**63 - 1)),
                st.tuples(st.just(8), st.binary(max_size=300)),
                st.tuples(st.just(1), st.booleans()),
                st.tuples(st.just(3), st.integers(0, 255)),
                st.tuples(st.just(9), st.tuples(st.just(5), st.lists(st.integers(-99, 99)))),
            ),
        )
    )
    def test_values_survive_writing_and_reading(self, fields):
        found = _value(iter(_thrift(fields)))
        assert {n: value for n, (_, value) in found.items()} == {
            n: value for n, (_, value) in fields.items()
        }
