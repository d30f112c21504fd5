"""One pool of threads for kernels that release the interpreter lock.

Numba's own parallel loops are not used: its default thread layer stops the process when
two threads call it at once. A pool of Python threads has no such limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

__all__ = ["n_threads", "over_rows"]

_pool: ThreadPoolExecutor | None = None


def n_threads() -> int:
    """Return the number of threads: PRIMAL_THREADS, or the processors this process may use."""
    asked = os.environ.get("PRIMAL_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def over_rows(n_rows: int, least_rows: int, work: Callable[[int, int], None]) -> None:
    """Call work(first, last) on pieces of the rows, several at a time.

    Pieces have at least `least_rows` rows. An error in any piece is raised here, after all
    have ended.
    """
    n_pieces = max(1, min(n_threads(), n_rows // max(1, least_rows)))
    if n_pieces == 1:
        work(0, n_rows)
        return
    edges = [n_rows * i // n_pieces for i in range(n_pieces + 1)]
    pieces = list(pairwise(edges))
    # The calling thread takes the first piece: one switch less.
    waiting = [_get_pool().submit(work, *piece) for piece in pieces[1:]]
    try:
        work(*pieces[0])
    finally:
        errors = [future.exception() for future in waiting]
    for error in errors:
        if error is not None:
            raise error


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="primal")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_forget_pool)
