"""Every saved object: the same answers after loading, and no damage, loss or mixture unnoticed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from primal import hdc
from primal._files import _writing, read_object
from primal.errors import DataError, ParameterError

estimators = pytest.importorskip("primal.sklearn")
posix = pytest.mark.skipif(os.name != "posix", reason="forks and permissions of POSIX")

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(0, 3, 60)
SPACE = hdc.Space(32, roles=("key", "value"))
KEYS, VALUES = (SPACE.symbols(role).encode(range(5)) for role in SPACE.roles)


def pairs(form):
    return hdc.KeyValueMemory(SPACE, form).add(KEYS, VALUES)


# What is saved, another version of it, and what it answers.
SAVED = {
    "ItemMemory, empty": (
        hdc.ItemMemory(SPACE.symbols()),
        hdc.ItemMemory(SPACE.symbols(), ["owl"]),
        lambda m: [m.items, m.codes.turns],
    ),
    "ItemMemory": (
        hdc.ItemMemory(SPACE.symbols(), ["cat", "dög", None, 3, 2.5]),
        hdc.ItemMemory(SPACE.symbols(), ["owl"]),
        lambda m: [m.items, m.codes.turns, m.cleanup(KEYS).indices],
    ),
    "KeyValueMemory, matrix": (
        pairs("matrix"),
        hdc.KeyValueMemory(SPACE),
        lambda m: [m.n_pairs, m.retrieve(KEYS)],
    ),
    "KeyValueMemory, vector": (
        pairs("vector"),
        hdc.KeyValueMemory(SPACE, "vector"),
        lambda m: [m.n_pairs, m.retrieve(KEYS)],
    ),
    "VectorMemory": (
        hdc.VectorMemory(1, 64, accuracy=0.05).store(["a", "b", "c"], X[:3, :1] / 9),
        hdc.VectorMemory(1, 64, accuracy=0.05),
        lambda m: [len(m), [] if not len(m) else m.retrieve("a").x],
    ),
    "PrimeRidgeClassifier": (
        estimators.PrimeRidgeClassifier(16).fit(X, np.array(["no", "yes", "maybe"])[Y]),
        estimators.PrimeRidgeClassifier(8).fit(X, Y),
        lambda m: [m.decision_function(X), m.predict(X)],
    ),
    "PrimeRidgeRegressor": (
        estimators.PrimeRidgeRegressor(16).fit(X, X @ [1, 2, 3]),
        estimators.PrimeRidgeRegressor(8).fit(X, Y),
        lambda m: [m.predict(X)],
    ),
    "PrimeCentroidClassifier": (
        estimators.PrimeCentroidClassifier(16).fit(X, Y),
        estimators.PrimeCentroidClassifier(8).fit(X, Y),
        lambda m: [m.decision_function(X), m.predict(X)],
    ),
}


@pytest.fixture(params=SAVED)
def saved(request, tmp_path):
    one, other, answer = SAVED[request.param]
    one.save(tmp_path / "object")
    return one, other, answer, tmp_path / "object"


def same(a, b):
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)
    return True


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_it_answers_as_before_and_saves_to_the_same_bytes(saved, tmp_path):
    one, _, answer, path = saved
    loaded = type(one).load(path)
    assert same(answer(loaded), answer(one))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert names(tmp_path) == ["again", "object"]


def test_other_libraries_read_the_arrays(saved):
    numpy = pytest.importorskip("safetensors.numpy")
    found = numpy.load_file(saved[3])
    arrays = read_object(saved[3], type(saved[0]).__name__)[1]
    assert found.keys() == arrays.keys()
    assert same(found.values(), (arrays[name] for name in found))


def test_every_flipped_bit_is_refused(saved):
    one, _, _, path = saved
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    data = np.linspace(start, len(content) - 1, 60).astype(int) if start < len(content) else []
    loaded = []
    for place in [*range(start), *data]:
        for bit in range(8) if place < 300 or place >= start else [place % 8]:
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            with contextlib.suppress(DataError):
                type(one).load(path)
                loaded.append((place, bit))
    assert loaded == []


def test_every_cut_and_every_extension_is_refused(saved):
    one, _, _, path = saved
    content = path.read_bytes()
    for size in {*range(120), *np.linspace(0, len(content) - 1, 60).astype(int).tolist()}:
        path.write_bytes(content[:size])
        with pytest.raises(DataError):
            type(one).load(path)
    for more in (b"\0", b" " * 8, content):
        path.write_bytes(content + more)
        with pytest.raises(DataError):
            type(one).load(path)


@pytest.mark.parametrize(
    "record",
    [
        {"dtype": "F64", "shape": [2], "data_offsets": [8, 24]},
        {"dtype": "F64", "shape": [1 << 39, 1 << 39], "data_offsets": [0, 1 << 81]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]},
        {"dtype": "O", "shape": [2], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]},
        {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": ["F64"], "shape": [2], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [1, 1, 1, 2], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [2.0], "data_offsets": [0, 16]},
        7,
    ],
)
@pytest.mark.parametrize("spec", ["{}", "[]", "nonsense", "\ud800", 7, None])
def test_crafted_headers_are_refused(record, spec, tmp_path):
    texts = {"primal_sha256": "0" * 64, "primal": spec}
    header = json.dumps({"__metadata__": texts, "a": record}, separators=(",", ":")).encode()
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    for options in ({}, {"mapped": True}):
        with pytest.raises(DataError):
            hdc.ItemMemory.load(tmp_path / "m", **options)


def test_an_object_of_another_type_is_refused(saved):
    kind = type(saved[0])
    for other, _, _ in SAVED.values():
        if type(other) is not kind:
            with pytest.raises(
                DataError, match=f"must contain a {type(other).__name__} .* got '{kind.__name__}"
            ):
                type(other).load(saved[3])


@pytest.mark.parametrize(
    "content", [b"", b"my notes", b"{}", bytes(100), b'\x10\0\0\0\0\0\0\0{"__metadata__":{}}']
)
def test_a_file_of_others_is_never_replaced(saved, content):
    one, _, _, path = saved
    path.write_bytes(content)
    with pytest.raises(DataError, match="was not saved by primal: choose another name, or remove"):
        one.save(path)
    assert path.read_bytes() == content
    assert names(path.parent) == ["object"]


def test_a_file_of_ours_is_replaced_also_through_a_link(saved, tmp_path):
    _, other, answer, path = saved
    (tmp_path / "link").symlink_to(path)
    other.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert same(answer(type(other).load(path)), answer(other))


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("/dev/null/x", DataError, "cannot be written .Not a directory.: choose a folder"),
        ("missing/x", DataError, "cannot be written .No such file or directory.: choose a folder"),
        ("object/x", DataError, "cannot be written .Not a directory.: choose a folder"),
        (".", DataError, "exists and was not saved by primal: choose another name"),
        ("/dev/null", DataError, "exists and was not saved by primal: choose another name"),
        ("\ud800", ParameterError, "path must be a path that this system can name, got '.ud800'"),
        ("n" * 300, DataError, "cannot be written .File name too long.: choose a folder"),
        ("", ParameterError, "path must be a path"),
        (3, ParameterError, "path must be a path"),
    ],
)
def test_a_place_that_cannot_be_written_is_an_error_of_ours(
    saved, place, error, message, monkeypatch
):
    one, _, _, path = saved
    monkeypatch.chdir(path.parent)
    before = path.read_bytes()
    with pytest.raises(error, match=message):
        one.save(place)
    assert names(path.parent) == ["object"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("n_writes", [0, 1, 2])
def test_a_full_disk_leaves_the_old_file(saved, n_writes, monkeypatch):
    _, other, _, path = saved
    before, plain = path.read_bytes(), io.open

    def failing(file, *arguments, **options):
        stream = plain(file, *arguments, **options)
        return _Full(stream, n_writes) if str(file).endswith(".part") else stream

    with monkeypatch.context() as patch:
        patch.setattr("io.open", failing)
        with pytest.raises(DataError, match=r"No space left on device.*and has room") as caught:
            other.save(path)
    assert caught.value.__cause__.errno == 28
    assert names(path.parent) == ["object"]
    assert path.read_bytes() == before


class _Full:
    """A file on a disk with room for some writes."""

    def __init__(self, stream, n_writes):
        self._stream, self._left = stream, n_writes

    def write(self, data):
        self._left -= 1
        if self._left < 0:
            raise OSError(28, "No space left on device")
        return self._stream.write(data)

    def flush(self):
        raise OSError(28, "No space left on device")

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()


def in_a_child(act):
    """Return the process id of a fork that does something and ends with 0, or 1 on an error."""
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            act()
            os._exit(0)
        os._exit(1)
    return child


@posix
def test_a_folder_that_may_not_be_written_to(saved):
    _, other, _, path = saved
    before = path.read_bytes()
    path.chmod(0o644)
    path.parent.chmod(0o555)

    def save():
        if not os.geteuid():  # root may write anywhere
            os.seteuid(65534)
        with pytest.raises(DataError, match="Permission denied"):
            other.save(path)

    try:
        assert os.waitpid(in_a_child(save), 0)[1] == 0
    finally:
        path.parent.chmod(0o755)
    assert names(path.parent) == ["object"]
    assert path.read_bytes() == before


@posix
def test_a_killed_save_leaves_the_old_file_and_the_next_save_removes_its_part(saved):
    one, other, answer, path = saved
    for name in (f".primal-{32 * 'a'}.part", "x.part"):  # of others
        (path.parent / name).write_bytes(b"mine")
    ready, said = os.pipe()

    def save():
        os.fsync = lambda descriptor: (os.write(said, b"1"), time.sleep(60))
        other.save(path)

    child = in_a_child(save)
    assert os.read(ready, 1) == b"1"
    assert len(names(path.parent)) == 4
    one.save(path)  # leaves the part of a process that lives
    assert len(names(path.parent)) == 4
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    os.close(said)
    assert same(answer(type(one).load(path)), answer(one))
    assert len(names(path.parent)) == 4
    other.save(path)
    assert names(path.parent) == [f".primal-{32 * 'a'}.part", "object", "x.part"]
    assert same(answer(type(one).load(path)), answer(other))


def test_without_locks_a_part_stays_and_saving_goes_on(saved, monkeypatch):
    _, other, _, path = saved
    prefix = []
    replace = Path.replace
    monkeypatch.setattr(
        Path, "replace", lambda self, to: (prefix.append(self.name[:25]), replace(self, to))
    )
    other.save(path)
    left = path.with_name(f"{prefix[0]}{'0' * 32}.part")
    left.write_bytes(b"half")

    class NoLocks:
        LOCK_EX = LOCK_NB = 0

        def flock(self, *_):
            raise OSError(95, "Operation not supported")

    with monkeypatch.context() as patch:
        patch.setattr(_writing, "fcntl", NoLocks())
        other.save(path)
        assert left.exists()
    with monkeypatch.context() as patch:
        patch.setattr(_writing, "fcntl", None)  # Windows
        other.save(path)
        assert names(path.parent) == ["object"]


def test_a_reader_sees_the_old_version_or_the_new_one(saved, monkeypatch):
    one, other, answer, path = saved
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    expected = [answer(one), answer(other)]
    stop = threading.Event()

    def save():
        while not stop.is_set():
            other.save(path)
            one.save(path)

    writers = [threading.Thread(target=save) for _ in range(2)]
    for writer in writers:
        writer.start()
    seen = set()
    try:
        end = time.monotonic() + 10
        while len(seen) < 2 and time.monotonic() < end:
            found = answer(type(one).load(path))
            which = int(
                np.shape(found[0]) != np.shape(expected[0][0])
                or not np.array_equal(found[0], expected[0][0])
            )
            assert same(found, expected[which])
            seen.add(which)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert seen == {0, 1}
    assert names(path.parent) == ["object"]


class TestMapped:
    """Arrays that stay on the disk, for memories only."""

    @pytest.fixture
    def path(self, tmp_path):
        pairs("matrix").save(tmp_path / "m")
        return tmp_path / "m"

    def test_it_answers_as_before_and_can_be_changed(self, path):
        mapped = hdc.KeyValueMemory.load(path, mapped=True)
        assert isinstance(mapped.state, np.memmap)
        np.testing.assert_array_equal(mapped.retrieve(KEYS), pairs("matrix").retrieve(KEYS))
        content = path.read_bytes()
        assert mapped.add(KEYS, VALUES).n_pairs == 10
        assert path.read_bytes() == content
        mapped.save(path)  # over the file that is mapped
        assert hdc.KeyValueMemory.load(path, mapped=True).n_pairs == 10

    def test_by_default_arrays_are_in_memory(self, path):
        loaded = hdc.KeyValueMemory.load(path)
        os.truncate(path, 0)  # reading a mapped file would end the process
        np.testing.assert_array_equal(loaded.state, pairs("matrix").state)
        assert type(loaded.state) is np.ndarray
        assert loaded._state.flags.writeable

    def test_the_digest_is_compared_on_request(self, path):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        hdc.KeyValueMemory.load(path, mapped=True)
        for options in ({"mapped": True, "verify": True}, {}):
            with pytest.raises(DataError, match="its digest has changed: restore a copy of it"):
                hdc.KeyValueMemory.load(path, **options)
