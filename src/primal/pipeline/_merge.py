"""``merge``: whether the parts of all shards are there; and one file of them, if asked for."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import callback, file_path, flag
from primal.errors import DataError, ParameterError
from primal.pipeline._encode import EncodeReport, report_of
from primal.pipeline._folder import MANIFEST, PartFolder
from primal.pipeline._job import Progress
from primal.pipeline._output import finished, open_output, places, write_one_file
from primal.pipeline._recipe import Recipe
from primal.pipeline._record import read_manifest
from primal.pipeline._run import Outcome


def merge(
    src: str | Path,
    dst: str | Path | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> EncodeReport:
    """Check that a folder holds the parts of all shards, and put them together if asked for.

    Parameters
    ----------
    src : path
        The folder that ``encode(..., shard=(i, n))`` wrote into, for every i.
    dst : path, optional
        One file, ``.parquet`` or ``.npy``, with the bytes of an encoding that was never cut into
        shards. The folder stays.
    overwrite : bool, default=False
    progress : callable, optional
        Called with rows done and rows in all.

    Returns
    -------
    report : EncodeReport

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal import pipeline
    >>> np.save("points.npy", np.linspace(-1.0, 1.0, 300).reshape(100, 3))
    >>> m = primal.KernelPrime(3, 8, gamma=0.1)
    >>> for i in range(2):
    ...     _ = pipeline.encode("points.npy", "shards", m, rows_per_part=10, shard=(i, 2))
    >>> pipeline.merge("shards", "whole.parquet").rows
    100
    """
    start, folder = time.perf_counter(), file_path("src", src)
    flag("overwrite", overwrite)
    callback("progress", progress)
    if not folder.is_dir():
        raise DataError(f"{src} is no folder of parts: name the one that the shards wrote into.")
    record, paths = open_output(folder, None if dst is None else file_path("dst", dst))
    if dst is None:
        return report_of(folder, Outcome(record, record.rows, True), time.perf_counter() - start)
    target, work_folder = places(dst)
    if work_folder == target:
        raise ParameterError(
            f"the folder is complete as it is; {dst} must end in .parquet or .npy."
        )
    request = read_manifest(folder / MANIFEST)["request"] | {"format": target.suffix}
    done = finished(target, request, overwrite)
    if done is None:
        # As it was written: Arrow's reader names some inner fields otherwise.
        written = base64.b64decode(pq.read_metadata(paths[0]).metadata[b"ARROW:schema"])
        schema, recipe = pa.ipc.read_schema(pa.py_buffer(written)), Recipe.from_json(record.about)
        with PartFolder(work_folder, request) as work:
            write_one_file(target, folder, record, schema, request, recipe.npy_rows, progress)
            work.remove()
    outcome = Outcome(done or record, 0, done is not None)
    return report_of(target, outcome, time.perf_counter() - start)
