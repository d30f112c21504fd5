"""The library as a file: built from its sources, missing, truncated, of another build."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_core import require_core

from primal import native
from primal.native import build

ROOT = Path(__file__).parents[2]


@pytest.fixture
def loaded():
    """Load another file than the library of this installation."""
    native._loaded.cache_clear()
    yield native._loaded
    native._loaded.cache_clear()


def test_a_missing_library_is_reported(loaded, tmp_path):
    assert loaded(tmp_path / "core.so") == ({}, "core.so was not built")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.99])
def test_a_truncated_library_is_reported(loaded, tmp_path, share):
    require_core()
    content, path = native.PATH.read_bytes(), tmp_path / native.PATH.name
    path.write_bytes(content[: int(share * len(content))])
    levels, reason = loaded(path)
    assert levels == {}
    assert reason


def test_a_library_without_a_function_is_reported(loaded, tmp_path, monkeypatch):
    require_core()
    monkeypatch.setitem(native._FUNCTIONS, "not_there", (ctypes.c_int64,))
    path = tmp_path / native.PATH.name
    shutil.copy(native.PATH, path)
    levels, reason = loaded(path)
    assert levels == {}
    assert "not_there" in reason


def test_no_memory_raises(monkeypatch):
    require_core()
    core = native.core()
    monkeypatch.setitem(core._functions, "table64", lambda *arguments: 1)
    with pytest.raises(MemoryError, match="table64"):
        core("table64")


def test_an_installation_without_a_compiler_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "compiler", list)
    with pytest.raises(FileNotFoundError, match="no C compiler: set CC"):
        build.build(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_compiler_that_fails_shows_its_message_and_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", f"{sys.executable} -c 'raise SystemExit(\"no such target\")'")
    with pytest.raises(RuntimeError, match="no such target"):
        build.build(tmp_path)
    assert not list(tmp_path.iterdir())


_ANSWERS = """
import sys
from pathlib import Path
from primal import native
native.PATH = Path(sys.argv[1])
native._loaded.__wrapped__.__defaults__ = (native.PATH,)
from primal.exact._native import native_engine
import primal._selftest as selftest
assert native.levels(), native.reason()
for level in native.levels():
    selftest.engine = lambda name, level=level: native_engine(level)
    print(level, all(selftest.engine_answers("native").values()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flag", ["-O0", "-O3"])
def test_compilers_and_optimization_do_not_change_a_bit(compiler, flag, monkeypatch, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("CC", compiler)
    path = build.build(tmp_path, flags=(flag,))
    done = subprocess.run(
        [sys.executable, "-c", _ANSWERS, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [w for level in native.levels() for w in (level, "True")]
