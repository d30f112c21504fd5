"""Files that are written whole, and readers that trust nothing in them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from primal._files import _objects as objects
from primal._files import _writing as writing
from primal._files import (
    npy_header,
    open_regular,
    parsed_json,
    read_json,
    read_object,
    write_object,
    written_whole,
)
from primal.errors import DataError, ParameterError

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, signals and permissions of POSIX")


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def n_open_files():
    table = Path("/proc/self/fd")
    return len(list(table.iterdir())) if table.exists() else 0


def write(path, content, **options):
    with written_whole(path, **options) as stream:
        stream.write(content)


class TestFile:
    @pytest.mark.parametrize("durable", [False, True])
    def test_it_has_its_content_and_nothing_else_is_left(self, tmp_path, durable):
        with written_whole(tmp_path / "file", durable=durable) as stream:
            stream.write(b"all of it")
            assert not (tmp_path / "file").exists()
        assert contents(tmp_path) == {"file": b"all of it"}

    @pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
    def test_a_failure_leaves_the_old_file(self, tmp_path, error):
        write(tmp_path / "file", b"old")

        def write_half():
            with written_whole(tmp_path / "file") as stream:
                stream.write(b"ne")
                raise error

        with pytest.raises(type(error)):
            write_half()
        assert contents(tmp_path) == {"file": b"old"}

    def test_a_longest_name(self, tmp_path):
        write(tmp_path / ("n" * 255), b"x")
        assert [path.name for path in tmp_path.iterdir()] == ["n" * 255]

    def test_two_at_once_do_not_mix(self, tmp_path):
        with written_whole(tmp_path / "file") as one, written_whole(tmp_path / "file") as other:
            for stream, content in ((one, b"1"), (other, b"2")) * 3:
                stream.write(content)
                stream.flush()
        assert contents(tmp_path) == {"file": b"111"}

    @posix
    def test_it_has_the_permissions_of_any_other_or_of_the_old_one(self, tmp_path):
        (tmp_path / "plain").write_bytes(b"")
        write(tmp_path / "file", b"")
        assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode
        (tmp_path / "file").chmod(0o600)
        write(tmp_path / "file", b"")
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600

    @posix
    def test_a_link_stays_and_the_file_behind_it_is_replaced(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "file").write_bytes(b"old")
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
        write(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert contents(tmp_path / "elsewhere") == {"file": b"new"}

    @posix
    @pytest.mark.parametrize("kind", ["folder", "pipe", "device", "loop"])
    def test_what_is_no_regular_file_is_refused_and_stays(self, tmp_path, kind):
        path = tmp_path / "there"
        make = {
            "folder": path.mkdir,
            "pipe": lambda: os.mkfifo(path),
            "device": lambda: path.symlink_to("/dev/null"),
            "loop": lambda: path.symlink_to("there"),
        }
        make[kind]()
        with pytest.raises(ParameterError, match="is not a regular file: choose another name"):
            write(path, b"new")
        assert [found.name for found in tmp_path.iterdir()] == ["there"]

    def test_an_npy_header_is_what_numpy_reads(self, tmp_path):
        for dtype, shape in (("<u4", (3, 4)), ("|u1", (5,)), ("<c8", (0, 2)), ("<i8", (2, 3, 3))):
            array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            header = npy_header(array.dtype, shape)
            assert len(header) % 64 == 0
            (tmp_path / "a.npy").write_bytes(header + array.tobytes())
            found = np.load(tmp_path / "a.npy", allow_pickle=False)
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)


_SAVE_FOR_EVER = """
import signal, sys, time
from pathlib import Path
from primal._files import written_whole
own = sys.argv[2] == "own"
if own:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with written_whole(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    for _ in range(2000):
        time.sleep(0.01)
"""


@posix
class TestSignals:
    def end(self, path, ending, own="none"):
        process = subprocess.Popen(
            [sys.executable, "-c", _SAVE_FOR_EVER, str(path), own],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout.readline() == b"writing\n"
        assert len(list(path.parent.iterdir())) == 2
        process.send_signal(ending)
        code = process.wait(timeout=20)
        process.stdout.close()
        return code

    def test_an_interrupt_leaves_the_old_file(self, tmp_path):
        write(tmp_path / "file", b"old")
        assert self.end(tmp_path / "file", signal.SIGINT) == -signal.SIGINT
        assert contents(tmp_path) == {"file": b"old"}

    def test_a_handler_of_the_program_is_left_alone(self, tmp_path):
        write(tmp_path / "file", b"old")
        assert self.end(tmp_path / "file", signal.SIGTERM, "own") == 7
        assert contents(tmp_path) == {"file": b"old"}

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
    def test_the_next_save_of_the_same_file_removes_what_a_kill_has_left(self, tmp_path, name):
        write(tmp_path / "file", b"old")
        assert self.end(tmp_path / "file", getattr(signal, name)) == -getattr(signal, name)
        (part,) = (name for name in contents(tmp_path) if name != "file")
        assert part.startswith(".primal-")
        assert part.endswith(".part")
        write(tmp_path / "other", b"another file")
        assert contents(tmp_path)[part] == b"half"
        with written_whole(tmp_path / "file"):
            assert part not in contents(tmp_path)

    def test_what_is_no_part_stays(self, tmp_path):
        write(tmp_path / "file", b"old")
        with written_whole(tmp_path / "file"):
            (part,) = (path for path in tmp_path.iterdir() if path.name != "file")
        os.mkfifo(part)  # opening it for reading would wait for a writer
        write(tmp_path / "file", b"new")
        assert part.exists()

    def test_a_part_that_another_save_took_for_abandoned_is_made_again(self, tmp_path, monkeypatch):
        lock, taken = writing.fcntl.flock, []

        def late(stream, operation):
            if not taken:
                taken.append(Path(stream.name))
                taken[0].unlink()
            lock(stream, operation)

        monkeypatch.setattr(writing.fcntl, "flock", late)
        write(tmp_path / "file", b"new")
        assert taken
        assert contents(tmp_path) == {"file": b"new"}

    def test_a_forked_child_leaves_its_parents_files_alone(self, tmp_path):
        with written_whole(tmp_path / "file") as stream:
            stream.write(b"whole")
            ready, said = os.pipe()
            child = os.fork()
            if not child:
                os.write(said, b"1")  # a signal that meets the fork itself would be lost
                time.sleep(20)
                os._exit(0)
            os.read(ready, 1)
            os.kill(child, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert contents(tmp_path) == {"file": b"whole"}


class _Interrupting:
    """Raises KeyboardInterrupt before the n-th line of the writing code is run."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, _):
        code = frame.f_code
        if code.co_filename not in (writing.__file__, objects.__file__):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def _save_object(folder, title):
    document = {"type": "Notes", "version": 1, "title": title}
    write_object(folder / "notes", document, {"a": np.full(3, len(title), dtype=np.uint8)})


def _load_object(folder):
    fields, arrays = read_object(folder / "notes", "Notes")
    return fields["title"], arrays["a"]


# An interrupt between opening a file and the with statement leaves closing to its destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_line_leaves_the_old_version_or_the_new_one(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    _save_object(tmp_path, "old")
    seen = set()
    for n in range(1, 2000):
        sys.settrace(_Interrupting(n))
        try:
            _save_object(tmp_path, "newer")
        except KeyboardInterrupt:
            sys.settrace(None)
        else:
            sys.settrace(None)
            break
        title, array = _load_object(tmp_path)
        assert (array == len(title)).all(), n
        assert len(list(tmp_path.iterdir())) == 1, n
        seen.add(title)
        if title != "old":
            _save_object(tmp_path, "old")
    else:
        pytest.fail("the save was never reached")
    assert n > 40
    assert seen == {"old", "newer"}


class TestReading:
    @posix
    @pytest.mark.parametrize("kind", ["pipe", "folder", "device", "endless"])
    def test_what_is_no_regular_file_is_refused_at_once(self, tmp_path, kind):
        path = tmp_path / "there"
        make = {
            "folder": path.mkdir,
            "pipe": lambda: os.mkfifo(path),
            "device": lambda: path.symlink_to("/dev/null"),
            "endless": lambda: path.symlink_to("/dev/zero"),
        }
        make[kind]()
        before = n_open_files()
        with pytest.raises(DataError, match="is not a regular file"), open_regular(path):
            pass
        with pytest.raises(DataError, match="is not a regular file"):
            read_json(path)
        assert n_open_files() == before

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"[" * 100_000, "100000 within each other"),
            (b'{"a":' * 50_000, "50000 within each other"),
            (b"[" * 33 + b"]" * 33, "33 within each other; it may have .* and 32"),
            (b"[" + b"[]," * 10_000 + b"1]", "has 10001 lists and objects"),
            (b'{"x": "' + b"a" * 9_000_000 + b'"}', "may have 8388608"),
            (b"", "is not JSON"),
            (b"{", "is not JSON"),
            (b'{"a": ' + b"9" * 10_000 + b"}", "is not JSON"),
            (b"\xff\xfe{}", "is not JSON"),
            (b"\xef\xbb\xbf{}", "is not JSON"),
            (b"[1]", "must hold a JSON object, got list"),
            (b"null", "must hold a JSON object, got NoneType"),
        ],
    )
    def test_json_that_is_none_or_too_much(self, tmp_path, content, message):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(DataError, match=message):
            read_json(tmp_path / "file")

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(DataError, match="No such file"):
            read_json(tmp_path / "file")

    def test_a_file_of_holes_is_not_read(self, tmp_path):
        with (tmp_path / "file").open("wb") as stream:
            stream.truncate(1 << 40)
        with pytest.raises(DataError, match="has 1099511627776 bytes"):
            read_json(tmp_path / "file")

    @pytest.mark.parametrize(
        "value",
        [
            {"a": ["[" * 500, '"[{', "\\", '\\"[', '"']},
            [[[[[[1]]]]]],
            [[i] for i in range(3000)],
            {"deep": json.loads("[" * 30 + "]" * 30)},
        ],
    )
    def test_brackets_in_texts_do_not_count(self, value):
        assert parsed_json(json.dumps(value).encode(), "a value") == value
