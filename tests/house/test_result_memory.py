"""Memory that results leave behind for the next one."""

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import primal
from primal import _memory
from primal._memory import new_array

FLOATS = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    _memory._kept.clear()


def test_the_memory_of_an_array_serves_the_next_when_its_last_view_is_gone():
    first = new_array((1000, 1000), FLOATS)
    address, view = first.ctypes.data, first[10:].reshape(-1)[::7]
    del first
    other = new_array((1000, 1000), FLOATS)
    assert other.ctypes.data != address
    del view
    assert new_array((900, 1000), FLOATS).ctypes.data == address


def test_an_array_twice_as_small_or_larger_gets_its_own():
    address = new_array((1000, 1000), FLOATS).ctypes.data
    for shape in ((499, 1000), (1001, 1000)):
        held = new_array(shape, FLOATS)
        assert held.shape == shape
        assert held.ctypes.data != address


def test_arrays_are_ordinary():
    array = new_array((512, 1024), np.dtype(np.float64))
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    assert array.ctypes.data % 64 == 0
    assert np.copy(array).shape == (512, 1024)


def test_small_arrays_own_their_memory():
    assert new_array((100, 100), FLOATS).flags.owndata


def test_no_more_than_the_limit_is_kept(monkeypatch):
    monkeypatch.setattr(_memory._Lease, "most_kept_bytes", 9_000_000)
    held = [new_array((1000, 1000), FLOATS) for _ in range(5)]
    last = held[-1].ctypes.data
    while held:
        held.pop(0)
    assert len(_memory._kept) == 2
    assert list(_memory._kept)[-1] == last
    new_array((3000, 1000), FLOATS)
    assert sum(map(len, _memory._kept.values())) <= 9_000_000


def test_a_process_that_holds_results_ends_in_silence():
    statements = """
import sys, types
import numpy as np
from primal._memory import new_array
held = new_array((1000, 1000), np.dtype(np.float32))
cycle = types.ModuleType("cycle")
cycle.itself, cycle.array = cycle, new_array((1000, 1000), np.dtype(np.float32))
sys.modules["cycle"] = cycle
"""
    done = subprocess.run([sys.executable, "-c", statements], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_never_share_an_array():
    def work(number: int) -> bool:
        sizes = np.random.default_rng(number).integers(500, 1000, 200)
        for i, size in enumerate(sizes.tolist()):
            array = new_array((size, 1000), FLOATS)
            array[::50] = mark = number * 1000 + i
            if (array[::50] != mark).any():
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_features_that_are_held_stay_as_they_are():
    m = primal.DynamicPrime(16, 512, 0.3, basis="auto")
    x = np.random.default_rng(0).standard_normal((4, 1000, 16)).astype(np.float32)
    held = [m.encode(part) for part in x]
    expected = [z.copy() for z in held]
    parts = [m.encode(-part)[::2] for part in x]  # the whole results are gone, views of them not
    for z, before in zip(held, expected, strict=True):
        np.testing.assert_array_equal(z, before)
    for part, z in zip(x, parts, strict=True):
        np.testing.assert_array_equal(z, m.encode(-part)[::2])
