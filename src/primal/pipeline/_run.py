"""What encoding and decoding have in common: making the parts of an output that are missing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primal.errors import PrimalError
from primal.pipeline._blocks import Span
from primal.pipeline._engines import Local, Ray
from primal.pipeline._folder import PartFolder, part_keys, part_record
from primal.pipeline._job import Job, Progress
from primal.pipeline._local import run_here
from primal.pipeline._output import finished, parts_folder
from primal.pipeline._record import Record

__all__ = ["Outcome", "make_parts"]


@dataclass(frozen=True)
class Outcome:
    """The record of everything that was asked for, and what an earlier run had made of it."""

    record: Record
    resumed_rows: int
    already_complete: bool


def make_parts(
    job: Job,
    target: Path,
    request: dict[str, Any],
    find_spans: Callable[[], list[Span]],
    engine: Local | Ray,
    *,
    shared: bool,
    overwrite: bool,
    progress: Progress | None,
    finish: Callable[[PartFolder, Record], None],
) -> Outcome:
    """Make the parts of spans that are not there yet, and finish with the record of all."""
    folder = parts_folder(target)
    if folder != target:
        record = finished(target, request, overwrite)
        if record is not None:
            if folder.is_dir():  # of a run that was killed at its very end
                with contextlib.suppress(PrimalError), PartFolder(folder, request) as left:
                    left.remove()
            return Outcome(record, 0, True)
    with PartFolder(folder, request, shared=shared, overwrite=overwrite) as parts:
        spans = find_spans()
        by_file = {span.file: span for span in spans}
        ours = [k for k in part_keys(folder) if k[0] in by_file and by_file[k[0]].holds(k)]
        done = {key: part_record(folder, key, job.run) for key in ours}
        ends = {f: n + 1 for (f, n), record in done.items() if record.parts[0][3]}
        left = [
            span
            for span in spans
            if (last := span.last or ends.get(span.file)) is None
            or any((span.file, n) not in done for n in range(span.first, last))
        ]
        if not left and overwrite and folder == target:
            parts.remove(done)
            done, left = {}, spans
        parts.working, records = True, dict(done)
        total = None if any(s.n_rows is None for s in spans) else sum(s.n_rows or 0 for s in spans)
        resumed = n_done = sum(record.rows for record in done.values())
        if isinstance(engine, Ray) and left:
            from primal.pipeline._ray import run_on_ray

            made = run_on_ray(job, left, set(done), engine)
        else:
            made = run_here(job, left, set(done))
        for record in made:
            records[record.parts[0][:2]] = record
            n_done += record.rows
            if progress is not None:
                progress(n_done, total)
        whole = Record.joined(records.values()) if records else Record(job.about, job.run, ())
        parts.tidy()
        finish(parts, whole)
    return Outcome(whole, resumed, not left and folder == target)
