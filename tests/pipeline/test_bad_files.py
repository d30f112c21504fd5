"""Files that a careful enemy would choose: one bad thing costs nothing else."""

import struct

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import polars
import pyarrow as pa
import pyarrow.parquet as pq
from pipeline_helpers import OPTIONS, Stop, arrow_file, encode, merged, points, stop_after

from primal import pipeline
from primal.errors import DataError
from primal.pipeline._inspect import _n_different
from primal.pipeline._record import beside

DTYPES = ("float32", "float16", "uint8-phase", "uint16-phase", "bits")


class TestNullRows:
    @pytest.fixture
    def source(self, tmp_path):
        x = points(60)
        x[[3, 17, 18]] = np.nan
        np.save(tmp_path / "in.npy", x)
        return tmp_path / "in.npy"

    @pytest.mark.parametrize(
        ("suffix", "dtype"),
        [*(("parquet", dtype) for dtype in DTYPES), ("npy", "float32"), ("npy", "float16")],
    )
    def test_inspected(self, source, tmp_path, dtype, suffix):
        out = tmp_path / f"out.{suffix}"
        encode(source, out, **OPTIONS, stored=dtype, on_error="null")
        found = pipeline.inspect(out)
        assert (found.sampled_rows, found.wrong_rows, found.rejected) == (60, 0, 3)

    def test_another_row_that_is_null_is_a_wrong_row(self):
        codes = np.ones((4, 2), dtype=np.float32)
        null = np.array([True, False, False, False])

        def n_different(*there):
            there = np.array(there, dtype=bool)
            return _n_different(codes, null, codes[there], there)

        assert n_different(0, 1, 1, 1) == 0
        assert n_different(1, 0, 1, 1) == 2
        assert n_different(0, 0, 1, 0) == 2

    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_decoded(self, source, tmp_path, suffix):
        out, back = tmp_path / f"out.{suffix}", tmp_path / "back.npy"
        encode(source, out, dim=64, sigma=0.05, on_error="null")
        assert pipeline.decode(out, back).rows == 60
        np.testing.assert_allclose(np.load(back), np.load(source), atol=1e-4)


