"""Files and folders that are written whole, and readers that trust nothing in them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from primal._files import (
    FolderFormat,
    npy_header,
    open_regular,
    parsed_json,
    read_json,
    written_whole,
)
from primal._files import _folders as folders
from primal._files import _writing as writing
from primal.errors import DataError, ParameterError

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, signals and permissions of POSIX")
NOTES = FolderFormat("notes.json", "primal notes", 3)


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

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
    def test_it_ends_the_process_and_leaves_the_old_file(self, tmp_path, name):
        write(tmp_path / "file", b"old")
        assert self.end(tmp_path / "file", getattr(signal, name)) == -getattr(signal, name)
        assert contents(tmp_path) == {"file": b"old"}

    def test_a_handler_of_the_program_is_left_alone(self, tmp_path):
        write(tmp_path / "file", b"old")
        assert self.end(tmp_path / "file", signal.SIGTERM, "own") == 7
        assert contents(tmp_path) == {"file": b"old"}

    def test_a_kill_leaves_a_part_that_nobody_reads(self, tmp_path):
        write(tmp_path / "file", b"old")
        self.end(tmp_path / "file", signal.SIGKILL)
        (part,) = (name for name in contents(tmp_path) if name != "file")
        assert part.startswith(".primal-")
        assert part.endswith(".part")
        write(tmp_path / "file", b"new")
        assert contents(tmp_path) == {"file": b"new", part: b"half"}

    def test_handlers_are_those_of_before(self, tmp_path):
        with written_whole(tmp_path / "file"):
            assert signal.getsignal(signal.SIGTERM) is writing._remove_and_end
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

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


class TestFolder:
    @pytest.fixture
    def saved(self, tmp_path):
        folder = tmp_path / "new" / "folder"
        NOTES.save(folder, {"title": "old"}, {"a": [np.arange(6, dtype=np.uint32).reshape(3, 2)]})
        return folder

    def load(self, folder, mapped_from=1 << 20, **options):
        return NOTES.load(folder, mapped_from=mapped_from, **options)

    @pytest.mark.parametrize("mapped_from", [0, 1 << 20])
    def test_there_and_back(self, saved, mapped_from):
        fields, arrays = self.load(saved, mapped_from)
        assert fields == {"title": "old"}
        assert isinstance(arrays["a"], np.memmap) == (mapped_from == 0)
        np.testing.assert_array_equal(arrays["a"], np.arange(6).reshape(3, 2))

    def test_parts_become_one_array(self, tmp_path):
        rows = np.arange(20, dtype=np.float32).reshape(10, 2)
        NOTES.save(tmp_path, {}, {"a": [rows[:3], rows[3:3], rows[3:]], "b": [rows[:0]]})
        _, arrays = self.load(tmp_path)
        np.testing.assert_array_equal(arrays["a"], rows)
        assert arrays["b"].shape == (0, 2)

    def test_a_second_save_replaces_the_first_and_nothing_else(self, saved):
        foreign = {"x.npy": b"1", f"a-{'0' * 32}.npy": b"2", f".primal-{'0' * 32}.part": b"3"}
        for name, content in foreign.items():
            (saved / name).write_bytes(content)
        before = set(contents(saved))
        NOTES.save(saved, {"title": "new"}, {"a": [np.zeros(5, dtype=np.uint8)]})
        after = contents(saved)
        assert {name: after[name] for name in foreign} == foreign
        (old,) = before - set(after)
        assert old.startswith("a-")
        assert len(after) == len(before)

    def test_an_array_that_was_changed_since_is_not_removed(self, saved):
        (path,) = saved.glob("a-*")
        path.write_bytes(b"somebody else's")
        NOTES.save(saved, {}, {"a": [np.zeros(5, dtype=np.uint8)]})
        assert path.read_bytes() == b"somebody else's"

    def test_a_manifest_that_names_foreign_files_removes_none(self, saved):
        document = json.loads((saved / "notes.json").read_text())
        array = np.arange(6, dtype=np.uint32).reshape(3, 2)
        names = ["mine.npy", "../mine.npy"]
        for name in names:
            (saved / name).write_bytes(npy_header(array.dtype, array.shape) + array.tobytes())
            record = document["arrays"]["a"] | {"file": name}
            (saved / "notes.json").write_text(json.dumps(document | {"arrays": {"a": record}}))
            NOTES.save(saved, {}, {"a": [array]})
        assert all((saved / name).exists() for name in names)

    @pytest.mark.parametrize("content", [b"{}", b"", b'{"format": "other"}', b"[" * 100_000])
    def test_another_programs_manifest_is_refused_and_stays(self, tmp_path, content):
        (tmp_path / "notes.json").write_bytes(content)
        with pytest.raises(DataError, match=r"notes.json is there and is no primal notes"):
            NOTES.save(tmp_path, {}, {"a": [np.zeros(5, dtype=np.uint8)]})
        assert contents(tmp_path) == {"notes.json": content}

    def test_more_than_can_be_read_back_is_not_written(self, tmp_path):
        with pytest.raises(DataError, match="8388608 can be read back"):
            NOTES.save(tmp_path, {"text": "x" * 9_000_000}, {"a": [np.zeros(2, dtype=np.uint8)]})
        assert contents(tmp_path) == {}

    def test_without_locks_it_is_the_same(self, saved, monkeypatch):
        monkeypatch.setitem(sys.modules, "fcntl", None)
        NOTES.save(saved, {"title": "new"}, {"a": [np.zeros(5, dtype=np.uint8)]})
        assert self.load(saved)[0] == {"title": "new"}
        assert len(contents(saved)) == 2

    @posix
    def test_who_holds_the_lock_for_ever_holds_up_nobody(self, saved, monkeypatch):
        import fcntl

        monkeypatch.setattr(folders, "_LOCK_SECONDS", 0.05)
        holder = os.open(saved, os.O_RDONLY)
        fcntl.flock(holder, fcntl.LOCK_EX)
        NOTES.save(saved, {"title": "new"}, {"a": [np.zeros(5, dtype=np.uint8)]})
        os.close(holder)
        assert self.load(saved)[0] == {"title": "new"}

    def test_two_threads_leave_one_version(self, tmp_path):
        def save(number):
            for _ in range(20):
                array = np.full(1000, number, dtype=np.uint8)
                NOTES.save(tmp_path, {"number": number}, {"a": [array]})

        threads = [threading.Thread(target=save, args=(number,)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        fields, arrays = self.load(tmp_path)
        assert (arrays["a"] == fields["number"]).all()
        assert len(contents(tmp_path)) == 2

    def test_a_reader_that_finds_an_array_gone_reads_again(self, saved, monkeypatch):
        read = folders.read_json
        replaced = []

        def replaced_meanwhile(path):
            found = read(path)
            if len(replaced) < 3:
                replaced.append(1)
                NOTES.save(saved, {"title": "new"}, {"a": [np.zeros(5, dtype=np.uint8)]})
            return found

        monkeypatch.setattr(folders, "read_json", replaced_meanwhile)
        fields, arrays = self.load(saved)
        assert fields == {"title": "new"}
        assert arrays["a"].shape == (5,)

    def test_an_array_that_is_gone_for_good_is_an_error(self, saved):
        next(saved.glob("a-*")).unlink()
        with pytest.raises(DataError, match="which is not there: save again"):
            self.load(saved)

    def test_digests(self, saved):
        (path,) = saved.glob("a-*")
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert len(self.load(saved, mapped_from=0)[1]["a"]) == 3
        for options in ({"mapped_from": 0, "verify": True}, {}):
            with pytest.raises(DataError, match="its digest has changed"):
                self.load(saved, **options)


# Nothing can be promised of an interrupt that meets what cleans up after one.
_CLEANING = ("removing", "remove", "useless", "locked", "got", "share")


class _Interrupting:
    """Raises KeyboardInterrupt before the n-th line of the writing code is run."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, _):
        code = frame.f_code
        ours = code.co_filename in (writing.__file__, folders.__file__)
        if not ours or code.co_name in _CLEANING:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


# An interrupt between opening a file and the with statement leaves closing to its destructor.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_line_leaves_the_old_version_or_the_new_one(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def save(title):
        NOTES.save(tmp_path, {"title": title}, {"a": [np.full(3, len(title), dtype=np.uint8)]})

    save("old")
    seen = set()
    for n in range(1, 2000):
        sys.settrace(_Interrupting(n))
        try:
            save("newer")
        except KeyboardInterrupt:
            sys.settrace(None)
        else:
            sys.settrace(None)
            break
        fields, arrays = NOTES.load(tmp_path, mapped_from=1 << 20)
        assert (arrays["a"] == len(fields["title"])).all(), n
        assert len(list(tmp_path.iterdir())) == 2, n
        seen.add(fields["title"])
        if fields["title"] != "old":
            save("old")
    else:
        pytest.fail("the save was never reached")
    assert n > 100
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
