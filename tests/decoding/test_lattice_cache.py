"""Reductions on disk: found again, never trusted blindly, never half written."""

import os

import numpy as np
import pytest

import primal
from primal.decoding import Box, _cache, _setup

BOX = Box(1.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIMAL_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_setup, "_LEAST_STORED_SECONDS", 0.0)
    return tmp_path / "decoder"


@pytest.fixture
def m():
    return primal.DynamicPrime(4, 32, 100.0)


def entries(folder):
    return sorted(folder.glob("*")) if folder.exists() else []


def forbid_reduction(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the reduction was made again")

    monkeypatch.setattr(_setup, "reduce_best", refuse)


def test_a_second_plan_reads_the_first_ones_reduction(folder, m, monkeypatch):
    first = m.decode_plan(prior=BOX)
    assert len(entries(folder)) == 1
    forbid_reduction(monkeypatch)
    second = m.decode_plan(prior=BOX, beam=3)  # the beam is no part of the reduction
    assert second.certificate.log2_spurious == first.certificate.log2_spurious
    assert second.certificate.success_probability == first.certificate.success_probability
    x = np.linspace(-0.9, 0.9, 20).reshape(5, 4)
    np.testing.assert_array_equal(second.decode(m.encode(x)).status, "unique")


@pytest.mark.parametrize(
    "other",
    [
        lambda: primal.DynamicPrime(4, 32, 99.0).decode_plan(prior=BOX),
        lambda: primal.DynamicPrime(4, 34, 100.0).decode_plan(prior=BOX),
        lambda: primal.DynamicPrime(4, 32, 100.0, basis="signed").decode_plan(prior=BOX),
        lambda: primal.DynamicPrime(4, 32, 100.0).decode_plan(prior=Box(1.0, center=0.5)),
        lambda: primal.DynamicPrime(4, 32, 100.0).decode_plan(prior=BOX, noise=1e-6),
    ],
)
def test_everything_that_matters_is_in_the_key(folder, m, other):
    m.decode_plan(prior=BOX)
    other()
    assert len(entries(folder)) == 2


def test_the_decoder_version_is_in_the_key(monkeypatch):
    before = _cache.cache_key("a", 1.0)
    monkeypatch.setattr(_cache, "DECODER_VERSION", -1)
    assert _cache.cache_key("a", 1.0) != before


@pytest.mark.parametrize(
    "damage",
    [
        *("empty", "cut", "garbage", "flipped", "other type", "no rows", "one row"),
        *("more rows than phases", "huge numbers", "sparse", "folder"),
        pytest.param("pipe", marks=pytest.mark.skipif(os.name == "nt", reason="POSIX")),
    ],
)
def test_a_damaged_entry_is_rebuilt(folder, m, damage):
    m.decode_plan(prior=BOX)
    (path,) = entries(folder)
    content = path.read_bytes()
    u, v = np.load(path)
    n_rows = len(u)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "garbage":
        path.write_bytes(b"not an archive" * 100)
    elif damage == "flipped":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "other type":
        np.save(path, np.stack([u, v]).astype(np.float64))
    elif damage == "no rows":
        np.save(path, np.empty((2, 0, 0), dtype=np.int64))
    elif damage == "one row":
        np.save(path, np.ones((2, 1, 1), dtype=np.int64))
    elif damage == "more rows than phases":
        np.save(path, np.stack([np.eye(17, dtype=np.int64)] * 2))
    elif damage == "huge numbers":
        shear = np.eye(n_rows, dtype=np.int64)
        shear[0, 1] = np.iinfo(np.int64).max
        inverse = np.eye(n_rows, dtype=np.int64)
        inverse[1, 0] = -shear[0, 1]
        np.save(path, np.stack([shear, inverse]))
    elif damage == "sparse":
        with path.open("r+b") as stream:
            stream.truncate(1 << 40)
    elif damage == "pipe":
        path.unlink()
        os.mkfifo(path)
    else:
        path.unlink()
        path.mkdir()
    x = np.linspace(-0.9, 0.9, 20).reshape(5, 4)
    result = m.decode_plan(prior=BOX).decode(m.encode(x))
    assert (result.status == "unique").all()
    np.testing.assert_allclose(result.x, x, atol=1e-8)
    if damage not in ("folder", "pipe"):
        assert _cache.load(path.stem, 1, 16) is not None


def test_an_interrupted_set_up_leaves_nothing(folder, m):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        m.decode_plan(prior=BOX, progress=interrupt)
    assert entries(folder) == []


def test_an_interrupted_write_leaves_nothing(folder, m, monkeypatch):
    def interrupt(arrays):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "stack", interrupt)
    with pytest.raises(KeyboardInterrupt):
        m.decode_plan(prior=BOX)
    assert entries(folder) == []


def test_progress_counts_up_to_its_total(folder, m):
    seen = []
    m.decode_plan(prior=BOX, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 100)
    assert seen[-1] == (100, 100)
    assert seen == sorted(seen)


def test_the_cache_can_be_turned_off(folder, m, monkeypatch):
    m.decode_plan(prior=BOX, cache=False)
    assert entries(folder) == []
    monkeypatch.setenv("PRIMAL_CACHE_DIR", "")
    assert _cache.cache_folder() is None
    m.decode_plan(prior=BOX)
    assert entries(folder) == []


def test_a_quick_set_up_is_not_stored(folder, m, monkeypatch):
    monkeypatch.setattr(_setup, "_LEAST_STORED_SECONDS", 1e9)
    m.decode_plan(prior=BOX)
    assert entries(folder) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_no_error(folder, m):
    folder.parent.chmod(0o500)
    m.decode_plan(prior=BOX)


def test_a_file_in_place_of_the_folder_is_no_error(folder, m):
    folder.write_text("in the way")
    assert m.decode_plan(prior=BOX).certificate.recoverable


def test_the_folder_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("PRIMAL_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _cache.cache_folder() == tmp_path / "primal" / "decoder"
