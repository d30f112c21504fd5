"""Making the parts of an output that are missing, in this process or on a Ray cluster.

Workers of a cluster read the input and write the parts themselves; only records travel. Ray runs a
task again elsewhere when its node is lost; a part that was written already is then skipped or
written again with the same bytes.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from primal._checks import one_of
from primal._extras import require
from primal._parallel import n_threads
from primal.errors import EngineError, ParameterError, PrimalError
from primal.pipeline._blocks import Key, Span
from primal.pipeline._inputs import check_unchanged, resumable
from primal.pipeline._job import FLOATS, Job, Recipe
from primal.pipeline._output import (
    MANIFEST,
    Progress,
    finished,
    part_folder,
    part_keys,
    part_record,
    write_one_file,
)
from primal.pipeline._record import Record

# More would only hold more memory, since the encoder has threads of its own.
_MOST_WORKERS = 4
_READ_AHEAD = 2
# Parts of one task, at least: 64 MB of features.
_TASK_PARTS = 4
# Tasks that are handed over for each processor of the cluster.
_TASKS_AHEAD = 4


@dataclass(frozen=True)
class Local:
    """Threads of this process.

    Attributes
    ----------
    layer : torch.nn.Module, optional
        Makes the float features in place of the map: one of ``primal.torch`` with the arguments of
        the map and ``dtype=torch.float32``. Exact layers make the same bits.
    device : str, default="cpu"
        To which `layer` is moved.

    Examples
    --------
    >>> from primal import pipeline
    >>> pipeline.Local()
    Local(layer=None, device='cpu')
    """

    layer: Any = None
    device: str = "cpu"


@dataclass(frozen=True)
class Ray:
    """A Ray cluster, all of whose nodes see input and output at the same path.

    Attributes
    ----------
    address : str, optional
        Without it the cluster that ``RAY_ADDRESS`` names, or a new one on this machine.
    num_gpus : float, default=0
        GPUs of each worker, to which `layer` is then moved.
    layer : torch.nn.Module, optional
        As of :class:`Local`.

    Examples
    --------
    >>> from primal import pipeline
    >>> pipeline.Ray("10.0.0.1:6379").address
    '10.0.0.1:6379'
    """

    address: str | None = None
    num_gpus: float = 0.0
    layer: Any = None

    @property
    def device(self) -> str:
        return "cuda" if self.num_gpus else "cpu"


def checked_engine(engine: object, m: Any, stored: str) -> Local | Ray:
    """Return an engine, given by its name or as it is, whose layer makes what the map makes."""
    if not isinstance(engine, (Local, Ray)):
        engine = Ray() if one_of("engine", engine, ("local", "ray")) == "ray" else Local()
    gpus = engine.num_gpus if isinstance(engine, Ray) else 0
    if not isinstance(gpus, (int, float)) or not 0 <= gpus < math.inf:
        raise ParameterError(f"num_gpus of engine must be a number, 0 or more, got {gpus!r}.")
    if engine.layer is None and engine.device != "cpu":
        given = f"num_gpus={gpus}" if gpus else f"device={engine.device!r}"
        raise ParameterError(
            f"{given} is for work with a layer: pass {type(engine).__name__}(layer=..., {given})."
        )
    if engine.layer is not None:
        if not (callable(engine.layer) and hasattr(engine.layer, "to")):
            raise ParameterError(f"layer of engine must be a PyTorch layer, got {engine.layer!r}.")
        if stored not in FLOATS:
            raise ParameterError(f"a layer makes floats, not {stored!r}: leave it out.")
        x, device = np.linspace(-1.0, 1.0, m.d)[None], engine.device if not gpus else "cpu"
        if np.abs(Recipe(m).codes(x, engine.layer, device) - m.encode(x)).max() > 1e-3:
            raise EngineError(
                "the layer makes other features than m: give both the same arguments."
            )
    return engine


def make_parts(
    job: Job,
    engine: Local | Ray,
    *,
    overwrite: bool,
    progress: Progress | None,
    shard: tuple[int, int] = (0, 1),
) -> tuple[Record, int, bool]:
    """Make the parts of a shard that are not there yet, and one file of them if that is asked.

    Returns the record of all of them, how many rows an earlier run had made, and whether nothing
    was left to do.
    """
    target, folder = job.target, job.folder
    inputs = [asdict(file) for file in job.blocks.files]
    request = job.about | {"format": target.suffix, "inputs": inputs}
    if folder != target:
        record = finished(target, request, overwrite)
        if record is not None:
            if folder.is_dir():  # of a run that was killed at its very end
                with contextlib.suppress(PrimalError), part_folder(folder, request) as left:
                    left.remove()
            return record, 0, True
    with part_folder(folder, request, shard[1] > 1, overwrite) as parts:
        spans, total = job.blocks.spans(shard)
        ranges = {span.file: (span.first, span.last or 2**62) for span in spans}
        records = {}
        for f, n in part_keys(folder):
            first, last = ranges.get(f, (0, 0))
            if first <= n < last:
                records[f, n] = part_record(folder, (f, n), job.run)
        ends = {f: n + 1 for (f, n), record in records.items() if record.parts[0].ends_file}
        left = [
            span
            for span in spans
            if (last := span.last or ends.get(span.file)) is None
            or any((span.file, n) not in records for n in range(span.first, last))
        ]
        if not left and overwrite and folder == target:
            parts.remove(records)
            records, left = {}, spans
        parts.working = True
        resumed = n_done = sum(record.rows for record in records.values())
        if isinstance(engine, Ray) and left:
            made = _run_there(job, left, frozenset(records), engine)
        else:
            made = _run_here(job, left, frozenset(records))
        for record in made:
            records[record.parts[0][:2]] = record
            n_done += record.rows
            if progress is not None:
                progress(n_done, total)
        whole = Record.joined(records.values()) if records else Record(job.about, job.run, ())
        check_unchanged(job.blocks.files)
        if folder != target:
            write_one_file(target, folder, whole, job.schema, request, job.npy_rows)
            parts.remove()
    return whole, resumed, not left and folder == target


def _run_here(job: Job, spans: list[Span], done: Collection[Key]) -> Iterator[Record]:
    """Return the records of the parts that are not done, in order: one thread reads, a few make."""
    blocks = (block for span in spans for block in job.blocks.read(span, done))
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


def _run_there(job: Job, spans: list[Span], done: Collection[Key], engine: Ray) -> Iterator[Record]:
    """Return the records of the parts of spans that are not done, in order, made by workers."""
    ray = require("ray", "engine 'ray'")
    with _connected(ray, engine.address):
        n_workers = _n_workers(ray, engine.num_gpus)
        task = ray.remote(max_retries=-1, num_cpus=1, num_gpus=engine.num_gpus or None)(_made)
        shared, here = ray.put((job, frozenset(done))), str(Path.cwd())
        pieces = (piece for span in spans for piece in job.blocks.split(span, _TASK_PARTS))
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
            if waiting:  # nothing may be written after the caller has moved on
                ray.wait(list(waiting), num_returns=len(waiting), timeout=60.0)


def _made(shared: tuple[Job, frozenset[Key]], span: Span, here: str) -> list[Any]:
    """Make the parts of a span, in a worker; return their records, an error in its place."""
    job, done = shared
    os.environ.setdefault("PRIMAL_THREADS", "1")  # one processor is what a task asks for
    found: list[Any] = []
    try:
        os.chdir(here)  # that of the caller, for paths that begin there
        file = job.blocks.files[span.file]
        seen = False
        with contextlib.suppress(PrimalError):
            check_unchanged((file,))
            seen = (job.folder / MANIFEST).is_file()
        if not seen:
            raise EngineError(
                f"a worker on {socket.gethostname()} does not see {file.path} and {job.folder} as "
                "they are here: every node must have the input and the output at the same path."
            )
        for block in job.blocks.read(span, done):
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


@contextlib.contextmanager
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
    for has in (node["Resources"] for node in ray.nodes() if node["Alive"]):
        room = has.get("CPU", 0.0)
        found += int(min(room, has.get("GPU", 0.0) / num_gpus) if num_gpus else room)
    if not found:
        wanted = f"1 processor and {num_gpus:g} GPUs" if num_gpus else "1 processor"
        raise resumable(
            f"no node of the Ray cluster has what a worker asks for, {wanted}", EngineError
        )
    return found
