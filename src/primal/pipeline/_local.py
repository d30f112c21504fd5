"""All on this machine: one thread reads, a few encode or decode, the caller writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from primal._parallel import n_threads
from primal.pipeline._blocks import Block, Span, read_span
from primal.pipeline._job import EncodedBlock, Job

__all__ = ["encode_here", "in_order"]

_T = TypeVar("_T")
_R = TypeVar("_R")
_END = object()
# Blocks read ahead, and threads that work: more would only hold more memory, since the
# encoder has threads of its own.
_READ_AHEAD = 2
_MOST_WORKERS = 4


def encode_here(job: Job, spans: Iterable[Span]) -> Iterator[EncodedBlock]:
    """Return the finished blocks of spans, in order, while later ones are read and encoded.

    The pieces of a block are as they were until the next block is asked for.
    """
    # New memory for every block would cost a third of the encoding: the system hands it out page
    # by page.
    free: list[np.ndarray] = []

    def encoded(block: Block) -> tuple[EncodedBlock, np.ndarray]:
        try:
            memory = job.memory_for(block, free.pop())
        except IndexError:  # tried, not asked: other threads pop too
            memory = job.memory_for(block)
        return job.encode(block, memory), memory

    blocks = (
        block
        for span in spans
        for block in read_span(job.files, span, job.names, job.recipe.batch_rows)
    )
    for done, memory in in_order(encoded, blocks):
        yield done
        free.append(memory)


def in_order(work: Callable[[Block], _R], blocks: Iterator[Block]) -> Iterator[_R]:
    """Return work(block) of all blocks, in order; a thread reads ahead and a few work."""
    n_workers = min(n_threads(), _MOST_WORKERS)
    return _ordered_map(work, _read_ahead(blocks, _READ_AHEAD), n_workers)


def _read_ahead(items: Iterator[_T], depth: int) -> Generator[_T, None, None]:
    """Return the same items, `depth` of them made in another thread before they are asked for."""
    with ThreadPoolExecutor(1, thread_name_prefix="primal-read") as pool:
        waiting: deque[Future] = deque(pool.submit(next, items, _END) for _ in range(depth))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, items, _END))
            yield item


def _ordered_map(
    work: Callable[[_T], _R], items: Generator[_T, None, None], n_workers: int
) -> Iterator[_R]:
    """Return work(item) in order, with at most `n_workers` + 1 results under way."""
    with ThreadPoolExecutor(n_workers, thread_name_prefix="primal-work") as pool:
        waiting: deque[Future[_R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
            items.close()