class TestOneBadFileCostsNoOther:
    def test_one_without_a_column_in_any_number_of_shards(self, tmp_path):
        folder = tmp_path / "in"
        folder.mkdir()
        for name in "abc":
            table = pa.table({f"x{j}": column for j, column in enumerate(points(70).T)})
            pq.write_table(
                table.drop_columns("x1") if name == "b" else table, folder / f"{name}.parquet"
            )
        options = OPTIONS | {"columns": ["x0", "x1"], "on_error": "skip"}
        whole = merged(folder, tmp_path, 1, **options)
        assert pq.read_table(whole).num_rows == 140
        for n in (2, 3, 7):
            other = merged(folder, tmp_path, n, **options)
            assert other.read_bytes() == whole.read_bytes()
            said = [beside(out, "rejected.csv").read_text() for out in (whole, other)]
            assert said[0] == said[1]
            assert said[0].count("no column 'x1'") == 1

    @pytest.mark.parametrize("place", [8, 11])
    def test_a_header_that_is_no_python(self, tmp_path, place):
        folder = tmp_path / "in"
        folder.mkdir()
        for name in "abc":
            np.save(folder / f"{name}.npy", points(40))
        data = bytearray((folder / "b.npy").read_bytes())
        data[place] = 40
        (folder / "b.npy").write_bytes(data)
        report = encode(folder, tmp_path / "out.parquet", **OPTIONS, on_error="skip")
        assert (report.rows, report.rejected) == (80, 1)
        with pytest.raises(DataError, match=r"b\.npy"):
            encode(folder, tmp_path / "raise.parquet", **OPTIONS)

    @pytest.mark.parametrize("kind", ["list", "text"])
    @pytest.mark.parametrize("offset", [0x7FFFFFFF, -5, 0])
    def test_offsets_in_an_arrow_file_that_point_elsewhere(self, tmp_path, kind, offset):
        step = 2 if kind == "list" else 8
        columns = {"x": pa.array([[1.0, 2.0]] * 50)} if kind == "list" else {"x": np.arange(50.0)}
        path = arrow_file(tmp_path / "in.arrow", pa.table(columns | {"k": ["abcdefgh"] * 50}))
        data = bytearray(path.read_bytes())
        at = data.find(struct.pack("<4i", *(step * i for i in range(1, 5))))
        data[at + 12 : at + 16] = struct.pack("<i", offset)
        path.write_bytes(data)
        options = OPTIONS | {"columns": "x", "keep": "k"}
        with pytest.raises(DataError, match=r"in\.arrow cannot be read"):
            encode(path, tmp_path / "out.parquet", **options)

    @pytest.mark.parametrize(
        ("first", "second", "said"),
        [
            ([[1.0, 2.0]] * 30, np.arange(30.0), "not lists of 2 numbers"),
            ([[1.0, 2.0]] * 30, [[1.0], [2.0]] * 15, "1 values, 2 expected"),
        ],
    )
    def test_lists_and_numbers(self, tmp_path, first, second, said):
        for name, values in (("a", first), ("b", second)):
            pq.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
        sources, out = [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet"
        with pytest.raises(DataError, match=said):
            encode(sources, out, **OPTIONS)
        assert encode(sources, out, **OPTIONS, on_error="skip").rows == 30
        assert said in beside(out, "rejected.csv").read_text()

    def test_columns_of_lists_among_columns_of_numbers(self, tmp_path):
        pq.write_table(pa.table({"x": [1.0], "y": [2.0]}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": [1.0], "y": [[2.0]]}), tmp_path / "b.parquet")
        with pytest.raises(DataError, match=r"b\.parquet: column 'y' has the type .*, not numbers"):
            encode(
                [tmp_path / "a.parquet", tmp_path / "b.parquet"],
                tmp_path / "out.parquet",
                **OPTIONS,
                columns=["x", "y"],
            )

    def test_kept_lists_of_another_length(self, tmp_path):
        for name, width in (("a", 2), ("b", 3)):
            kept = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(20 * width)), width)
            pq.write_table(pa.table({"x": np.zeros(20), "k": kept}), tmp_path / f"{name}.parquet")
        sources = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
        options = OPTIONS | {"columns": "x", "keep": "k", "on_error": "skip"}
        report = encode(sources, tmp_path / "out.parquet", **options)
        assert (report.rows, report.rejected) == (20, 20)

    def test_categories_that_need_more_room(self, tmp_path):
        for name, n in (("a", 3), ("b", 300)):
            kept = pa.DictionaryArray.from_arrays(
                pa.array(range(n), pa.int8() if n < 100 else pa.int16()),
                [f"v{i}" for i in range(n)],
            )
            arrow_file(tmp_path / f"{name}.arrow", pa.table({"x": np.zeros(n), "k": kept}))
        sources = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
        encode(sources, tmp_path / "out.parquet", **OPTIONS, columns="x", keep="k")
        expected = [*(f"v{i}" for i in range(3)), *(f"v{i}" for i in range(300))]
        assert pq.read_table(tmp_path / "out.parquet")["k"].to_pylist() == expected

    def test_an_empty_first_file_decides_nothing(self, tmp_path):
        kind = pa.schema([("x", pa.list_(pa.float64()))])
        pq.write_table(kind.empty_table(), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": [[1.0, 2.0]]}), tmp_path / "b.parquet")
        report = encode(
            [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet", **OPTIONS
        )
        assert (report.rows, report.spec["d"]) == (1, 2)
        with pytest.raises(DataError, match=r"a\.parquet: column 'x' holds no values"):
            encode(tmp_path / "a.parquet", tmp_path / "none.parquet", **OPTIONS)

    def test_a_first_file_without_the_column(self, tmp_path):
        pq.write_table(pa.table({"y": [1.0]}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": [1.0]}), tmp_path / "b.parquet")
        sources, out = [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet"
        with pytest.raises(DataError, match=r"a\.parquet cannot be read: it has no column 'x'"):
            encode(sources, out, **OPTIONS, columns="x")
        report = encode(sources, out, **OPTIONS, columns="x", on_error="skip")
        assert (report.rows, report.rejected) == (1, 1)

    def test_a_kept_type_that_parquet_lacks(self, tmp_path):
        spans = pa.array([(1, 2, 3)] * 5, pa.month_day_nano_interval())
        path = arrow_file(tmp_path / "in.arrow", pa.table({"x": np.zeros(5), "k": spans}))
        with pytest.raises(DataError, match="type that Parquet does not hold"):
            encode(path, tmp_path / "out.parquet", **OPTIONS, columns="x", keep="k")

    def test_what_polars_writes(self, tmp_path):
        table = polars.DataFrame(
            {
                "x": ["1.5", " 2 ", "bad", "4"],
                "text": ["a", None, "c", "d"],
                "kind": ["p", "q", "p", "q"],
                "tags": [["u"], [], ["v", "w"], None],
            },
            schema_overrides={"kind": polars.Categorical},
        )
        table.write_ipc(tmp_path / "in.arrow")
        kinds = pa.ipc.open_file(tmp_path / "in.arrow").schema
        assert pa.types.is_string_view(kinds.field("text").type)
        options = OPTIONS | {"columns": "x", "keep": ["text", "kind", "tags"], "on_error": "skip"}
        report = encode(tmp_path / "in.arrow", tmp_path / "out.parquet", **options)
        assert (report.rows, report.rejected) == (3, 1)
        found = pq.read_table(tmp_path / "out.parquet").drop_columns("features")
        good = table.drop("x").rows()
        assert [tuple(row.values()) for row in found.to_pylist()] == [good[i] for i in (0, 1, 3)]

    def test_a_first_list_that_is_empty(self, tmp_path):
        pq.write_table(pa.table({"x": [[], [1.0, 2.0], [3.0, 4.0]]}), tmp_path / "in.parquet")
        options = OPTIONS | {"on_error": "skip"}
        report = encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
        assert (report.rows, report.rejected, report.spec["d"]) == (2, 1, 2)

    @pytest.mark.parametrize(
        ("first", "second", "lost"),
        [
            (pa.array([1.0], pa.float32()), pa.array([1e300, 0.1, None, np.inf]), [0]),
            (pa.array([True]), pa.array([5, 1, 0, None]), [0]),
            (
                pa.array([0], pa.date32()),
                pa.array([86_400, 86_401, None, 0], pa.timestamp("s")),
                [1],
            ),
            (pa.array([1], pa.int8()), pa.array([1.0, 2.5, 300.0, None]), [1, 2]),
        ],
    )
    def test_kept_values_that_another_type_would_change(self, tmp_path, first, second, lost):
        pq.write_table(pa.table({"x": np.zeros(1), "k": first}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": np.zeros(4), "k": second}), tmp_path / "b.parquet")
        sources = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
        options = OPTIONS | {"columns": "x", "keep": "k", "on_error": "skip"}
        encode(sources, tmp_path / "out.parquet", **options)
        lines = beside(tmp_path / "out.parquet", "rejected.csv").read_text().splitlines()[1:]
        assert [int(line.split(",")[1]) for line in lines] == lost


class TestDamagedPages:
    @pytest.mark.parametrize("row", [60, 300])
    def test_the_same_rows_are_lost_however_it_is_cut(self, tmp_path, row):
        x = points(624, 1)[:, 0]
        source = tmp_path / "in.parquet"
        options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
        with pq.ParquetWriter(
            source,
            pa.schema([("x", pa.float64())]),
            **options,
            data_page_size=80,
            write_batch_size=10,
        ) as writer:
            for part in (x[:24], x[24:]):
                writer.write_table(pa.table({"x": part}), row_group_size=600)
        data = bytearray(source.read_bytes())
        data[data.find(x[row].tobytes())] ^= 1
        source.write_bytes(data)
        options = OPTIONS | {"columns": "x", "on_error": "skip"}
        whole = merged(source, tmp_path, 1, **options).read_bytes()
        for n in (2, 5, 39):
            assert merged(source, tmp_path, n, **options).read_bytes() == whole
        for n_blocks in (1, 2, 3, 20):
            out = tmp_path / f"stopped-{n_blocks}.parquet"
            with pytest.raises(Stop):
                encode(source, out, progress=stop_after(n_blocks), **options)
            encode(source, out, **options)
            assert out.read_bytes() == whole
