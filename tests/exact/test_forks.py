"""Forks while other threads work, and interrupts: nothing stays locked or limited."""

import dis
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from primal._forks import ForkSafe
from primal._lazy import cached_property
from primal._parallel import _limiter, over_rows, single_threaded_blas

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def status_of_child(run, *, patience=20.0) -> int:
    """Exit status of a forked child that runs `run`; SIGKILL's when it hangs."""
    child = os.fork()
    if child == 0:
        try:
            run()
        finally:
            os._exit(1)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# Python 3.12 warns of any fork beside threads; that it works is what these tests show.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_lock_that_another_thread_holds_is_free_in_the_child():
    safe, held = ForkSafe(), threading.Event()

    def hold() -> None:
        with safe.lock:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    status = status_of_child(lambda: os._exit(0 if safe.lock.acquire(timeout=5) else 2))
    thread.join()
    assert status == 0
    assert safe.lock.acquire(blocking=False)  # in the parent too
    safe.lock.release()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_has_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("PRIMAL_THREADS", "2")
    counts = []

    def child() -> None:
        over_rows(100, 1, lambda first, last: counts.append(last - first))
        os._exit(0 if sum(counts) == 200 else 2)

    over_rows(100, 1, lambda first, last: counts.append(last - first))
    assert status_of_child(child) == 0


def blas_threads() -> list[int]:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    listed = threadpoolctl.threadpool_info()
    return [found["num_threads"] for found in listed if "numpy" in found["filepath"]]


@pytest.fixture
def two_blas_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    if not blas_threads():
        pytest.skip("NumPy brings no BLAS library of its own here")
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_inherit_the_limit_of_blas(two_blas_threads):
    def child() -> None:
        free = blas_threads()
        with single_threaded_blas():
            limited = blas_threads()
        os._exit(0 if (free, limited, blas_threads()) == ([2], [1], [2]) else 3)

    with single_threaded_blas():
        assert status_of_child(child) == 0
        assert blas_threads() == [1]
    assert blas_threads() == [2]


def test_an_interrupt_anywhere_does_not_keep_the_limit_of_blas(two_blas_threads):
    """KeyboardInterrupt wherever Python looks for one inside the context, one at a time."""
    n = 0
    while interrupted_use(n):
        assert blas_threads() == [2], f"after interrupt number {n}"
        n += 1
    assert n > 5
    with ThreadPoolExecutor(1) as pool:  # nor does it keep the lock, which is free for its owner
        assert pool.submit(_limiter.lock.acquire, timeout=5).result()
        pool.submit(_limiter.lock.release).result()
    with single_threaded_blas():
        assert blas_threads() == [1]
    assert blas_threads() == [2]


def in_finalizer(frame) -> bool:
    # Python itself ignores an interrupt there.
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def interrupted_use(n: int) -> bool:
    """Use the context with an interrupt at its n-th point; return whether there is one.

    Python looks for signals when a function begins, after a call and when a loop goes back.
    """
    left, previous = n, {}

    def trace(frame, event, _):
        nonlocal left
        if "_parallel" not in frame.f_code.co_filename or in_finalizer(frame):
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            previous[id(frame)] = "RESUME"
        if event == "opcode":
            before = previous[id(frame)]
            previous[id(frame)] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            left -= before.startswith(("RESUME", "CALL", "JUMP_BACKWARD"))
            if left == -1:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with single_threaded_blas():
            pass
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_cached_property_is_computed_once_and_without_a_lock():
    both = threading.Barrier(2, timeout=10)

    class Thing:
        @cached_property
        def value(self) -> object:
            """Meets the other thread while both are computing."""
            both.wait()
            return object()

    things, found = [Thing(), Thing()], []
    threads = [threading.Thread(target=lambda t=t: found.append(t.value)) for t in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(value) for value in found} == {id(thing.value) for thing in things}
    assert Thing.value.__doc__ == "Meets the other thread while both are computing."


def test_threads_that_race_for_a_cached_property_get_the_same_object():
    both = threading.Barrier(2, timeout=10)

    class Thing:
        @cached_property
        def value(self) -> object:
            both.wait()
            return object()

    thing, found = Thing(), []
    threads = [threading.Thread(target=lambda: found.append(thing.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is thing.value
