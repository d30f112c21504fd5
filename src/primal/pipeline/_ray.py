"""The same blocks made by the actors of a Ray cluster, through Ray Data, and handed over in order.

The rows of the dataset are runs of blocks. A pool of actors turns each into finished blocks, which
an actor reads itself, so only finished bytes travel. Ray starts an actor anew and makes its blocks
again when its node is lost; their bytes are the same.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from primal.errors import EngineError, PrimalError
from primal.pipeline._blocks import Span, read_span, split_span
from primal.pipeline._inputs import InputFile, check_unchanged
from primal.pipeline._job import EncodedBlock, Job
from primal.pipeline._ray_cluster import connected, fail, import_ray

__all__ = ["encode_on_ray"]

# Blocks of one run, at least: 64 MB of features.
_RUN_BLOCKS = 4
# Processors that an actor asks for; there are as many actors as processors. Half of them are left
# over on paper, so that the actors of a lost node find room on the others: without it they would
# wait for ever, since no actor leaves before all blocks are made.
_ACTOR_CPUS = 0.5
# Finished blocks travel together up to this size; the default of Ray Data, 128 MB, holds them back.
_TRAVEL_BYTES = 1 << 20
# Time to wait for a block that is said to be finished, before later ones are looked for.
_PATIENCE_SECONDS = 2.0


def encode_on_ray(
    job: Job, spans: Iterable[Span], *, address: str | None, num_gpus: float
) -> Iterator[EncodedBlock]:
    """Return the finished blocks of spans, in order, made by a pool of Ray actors.

    The pieces of a block are as they were until the next block is asked for.

    Parameters
    ----------
    job : Job
    spans : iterable of Span
    address : str or None
        Of a cluster; None starts one here, unless this process is connected already or the
        environment variable ``RAY_ADDRESS`` names one.
    num_gpus : float
        GPUs that each actor asks for.

    Raises
    ------
    EngineError
        If there is no such cluster, it lacks the GPUs, or Ray itself fails.
    """
    ray = import_ray()
    with connected(ray, address):
        runs = [
            asdict(run)
            for span in spans
            for run in split_span(job.files, span, job.recipe.batch_rows, _RUN_BLOCKS)
        ]
        if not runs:
            return
        n_actors = min(len(runs), _most_actors(ray, num_gpus))
        before = (-1, 0)
        for table in _tables_in_order(ray, _plan(ray, job, runs, n_actors, num_gpus)):
            for row in range(table.num_rows):
                block = _block_of(table, row)
                file, number = before
                if block.file < file or (block.file == file and block.number != number + 1):
                    fail(f"Ray Data lost its order: block {block.number} came after {number}")
                before = (block.file, block.number)
                yield block


class _Encoder:
    """Runs in an actor: reads and encodes the blocks of a run, and yields one at a time."""

    def __init__(self, job: Job, folder: str) -> None:
        os.environ.setdefault("PRIMAL_THREADS", "1")  # one processor is what an actor asks for
        with contextlib.suppress(OSError):
            os.chdir(folder)  # that of the caller, for paths that begin there
        self._job = job

    def __call__(self, runs: pa.Table) -> Iterator[pa.Table]:
        job = self._job
        memory = None
        for run in runs.to_pylist():
            span = Span(**run)
            try:
                _check_seen(job.files[span.file])
                for block in read_span(job.files, span, job.names, job.recipe.batch_rows):
                    memory = job.memory_for(block, memory)
                    yield _table_of(job.encode(block, memory))
            except PrimalError as error:
                # Ray would stop at the error that comes first in time. As a row, it waits for its
                # turn, and the first in the order of the rows is raised, as without Ray.
                yield _table_of(error)


def _check_seen(file: InputFile) -> None:
    """Raise EngineError unless this node sees a file as the caller does."""
    try:
        check_unchanged((file,))
    except PrimalError:
        raise EngineError(
            f"a worker on {socket.gethostname()} does not see {file.path} as it was listed: every "
            "node must have the input at the same path."
        ) from None


def _plan(ray: Any, job: Job, runs: list[dict[str, Any]], n_actors: int, num_gpus: float) -> Any:
    """Return the dataset of finished blocks; nothing is made before they are asked for."""
    dataset = ray.data.from_items(runs, override_num_blocks=len(runs))
    # The settings of this dataset alone: a copy of the user's.
    settings = dataset.context
    settings.execution_options.preserve_order = True
    settings.target_max_block_size = _TRAVEL_BYTES
    settings.enable_progress_bars = False
    settings.max_errored_blocks = 0
    return dataset.map_batches(
        _Encoder,
        fn_constructor_args=(job, str(Path.cwd())),
        batch_size=1,  # run; with GPUs it must be said
        batch_format="pyarrow",
        # Restarts and retries after a loss are without limit, as Ray Data has them. Of a fixed
        # size: a pool that shrinks while the driver is slow would start its actors again and again.
        compute=ray.data.ActorPoolStrategy(size=n_actors),
        num_cpus=_ACTOR_CPUS,
        num_gpus=num_gpus or None,
    )


def _tables_in_order(ray: Any, dataset: Any) -> Iterator[pa.Table]:
    """Return the blocks of a dataset as they become ready.

    One that was lost with its node is made again by the actor that made it, perhaps after other
    blocks that this actor owes, which it can only finish if they are taken. So, while a block does
    not come, those after it are asked for; ``iter_batches`` would wait for the one.
    """
    waiting: deque[Any] = deque()
    bundles = None
    try:
        bundles = iter(dataset.iter_internal_ref_bundles())
        more = True
        while more or waiting:
            if more and not (waiting and _is_there(ray, waiting[0])):
                bundle = next(bundles, None)
                more = bundle is not None
                waiting.extend(bundle.block_refs if bundle is not None else ())
                bundle = None  # what is referred to stays in memory
                continue
            table = ray.get(waiting.popleft())
            yield table
            table = None
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[-1]
        fail(f"Ray gave up: {reason}")
    finally:
        waiting.clear()
        del bundles  # stops the actors


def _is_there(ray: Any, reference: Any) -> bool:
    return bool(ray.wait([reference], timeout=_PATIENCE_SECONDS)[0])


def _table_of(made: EncodedBlock | PrimalError) -> pa.Table:
    """Return a row that carries a finished block, or an error."""
    if isinstance(made, PrimalError):
        data, rest = b"", made
    else:
        # Joined now: the encoder uses the memory of the pieces again.
        data = b"".join(made.pieces)
        rest = replace(made, pieces=())
    # Offsets and values as they are: from a list of bytes, Arrow would copy them.
    ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    column = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), 1, [None, ends, pa.py_buffer(data)]
    )
    return pa.table({"data": column, "rest": pa.array([pickle.dumps(rest)], pa.large_binary())})


def _block_of(table: pa.Table, row: int) -> EncodedBlock:
    """Return the finished block that a row carries, or raise the error."""
    rest = pickle.loads(table["rest"][row].as_py())
    if isinstance(rest, PrimalError):
        raise rest
    return replace(rest, pieces=(table["data"][row].as_buffer(),))


def _most_actors(ray: Any, num_gpus: float) -> int:
    """Return how many actors the nodes have room for now."""
    found = 0
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            room = has.get("CPU", 0.0)
            found += int(min(room, has.get("GPU", 0.0) / num_gpus) if num_gpus else room)
    if not found:
        wanted = f"1 processor and {num_gpus:g} GPUs" if num_gpus else "1 processor"
        fail(f"no node of the Ray cluster has what a worker asks for, {wanted}")
    return found
