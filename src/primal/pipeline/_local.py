"""All on this machine: one thread reads, a few make and write parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from primal._parallel import n_threads
from primal.pipeline._blocks import Span, read_span
from primal.pipeline._job import Job
from primal.pipeline._record import Key, Record

__all__ = ["run_here"]

# More would only hold more memory, since the encoder has threads of its own.
_MOST_WORKERS = 4
_READ_AHEAD = 2


def run_here(job: Job, spans: list[Span], done: Collection[Key]) -> Iterator[Record]:
    """Return the records of the parts of spans that are not done, in order, as they are made."""
    blocks = (
        block
        for span in spans
        for block in read_span(job.files, span, list(job.names), job.rows_per_part, done)
    )
    n_workers = min(n_threads(), _MOST_WORKERS)
    with (
        ThreadPoolExecutor(1, thread_name_prefix="primal-read") as reader,
        ThreadPoolExecutor(n_workers, thread_name_prefix="primal-work") as workers,
    ):
        ahead: deque[Future] = deque(reader.submit(next, blocks, None) for _ in range(_READ_AHEAD))
        waiting: deque[Future[Record]] = deque()
        try:
            while (block := ahead.popleft().result()) is not None:
                ahead.append(reader.submit(next, blocks, None))
                waiting.append(workers.submit(job.write, block))
                if len(waiting) > n_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in (*ahead, *waiting):
                future.cancel()
