"""Forks while other threads work: what a child needs is at rest when the process is copied.

A fork copies the whole memory and only the thread that asked for it. A lock that another thread
held stays taken in the child for ever, and a library that another thread was working in is copied
half-way. Two such things were seen to hang children, or the fork itself:

- our own locks: they are taken by the fork itself, which therefore waits for their owners;
- OpenBLAS in a matrix product: when the product uses several threads, the fork hangs in the
  library's own fork handler. Every thread makes its products under a lock of its own, and a fork
  takes them all: products of several threads never wait for one another.

A fork waits for one block of rows, never for a whole batch.
"""

# Its own lock is taken by a fork too: hooks that were registered later run earlier, so this one
# must be there before ours.
import concurrent.futures.thread  # noqa: F401
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np

# In the order in which a fork takes them; whoever holds one may only ask for a later one.
_locks: list[Any] = []


def fork_safe_lock() -> Any:
    """Return a new lock (reentrant) that is free in the child of every fork."""
    lock = threading.RLock()
    _locks.append(lock)
    return lock


class _ThreadLock(threading.local):
    """One lock for each thread that makes matrix products."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        with _registering:
            _blas_locks.add(self.lock)


_registering = fork_safe_lock()
_blas_locks: WeakSet[Any] = WeakSet()
_own = _ThreadLock()


def blas_lock() -> Any:
    """Return this thread's own lock, to be held while a library of linear algebra works."""
    return _own.lock


def matrix_product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``a @ b`` of two matrices; a fork waits for its end."""
    if a.shape[1] == 1:  # without a sum NumPy takes three times as long for the product
        return np.multiply(a, b, out=out)
    with _own.lock:
        return np.matmul(a, b, out=out)


def at_fork(
    before: Callable[[], None], in_parent: Callable[[], None], in_child: Callable[[], None]
) -> None:
    """Have functions called around every fork, while all locks of this module are held."""
    _around.append((before, in_parent, in_child))


_around: list[tuple[Callable[[], None], Callable[[], None], Callable[[], None]]] = []
# What the fork under way has taken, in order; only its thread changes this.
_taken: list[Any] = []


def _before_fork() -> None:
    for lock in list(_locks):
        _take(lock)
    for lock in list(_blas_locks):
        _take(lock)
    for before, _, _ in _around:
        before()


def _take(lock: Any) -> None:
    _taken.append(lock)  # first: an interrupt must not leave a lock that nobody gives back
    lock.acquire()


def _after_fork(in_child: bool) -> None:
    try:
        for _, *hooks in _around:
            hooks[in_child]()
    finally:
        while _taken:
            with suppress(RuntimeError):  # it was interrupted before it could be taken
                _taken.pop().release()
        if in_child:  # it has one thread: the locks of the others are never asked for again
            _blas_locks.clear()
            _blas_locks.add(_own.lock)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=partial(_after_fork, False),
        after_in_child=partial(_after_fork, True),
    )
