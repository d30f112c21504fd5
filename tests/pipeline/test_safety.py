"""Stopped, killed, sharded or repeated: the bytes are those of one quiet run."""

import errno
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pipeline_helpers import Stop, stop_after

from primal import PrimalError, pipeline
from primal.decoding import Box
from primal.errors import DataError, MissingPackageError, ParameterError, PhaseWrapWarning
from primal.pipeline import _store
from primal.pipeline._blocks import Span, shard_spans, spans_after, split_span
from primal.pipeline._inputs import InputFile, find_inputs
from primal.pipeline._job import Job
from primal.pipeline._local import encode_here
from primal.pipeline._record import beside
from primal.pipeline._settings import Settings, make_recipe

OPTIONS = {"columns": "x*", "dim": 8, "sigma": 0.5, "rows_per_part": 16, "on_error": "skip"}
N_BLOCKS = 13


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


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out.parquet"
    encode(source, out, keep="id", **OPTIONS)
    return out


def begin(source, out, n_blocks, **more):
    with pytest.raises(Stop):
        encode(
            source, out, progress=stop_after(n_blocks), **(OPTIONS | {"keep": "id"} | more)
        )
    assert not out.exists()
    return beside(out, "primal-part")


def assert_same_output(out, whole):
    """Same features, same rejected rows, and nothing left over."""
    assert out.read_bytes() == whole.read_bytes()
    names = ("rejected.csv", "manifest.json")
    assert sorted(p.name for p in out.parent.iterdir()) == sorted(
        [out.name, *(f"{out.name}.{name}" for name in names)]
    )
    for name in names:
        assert beside(out, name).read_bytes() == beside(whole, name).read_bytes()


