"""One pool of threads for kernels that release the interpreter lock.

Each thread makes its own matrix products, so the BLAS library must not start threads of its
own meanwhile: they would spin on the processors that ours need (seen: ten times slower).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from primal._forks import ForkSafe, in_child
from primal.errors import EngineError

_pool: ThreadPoolExecutor | None = None
_PIECES_PER_THREAD = 8


def n_threads() -> int:
    """Return the number of threads: PRIMAL_THREADS, else OMP_NUM_THREADS, else the CPUs available.

    Ray, Dask and Spark set OMP_NUM_THREADS for their workers. An invalid value is ignored, as
    OpenMP does, and only the first of several numbers counts, that of the outer level.
    """
    asked = os.environ.get("PRIMAL_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) == 0:
            raise EngineError(
                f"PRIMAL_THREADS must be a whole number of at least 1, got {asked!r}: correct or "
                "remove the environment variable."
            )
        return int(asked)
    openmp = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if openmp.isdecimal() and int(openmp) > 0:
        return int(openmp)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def over_rows(n_rows: int, least_rows: int, work: Callable[[int, int], None]) -> None:
    """Call work(first, last) on pieces of the rows, several at a time.

    Pieces have `least_rows` rows or several times as many; the last has the rest too. An error in
    any piece is raised here, after all have ended.

    Each thread takes the next piece when it is done with one, not an equal share: for a while
    after a matrix product, threads of OpenBLAS spin on processors that ours need, and with equal
    shares everybody waited for the thread beside them.
    """
    n_parts = n_rows // least_rows
    n_workers = max(1, min(n_threads(), n_parts))
    if n_workers == 1:
        work(0, n_rows)
        return
    n_pieces = min(_PIECES_PER_THREAD * n_workers, n_parts)
    starts = (n_parts * i // n_pieces * least_rows for i in range(n_pieces))
    pieces = iter(list(pairwise((*starts, n_rows))))

    def work_on() -> None:
        for piece in pieces:  # a list's iterator gives every piece to one thread
            work(*piece)

    global _pool
    if _pool is None:
        # More workers than pieces cost nothing: they start when there is work for them.
        _pool = ThreadPoolExecutor(max_workers=256, thread_name_prefix="primal")
    # The calling thread works too: one switch less.
    waiting = [_pool.submit(work_on) for _ in range(n_workers - 1)]
    try:
        work_on()
    finally:
        errors = [future.exception() for future in waiting]
    for error in errors:
        if error is not None:
            raise error


def matrix_product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``a @ b`` of two matrices."""
    if a.shape[1] == 1:  # without a sum NumPy takes three times as long for the product
        return np.multiply(a, b, out=out)
    return np.matmul(a, b, out=out)


class single_threaded_blas:
    """Make NumPy's matrix products use one thread each while the context lasts.

    Needs the package threadpoolctl, which scikit-learn brings; without it the context
    does nothing (see :func:`blas_is_limited`). The limit holds for the whole process, so the
    first caller to enter sets it and the last one to leave lifts it.
    """

    # Every step can be done again, so that an interrupt anywhere leaves no limit behind. One that
    # comes as __exit__ begins is made good when the interrupted call lets go of this object.

    def __enter__(self) -> None:
        try:
            with _limiter.lock:
                _limiting.add(id(self))
                if _original_limits is None:
                    _limit()
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._leave()
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        with _limiter.lock:
            _limiting.discard(id(self))
            if not _limiting:
                _lift()

    def __del__(self) -> None:
        if id(self) in _limiting:
            self._leave()


def blas_is_limited() -> bool:
    """Whether `single_threaded_blas` has any effect here: threadpoolctl sees a BLAS library."""
    with _limiter.lock:
        return bool(_blas_libraries())


_limiter = ForkSafe()
_limiting: set[int] = set()  # the objects inside the context, by their id
_original_limits: list[tuple[Any, int]] | None = None  # None while there is no limit


def _limit() -> None:
    global _original_limits
    # Kept before the first change: an interrupt must not lose them.
    _original_limits = [(library, library.num_threads) for library in _blas_libraries()]
    _set_limits([(library, 1) for library, _ in _original_limits])


def _lift() -> None:
    global _original_limits
    if _original_limits is not None:
        _set_limits(_original_limits)
        _original_limits = None


def _set_limits(limits: list[tuple[Any, int]]) -> None:
    # threadpoolctl obeys only the first thread that ever set the limit of OpenBLAS, and ignores all
    # others in silence. Our lock already keeps threads apart: any of them may change it.
    for library, n in limits:
        free = getattr(library, "clear_controlling_thread", lambda force: None)
        free(force=True)
        library.set_num_threads(n)
        free(force=True)


@cache
def _blas_libraries() -> list[Any]:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return []
    return [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]


def _forget_threads() -> None:
    """A child has none of its parent's threads, and nobody inside the context."""
    global _pool
    _pool = None
    _limiting.clear()
    _lift()


in_child(_forget_threads)
