"""Stopped, killed, sharded or repeated: the bytes are those of one quiet run."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pipeline_helpers import Stop, contents, encode, stop_after

from primal import KernelPrime, PrimalError, pipeline
from primal.decoding import Box
from primal.errors import DataError, MissingPackageError, ParameterError, PhaseWrapWarning
from primal.pipeline import _job, _output
from primal.pipeline._blocks import Blocks, Span
from primal.pipeline._inputs import InputFile, find_inputs
from primal.pipeline._record import beside

OPTIONS = {"columns": "x*", "dim": 8, "sigma": 0.5, "rows_per_part": 16, "on_error": "skip"}
N_PARTS = 13


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Three files of 5, 6 and 2 blocks, with a few bad rows."""
    folder = tmp_path_factory.mktemp("source")
    rng = np.random.default_rng(0)
    for name, n in (("a.parquet", 80), ("b.csv", 90), ("c.arrow", 17)):
        x = rng.standard_normal((n, 3))
        x[n // 2] = np.nan
        table = pa.table({f"x{j}": x[:, j] for j in range(3)} | {"id": np.arange(n)})
        if name.endswith("parquet"):
            pq.write_table(table, folder / name, row_group_size=30)
        elif name.endswith("csv"):
            pyarrow.csv.write_csv(table, folder / name)
        else:
            with pa.ipc.new_file(folder / name, table.schema) as writer:
                writer.write_table(table)
    return folder


@pytest.fixture(scope="module", params=["out", "out.parquet", "out.npy"])
def whole(request, source, tmp_path_factory):
    """An output of each kind, made without a stop."""
    out = tmp_path_factory.mktemp("whole") / request.param
    encode(source, out, **kept(out))
    return out


def kept(out):
    return OPTIONS | ({} if out.suffix == ".npy" else {"keep": "id"})


def begin(source, out, n_parts, **more):
    """Stop a run after some parts, and return the folder that it leaves."""
    with pytest.raises(Stop):
        encode(source, out, progress=stop_after(n_parts), **(kept(out) | more))
    if out.suffix:
        assert not out.exists()
        return beside(out, "primal-part")
    return out


def assert_same(out, whole):
    """Same features, manifests and rejected rows, and nothing left over."""
    assert contents(out.parent) == contents(whole.parent)


class TestResuming:
    @pytest.mark.parametrize("n_parts", range(1, N_PARTS + 1))
    def test_after_a_stop_at_any_part(self, source, whole, tmp_path, n_parts):
        out = tmp_path / whole.name
        begin(source, out, n_parts)
        assert encode(source, out, **kept(out)).resumed_rows > 0
        assert_same(out, whole)

    @pytest.mark.parametrize(
        ("lost", "n_rows"), [((0, 0), 16), ((0, 3), 16), ((1, 2), 15), ((2, 1), 1)]
    )
    def test_parts_that_are_missing_are_made_again(self, source, tmp_path, whole, lost, n_rows):
        out = tmp_path / whole.name
        folder = begin(source, out, N_PARTS)
        (folder / _output.PART_NAME.format(*lost)).unlink()
        report = encode(source, out, **kept(out))
        assert report.resumed_rows == report.rows - n_rows
        assert_same(out, whole)

    def test_drafts_of_a_kill_are_removed(self, source, whole, tmp_path):
        out = tmp_path / whole.name
        folder = begin(source, out, 3)
        (folder / f".primal-{32 * 'a'}.part").write_bytes(b"half a part")
        encode(source, out, **kept(out))
        assert_same(out, whole)

    def test_a_part_is_on_the_disk_before_it_has_its_name(self, source, tmp_path, monkeypatch):
        """After a power failure a name stands for a whole part, or there is no such name."""
        synced, renamed = set(), []
        fsync, replace = os.fsync, Path.replace

        def noted_fsync(opened):
            synced.add(os.fstat(opened).st_ino)
            fsync(opened)

        def noted_replace(path, target):
            renamed.append((path.stat().st_ino in synced, Path(target).name))
            return replace(path, target)

        monkeypatch.setattr(os, "fsync", noted_fsync)
        monkeypatch.setattr(Path, "replace", noted_replace)
        encode(source, tmp_path / "out", **OPTIONS)
        assert all(on_disk for on_disk, _ in renamed)
        assert sum(name.endswith(".parquet") for _, name in renamed) == N_PARTS

    @pytest.mark.parametrize("step", ["write_file", "manifest_text", "remove"])
    def test_after_a_stop_while_finishing(self, source, tmp_path, monkeypatch, step):
        out, quiet = tmp_path / "a" / "out.parquet", tmp_path / "b" / "out.parquet"
        encode(source, quiet, **OPTIONS)

        def stop(*_, **__):
            raise Stop

        owner = _output.PartFolder if step == "remove" else _output
        monkeypatch.setattr(owner, step, stop)
        with pytest.raises(Stop):
            encode(source, out, **OPTIONS)
        monkeypatch.undo()
        report = encode(source, out, **OPTIONS)
        assert report.already_complete == (step == "remove")
        assert_same(out, quiet)

    def test_after_a_try_with_an_engine_that_is_not_there(
        self, source, whole, tmp_path, monkeypatch
    ):
        out = tmp_path / whole.name
        begin(source, out, 6)
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(MissingPackageError):
            encode(source, out, engine="ray", **kept(out))
        monkeypatch.undo()
        assert encode(source, out, **kept(out)).resumed_rows > 0
        assert_same(out, whole)

    @pytest.mark.parametrize("n_parts", [1, 3, 12])
    @pytest.mark.parametrize("prior", [None, Box(4.0)])
    @pytest.mark.parametrize("name", ["back", "back.parquet", "back.npy"])
    def test_a_decoding_resumes_too(self, source, tmp_path, n_parts, prior, name):
        encode(source, tmp_path / "features", **OPTIONS)
        expected, out = tmp_path / "a" / name, tmp_path / "b" / name
        with pytest.warns(PhaseWrapWarning):
            quiet = pipeline.decode(tmp_path / "features", expected, prior=prior)
        progress = stop_after(n_parts)
        with pytest.raises(Stop):
            pipeline.decode(tmp_path / "features", out, prior=prior, progress=progress)
        with pytest.warns(PhaseWrapWarning):
            report = pipeline.decode(tmp_path / "features", out, prior=prior)
        assert report.resumed_rows > 0
        assert (report.rows, report.statuses) == (quiet.rows, quiet.statuses)
        assert sum(report.statuses.values()) == quiet.rows
        assert_same(out, expected)

    @pytest.mark.parametrize(
        ("verb", "name", "kills"),
        [
            ("encode", "out", 8),
            ("encode", "out.parquet", 8),
            ("encode", "out.npy", 4),
            ("decode", "out", 4),
            ("decode", "out.npy", 4),
        ],
    )
    def test_killed_at_random_moments(self, verb, name, kills):
        script = Path(__file__).parents[1] / "support" / "pipeline_kills.py"
        options = ["--kills", str(kills), "--name", name, "--verb", verb]
        command = [sys.executable, str(script), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert f"{kills} kills" in done.stdout

    @pytest.mark.parametrize("name", ["out", "out.parquet"])
    def test_a_full_disk_is_reported_and_can_be_fixed(self, source, tmp_path, monkeypatch, name):
        out, quiet = tmp_path / "a" / name, tmp_path / "b" / name
        encode(source, quiet, **OPTIONS)
        original, count = _job.write_file, []

        def full(*arguments):
            count.append(0)
            if len(count) > 4:
                raise OSError(errno.ENOSPC, "No space left on device")
            return original(*arguments)

        monkeypatch.setattr(_job, "write_file", full)
        with pytest.raises(PrimalError, match=r"No space left.*resumes where it stopped"):
            encode(source, out, **OPTIONS)
        monkeypatch.undo()
        assert encode(source, out, **OPTIONS).resumed_rows > 0
        assert_same(out, quiet)


class TestSamePlace:
    @pytest.mark.parametrize("name", ["out", "out.parquet"])
    def test_again_does_nothing(self, source, tmp_path, name):
        out = tmp_path / name
        first = encode(source, out, **OPTIONS)
        changed = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
        again = encode(source, out, **OPTIONS)
        assert again.already_complete
        assert (again.rows, again.fingerprint) == (first.rows, first.fingerprint)
        assert {path: path.stat().st_mtime_ns for path in changed} == changed

    @pytest.mark.parametrize("finished", [True, False])
    @pytest.mark.parametrize("name", ["out", "out.parquet"])
    def test_other_settings_are_refused(self, source, tmp_path, finished, name):
        out = tmp_path / name
        if finished:
            encode(source, out, keep="id", **OPTIONS)
        else:
            begin(source, out, 3)
        before = contents(tmp_path)
        other = OPTIONS | {"keep": "id", "dim": 10}
        with pytest.raises(ParameterError, match="D = 8 there, 10 asked"):
            encode(source, out, **other)
        assert contents(tmp_path) == before
        report = encode(source, out, overwrite=True, **other)
        assert not report.already_complete
        assert pq.read_table(out).schema.field("features").type.list_size == 10

    @pytest.mark.parametrize("name", ["out", "out.npy"])
    def test_changed_input_is_refused(self, tmp_path, name):
        np.save(tmp_path / "in.npy", np.ones((20, 2)))
        out = tmp_path / name
        encode(tmp_path / "in.npy", out, dim=4, sigma=1.0)
        np.save(tmp_path / "in.npy", np.ones((21, 2)))
        with pytest.raises(ParameterError, match="input files changed"):
            encode(tmp_path / "in.npy", out, dim=4, sigma=1.0)
        assert encode(tmp_path / "in.npy", out, dim=4, sigma=1.0, overwrite=True).rows == 21

    def test_overwrite_makes_a_complete_output_anew_and_resumes_another(self, source, tmp_path):
        out = tmp_path / "out"
        encode(source, out, **OPTIONS)
        before = contents(out)
        part = out / _output.PART_NAME.format(0, 0)
        changed = part.stat().st_mtime_ns
        report = encode(source, out, overwrite=True, **OPTIONS)
        assert (report.already_complete, report.resumed_rows) == (False, 0)
        assert part.stat().st_mtime_ns > changed
        assert contents(out) == before
        (out / _output.PART_NAME.format(0, 1)).unlink()
        assert encode(source, out, overwrite=True, **OPTIONS).resumed_rows > 0
        assert contents(out) == before

    def test_foreign_and_changed_files_are_not_touched(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        out.write_bytes(b"something else")
        with pytest.raises(ParameterError, match="no manifest"):
            encode(source, out, **OPTIONS)
        assert out.read_bytes() == b"something else"
        encode(source, out, overwrite=True, **OPTIONS)
        with out.open("ab") as opened:
            opened.write(b"more")
        with pytest.raises(ParameterError, match="was changed"):
            encode(source, out, **OPTIONS)

    @pytest.mark.parametrize("name", ["out", "out.parquet"])
    @pytest.mark.parametrize("more", [{}, {"dim": 10, "overwrite": True}])
    def test_two_runs_at_once_are_refused(self, source, tmp_path, name, more):
        out, refused = tmp_path / name, []

        def second(done, total):
            with pytest.raises(ParameterError, match="another run"):
                encode(source, out, **(OPTIONS | more))
            refused.append(done)

        encode(source, out, progress=second, **OPTIONS)
        assert len(refused) == N_PARTS

    def test_shards_may_run_at_once_and_others_may_not(self, source, tmp_path):
        out, seen = tmp_path / "out", []

        def second(done, total):
            if not seen:
                seen.append(encode(source, out, shard=(1, 2), **OPTIONS).rows)
                for more in ({}, {"shard": (1, 2), "dim": 10, "overwrite": True}):
                    with pytest.raises(ParameterError, match="another run"):
                        encode(source, out, **(OPTIONS | more))

        first = encode(source, out, shard=(0, 2), progress=second, **OPTIONS)
        assert seen[0] + first.rows == 184

    def test_an_old_file_stays_until_the_new_one_is_whole(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        encode(source, out, **OPTIONS)
        old = out.read_bytes()
        changed = OPTIONS | {"dim": 4, "overwrite": True}
        with pytest.raises(Stop):
            encode(source, out, progress=stop_after(3), **changed)
        assert out.read_bytes() == old
        assert encode(source, out, **changed).resumed_rows > 0
        assert out.read_bytes() != old

    def test_a_new_manifest_never_stands_beside_an_old_output(self, source, tmp_path, monkeypatch):
        out = tmp_path / "out.parquet"
        encode(source, out, **OPTIONS)
        old = out.read_bytes()
        changed = OPTIONS | {"sigma": 0.25}  # the new output has as many bytes
        original = Path.replace

        def stop(path, target):
            found = original(path, target)
            if Path(target).name == "out.parquet.manifest.json":
                raise Stop
            return found

        monkeypatch.setattr(Path, "replace", stop)
        with pytest.raises(Stop):
            encode(source, out, overwrite=True, **changed)
        monkeypatch.undo()
        assert not encode(source, out, **changed).already_complete
        assert out.read_bytes() != old

    @pytest.mark.parametrize("name", ["out", "out.parquet"])
    def test_manifest_names_inputs_and_versions(self, source, tmp_path, name):
        out = tmp_path / name
        encode(source, out, **OPTIONS)
        path = beside(out, "manifest.json") if out.suffix else out / "_primal.json"
        manifest = json.loads(path.read_text())
        names = [Path(one["path"]).name for one in manifest["request"]["inputs"]]
        assert names == ["a.parquet", "b.csv", "c.arrow"]
        assert manifest["request"]["inputs"][0]["n_bytes"] == (source / names[0]).stat().st_size
        assert set(manifest["versions"]) == {"primal", "numpy", "pyarrow"}

    def test_parts_do_not_depend_on_where_they_are(self, source, tmp_path):
        shutil.copytree(source, tmp_path / "elsewhere")
        encode(source, tmp_path / "a", **OPTIONS)
        encode(tmp_path / "elsewhere", tmp_path / "b", **OPTIONS)
        for path in sorted((tmp_path / "a").glob("*.parquet")):
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


class TestShards:
    @pytest.mark.parametrize("n", [1, 2, 7, 30])
    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_together_they_are_the_whole(self, source, tmp_path, n, suffix):
        options = OPTIONS | ({"keep": "id"} if suffix == "parquet" else {})
        for folder in ("whole", "merged", "folder"):
            (tmp_path / folder).mkdir()
        whole, merged = (tmp_path / name / f"out.{suffix}" for name in ("whole", "merged"))
        encode(source, whole, **options)
        encode(source, tmp_path / "folder" / "out", **options)
        shards = tmp_path / "shards" / "out"
        rows = [encode(source, shards, shard=(i, n), **options).rows for i in reversed(range(n))]
        assert contents(shards) == contents(tmp_path / "folder" / "out")
        report = pipeline.merge(shards)
        assert (report.rows, report.path) == (sum(rows), shards)
        seen = []
        report = pipeline.merge(shards, merged, progress=lambda *rows: seen.append(rows))
        assert merged.read_bytes() == whole.read_bytes()
        assert seen[-1] == (report.rows, report.rows)
        assert report.rejected == 3
        lists = [beside(out, "rejected.csv").read_bytes() for out in (whole, merged)]
        assert lists[0] == lists[1]
        assert pipeline.merge(shards, merged).already_complete

    def test_what_is_not_complete_is_refused(self, source, tmp_path):
        out = tmp_path / "out"
        encode(source, out, shard=(0, 3), **OPTIONS)
        encode(source, out, shard=(2, 3), **OPTIONS)
        for verb in (
            pipeline.merge,
            pipeline.inspect,
            lambda path: pipeline.decode(path, tmp_path / "back"),
        ):
            with pytest.raises(ParameterError, match="is not complete"):
                verb(out)
        with pytest.raises(ParameterError, match="D = 8 there, 10 asked"):
            encode(source, out, shard=(1, 3), **(OPTIONS | {"dim": 10}))
        encode(source, out, shard=(1, 3), **OPTIONS)
        part = out / _output.PART_NAME.format(0, 2)
        good = part.read_bytes()
        part.unlink()
        with pytest.raises(ParameterError, match="part 2 of input file 0"):
            pipeline.merge(out)
        encode(source, tmp_path / "other", **(OPTIONS | {"sigma": 0.4}))
        shutil.copy(tmp_path / "other" / part.name, part)
        with pytest.raises(DataError, match="is a part of another run"):
            pipeline.merge(out)
        with pytest.raises(DataError, match="is a part of another run"):
            encode(source, out, **OPTIONS)
        part.write_bytes(good[:-20])
        with pytest.raises(DataError, match=r"part-00000-000002\.parquet cannot be read"):
            pipeline.merge(out)
        part.write_bytes(good)
        assert pipeline.merge(out).rows == 184
        for inside in (pipeline.merge, pipeline.decode):
            with pytest.raises(ParameterError, match="lies inside of"):
                inside(out, out / "back.parquet")
        for source_of_none, said in ((tmp_path / "none", "no folder"), (source, "cannot be read")):
            with pytest.raises(DataError, match=said):
                pipeline.merge(source_of_none)

    @pytest.mark.parametrize("src", ["", [], [None], ["x.npy", 3], [""]])
    def test_no_path_is_not_the_working_folder(self, src, source, monkeypatch):
        monkeypatch.chdir(source.parent)
        with pytest.raises(ParameterError, match="src must be a path"):
            find_inputs(src)

    @pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
    def test_every_block_is_in_one_shard(self, source, n):
        files = find_inputs(source, Path("elsewhere.parquet"))
        found = []
        for i in range(n):
            for span in Blocks(files, (), 4).spans((i, n))[0]:
                blocks = [0] if span.last is None else range(span.first, span.last)
                found += [(span.file, block) for block in blocks]
        expected = [(0, b) for b in range(20)] + [(1, 0)] + [(2, b) for b in range(5)]
        assert sorted(found) == expected

    def test_only_what_is_missing_is_read(self, source):
        files = find_inputs(source, Path("elsewhere.parquet"))
        blocks = Blocks(files, ("x0", "id"), 16)
        spans, n_rows = blocks.spans()
        assert spans == [Span(0, 0, 5), Span(1, 0, None), Span(2, 0, 2)]
        assert n_rows is None  # a CSV file does not say
        assert Blocks((files[0], files[2]), ("x0",), 16).spans()[1] == 97
        done = {(0, 0), (0, 3), (1, 2), (2, 0)}
        found = {
            (block.file, block.number): block for span in spans for block in blocks.read(span, done)
        }
        assert sorted(found) == [
            *((0, n) for n in (1, 2, 4)),
            *((1, n) for n in (0, 1, 3, 4, 5)),
            (2, 1),
        ]
        assert found[0, 4].batch["id"].to_pylist() == [*range(64, 80)]
        assert [key for key, block in found.items() if block.ends_file] == [(0, 4), (1, 5), (2, 1)]
        pieces = list(blocks.split(spans[0], 3))
        assert [(piece.first, piece.last) for piece in pieces] == [(0, 3), (3, 5)]


def test_an_input_is_described_by_size_and_time(tmp_path):
    (tmp_path / "in.csv").write_text("a\n1\n")
    (found,) = find_inputs(tmp_path / "in.csv", tmp_path / "out.npy")
    time_ns = (tmp_path / "in.csv").stat().st_mtime_ns
    assert found == InputFile(str(tmp_path / "in.csv"), "csv", 4, time_ns)


class TestForeignFiles:
    """Names in and beside an output may be somebody else's."""

    @pytest.mark.parametrize("name", ["rejected.csv", "manifest.json"])
    def test_a_file_beside_the_output_is_refused_and_stays(self, source, tmp_path, name):
        out = tmp_path / "out.parquet"
        beside(out, name).write_text("mine")
        with pytest.raises(ParameterError, match=f"{name} is there and was not written for"):
            encode(source, out, **OPTIONS)
        assert contents(tmp_path) == {f"out.parquet.{name}": b"mine"}

    @pytest.mark.parametrize("overwrite", [False, True])
    @pytest.mark.parametrize("name", ["out", "out.parquet"])
    def test_a_folder_in_the_way_is_refused_and_stays(self, source, tmp_path, name, overwrite):
        out = tmp_path / name
        folder = beside(out, "primal-part") if out.suffix else out
        folder.mkdir()
        (folder / "part-00000-000000.parquet").write_text("mine")
        before = contents(tmp_path)
        with pytest.raises(ParameterError, match="no output of primal"):
            encode(source, out, overwrite=overwrite, **OPTIONS)
        assert contents(tmp_path) == before

    @pytest.mark.parametrize("text", ["mine", "{}", '{"format": "primal pipeline", "version": 1}'])
    def test_a_manifest_that_is_none_is_refused_and_stays(self, source, tmp_path, text):
        out = tmp_path / "out"
        out.mkdir()
        (out / "_primal.json").write_text(text)
        for overwrite in (False, True):
            with pytest.raises(DataError, match=r"_primal\.json"):
                encode(source, out, overwrite=overwrite, **OPTIONS)
        assert contents(out) == {"_primal.json": text.encode()}

    def test_what_others_put_into_a_folder_stays(self, source, tmp_path):
        mine = ("notes.txt", "part-1.parquet", "part-00000-000000.csv", "_rejected/notes.csv")
        for out in (tmp_path / "out", tmp_path / "out.parquet"):
            folder = begin(source, out, 6)
            for name in mine:
                (folder / name).write_text("mine")
            encode(source, out, **kept(out))
            if out == folder:
                encode(source, out, **(OPTIONS | {"dim": 4, "overwrite": True}))
            assert {name: (folder / name).read_text() for name in mine} == dict.fromkeys(
                mine, "mine"
            )

    def test_a_list_of_an_earlier_output_goes(self, source, tmp_path):
        for out in (tmp_path / "out", tmp_path / "out.parquet"):
            report = encode(source, out, **OPTIONS)
            assert report.rejected_path.exists()
            np.save(tmp_path / "clean.npy", np.ones((4, 3)))
            encode(tmp_path / "clean.npy", out, dim=8, sigma=0.5, overwrite=True)
            assert not report.rejected_path.exists()

    def test_a_full_disk_at_the_end_leaves_the_old_output(self, source, tmp_path, monkeypatch):
        out = tmp_path / "out.parquet"
        encode(source, out, **OPTIONS)
        before = contents(tmp_path)

        def full(*arguments, **options):
            raise OSError(errno.ENOSPC, "No space left on device")

        changed = OPTIONS | {"dim": 4, "overwrite": True}
        for step in ("write_file", "manifest_text"):
            monkeypatch.setattr(_output, step, full)
            with pytest.raises(PrimalError, match="No space left"):
                encode(source, out, **changed)
            monkeypatch.undo()
            after = contents(tmp_path)
            assert {name: after[name] for name in before} == before
        assert encode(source, out, **changed).resumed_rows > 0

    def test_a_folder_that_was_removed_meanwhile_is_no_lock(self, source, tmp_path, monkeypatch):
        """A run that ends removes its folder: a lock on it then guards nothing."""
        fcntl = pytest.importorskip("fcntl", reason="this system has no locks")
        out, original, calls = tmp_path / "out.parquet", fcntl.flock, []

        def flock(opened, mode):
            if not calls:
                calls.append(1)
                shutil.rmtree(beside(out, "primal-part"))
                begin(source, out, 2)
            return original(opened, mode)

        monkeypatch.setattr(fcntl, "flock", flock)
        with pytest.raises(ParameterError, match="another run is writing"):
            encode(source, out, keep="id", **OPTIONS)


class TestOntoItself:
    """An output that lies where its input is would remove what it is to be made from."""

    @pytest.fixture
    def features(self, source, tmp_path):
        m, rows = KernelPrime(3, 16, gamma=0.1), {"rows_per_part": 100, "on_error": "skip"}
        pipeline.encode(source, tmp_path / "features", m, columns="x*", **rows)
        return tmp_path / "features"

    @pytest.mark.parametrize("src", ["folder", "files", "pattern"])
    def test_encode(self, features, src):
        before = contents(features)
        named = {
            "folder": features,
            "files": sorted(features.glob("*.parquet")),
            "pattern": str(features / "part-*.parquet"),
        }
        m = KernelPrime(16, 8, gamma=0.1)
        with pytest.raises(ParameterError, match="is also an input"):
            pipeline.encode(named[src], features, m, columns="features", overwrite=True)
        assert contents(features) == before

    def test_decode(self, features):
        before = contents(features)
        with pytest.raises(ParameterError, match="is also an input"):
            pipeline.decode(features, features, overwrite=True)
        assert contents(features) == before
