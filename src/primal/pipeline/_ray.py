"""Parts made by the workers of a Ray cluster, which read the input and write the parts themselves.

Only records travel. Ray runs a task again elsewhere when its node is lost; a part that was written
already is then skipped or written again with the same bytes.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from primal._extras import require
from primal.errors import EngineError, PrimalError
from primal.pipeline._blocks import Span, read_span, split_span
from primal.pipeline._engines import Ray
from primal.pipeline._folder import MANIFEST
from primal.pipeline._inputs import check_unchanged, resumable
from primal.pipeline._job import Job
from primal.pipeline._record import Key, Record

# Parts of one task, at least: 64 MB of features.
_TASK_PARTS = 4
# Tasks that are handed over for each processor of the cluster.
_TASKS_AHEAD = 4


def run_on_ray(job: Job, spans: list[Span], done: Collection[Key], engine: Ray) -> Iterator[Record]:
    """Return the records of the parts of spans that are not done, in order, made by workers."""
    ray = require("ray", "engine 'ray'")
    with _connected(ray, engine.address):
        n_workers = _n_workers(ray, engine.num_gpus)
        task = ray.remote(max_retries=-1, num_cpus=1, num_gpus=engine.num_gpus or None)(_made)
        shared, here = ray.put((job, frozenset(done))), str(Path.cwd())
        pieces = (
            piece
            for span in spans
            for piece in split_span(job.files[span.file], span, job.rows_per_part, _TASK_PARTS)
        )
        waiting: deque[Any] = deque()
        try:
            for piece in pieces:
                waiting.append(task.remote(shared, piece, here))
                if len(waiting) >= _TASKS_AHEAD * n_workers:
                    yield from _records(ray, waiting.popleft())
            while waiting:
                yield from _records(ray, waiting.popleft())
        finally:
            for one in waiting:
                ray.cancel(one)
            if waiting:  # nothing may be written after the caller has gone on
                ray.wait(list(waiting), num_returns=len(waiting), timeout=60.0)


def _made(shared: tuple[Job, frozenset[Key]], span: Span, here: str) -> list[Any]:
    """Make the parts of a span, in a worker; return their records, an error in its place."""
    job, done = shared
    os.environ.setdefault("PRIMAL_THREADS", "1")  # one processor is what a task asks for
    found: list[Any] = []
    try:
        os.chdir(here)  # that of the caller, for paths that begin there
        file = job.files[span.file]
        try:
            check_unchanged((file,))
            seen = (Path(job.folder) / MANIFEST).is_file()
        except PrimalError:
            seen = False
        if not seen:
            raise EngineError(
                f"a worker on {socket.gethostname()} does not see {file.path} and {job.folder} as "
                "they are here: every node must have the input and the output at the same path."
            )
        for block in read_span(job.files, span, list(job.names), job.rows_per_part, done):
            found.append(job.write(block))
    except (PrimalError, OSError) as error:
        # Ray would stop at the error that comes first in time. As a value it waits for its turn,
        # and the first in the order of the rows is raised, as without Ray.
        ours = isinstance(error, PrimalError)
        found.append(error if ours else EngineError(f"a worker failed: {error}"))
    return found


def _records(ray: Any, reference: Any) -> list[Record]:
    try:
        found = ray.get(reference)
    except Exception as error:  # Ray raises what it likes
        reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
        raise resumable(f"Ray gave up: {reason}", EngineError) from None
    for one in found:
        if isinstance(one, PrimalError):
            raise one
    return found


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to a cluster for as long as the context lasts, unless that is done already."""
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here):
            raise resumable(
                f"this process is connected to the Ray cluster at {here}, not to {address!r}",
                EngineError,
            )
        yield
        return
    # Without "local" Ray would join any cluster that was started on this machine.
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    host, colon, port = where.removeprefix("ray://").rpartition(":")
    try:
        if colon and port.isdigit():  # Ray would try for minutes where no one listens
            socket.create_connection((host.strip("[]"), int(port)), timeout=5.0).close()
        options = {"log_to_driver": False, "logging_level": logging.ERROR}
        if where == "local":
            options["include_dashboard"] = False
        ray.init(address=where, **options)
    except Exception as error:  # assertions too
        raise resumable(f"no Ray cluster at {where!r}: {error}", EngineError) from None
    try:
        yield
    finally:
        ray.shutdown()


def _n_workers(ray: Any, num_gpus: float) -> int:
    """Return how many tasks the nodes have room for now."""
    found = 0
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            room = has.get("CPU", 0.0)
            found += int(min(room, has.get("GPU", 0.0) / num_gpus) if num_gpus else room)
    if not found:
        wanted = f"1 processor and {num_gpus:g} GPUs" if num_gpus else "1 processor"
        raise resumable(
            f"no node of the Ray cluster has what a worker asks for, {wanted}", EngineError
        )
    return found
