"""Forks: a child forgets the locks and the threads of its parent.

A fork copies the whole memory and only the thread that called it. A lock that another thread held
would stay taken in the child forever.
"""

import os
import threading
from collections.abc import Callable
from weakref import WeakSet

_all_locks: WeakSet["ForkSafe"] = WeakSet()
_hooks: list[Callable[[], None]] = []


class ForkSafe:
    """Holds a reentrant `lock`, which is another one in the child of every fork."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _all_locks.add(self)


def in_child(hook: Callable[[], None]) -> None:
    """Have a function called in the child of every fork."""
    _hooks.append(hook)


def _begin_child() -> None:
    for held in _all_locks:
        held.lock = threading.RLock()
    for hook in _hooks:
        hook()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
