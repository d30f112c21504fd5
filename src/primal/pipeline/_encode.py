"""``encode``, from tables on disk to features on disk, and ``merge`` of what shards wrote."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import callback, file_path, flag, whole_number
from primal.errors import DataError, ParameterError
from primal.pipeline._blocks import Blocks
from primal.pipeline._engines import Local, Ray, checked_engine, make_parts
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import FLOATS, EncodeJob, Recipe
from primal.pipeline._output import (
    MANIFEST,
    Progress,
    finished,
    open_output,
    part_folder,
    places,
    write_one_file,
)
from primal.pipeline._record import Record, beside, read_manifest
from primal.pipeline._rows import FEATURES, find_columns


@dataclass(frozen=True)
class EncodeReport:
    """The result of an encoding.

    Attributes
    ----------
    path : Path
        The output: one file, or a folder of parts.
    rows : int
        Rows in it; of a shard, in its parts.
    rejected : int
        Rows, or unreadable blocks and files, that were rejected; see `rejected_path`.
    rejected_path : Path or None
        List of them, or the folder of such lists.
    fingerprint : str
        Of the map.
    spec : dict
        Of the map, for :func:`primal.from_spec`.
    resumed_rows : int
        Rows that an earlier run had finished.
    already_complete : bool
        Whether everything was there and nothing had to be done.
    """

    path: Path
    rows: int
    rejected: int
    rejected_path: Path | None
    fingerprint: str
    spec: dict[str, Any]
    resumed_rows: int
    already_complete: bool


def encode(
    src: str | Path | Sequence[str | Path],
    dst: str | Path,
    m: Any,
    *,
    columns: Sequence[str] | str | None = None,
    keep: Sequence[str] | str = (),
    stored: str = "float32",
    rows_per_part: int | None = None,
    shard: tuple[int, int] = (0, 1),
    on_error: str = "raise",
    engine: str | Local | Ray = "local",
    overwrite: bool = False,
    progress: Progress | None = None,
) -> EncodeReport:
    """Encode the rows of tables with a map and write their features.

    A run that was killed resumes when it is called again, and gives the same bytes as one that
    was not.

    Parameters
    ----------
    src : path, pattern or sequence of paths
        Parquet, CSV, Arrow IPC, ``.npy`` or ``.npz``: a file, a folder or a pattern.
    dst : path
        A name without suffix is a folder of Parquet parts, each of which appears when it is whole.
        ``.parquet`` is one file, ``.npy`` one file of the features alone; both are put together
        from parts, and appear when they are complete.
    m : DynamicPrime, KernelPrime or a fitted transformer with such a map as `map_`
    columns : str or sequence of str, optional
        Columns of numbers, patterns such as ``"x*"``, or one column of lists. May be left out
        for files that hold one column or one matrix.
    keep : str or sequence of str
        Columns passed through.
    stored : {"float32", "float16", "uint8-phase", "uint16-phase", "bits"}, default="float32"
        What is stored of a row: D floats, D / 2 phases of 8 or 16 bits, or D sign bits.
    rows_per_part : int, optional
        Rows of one part, the unit of work; by default about 16 MB of features.
    shard : (int, int), default=(0, 1)
        Make the parts of shard i of n, into the same folder as the others; see :func:`merge`.
    on_error : {"raise", "skip", "null"}, default="raise"
        What to do with rows that are not d finite numbers: stop and name the first; leave them
        out; or write them with null features. The latter two list them.
    engine : {"local", "ray"}, Local or Ray, default="local"
        Where parts are made: threads of this process, or a Ray cluster, all of whose nodes see
        `src` and `dst` at the same path.
    overwrite : bool, default=False
        Replace what is there. An old file stays until the new one is complete; old parts in a
        folder are removed first.
    progress : callable, optional
        Called with rows done and rows in all (None while that is unknown).

    Returns
    -------
    report : EncodeReport

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal import pipeline
    >>> np.save("points.npy", np.linspace(-1.0, 1.0, 30).reshape(10, 3))
    >>> m = primal.KernelPrime(3, 64, gamma=0.5)
    >>> pipeline.encode("points.npy", "features.parquet", m).rows
    10
    >>> pipeline.encode("points.npy", "features.parquet", m).already_complete
    True
    """
    target, folder = places(dst)
    recipe = Recipe(m, stored, on_error, rows_per_part)
    flag("overwrite", overwrite)
    callback("progress", progress)
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise ParameterError(f"shard must be a pair (i, n), got {shard!r}.")
    i, n = whole_number("shard", shard[0]), whole_number("the number of shards", shard[1], least=1)
    if i >= n:
        raise ParameterError(f"shard must be i/n with i from 0 to n - 1, got {i}/{n}.")
    if n > 1 and target.suffix in (".parquet", ".npy"):
        raise ParameterError(
            f"shards write into one folder: give dst without the suffix {target.suffix}, and put "
            "the parts together with merge."
        )
    if target.suffix == ".npy" and on_error == "null" and stored not in FLOATS:
        raise ParameterError(
            f"{stored} codes in a .npy file have no value for a missing row: write Parquet, or "
            "skip such rows."
        )
    plain = isinstance(engine, (str, Local)) and engine in ("local", Local())
    where = Local() if plain else checked_engine(engine, recipe.map, stored)
    files = find_inputs(src, target)
    found, _, kept = find_columns(files, columns, keep, d=recipe.map.d, on_error=on_error)
    if kept.names and target.suffix == ".npy":
        raise ParameterError("a .npy file holds features only: write Parquet to keep columns.")
    recipe = replace(recipe, columns=found, keep=tuple(kept.names))
    about = {
        "spec": recipe.map.spec,
        "fingerprint": recipe.map.fingerprint,
        "stored": stored,
        "columns": list(found),
        "keep": kept.names,
        "on_error": on_error,
        "rows_per_part": recipe.rows_per_part,
    }
    job = EncodeJob(
        Blocks(files, recipe.names, recipe.rows_per_part),
        target,
        folder,
        about,
        pa.schema([*kept, pa.field(FEATURES, recipe.feature_type, nullable=on_error == "null")]),
        recipe,
        where.layer,
        where.device,
    )
    made = make_parts(job, where, shard=(i, n), overwrite=overwrite, progress=progress)
    return _report(target, recipe.map, *made)


def _report(
    target: Path, m: Any, record: Record, resumed_rows: int, already_complete: bool
) -> EncodeReport:
    one_file = target.suffix in (".parquet", ".npy")
    rejected = sum(part.rejected for part in record.parts)
    lists = beside(target, "rejected.csv") if one_file else target / "_rejected"
    return EncodeReport(
        target,
        record.rows,
        rejected,
        lists if rejected else None,
        m.fingerprint,
        m.spec,
        resumed_rows,
        already_complete,
    )


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
    overwrite, progress
        As of :func:`encode`.

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
    folder = file_path("src", src)
    flag("overwrite", overwrite)
    callback("progress", progress)
    if not folder.is_dir():
        raise DataError(f"{src} is no folder of parts: name the one that the shards wrote into.")
    target, work_folder = (folder, folder) if dst is None else places(dst)
    record, paths = open_output(folder, target)
    recipe = Recipe.from_json(record.about)
    if dst is None:
        return _report(folder, recipe.map, record, record.rows, True)
    if work_folder == target:
        raise ParameterError(
            f"the folder is complete as it is; {dst} must end in .parquet or .npy."
        )
    request = read_manifest(folder / MANIFEST)["request"] | {"format": target.suffix}
    done = finished(target, request, overwrite)
    if done is None:
        # As it was written: Arrow's reader names some inner fields otherwise.
        written = base64.b64decode(pq.read_metadata(paths[0]).metadata[b"ARROW:schema"])
        schema = pa.ipc.read_schema(pa.py_buffer(written))
        with part_folder(work_folder, request) as work:
            write_one_file(target, folder, record, schema, request, recipe.npy_rows, progress)
            work.remove()
    return _report(target, recipe.map, done or record, 0, done is not None)
