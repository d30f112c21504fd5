"""One pool of threads for kernels that release the interpreter lock.

Numba's own parallel loops are not used: its default thread layer stops the process when
two threads call it at once. A pool of Python threads has no such limit.

Each thread makes its own matrix products, so the BLAS library must not start threads of its
own meanwhile: they would spin on the processors that ours need (seen: ten times slower).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

__all__ = ["n_threads", "over_rows", "single_threaded_blas"]

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


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Make NumPy's matrix products use one thread each while the context lasts.

    Needs the package threadpoolctl, which the extra ``fast`` brings; without it the context
    does nothing. The limit holds for the whole process, so the first caller to enter sets it
    and the last one to leave lifts it.
    """
    global _n_limiting, _limit
    with _limit_lock:
        _n_limiting += 1
        if _n_limiting == 1:
            controller = _blas_controller()
            _free_control(controller)
            _limit = None if controller is None else controller.limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _limit_lock:
            _n_limiting -= 1
            if _n_limiting == 0 and _limit is not None:
                _free_control(_blas_controller())  # this may be another thread than the first
                _limit.restore_original_limits()
                _free_control(_blas_controller())


_limit_lock = threading.Lock()
_n_limiting = 0
_limit: Any = None


@cache
def _blas_controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


def _free_control(controller: Any) -> None:
    """Let any thread change the limits of BLAS libraries.

    threadpoolctl obeys only the first thread that ever set the limit of OpenBLAS, and ignores
    all others in silence. Our lock already keeps threads apart.
    """
    for library in getattr(controller, "lib_controllers", ()):
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        # More workers than pieces cost nothing: they start when there is work for them.
        _pool = ThreadPoolExecutor(max_workers=256, thread_name_prefix="primal")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_forget_pool)
