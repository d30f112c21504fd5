"""Moments, names and options that a careful enemy would choose."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
from pipeline_helpers import (
    OPTIONS,
    Stop,
    arrow_file,
    contents,
    encode,
    merged,
    points,
    stop_after,
)

from primal import PrimalError, pipeline
from primal.decoding import Box
from primal.errors import DataError, ParameterError, PhaseWrapWarning, SpecError
from primal.pipeline import _sources
from primal.pipeline._record import beside


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
        encode(path, tmp_path / "whole.parquet", **options)
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
        encode(sources, tmp_path / "whole.parquet", **options)
        for n in (1, 2, 5):
            out = merged(sources, tmp_path, n, **options)
            assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
            said = [
                beside(p, "rejected.csv").read_bytes() for p in (out, tmp_path / "whole.parquet")
            ]
            assert said[0] == said[1]

    def test_the_input_is_known_afterwards(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        found = pipeline.inspect(merged(tmp_path / "in.npy", tmp_path, 3, **OPTIONS))
        assert (found.sampled_rows, found.wrong_rows) == (64, 0)


class TestChangedThings:
    def test_shards_of_a_changed_input(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out"
        np.save(source, points(64))
        encode(source, out, shard=(0, 2), **OPTIONS)
        np.save(source, points(64, seed=1))
        with pytest.raises(ParameterError, match="the input files changed"):
            encode(source, out, shard=(1, 2), **OPTIONS)
        encode(source, out, shard=(1, 2), overwrite=True, **OPTIONS)
        with pytest.raises(ParameterError, match="is not complete"):  # the other's parts are gone
            pipeline.merge(out)
        encode(source, out, shard=(0, 2), **OPTIONS)
        assert pipeline.inspect(out).wrong_rows == 0
        assert pipeline.merge(out, tmp_path / "out.parquet").rows == 64
        encode(source, out, **(OPTIONS | {"sigma": 0.4, "overwrite": True}))
        with pytest.raises(ParameterError, match=r"sigma = 0\.5 there, 0\.4 asked"):
            pipeline.merge(out, tmp_path / "out.parquet")
        assert not pipeline.merge(out, tmp_path / "out.parquet", overwrite=True).already_complete

    def test_an_input_that_is_replaced_meanwhile(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(64))

        def replace(*told):
            np.save(source, points(64, seed=1))

        with pytest.raises(DataError, match="changed while it was read"):
            encode(source, out, progress=replace, **OPTIONS)
        assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]

    def test_outputs_written_again_by_something_else(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / "out.parquet"
        encode(tmp_path / "in.npy", out, **OPTIONS)
        table = pq.read_table(out)
        for other, options in (
            (table, {"row_group_size": 30}),
            (table.slice(5), {"row_group_size": 16}),
            (table.replace_schema_metadata(), {"row_group_size": 16}),
        ):
            pq.write_table(other, out, **options)
            for verb in (pipeline.inspect, lambda p: pipeline.decode(p, tmp_path / "back.npy")):
                with pytest.raises(DataError, match=r"by something else|not made by primal"):
                    verb(out)

    @pytest.mark.parametrize("other", [np.ones((64, 6)), np.ones(64), np.ones((63, 8), "float32")])
    def test_npy_outputs_written_again(self, tmp_path, other):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / "out.npy"
        encode(tmp_path / "in.npy", out, **OPTIONS)
        np.save(out, other)
        for verb in (pipeline.inspect, lambda p: pipeline.decode(p, tmp_path / "back.npy")):
            with pytest.raises(DataError, match="was changed after it was made"):
                verb(out)

    def test_a_manifest_without_a_fingerprint(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / "out.npy"
        report = encode(tmp_path / "in.npy", out, **OPTIONS)
        manifest = json.loads(beside(out, "manifest.json").read_text())
        del manifest["record"]["fingerprint"]
        beside(out, "manifest.json").write_text(json.dumps(manifest))
        again = encode(tmp_path / "in.npy", out, **OPTIONS)
        assert (again.already_complete, again.fingerprint) == (True, report.fingerprint)

    def test_a_manifest_with_other_columns(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / "out.npy"
        encode(tmp_path / "in.npy", out, **OPTIONS)
        manifest = json.loads(beside(out, "manifest.json").read_text())
        manifest["record"]["columns"] = "codebook"
        beside(out, "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(SpecError, match="3 numbers, and the columns are 'codebook'"):
            pipeline.decode(out, tmp_path / "back.npy")

    @pytest.mark.parametrize("name", ["out", "out.npy"])
    @pytest.mark.parametrize("change", [{"spec": {"turning": 3}}, {"fingerprint": "00"}, {"a": 1}])
    def test_a_request_that_says_more_is_another(self, tmp_path, name, change):
        np.save(tmp_path / "in.npy", points(64))
        out = tmp_path / name
        encode(tmp_path / "in.npy", out, **OPTIONS)
        path = out / "_primal.json" if name == "out" else beside(out, "manifest.json")
        manifest = json.loads(path.read_text())
        for key, value in change.items():
            old = manifest["request"].get(key)
            manifest["request"][key] = old | value if isinstance(value, dict) else value
        path.write_text(json.dumps(manifest))
        before = contents(tmp_path)
        with pytest.raises(ParameterError, match=r"(turning = 3|fingerprint = '00'|a = 1) there"):
            encode(tmp_path / "in.npy", out, **OPTIONS)
        assert contents(tmp_path) == before

    def test_side_files_match_no_pattern(self, tmp_path):
        (tmp_path / "in.csv").write_text("x\n1\nabc\n2\n")
        for _ in range(2):
            report = encode(
                str(tmp_path / "*.csv"), tmp_path / "out.parquet", **OPTIONS, on_error="skip"
            )
        assert report.already_complete

    def test_files_that_only_look_like_side_files(self, tmp_path):
        for name in ("day.parquet.csv", "other.csv"):
            (tmp_path / name).write_text("x\n1\n2\n")
        sources = [tmp_path / "other.csv", tmp_path / "day.parquet.csv"]
        assert encode(sources, tmp_path / "day.parquet", **OPTIONS).rows == 4

    def test_a_pattern_that_reaches_into_a_part_folder(self, tmp_path):
        for i in range(3):
            (tmp_path / f"{i}.csv").write_text("x\nabc\n2\n")
        options = OPTIONS | {"on_error": "skip"}
        pattern, out = str(tmp_path / "**" / "*.csv"), tmp_path / "out.parquet"
        with pytest.raises(Stop):
            encode(pattern, out, progress=stop_after(2), **options)
        assert encode(pattern, out, **options).resumed_rows > 0
        assert encode(pattern, tmp_path / "next.parquet", **options).rows == 3

    def test_an_input_out_of_reach_at_the_end_costs_nothing(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(64))

        def move(done, total):
            if done == total:
                source.rename(tmp_path / "moved.npy")

        with pytest.raises(PrimalError, match="out of reach"):
            encode(source, out, progress=move, **OPTIONS)
        (tmp_path / "moved.npy").rename(source)
        assert encode(source, out, **OPTIONS).resumed_rows == 64

    def test_a_second_run_leaves_one_at_work_alone(self, tmp_path):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(64))
        encode(source, out, **OPTIONS)
        arguments = ["encode", str(source), str(out), "--dim", "8", "--sigma", "0.5", "--json"]
        arguments += ["--rows-per-part", "16"]
        code = f"import sys; sys.argv[1:] = {arguments!r}; from primal.cli import main; main()"
        said = []

        def second(*told):
            if not said:
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                said.append(json.loads(done.stdout)["already_complete"])

        encode(source, out, overwrite=True, progress=second, **OPTIONS)
        assert said == [True]
        assert not list(tmp_path.glob("*primal-part"))


class TestFoldersOfInputs:
    """No file of a folder is left out in silence."""

    @pytest.fixture
    def data(self, tmp_path):
        for name in ("data/a/1.npy", "data/b/2.npy", "elsewhere/3.npy"):
            (tmp_path / name).parent.mkdir(parents=True)
            np.save(tmp_path / name, points(16))
        return tmp_path / "data"

    def test_linked_folders_are_read(self, data):
        (data / "c").symlink_to(data.parent / "elsewhere")
        assert encode(data, data.parent / "out", **OPTIONS).rows == 48
        assert encode(f"{data}/**/*.npy", data.parent / "same", **OPTIONS).rows == 48

    @pytest.mark.parametrize("target", [".", "a", "b"])
    def test_a_folder_within_itself_is_refused(self, data, target):
        (data / "a" / "loop").symlink_to(data / target)
        (data / "b" / "a").symlink_to(data / "a")
        with pytest.raises(DataError, match=r"(loop|a) is a link to a folder that it lies in"):
            encode(data, data.parent / "out", **OPTIONS)

    @pytest.mark.parametrize("kind", ["dangling", "pipe"])
    def test_names_without_a_file_are_refused(self, data, kind):
        if kind == "pipe":
            os.mkfifo(data / "4.npy")
        else:
            (data / "4.npy").symlink_to("nowhere.npy")
        for source in (data, f"{data}/**/*.npy"):
            with pytest.raises(DataError, match=r"4\.npy (cannot be read|is not a plain file)"):
                encode(source, data.parent / "out", **OPTIONS)

    def test_a_folder_that_cannot_be_listed_is_refused(self, data, monkeypatch):
        listed = os.scandir

        def scandir(path):
            if str(path).endswith("b"):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return listed(path)

        monkeypatch.setattr(os, "scandir", scandir)
        with pytest.raises(DataError, match="b cannot be read: Permission denied"):
            encode(data, data.parent / "out", **OPTIONS)


class TestTheSystemFails:
    @pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), MemoryError()])
    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    def test_no_row_is_given_up_for_it(self, tmp_path, monkeypatch, failure, on_error):
        source, out = tmp_path / "in.npy", tmp_path / "out.parquet"
        np.save(source, points(400))
        original, calls = _sources._Stored._items, []

        def items(*arguments):
            calls.append(arguments)
            if len(calls) == 20:
                raise failure
            return original(*arguments)

        monkeypatch.setattr(_sources._Stored, "_items", items)
        with pytest.raises(PrimalError, match="cannot be read now") as caught:
            encode(source, out, **OPTIONS, on_error=on_error)
        assert not isinstance(caught.value, DataError)
        report = encode(source, out, **OPTIONS, on_error=on_error)
        assert (report.rows, report.rejected) == (400, 0)
        assert report.resumed_rows > 0

    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_a_file_that_may_not_grow(self, tmp_path, monkeypatch, suffix):
        np.save(tmp_path / "in.npy", points(4000))
        code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
from primal.cli import main
options = ["--dim", "64", "--sigma", ".5", "--rows-per-part", "100"]
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
        report = encode("in.npy", f"out.{suffix}", dim=64, sigma=0.5, rows_per_part=100)
        assert report.rows == 4000
        assert report.resumed_rows > 0


class TestNames:
    def test_columns_called_as_ours(self, tmp_path):
        x = points(20, 2) * 0.1
        names = {"status": x[:, 0], "b": x[:, 1], "a": [1] * 20, "a_decoded": [2] * 20}
        pq.write_table(pa.table(names), tmp_path / "in.parquet")
        options = {"columns": ["status", "b"], "keep": ["a", "a_decoded"], "dim": 32, "sigma": 0.05}
        encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
        report = pipeline.decode(tmp_path / "out.parquet", tmp_path / "back.parquet")
        assert report.statuses == {"unique": 20}
        found = pq.read_table(tmp_path / "back.parquet")
        assert found.column_names == ["a", "a_decoded", "status", "b", "status_decoded"]

    def test_a_kept_column_called_as_that_of_a_npy_file(self, tmp_path):
        pq.write_table(pa.table({"x": [0.1, 0.2], "array": [7, 8]}), tmp_path / "in.parquet")
        options = {"columns": "x", "keep": "array", "dim": 4, "sigma": 0.05}
        encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
        pipeline.decode(tmp_path / "out.parquet", tmp_path / "back.parquet")
        assert pq.read_table(tmp_path / "back.parquet")["array"].to_pylist() == [7, 8]

    def test_a_decoded_column_beside_a_kept_one(self, tmp_path):
        pq.write_table(pa.table({"a": [0.1], "a_decoded": [2]}), tmp_path / "in.parquet")
        options = {"columns": "a", "keep": ["a", "a_decoded"], "dim": 4, "sigma": 0.05}
        encode(tmp_path / "in.parquet", tmp_path / "out.parquet", **options)
        pipeline.decode(tmp_path / "out.parquet", tmp_path / "back.parquet")
        found = pq.read_table(tmp_path / "back.parquet")
        assert found.column_names == ["a", "a_decoded", "a_decoded_decoded", "status"]

    @pytest.mark.parametrize("name", ["a" * 300 + ".npy", "nul\0.npy"])
    def test_names_that_no_disk_has(self, tmp_path, name):
        for source in (str(tmp_path / name), [str(tmp_path / name)]):
            with pytest.raises(DataError, match="cannot be read"):
                encode(source, tmp_path / "out.npy", **OPTIONS)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("a" * 300, "cannot be written: File name too long"),
            ("a" * 300 + ".npy", "cannot be written: File name too long"),
            ("a\udcff.npy", "cannot be written: .*surrogates not allowed"),
            ("loop", "cannot be written: Too many levels"),
            ("file", "is a file, and a name without suffix is that of a folder"),
            ("file/out", "cannot be written: Not a directory"),
        ],
    )
    def test_names_that_no_output_has(self, tmp_path, name, said):
        np.save(tmp_path / "in.npy", points(64))
        encode(tmp_path / "in.npy", tmp_path / "features", **OPTIONS)
        (tmp_path / "file").write_text("precious")
        (tmp_path / "loop").symlink_to("loop")
        before = contents(tmp_path)
        for make in (
            lambda out: encode(tmp_path / "in.npy", out, **OPTIONS),
            lambda out: pipeline.decode(tmp_path / "features", out),
            lambda out: pipeline.merge(tmp_path / "features", out),
        ):
            with pytest.raises(ParameterError, match=said):
                make(tmp_path / name)
        assert contents(tmp_path) == before

    @pytest.mark.parametrize("name", ["out", "out.npy", "out.parquet"])
    def test_a_pipe_stays(self, tmp_path, name):
        np.save(tmp_path / "in.npy", points(64))
        os.mkfifo(tmp_path / name)
        with pytest.raises(ParameterError, match="choose another name"):
            encode(tmp_path / "in.npy", tmp_path / name, overwrite=True, **OPTIONS)
        assert (tmp_path / name).is_fifo()

    @pytest.mark.parametrize("name", ["back", "back.parquet", "back.npy"])
    def test_an_output_of_decode_has_no_features(self, tmp_path, name):
        np.save(tmp_path / "in.npy", points(64))
        encode(tmp_path / "in.npy", tmp_path / "out", **(OPTIONS | {"sigma": 0.01}))
        pipeline.decode(tmp_path / "out", tmp_path / name)
        for verb in (
            pipeline.inspect,
            pipeline.load_index,
            lambda path: pipeline.decode(path, tmp_path / "again.npy"),
        ):
            with pytest.raises(SpecError, match="this holds decoded rows: name what encode wrote"):
                verb(tmp_path / name)

    def test_a_npy_file_of_somebody_else(self, tmp_path):
        np.save(tmp_path / "in.npy", points(64))
        for verb in (pipeline.inspect, pipeline.load_index):
            with pytest.raises(DataError, match=r"in\.npy was not made by primal: .* is missing"):
                verb(tmp_path / "in.npy")


class TestOptions:
    @pytest.fixture
    def source(self, tmp_path):
        np.save(tmp_path / "in.npy", points(50))
        return tmp_path / "in.npy"

    def test_numbers_of_numpy(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        encode(source, out, dim=np.int64(8), sigma=np.float32(0.5), rows_per_part=np.int32(16))
        assert encode(source, out, **OPTIONS).already_complete
        prior, noise = Box(np.float32(4.0)), np.float64(0.001)
        with pytest.warns(PhaseWrapWarning, match="50 of 50 rows"):
            pipeline.decode(out, tmp_path / "b.parquet", prior=prior, noise=noise)

    @pytest.mark.parametrize("rows_per_part", [2**26, 2**26 + 1])
    def test_memory_is_that_of_the_rows_there_are(self, source, tmp_path, rows_per_part):
        options = OPTIONS | {"rows_per_part": rows_per_part, "dim": 512}
        if rows_per_part > 2**26:
            with pytest.raises(ParameterError, match="at most 67108864"):
                encode(source, tmp_path / "out.parquet", **options)
        else:
            assert encode(source, tmp_path / "out.parquet", **options).rows == 50

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"shard": "0/7"}, r"a pair \(i, n\)"),
            ({"columns": 3}, "a name or a list of names"),
            ({"keep": [1]}, "a name or a list of names"),
            ({"engine": pipeline.Local(device="cuda")}, r"pass Local\(layer=..., device='cuda'\)"),
        ],
    )
    def test_wrong_ones_are_reported(self, source, tmp_path, more, said):
        with pytest.raises(ParameterError, match=said):
            encode(source, tmp_path / "out.parquet", **(OPTIONS | more))
        assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]

    def test_values_without_a_variance(self, tmp_path):
        x = points(50)
        x[7, 1] = 1e200
        np.save(tmp_path / "in.npy", x)
        with pytest.raises(DataError, match="too large to have a variance"):
            pipeline.scale_gamma(tmp_path / "in.npy", on_error="skip")
