"""The same blocks made by the workers of a Ray cluster, and handed over in order.

A task is a run of blocks; it reads them itself, so only finished bytes travel. Ray runs a task
again when its worker or node is lost, and the blocks it then makes have the same bytes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from primal._errors import EngineError, MissingPackageError
from primal.pipeline._blocks import Span, read_span, split_span
from primal.pipeline._job import EncodedBlock, Job

__all__ = ["encode_on_ray"]

# Blocks of one task, at least: 64 MB of features.
_TASK_BLOCKS = 4


def encode_on_ray(
    job: Job, spans: Iterable[Span], *, address: str | None, num_gpus: float
) -> Iterator[EncodedBlock]:
    """Return the finished blocks of spans, in order, made by Ray tasks.

    Parameters
    ----------
    job : Job
    spans : iterable of Span
    address : str or None
        Of a cluster; None starts one here, unless this process is connected already.
    num_gpus : float
        GPUs that each task asks for.
    """
    try:
        import ray
    except ImportError:
        raise MissingPackageError(
            "engine 'ray' needs Ray: pip install 'primal-features[ray]'."
        ) from None
    with _connected(ray, address):
        shared = ray.put(job)
        task = ray.remote(_encode_span).options(
            num_cpus=1,
            num_gpus=num_gpus,
            max_retries=-1,
            num_returns="streaming",
        )
        pieces = (
            piece
            for span in spans
            for piece in split_span(job.files, span, job.recipe.batch_rows, _TASK_BLOCKS)
        )
        # Tasks are never held back while they run: one that waits for its blocks to be used would
        # keep a processor from an earlier task that has to be run again.
        n_tasks = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
        running: deque[Any] = deque()
        for piece in pieces:
            running.append(task.remote(shared, piece))
            if len(running) == n_tasks:
                yield from _results(ray, running.popleft())
        while running:
            yield from _results(ray, running.popleft())


def _encode_span(job: Job, span: Span) -> Iterator[EncodedBlock]:
    """Run in a worker: read and encode the blocks of a span."""
    os.environ.setdefault("PRIMAL_THREADS", "1")  # one processor is what a task asks for
    for block in read_span(job.files, span, job.names, job.recipe.batch_rows):
        yield job.encode(block)


def _results(ray: Any, references: Any) -> Iterator[EncodedBlock]:
    try:
        for reference in references:
            yield ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None  # ours, without the traceback of the worker
    except ray.exceptions.RayError as error:
        raise EngineError(f"Ray gave up: {error}") from None


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to a cluster for as long as the context lasts, unless that is done already."""
    if ray.is_initialized():
        yield
        return
    try:
        ray.init(
            address=address,
            include_dashboard=False if address is None else None,
            log_to_driver=False,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise EngineError(f"no Ray cluster at {address!r}: {error}") from None
    try:
        yield
    finally:
        ray.shutdown()
