"""What encoding and decoding have in common: making the parts of an output that are missing."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from primal._parallel import n_threads
from primal.errors import PrimalError
from primal.pipeline._blocks import Span, read_span, shard_spans
from primal.pipeline._engines import Local, Ray, run_on_ray
from primal.pipeline._folder import DRAFT, PartFolder, part_keys, part_record
from primal.pipeline._inputs import check_unchanged
from primal.pipeline._job import Job, Progress
from primal.pipeline._output import finished, places, write_one_file
from primal.pipeline._record import Key, Record

# More would only hold more memory, since the encoder has threads of its own.
_MOST_WORKERS = 4
_READ_AHEAD = 2


def make_parts(
    job: Job,
    dst: Path,
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
    target, folder = places(dst)
    inputs = [asdict(file) for file in job.files]
    request = job.about | {"format": target.suffix, "inputs": inputs}
    if folder != target:
        record = finished(target, request, overwrite)
        if record is not None:
            if folder.is_dir():  # of a run that was killed at its very end
                with contextlib.suppress(PrimalError), PartFolder(folder, request) as left:
                    left.remove()
            return record, 0, True
    with PartFolder(folder, request, shard[1] > 1, overwrite) as parts:
        spans = shard_spans(job.files, list(job.names), job.rows_per_part, shard)
        by_file = {span.file: span for span in spans}
        ours = [k for k in part_keys(folder) if k[0] in by_file and by_file[k[0]].holds(k)]
        records = {key: part_record(folder, key, job.run) for key in ours}
        ends = {f: n + 1 for (f, n), record in records.items() if record.parts[0][3]}
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
        total = None if any(s.n_rows is None for s in spans) else sum(s.n_rows or 0 for s in spans)
        resumed = n_done = sum(record.rows for record in records.values())
        if isinstance(engine, Ray) and left:
            made = run_on_ray(job, left, frozenset(records), engine)
        else:
            made = _run_here(job, left, frozenset(records))
        for record in made:
            records[record.parts[0][:2]] = record
            n_done += record.rows
            if progress is not None:
                progress(n_done, total)
        whole = Record.joined(records.values()) if records else Record(job.about, job.run, ())
        if not parts.shared:  # other shards may be writing one
            parts.unlink(DRAFT)  # what a kill left of a part
        check_unchanged(job.files)
        if folder != target:
            write_one_file(target, folder, whole, job.schema, request, job.npy_rows)
            parts.remove()
    return whole, resumed, not left and folder == target


def _run_here(job: Job, spans: list[Span], done: Collection[Key]) -> Iterator[Record]:
    """Return the records of the parts that are not done, in order: one thread reads, a few make."""
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
