"""``encode``: from tables on disk to features on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primal._checks import callback, flag, one_of, whole_number
from primal.errors import ParameterError
from primal.pipeline._columns import FEATURES, checked_names, find_columns
from primal.pipeline._engines import Local, Ray, checked_engine
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import EncodeJob, Progress
from primal.pipeline._output import places
from primal.pipeline._recipe import FLOATS, LARGEST_PART_ROWS, ON_ERROR, STORED, Recipe, core_map
from primal.pipeline._record import beside
from primal.pipeline._run import Outcome, make_parts

# Bytes of features in one part, when the number of rows is left open.
_PART_BYTES = 1 << 24
_MOST_DEFAULT_ROWS = 1 << 16


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
    seconds : float
    """

    path: Path
    rows: int
    rejected: int
    rejected_path: Path | None
    fingerprint: str
    spec: dict[str, Any]
    resumed_rows: int
    already_complete: bool
    seconds: float


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
    start, (target, folder), map_ = time.perf_counter(), places(dst), core_map(m)
    flag("overwrite", overwrite)
    callback("progress", progress)
    keep, chosen = checked_names("keep", keep), checked_names("columns", columns)
    shard = _check_options(target, map_, keep, stored, on_error, shard)
    if rows_per_part is not None:
        whole_number("rows_per_part", rows_per_part, least=1, most=LARGEST_PART_ROWS)
    where = checked_engine(engine, map_, stored)
    files = find_inputs(src, target)
    found, _, kept = find_columns(files, chosen, keep, d=map_.d, on_error=on_error)
    # By default a power of two of rows whose features take about 16 MB, and their input no more.
    rows = max(1, min(_MOST_DEFAULT_ROWS, _PART_BYTES // max(4 * map_.D, 8 * map_.d)))
    rows = int(rows_per_part or 1 << (rows.bit_length() - 1))
    recipe = Recipe(map_, stored, found, keep, on_error, rows)
    job = EncodeJob(
        files,
        tuple(dict.fromkeys((*found, *keep))),
        rows,
        str(folder.absolute()),
        recipe.as_json,
        recipe.schema(kept),
        recipe,
        kept,
        where.layer,
        where.device,
    )
    outcome = make_parts(job, target, where, shard=shard, overwrite=overwrite, progress=progress)
    return report_of(target, outcome, time.perf_counter() - start)


def report_of(target: Path, outcome: Outcome, seconds: float) -> EncodeReport:
    """Return the report on an output."""
    record = outcome.record
    one_file = target.suffix in (".parquet", ".npy")
    lists = beside(target, "rejected.csv") if one_file else target / "_rejected"
    return EncodeReport(
        target,
        record.rows,
        record.rejected,
        lists if record.rejected else None,
        record.about["fingerprint"],
        record.about["spec"],
        outcome.resumed_rows,
        outcome.already_complete,
        seconds,
    )


def _check_options(
    target: Path, m: Any, keep: tuple[str, ...], stored: str, on_error: str, shard: object
) -> tuple[int, int]:
    """Return the shard; raise ParameterError for options that are wrong or do not go together."""
    one_of("stored", stored, STORED)
    one_of("on_error", on_error, ON_ERROR)
    if stored not in FLOATS and (getattr(m, "form", "pair") != "pair" or m.D % 2):
        raise ParameterError(
            f"{stored} needs pairs of cosine and sine, and m has {m.D} features of form "
            f"{getattr(m, 'form', 'pair')!r}: use an even number and form='pair'."
        )
    if FEATURES in keep:
        raise ParameterError(f"a kept column cannot be called {FEATURES!r}: rename it first.")
    if len(set(keep)) < len(keep):
        raise ParameterError(f"keep names a column twice: {', '.join(keep)}.")
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
    if target.suffix == ".npy" and keep:
        raise ParameterError("a .npy file holds features only: write Parquet to keep columns.")
    if target.suffix == ".npy" and on_error == "null" and stored not in FLOATS:
        raise ParameterError(
            f"{stored} codes in a .npy file have no value for a missing row: write Parquet, or "
            "skip such rows."
        )
    return i, n
