"""Files, options and moments that a careful enemy would choose."""

import struct
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import polars
import pyarrow as pa
import pyarrow.parquet as pq

from primal import DataError, OptionError, PrimalError, pipeline
from primal.decoding import Box
from primal.pipeline import _array_source
from primal.pipeline._inspect import _n_different
from primal.pipeline._job import Rows
from primal.pipeline._manifest import beside

OPTIONS = {"dim": 8, "sigma": 0.5, "batch_rows": 16}
DTYPES = ("float32", "float16", "uint8-phase", "uint16-phase", "bits")


class Stop(BaseException):
    """Stands for a kill."""


def stop_after(n_blocks):
    calls = []

    def progress(*told):
        calls.append(told)
        if len(calls) == n_blocks:
            raise Stop

    return progress


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def arrow_file(path, table):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


def merged(source, folder, n, **options):
    """Encode in n shards and return the path of what they come to."""
    parts = [folder / f"part-{n}-{i}.parquet" for i in range(n)]
    for i, part in enumerate(parts):
        pipeline.encode(source, part, shard=(i, n), **options)
    pipeline.merge(parts, folder / f"merged-{n}.parquet")
    return folder / f"merged-{n}.parquet"


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
        pipeline.encode(source, out, **OPTIONS, dtype=dtype, on_error="null")
        found = pipeline.inspect(out)
        assert (found.sampled_rows, found.wrong_rows, found.rejected) == (60, 0, 3)

    def test_another_row_that_is_null_is_a_wrong_row(self):
        codes = np.ones((4, 2), dtype=np.float32)
        kind = pa.list_(pa.field("element", pa.float32(), nullable=False), 2)

        def stored(null):
            values = pa.array(codes.reshape(-1))
            return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=pa.array(null))

        made = Rows(pa.table({}), codes, np.array([True, False, False, False]), ())
        assert _n_different(made, stored([True, False, False, False])) == 0
        assert _n_different(made, stored([False, True, False, False])) == 2
        assert _n_different(made, stored([True, True, False, True])) == 2

    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_decoded(self, source, tmp_path, suffix):
        out, back = tmp_path / f"out.{suffix}", tmp_path / "back.npy"
        pipeline.encode(source, out, dim=64, sigma=0.05, on_error="null")
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
        report = pipeline.encode(folder, tmp_path / "out.parquet", **OPTIONS, on_error="skip")
        assert (report.rows, report.rejected) == (80, 1)
        with pytest.raises(DataError, match=r"b\.npy"):
            pipeline.encode(folder, tmp_path / "raise.parquet", **OPTIONS)

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
            pipeline.encode(path, tmp_path / "out.parquet", **options)

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
            pipeline.encode(sources, out, **OPTIONS)
        assert pipeline.encode(sources, out, **OPTIONS, on_error="skip").rows == 30
        assert said in beside(out, "rejected.csv").read_text()

    def test_columns_of_lists_among_columns_of_numbers(self, tmp_path):
        pq.write_table(pa.table({"x": [1.0], "y": [2.0]}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": [1.0], "y": [[2.0]]}), tmp_path / "b.parquet")
        with pytest.raises(DataError, match=r"b\.parquet: column 'y' has the type .*, not numbers"):
            pipeline.encode(
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
        report = pipeline.encode(sources, tmp_path / "out.parquet", **options)
        assert (report.rows, report.rejected) == (20, 20)

    def test_categories_that_need_more_room(self, tmp_path):
        for name, n in (("a", 3), ("b", 300)):
            kept = pa.DictionaryArray.from_arrays(
                pa.array(range(n), pa.int8() if n < 100 else pa.int16()),
                [f"v{i}" for i in range(n)],
            )
            arrow_file(tmp_path / f"{name}.arrow", pa.table({"x": np.zeros(n), "k": kept}))
        sources = [tmp_path / "a.arrow", tmp_path / "b.arrow"]
        pipeline.encode(sources, tmp_path / "out.parquet", **OPTIONS, columns="x", keep="k")
        expected = [*(f"v{i}" for i in range(3)), *(f"v{i}" for i in range(300))]
        assert pq.read_table(tmp_path / "out.parquet")["k"].to_pylist() == expected

    def test_an_empty_first_file_decides_nothing(self, tmp_path):
        kind = pa.schema([("x", pa.list_(pa.float64()))])
        pq.write_table(kind.empty_table(), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": [[1.0, 2.0]]}), tmp_path / "b.parquet")
        report = pipeline.encode(
            [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet", **OPTIONS
        )
        assert (report.rows, report.spec["d"]) == (1, 2)
        with pytest.raises(DataError, match=r"a\.parquet: column 'x' holds no values"):
            pipeline.encode(tmp_path / "a.parquet", tmp_path / "none.parquet", **OPTIONS)

    def test_a_first_file_without_the_column(self, tmp_path):
        pq.write_table(pa.table({"y": [1.0]}), tmp_path / "a.parquet")
        pq.write_table(pa.table({"x": [1.0]}), tmp_path / "b.parquet")
        sources, out = [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out.parquet"
        with pytest.raises(DataError, match=r"a\.parquet cannot be read: it has no column 'x'"):
            pipeline.encode(sources, out, **OPTIONS, columns="x")
        report = pipeline.encode(sources, out, **OPTIONS, columns="x", on_error="skip")
        assert (report.rows, report.rejected) == (1, 1)

    def test_a_kept_type_that_parquet_lacks(self, tmp_path):
        spans = pa.array([(1, 2, 3)] * 5, pa.month_day_nano_interval())
        path = arrow_file(tmp_path / "in.arrow", pa.table({"x": np.zeros(5), "k": spans}))
        with pytest.raises(DataError, match="type that Parquet does not hold"):
            pipeline.encode(path, tmp_path / "out.parquet", **OPTIONS, columns="x", keep="k")

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
        report = pipeline.encode(tmp_path / "in.arrow", tmp_path / "out.parquet", **options)
        assert (report.rows, report.rejected) == (3, 1)
        found = pq.read_table(tmp_path / "out.parquet").drop_columns("features")
        good = table.drop("x").rows()
        assert [tuple(row.values()) for row in found.to_pylist()] == [good[i] for i in (0, 1, 3)]

    def test_a_first_list_that_is_empty(self, tmp_path):
        pq.write_table(pa.table({"x": [[], [1.0, 2.0], [3.0, 4.0]]}), tmp_path / "in.parquet")
        options = OPTIONS | {"on_error": "skip"}
        report = pipeline.encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
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
        pipeline.encode(sources, tmp_path / "out.parquet", **options)
        lines = beside(tmp_path / "out.parquet", "rejected.csv").read_text().splitlines()[1:]
        assert [int(line.split(",")[1]) for line in lines] == lost


class TestMerging:
    def test_kept_types_that_arrow_reads_otherwise(self, tmp_path):
        n = 40
        kept = {
            "list": pa.array([[i] for i in range(n)]),
            "large": pa.array([[i] for i in range(n)], pa.large_list(pa.int64())),
            "map": pa.array([[(str(i), i)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
            "seconds": pa.array(range(n), pa.timestamp("s")),
            "clock": pa.array(range(n), pa.time32("s")),
            "day": pa.array([86_400_000 * i for i in range(n)], pa.date64()),
            "category": pa.DictionaryArray.from_arrays([i % 2 for i in range(n)], [7, 8]),
        }
        path = arrow_file(tmp_path / "in.arrow", pa.table({"x": np.zeros(n)} | kept))
        options = OPTIONS | {"columns": "x", "keep": list(kept)}
        pipeline.encode(path, tmp_path / "whole.parquet", **options)
        whole = (tmp_path / "whole.parquet").read_bytes()
        assert merged(path, tmp_path, 2, **options).read_bytes() == whole

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    def test_a_file_that_is_listed_twice(self, tmp_path, suffix):
        path = tmp_path / f"in.{suffix}"
        values = [1.0, None, 3.0, None, 5.0] * 8
        if suffix == "csv":
            path.write_text("x,y\n" + "".join(f"{'' if v is None else v},1\n" for v in values))
        else:
            pq.write_table(pa.table({"x": values, "y": np.ones(40)}), path)
        options = OPTIONS | {"columns": ["x", "y"], "on_error": "skip"}
        sources = [path, path, path]
        pipeline.encode(sources, tmp_path / "whole.parquet", **options)
        for n in (1, 2, 5):
            out = merged(sources, tmp_path, n, **options)
            assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
            said = [
                beside(p, "rejected.csv").read_bytes() for p in (out, tmp_path / "whole.parquet")
            ]
            assert said[0] == said[1]

    def test_copies_of_one_input(self, tmp_path):
        path = tmp_path / "in.npy"
        parts = [tmp_path / f"part-{i}.parquet" for i in range(2)]
        for i, part in enumerate(parts):
            np.save(path, points(64))  # the same rows, another time
            pipeline.encode(path, part, shard=(i, 2), **OPTIONS)
        with pytest.raises(OptionError, match="same_inputs"):
            pipeline.merge(parts, tmp_path / "out.parquet")
        assert pipeline.merge(parts, tmp_path / "out.parquet", same_inputs=True).rows == 64

    def test_the_input_is_known_afterwards(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        found = pipeline.inspect(merged(tmp_path / "in.npy", tmp_path, 3, **OPTIONS))
        assert (found.sampled_rows, found.wrong_rows) == (64, 0)

    def test_one_path_is_no_list(self, tmp_path):
        with pytest.raises(OptionError, match="a list of paths"):
            pipeline.merge("part.parquet", tmp_path / "out.parquet")


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
                pipeline.encode(source, out, progress=stop_after(n_blocks), **options)
            pipeline.encode(source, out, **options)
            assert out.read_bytes() == whole


class TestChangedThings:
    def test_shards_of_a_changed_input(self, tmp_path):
        source = tmp_path / "in.npy"
        np.save(source, points(64))
        first = merged(source, tmp_path, 2, **OPTIONS).read_bytes()
        np.save(source, points(64, seed=1))
        parts = [tmp_path / f"part-2-{i}.parquet" for i in range(2)]
        pipeline.encode(source, parts[0], shard=(0, 2), overwrite=True, **OPTIONS)
        with pytest.raises(OptionError, match=r"in\.npy changed between the making of"):
            pipeline.merge(parts, tmp_path / "mixed.parquet")
        pipeline.encode(source, parts[1], shard=(1, 2), overwrite=True, **OPTIONS)
        with pytest.raises(OptionError, match="other settings"):  # the parts are new ones
            pipeline.merge(parts, tmp_path / "merged-2.parquet")
        report = pipeline.merge(parts, tmp_path / "merged-2.parquet", overwrite=True)
        assert not report.already_complete
        assert (tmp_path / "merged-2.parquet").read_bytes() != first

    def test_an_input_that_is_replaced_meanwhile(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(64))

        def replace(*told):
            np.save(source, points(64, seed=1))

        with pytest.raises(DataError, match="changed while it was read"):
            pipeline.encode(source, out, progress=replace, **OPTIONS)
        assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]

    def test_outputs_written_again_by_something_else(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / "out.parquet"
        pipeline.encode(tmp_path / "in.npy", out, **OPTIONS)
        table = pq.read_table(out)
        for other, options in (
            (table, {"row_group_size": 30}),
            (table.slice(5), {"row_group_size": 16}),
            (table.replace_schema_metadata(), {"row_group_size": 16}),
        ):
            pq.write_table(other, out, **options)
            for verb in (pipeline.inspect, lambda p: pipeline.decode(p, tmp_path / "back.npy")):
                with pytest.raises(DataError, match=r"by something else|not made by primal encode"):
                    verb(out)

    @pytest.mark.parametrize("other", [np.ones((64, 6)), np.ones(64), np.ones((63, 8), "float32")])
    def test_npy_outputs_written_again(self, tmp_path, other):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / "out.npy"
        pipeline.encode(tmp_path / "in.npy", out, **OPTIONS)
        np.save(out, other)
        for verb in (pipeline.inspect, lambda p: pipeline.decode(p, tmp_path / "back.npy")):
            with pytest.raises(DataError, match="was changed after it was made"):
                verb(out)

    def test_side_files_match_no_pattern(self, tmp_path):
        (tmp_path / "in.csv").write_text("x\n1\nabc\n2\n")
        for _ in range(2):
            report = pipeline.encode(
                str(tmp_path / "*.csv"), tmp_path / "out.parquet", **OPTIONS, on_error="skip"
            )
        assert report.already_complete

    def test_files_that_only_look_like_side_files(self, tmp_path):
        for name in ("day.parquet.csv", "other.csv"):
            (tmp_path / name).write_text("x\n1\n2\n")
        sources = [tmp_path / "other.csv", tmp_path / "day.parquet.csv"]
        assert pipeline.encode(sources, tmp_path / "day.parquet", **OPTIONS).rows == 4

    def test_a_pattern_that_reaches_into_a_part_folder(self, tmp_path):
        for i in range(3):
            (tmp_path / f"{i}.csv").write_text("x\nabc\n2\n")
        options = OPTIONS | {"on_error": "skip"}
        pattern, out = str(tmp_path / "**" / "*.csv"), tmp_path / "out.parquet"
        with pytest.raises(Stop):
            pipeline.encode(pattern, out, progress=stop_after(2), **options)
        assert pipeline.encode(pattern, out, **options).resumed_rows > 0
        assert pipeline.encode(pattern, tmp_path / "next.parquet", **options).rows == 3

    def test_an_input_out_of_reach_at_the_end_costs_nothing(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(64))

        def move(done, total):
            if done == total:
                source.rename(tmp_path / "moved.npy")

        with pytest.raises(PrimalError, match="out of reach"):
            pipeline.encode(source, out, progress=move, **OPTIONS)
        (tmp_path / "moved.npy").rename(source)
        assert pipeline.encode(source, out, **OPTIONS).resumed_rows == 64

    def test_a_second_run_leaves_one_at_work_alone(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(64))
        pipeline.encode(source, out, **OPTIONS)
        code = (
            "import sys; from primal import pipeline; "
            f"print(pipeline.encode({str(source)!r}, {str(out)!r}, **{OPTIONS!r}).already_complete)"
        )
        said = []

        def second(*told):
            if not said:
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                said.append(done.stdout.strip() or done.stderr)

        pipeline.encode(source, out, overwrite=True, progress=second, **OPTIONS)
        assert said == ["True"]
        assert not list(tmp_path.glob("*primal-part"))


class TestTheSystemFails:
    @pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), MemoryError()])
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    def test_no_row_is_given_up_for_it(self, tmp_path, monkeypatch, failure, on_error):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(400))
        original, calls = _array_source._Stored._items, []

        def items(*arguments):
            calls.append(arguments)
            if len(calls) == 20:
                raise failure
            return original(*arguments)

        monkeypatch.setattr(_array_source._Stored, "_items", items)
        with pytest.raises(PrimalError, match="cannot be read now") as caught:
            pipeline.encode(source, out, **OPTIONS, on_error=on_error)
        assert not isinstance(caught.value, DataError)
        report = pipeline.encode(source, out, **OPTIONS, on_error=on_error)
        assert (report.rows, report.rejected) == (400, 0)
        assert report.resumed_rows > 0

    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_a_file_that_may_not_grow(self, tmp_path, monkeypatch, suffix):
        np.save(tmp_path / "in.npy", points(4000))
        code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
from primal.cli import main
options = ["--dim", "64", "--sigma", ".5", "--batch-rows", "100"]
sys.argv = ["primal", "encode", "in.npy", "out.{suffix}", *options]
main()
"""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert "cannot be written: File too large" in done.stderr
        assert "Traceback" not in done.stderr
        monkeypatch.chdir(tmp_path)
        report = pipeline.encode("in.npy", f"out.{suffix}", dim=64, sigma=0.5, batch_rows=100)
        assert report.rows == 4000
        assert report.resumed_rows > 0


class TestNames:
    def test_columns_called_as_ours(self, tmp_path):
        x = points(20, 2) * 0.1
        names = {"status": x[:, 0], "b": x[:, 1], "a": [1] * 20, "a_decoded": [2] * 20}
        pq.write_table(pa.table(names), tmp_path / "in.parquet")
        options = {"columns": ["status", "b"], "keep": ["a", "a_decoded"], "dim": 32, "sigma": 0.05}
        pipeline.encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
        linear = pipeline.decode(tmp_path / "out.parquet", tmp_path / "linear.parquet")
        assert linear.statuses == {}
        exact = pipeline.decode(
            tmp_path / "out.parquet", tmp_path / "exact.parquet", prior=Box(1.0)
        )
        assert exact.statuses == {"unique": 20}
        found = pq.read_table(tmp_path / "exact.parquet")
        assert found.column_names == ["a", "a_decoded", "status", "b", "status_decoded"]

    def test_a_decoded_column_beside_a_kept_one(self, tmp_path):
        pq.write_table(pa.table({"a": [0.1], "a_decoded": [2]}), tmp_path / "in.parquet")
        options = {"columns": "a", "keep": ["a", "a_decoded"], "dim": 4, "sigma": 0.05}
        pipeline.encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
        pipeline.decode(tmp_path / "out.parquet", tmp_path / "back.parquet")
        found = pq.read_table(tmp_path / "back.parquet")
        assert found.column_names == ["a", "a_decoded", "a_decoded_decoded"]

    @pytest.mark.parametrize("name", ["a" * 300 + ".npy", "nul\0.npy"])
    def test_names_that_no_disk_has(self, tmp_path, name):
        for source in (str(tmp_path / name), [str(tmp_path / name)]):
            with pytest.raises(DataError, match="cannot be read"):
                pipeline.encode(source, tmp_path / "out.npy", **OPTIONS)


class TestOptions:
    @pytest.fixture
    def source(self, tmp_path):
        np.save(tmp_path / "in.npy", points(50))
        return tmp_path / "in.npy"

    def test_numbers_of_numpy(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        pipeline.encode(
            source, out, dim=np.int64(8), sigma=np.float32(0.5), batch_rows=np.int32(16)
        )
        assert pipeline.encode(source, out, **OPTIONS).already_complete
        pipeline.decode(out, tmp_path / "b.parquet", prior=Box(1.0), noise=np.float64(0.001))

    @pytest.mark.parametrize("batch_rows", [2**26, 2**26 + 1])
    def test_memory_is_that_of_the_rows_there_are(self, source, tmp_path, batch_rows):
        options = OPTIONS | {"batch_rows": batch_rows, "dim": 512}
        if batch_rows > 2**26:
            with pytest.raises(OptionError, match="at most 67108864"):
                pipeline.encode(source, tmp_path / "out.parquet", **options)
        else:
            assert pipeline.encode(source, tmp_path / "out.parquet", **options).rows == 50

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"shard": "0/7"}, r"a pair \(i, n\)"),
            ({"columns": None}, "a name or a list of names"),
            ({"keep": [1]}, "a name or a list of names"),
            ({"kernel": "cauchy"}, "kernel goes with gamma"),
        ],
    )
    def test_wrong_ones_are_told(self, source, tmp_path, more, said):
        with pytest.raises(OptionError, match=said):
            pipeline.encode(source, tmp_path / "out.parquet", **(OPTIONS | more))
        assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]

    def test_a_beam_needs_a_prior(self, source, tmp_path):
        pipeline.encode(source, tmp_path / "out.parquet", **OPTIONS)
        with pytest.raises(OptionError, match="beam is for decoding with a prior"):
            pipeline.decode(tmp_path / "out.parquet", tmp_path / "b.npy", beam=4)

    def test_values_without_a_variance(self, tmp_path):
        pytest.importorskip("sklearn")
        x = points(50)
        x[7, 1] = 1e200
        np.save(tmp_path / "in.npy", x)
        with pytest.raises(DataError, match="too large to have a variance"):
            pipeline.encode(
                tmp_path / "in.npy", tmp_path / "o.npy", dim=8, gamma="scale", on_error="skip"
            )
