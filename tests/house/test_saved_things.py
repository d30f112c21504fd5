"""Everything that is saved, with writers at the same time, signals, full disks and damage.

Short versions of what ``tools/save_rounds.py`` and ``tools/damaged_files.py`` measure.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from primal.cli import cli

_TOOLS = Path(__file__).parents[2] / "tools"
_SAVERS = (
    *("items", "key-value"),
    *("codebook.npy", "codebook.json"),
)
_MEASURES = ("at_the_same_time", "after_signals", "on_a_full_disk", "among_foreign_files")


def run_tool(name, *options):
    if not (_TOOLS / name).exists():
        pytest.skip("tools/ is not part of this installation")
    if not hasattr(os, "fork"):
        pytest.skip("the tool forks")
    pytest.importorskip("sklearn", reason="names and kernels come with scikit-learn")
    command = [sys.executable, str(_TOOLS / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_writers_readers_signals_full_disks_and_foreign_files():
    lines = run_tool("save_rounds.py", "--rounds", "4").splitlines()
    assert all(line.endswith(" 0 wrong") for line in lines)
    expected = [f"{saver:<14} {measure:<20}" for saver in _SAVERS for measure in _MEASURES]
    assert [line[:35] for line in lines] == expected


def test_damaged_files_are_refused():
    assert run_tool("damaged_files.py", "--files", "100").count(" 0 wrong") == 3


def full_disk(monkeypatch, after=0):
    """Let every write beyond so many fail as on a full disk."""
    import builtins

    plain = builtins.open
    written = []

    def failing(file, *arguments, **options):
        stream = plain(file, *arguments, **options)
        if str(file).endswith(".part"):
            original = stream.write

            def write(data):
                written.append(len(data))
                if len(written) > after:
                    raise OSError(28, "No space left on device")
                return original(data)

            return _Failing(stream, write)
        return stream

    monkeypatch.setattr("io.open", failing)
    return written


class _Failing:
    def __init__(self, stream, write):
        self._stream, self.write = stream, write

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["demo"], "primal-demo.png"),
        (["codebook", "20", "8", "--out", "codes.npy"], "codes.npy"),
        (["codebook", "20", "8", "--out", "codes.json"], "codes.json"),
    ],
)
def test_a_full_disk_leaves_the_old_file(arguments, name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(b"old")
    if arguments == ["demo"]:  # fewer features to measure, since only the file matters here
        monkeypatch.setattr("primal_studies.cli._demo._SIZES", (32, 64))
    with monkeypatch.context() as patch:
        written = full_disk(patch)
        failed = CliRunner().invoke(cli, arguments)
    assert written
    assert isinstance(failed.exception, OSError)
    assert failed.exception.errno == 28
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"old"}
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert Path(name).read_bytes() != b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_files_with_the_names_of_old_drafts_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.partial.npy", "a.partial.json"):
        Path(name).write_bytes(b"mine")
    for out in ("a.npy", "a.json"):
        assert CliRunner().invoke(cli, ["codebook", "20", "8", "--out", out]).exit_code == 0
    for name in ("a.partial.npy", "a.partial.json"):
        assert Path(name).read_bytes() == b"mine"


@pytest.mark.parametrize("error", ["disk", "ours"])
def test_the_command_says_a_full_disk_in_one_line(error, tmp_path):
    (tmp_path / "file").write_text("in the way")
    place = tmp_path / "file" / "codes.npy" if error == "disk" else tmp_path / "codes.txt"
    command = [sys.executable, "-c", "from primal.cli import main; main()"]
    done = subprocess.run(
        [*command, "codebook", "5", "8", "--out", str(place)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