class TestGoingOn:
    @pytest.mark.parametrize("n_blocks", range(1, N_BLOCKS + 1))
    def test_after_a_stop_at_any_block(self, source, whole, tmp_path, n_blocks):
        out = tmp_path / "out.parquet"
        begin(source, out, n_blocks)
        report = encode(source, out, keep="id", **OPTIONS)
        assert report.resumed_rows > 0
        assert_same_output(out, whole)

    def test_after_a_torn_write(self, source, whole, tmp_path):
        out = tmp_path / "out.parquet"
        part = begin(source, out, 6)
        for name in ("data", "journal", "rejected.csv"):
            with (part / name).open("ab") as opened:
                opened.write(b"[0, 6, false, 16")
        encode(source, out, keep="id", **OPTIONS)
        assert_same_output(out, whole)

    @pytest.mark.parametrize(("n_blocks", "n_on_disk"), [(3, 0), (7, 4), (11, 8)])
    def test_after_the_power_failed(
        self, source, whole, tmp_path, monkeypatch, n_blocks, n_on_disk
    ):
        """What was not yet forced to disk is there with its length, but holds zeros."""
        monkeypatch.setattr(_store, "_CACHED_BYTES", 2800)  # four row groups
        out = tmp_path / "out.parquet"
        part = begin(source, out, n_blocks)
        ends = [json.loads(line)[5] for line in (part / "journal").read_bytes().splitlines()]
        assert json.loads((part / "synced.json").read_text())["blocks"] == n_on_disk
        start = ends[n_on_disk - 1] if n_on_disk else 0
        with (part / "data").open("r+b") as opened:
            opened.seek(start)
            opened.write(bytes(ends[-1] - start))
        monkeypatch.setattr(_store, "_boot", lambda: "another start")
        report = encode(source, out, keep="id", **OPTIONS)
        rows = [json.loads(line)[3] for line in self.journal_of(source, tmp_path)]
        assert report.resumed_rows == sum(rows[:n_on_disk])
        assert_same_output(out, whole)

    def journal_of(self, source, tmp_path):
        """Return the lines of the journal of a whole run."""
        folder = tmp_path / "other"
        part = begin(source, folder / "out.parquet", N_BLOCKS)
        lines = (part / "journal").read_bytes().splitlines()
        shutil.rmtree(folder)
        return lines

    def test_after_data_were_lost(self, source, whole, tmp_path):
        out = tmp_path / "out.parquet"
        part = begin(source, out, 6)
        with (part / "data").open("r+b") as opened:
            opened.truncate(1000)
        report = encode(source, out, keep="id", **OPTIONS)
        assert 0 < report.resumed_rows < 5 * 16
        assert_same_output(out, whole)

    @pytest.mark.parametrize("step", ["copyfileobj", "write_whole", "remove_workspace"])
    def test_after_a_stop_while_finishing(self, source, whole, tmp_path, monkeypatch, step):
        out = tmp_path / "out.parquet"

        def stop(*arguments, **options):
            if step != "write_whole" or "primal-part" not in str(arguments[0]):
                raise Stop
            return original(*arguments, **options)

        owner = _store.shutil if step == "copyfileobj" else _store
        original = getattr(owner, step)
        monkeypatch.setattr(owner, step, stop)
        with pytest.raises(Stop):
            encode(source, out, keep="id", **OPTIONS)
        monkeypatch.undo()
        report = encode(source, out, keep="id", **OPTIONS)
        assert report.already_complete == (step == "remove_workspace")
        assert_same_output(out, whole)

    def test_after_a_try_with_an_engine_that_is_not_there(
        self, source, whole, tmp_path, monkeypatch
    ):
        out = tmp_path / "out.parquet"
        begin(source, out, 6)
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(MissingPackageError):
            encode(source, out, keep="id", engine="ray", **OPTIONS)
        assert encode(source, out, keep="id", **OPTIONS).resumed_rows > 0
        assert_same_output(out, whole)

    def test_gamma_is_not_fitted_again(self, source, tmp_path, monkeypatch):
        pytest.importorskip("sklearn")
        out = tmp_path / "out.npy"
        options = {"sigma": None, "gamma": "scale", "keep": ()}
        begin(source, out, 2, **options)
        monkeypatch.setattr(
            "primal.pipeline._settings.scale_gamma", lambda *_: pytest.fail("fitted again")
        )
        assert encode(source, out, **(OPTIONS | options)).resumed_rows > 0

    @pytest.mark.parametrize("n_blocks", [1, 3, 12])
    @pytest.mark.parametrize("prior", [None, Box(4.0)])
    def test_a_decoding_goes_on_too(self, whole, tmp_path, n_blocks, prior):
        expected, out = tmp_path / "whole.parquet", tmp_path / "out.parquet"
        with pytest.warns(PhaseWrapWarning):
            quiet = pipeline.decode(whole, expected, prior=prior)
        with pytest.raises(Stop):
            pipeline.decode(whole, out, prior=prior, progress=stop_after(n_blocks))
        assert not out.exists()
        with pytest.warns(PhaseWrapWarning):
            report = pipeline.decode(whole, out, prior=prior)
        assert report.resumed_rows == min(quiet.rows, 16 * n_blocks)
        assert (report.rows, report.statuses) == (quiet.rows, quiet.statuses)
        assert sum(report.statuses.values()) == quiet.rows
        assert out.read_bytes() == expected.read_bytes()
        assert not list(tmp_path.glob("*primal-part"))

    @pytest.mark.parametrize(
        ("verb", "suffix", "kills"),
        [("encode", "parquet", 20), ("encode", "npy", 6), ("decode", "parquet", 6)],
    )
    def test_killed_at_random_moments(self, verb, suffix, kills):
        script = Path(__file__).parents[1] / "support" / "pipeline_kills.py"
        options = ["--kills", str(kills), "--format", suffix, "--verb", verb]
        command = [sys.executable, str(script), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert f"{kills} kills" in done.stdout

    def test_a_block_stays_as_it_is_while_later_ones_are_made(self, tmp_path):
        np.save(tmp_path / "in.npy", np.random.default_rng(1).standard_normal((40 * 16, 3)))
        files = find_inputs(tmp_path / "in.npy", tmp_path / "out.npy")
        settings = Settings(
            **(OPTIONS | {"columns": (), "keep": (), "shard": (0, 1), "format": "npy"}),
            gamma=None,
            kernel="rbf",
            basis="auto",
            layout="interleaved",
            precision="exact",
            dtype="float32",
        )
        job = Job(files, *make_recipe(settings, files), "npy")
        seen = []
        for block in encode_here(job, shard_spans(files, [], 16, (0, 1))):
            seen.append(b"".join(block.pieces))
            time.sleep(0.01)  # time for the others to write over it
            assert b"".join(block.pieces) == seen[-1]
        assert len(set(seen)) == 40

    def test_a_full_disk_is_told_and_can_be_mended(self, source, whole, tmp_path, monkeypatch):
        out = tmp_path / "out.parquet"
        original = _store.Workspace.append
        count = []

        class Full:
            """A file on a disk with room for four blocks."""

            def __init__(self, opened):
                self._opened = opened

            def write(self, data):
                count.append(0)
                if len(count) > 4:
                    raise OSError(errno.ENOSPC, "No space left on device")
                return self._opened.write(data)

            def __getattr__(self, name):
                return getattr(self._opened, name)

        def append(self, block):
            if not isinstance(self._data, Full):
                self._data = Full(self._data)
            return original(self, block)

        monkeypatch.setattr(_store.Workspace, "append", append)
        with pytest.raises(PrimalError, match=r"No space left.*goes on where it stopped"):
            encode(source, out, keep="id", **OPTIONS)
        assert not out.exists()
        monkeypatch.undo()
        assert encode(source, out, keep="id", **OPTIONS).resumed_rows > 0
        assert_same_output(out, whole)


class TestSamePlace:
    def test_again_does_nothing(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        first = encode(source, out, **OPTIONS)
        changed = out.stat().st_mtime_ns
        again = encode(source, out, **OPTIONS)
        assert again.already_complete
        assert (again.rows, again.fingerprint) == (first.rows, first.fingerprint)
        assert out.stat().st_mtime_ns == changed

    @pytest.mark.parametrize("finished", [True, False])
    def test_other_settings_are_refused(self, source, tmp_path, finished):
        out = tmp_path / "out.parquet"
        if finished:
            encode(source, out, keep="id", **OPTIONS)
        else:
            begin(source, out, 3)
        other = OPTIONS | {"keep": "id", "dim": 10}
        with pytest.raises(ParameterError, match="dim = 8 there, 10 asked"):
            encode(source, out, **other)
        report = encode(source, out, overwrite=True, **other)
        assert not report.already_complete
        assert pq.read_schema(out).field("features").type.list_size == 10

    def test_changed_input_is_refused(self, tmp_path):
        np.save(tmp_path / "in.npy", np.ones((20, 2)))
        out = tmp_path / "out.npy"
        encode(tmp_path / "in.npy", out, dim=4, sigma=1.0)
        np.save(tmp_path / "in.npy", np.ones((21, 2)))
        with pytest.raises(ParameterError, match="input files changed"):
            encode(tmp_path / "in.npy", out, dim=4, sigma=1.0)

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

    def test_two_runs_at_once_are_refused(self, source, tmp_path):
        out = tmp_path / "out.parquet"

        def second(done, total):
            with pytest.raises(ParameterError, match="another run"):
                encode(source, out, **OPTIONS)

        encode(source, out, progress=second, **OPTIONS)

    def test_an_old_output_stays_until_the_new_one_is_whole(self, source, tmp_path):
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
        original = _store.write_whole

        def stop(path, values, **options):
            original(path, values, **options)
            if "primal-part" not in str(path):
                raise Stop

        monkeypatch.setattr(_store, "write_whole", stop)
        with pytest.raises(Stop):
            encode(source, out, overwrite=True, **changed)
        monkeypatch.undo()
        assert not encode(source, out, **changed).already_complete
        assert out.read_bytes() != old

    def test_manifest_names_inputs_and_versions(self, source, whole):
        manifest = json.loads(beside(whole, "manifest.json").read_text())
        names = [Path(one["path"]).name for one in manifest["request"]["inputs"]]
        assert names == ["a.parquet", "b.csv", "c.arrow"]
        assert manifest["request"]["inputs"][0]["n_bytes"] == (source / names[0]).stat().st_size
        assert set(manifest["versions"]) == {"primal", "numpy", "pyarrow"}
        assert manifest["output"]["bytes"] == whole.stat().st_size


class TestShards:
    @pytest.mark.parametrize("n", [1, 2, 7, 30])
    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_merged_they_are_the_whole(self, source, tmp_path, n, suffix):
        options = OPTIONS | ({"keep": "id"} if suffix == "parquet" else {})
        (tmp_path / "whole").mkdir()
        (tmp_path / "merged").mkdir()
        whole = tmp_path / "whole" / f"out.{suffix}"
        encode(source, whole, **options)
        parts = [tmp_path / f"part-{i}.{suffix}" for i in range(n)]
        for i, part in enumerate(parts):
            encode(source, part, shard=(i, n), **options)
        merged = tmp_path / "merged" / f"out.{suffix}"
        told = []
        report = pipeline.merge(parts[::-1], merged, progress=lambda *rows: told.append(rows))
        assert merged.read_bytes() == whole.read_bytes()
        assert told[-1] == (report.rows, report.rows)
        assert report.rejected == 3
        rejected = [beside(out, "rejected.csv").read_bytes() for out in (whole, merged)]
        assert rejected[0] == rejected[1]
        assert pipeline.merge(parts, merged).already_complete

    def test_what_is_not_one_encoding_is_refused(self, source, tmp_path):
        parts = [tmp_path / f"part-{i}.parquet" for i in range(3)]
        for i, part in enumerate(parts):
            encode(source, part, shard=(i, 3), **OPTIONS)
        other = tmp_path / "other.parquet"
        encode(source, other, shard=(2, 3), **(OPTIONS | {"dim": 10}))
        out = tmp_path / "out.parquet"
        for chosen, message in (
            (parts[:2], "missing: 2"),
            ([*parts, parts[0]], "given twice"),
            ([*parts[:2], other], "map differ"),
            ([], "nothing to merge"),
            ([tmp_path / "none.parquet"], "cannot be read"),
        ):
            with pytest.raises(PrimalError, match=message):
                pipeline.merge(chosen, out)
        pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign.parquet")
        with pytest.raises(DataError, match="not made by primal encode"):
            pipeline.merge([tmp_path / "foreign.parquet"], out)
        assert not out.exists()

    @pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
    def test_every_block_is_in_one_shard(self, source, n):
        files = find_inputs(source, Path("elsewhere.parquet"))
        found = []
        for i in range(n):
            for span in shard_spans(files, [], 4, (i, n)):
                blocks = [0] if span.last is None else range(span.first, span.last)
                found += [(span.file, block) for block in blocks]
        expected = [(0, b) for b in range(20)] + [(1, 0)] + [(2, b) for b in range(5)]
        assert sorted(found) == expected

    def test_spans_are_cut_where_work_goes_on(self, source):
        files = find_inputs(source, Path("elsewhere.parquet"))
        spans = list(shard_spans(files, [], 16, (0, 1)))
        assert spans == [Span(0, 0, 5, 80), Span(1, 0, None, None), Span(2, 0, 2, 17)]
        assert spans_after(spans, 0, 1, False, 16) == [Span(0, 2, 5, 48), *spans[1:]]
        assert spans_after(spans, 0, 4, True, 16) == spans[1:]
        assert spans_after(spans, 1, 3, False, 16) == [Span(1, 4, None, None), spans[2]]
        assert spans_after(spans, 1, 5, True, 16) == spans[2:]
        assert spans_after(spans, 2, 0, False, 16) == [Span(2, 1, 2, 1)]
        assert list(split_span(files, spans[0], 16, 3)) == [Span(0, 0, 3, 48), Span(0, 3, 5, 32)]


def test_an_input_is_described_by_size_and_time(tmp_path):
    (tmp_path / "in.csv").write_text("a\n1\n")
    (found,) = find_inputs(tmp_path / "in.csv", tmp_path / "out.npy")
    time_ns = (tmp_path / "in.csv").stat().st_mtime_ns
    assert found == InputFile(str(tmp_path / "in.csv"), "csv", 4, time_ns)


class TestForeignFiles:
    """Names beside an output may be somebody else's."""

    def files(self, folder):
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    @pytest.mark.parametrize("name", ["rejected.csv", "manifest.json"])
    def test_a_file_beside_the_output_is_refused_and_stays(self, source, tmp_path, name):
        out = tmp_path / "out.parquet"
        beside(out, name).write_text("mine")
        with pytest.raises(ParameterError, match=f"{name} is there and was not written for"):
            encode(source, out, **OPTIONS)
        assert self.files(tmp_path) == {f"out.parquet.{name}": b"mine"}

    def test_a_folder_in_the_way_is_refused_and_stays(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        folder = beside(out, "primal-part")
        folder.mkdir()
        (folder / "data").write_text("mine")
        with pytest.raises(ParameterError, match="is no unfinished output"):
            encode(source, out, **OPTIONS)
        assert self.files(tmp_path) == {"out.parquet.primal-part/data": b"mine"}

    def test_what_others_put_into_the_folder_of_a_run_stays(self, source, whole, tmp_path):
        out = tmp_path / "out.parquet"
        part = begin(source, out, 6)
        (part / "notes.txt").write_text("mine")
        encode(source, out, keep="id", **OPTIONS)
        assert out.read_bytes() == whole.read_bytes()
        assert [path.name for path in part.iterdir()] == ["notes.txt"]

    def test_names_of_old_drafts_stay(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        mine = tmp_path / "out.parquet.manifest.json.partial"
        mine.write_text("mine")
        encode(source, out, **OPTIONS)
        assert mine.read_text() == "mine"

    def test_a_list_of_an_earlier_output_goes(self, source, tmp_path):
        out = tmp_path / "out.parquet"
        encode(source, out, **OPTIONS)
        assert beside(out, "rejected.csv").exists()
        np.save(tmp_path / "clean.npy", np.ones((4, 3)))
        options = {"dim": 8, "sigma": 0.5, "overwrite": True}
        encode(tmp_path / "clean.npy", out, **options)
        assert not beside(out, "rejected.csv").exists()

    def test_a_full_disk_at_the_end_leaves_the_old_output(self, source, tmp_path, monkeypatch):
        out = tmp_path / "out.parquet"
        encode(source, out, **OPTIONS)
        before = self.files(tmp_path)
        original = _store.write_whole

        def full(path, values, **options):
            if "primal-part" not in str(path):
                options["before"] = fail
            original(path, values, **options)

        def fail():
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(_store, "write_whole", full)
        changed = OPTIONS | {"dim": 4, "overwrite": True}
        with pytest.raises(PrimalError, match="No space left"):
            encode(source, out, **changed)
        monkeypatch.undo()
        after = self.files(tmp_path)
        assert {name: after[name] for name in before} == before
        assert encode(source, out, **changed).resumed_rows > 0

    def test_a_journal_that_was_removed_meanwhile_is_no_lock(self, source, tmp_path, monkeypatch):
        """A run that ends removes the folder: a lock on its journal then guards nothing."""
        out = tmp_path / "out.parquet"

        def ends_meanwhile(journal):
            shutil.rmtree(beside(out, "primal-part"))
            begin(source, out, 2)
            return True

        original, calls = _store.locked, []

        def locked(journal):
            calls.append(1)
            return ends_meanwhile(journal) if len(calls) == 1 else original(journal)

        monkeypatch.setattr(_store, "locked", locked)
        with pytest.raises(ParameterError, match="another run is writing"):
            encode(source, out, keep="id", **OPTIONS)
