"""``decode``: from stored features back to the columns they were made from."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from primal._checks import callback, file_path, flag
from primal.decoding import Box, Gaussian, Integers
from primal.errors import DataError, PhaseWrapWarning
from primal.pipeline._array_source import ARRAY
from primal.pipeline._blocks import Block, Span, read_span
from primal.pipeline._decoder import Decoded, row_decoder
from primal.pipeline._encode import output_format
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import EncodedBlock, Progress
from primal.pipeline._local import in_order
from primal.pipeline._manifest import finished_manifest
from primal.pipeline._pages import plain_bytes
from primal.pipeline._recipe import Recipe
from primal.pipeline._record import head_bytes, npy_header, read_record, versions
from primal.pipeline._row_groups import FEATURES, end_of_file, row_group
from primal.pipeline._sources import open_source
from primal.pipeline._store import Workspace

__all__ = ["DecodeReport", "decode"]

STATUS = "status"
_DOUBTFUL = ("ambiguous", "failed")
# Changes with what is written for the same arguments.
_VERSION = 2


@dataclass(frozen=True)
class DecodeReport:
    """What a decoding came to.

    Attributes
    ----------
    path : Path
    rows : int
    statuses : dict of str to int
        How many rows are "unique", "ambiguous", "failed", or "missing" (without features).
    resumed_rows : int
        Rows that an earlier run had finished.
    already_complete : bool
        Whether the output was there and nothing had to be done.
    """

    path: Path
    rows: int
    statuses: dict[str, int]
    resumed_rows: int
    already_complete: bool

    @property
    def doubtful(self) -> int:
        """Rows that are ambiguous or failed: whose x is not known for certain."""
        return sum(self.statuses.get(status, 0) for status in _DOUBTFUL)


def decode(
    src: str | Path,
    dst: str | Path,
    *,
    prior: Box | Gaussian | Integers | None = None,
    noise: str | float | None = None,
    beam: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> DecodeReport:
    """Turn stored features back into x, with a verdict on every row.

    When rows are encoded, their range is noted in the file, and whether a phase of any of them
    reached half a turn. Where none did, the linear inverse is right; its answers are encoded again
    and compared. Where some did, the lattice decoder resolves the wraps, with the range as its
    prior.

    The output appears when it is complete. A run that was killed goes on where it stopped when
    it is called again.

    Parameters
    ----------
    src : path
        An output of :func:`encode` with floats or phases in it; sign bits cannot be inverted.
    dst : path
        ``.parquet``: the kept columns, those that were encoded, in float64, and ``status``. A
        name that a kept column has gets ``_decoded`` added. ``.npy``: x alone, with NaN in every
        row that is not unique.
    prior : Box, Gaussian or Integers, optional
        What is known of x, for the lattice decoder. By default the range in the file, for up to
        128 inputs: with more, setting up takes minutes, and it has to be asked for.
    noise : str or float, optional
        Standard deviation of a phase in turns, by default that of the type stored.
    beam : int, default=1
        Partial solutions that the lattice decoder keeps.
    overwrite : bool, default=False
    progress : callable, optional
        Called with rows done and rows in all.

    Returns
    -------
    report : DecodeReport

    Raises
    ------
    NotInvertibleError
        For sign bits, or, without a prior, fewer phases than inputs.

    Warns
    -----
    PhaseWrapWarning
        When rows are ambiguous or failed.

    Notes
    -----
    ``unique``: no other x of the prior has these features. ``ambiguous``: x has them, but others
    may as well. ``failed``: nothing was found that has them, and x is NaN. ``missing``: the row
    has no features.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> x = np.linspace(-1.0, 1.0, 30).reshape(10, 3)
    >>> np.save("points.npy", x)
    >>> _ = pipeline.encode("points.npy", "features.parquet", dim=64, sigma=0.05)
    >>> pipeline.decode("features.parquet", "back.npy").statuses
    {'unique': 10}
    >>> bool(np.abs(np.load("back.npy") - x).max() < 1e-5)
    True
    """
    source_path, target = file_path("src", src), file_path("dst", dst)
    overwrite = flag("overwrite", overwrite)
    callback("progress", progress)
    format = output_format(target)
    record = read_record(source_path)
    (file,) = find_inputs(source_path, target)
    decoded = row_decoder(record.recipe, record.extent, prior=prior, noise=noise, beam=beam)
    request = {
        "version": _VERSION,
        "decode": asdict(file),
        "prior": None if prior is None else str(prior),
        "noise": noise if noise is None or isinstance(noise, str) else float(noise),
        "beam": int(beam),
    }
    complete = finished_manifest(target, request, overwrite)
    if complete is not None:
        return _told(DecodeReport(target, complete["rows"], complete["statuses"], 0, True))
    with Workspace(target, request, head_bytes(None, None, format), overwrite) as work:
        work.begin({})
        source = open_source(file)
        stored = list(source.schema.names)
        names = [FEATURES] if stored == [ARRAY] else stored  # a .npy file has no names
        empty = source.schema.empty_table().rename_columns(names)

        def finished(block: Block) -> EncodedBlock:
            if block.table is None:
                raise DataError(block.failure)
            table = block.table.rename_columns(names)
            return _finished(table, decoded(table), record.recipe, block, format)

        # Row groups of the source need not be blocks of the output: rows left out shorten them.
        left = Span(0, len(work.entries), None, None)
        blocks = read_span((file,), left, stored, record.recipe.batch_rows)
        resumed = work.n_rows
        if not (work.entries and work.entries[-1].ends_file):
            work.extend(in_order(finished, blocks), record.n_rows, progress)
        statuses = dict(sum((Counter(entry.counts) for entry in work.entries), Counter()))
        schema = _table(empty, decoded(empty), record.recipe).schema
        _finish(work, schema, format, record.recipe.map.d, statuses)
        n_rows = work.n_rows
    return _told(DecodeReport(target, n_rows, statuses, resumed, False))


def _told(report: DecodeReport) -> DecodeReport:
    """Return the report, after a warning if x is not known for certain in every row."""
    if report.doubtful:
        counts = ", ".join(f"{report.statuses.get(one, 0)} {one}" for one in _DOUBTFUL)
        shown = "they are NaN" if report.path.suffix == ".npy" else f"see the column {STATUS!r}"
        warnings.warn(
            f"{report.doubtful} of {report.rows} rows are not known for certain ({counts}): "
            f"{shown}. A narrower prior (--box, --gaussian, --integers) can tell more, or encode "
            "with more features or a smaller scale.",
            PhaseWrapWarning,
            stacklevel=3,
        )
    return report


def _table(table: pa.Table, made: Decoded, recipe: Recipe) -> pa.Table:
    """Return kept columns, decoded ones, and the verdict."""
    columns, names = [table.column(name) for name in recipe.keep], list(recipe.keep)
    for name, column in _x_columns(recipe, made.x, made.valid):
        columns.append(column)
        names.append(_new_name(name, names))
    columns.append(pa.array(made.status))
    names.append(_new_name(STATUS, names))
    return pa.table(columns, names=names)


def _new_name(name: str, taken: list[str]) -> str:
    while name in taken:
        name = f"{name}_decoded"
    return name


def _x_columns(recipe: Recipe, x: np.ndarray, valid: np.ndarray) -> Iterator[tuple[str, pa.Array]]:
    """Return the decoded inputs in the shape that they were read from."""
    if len(recipe.columns) == x.shape[1]:
        for j, name in enumerate(recipe.columns):
            yield name, pa.array(np.ascontiguousarray(x[:, j]), mask=~valid)
        return
    values = pa.array(x.reshape(-1))
    mask = None if valid.all() else pa.array(~valid)
    yield recipe.columns[0], pa.FixedSizeListArray.from_arrays(values, x.shape[1], mask=mask)


def _finished(
    table: pa.Table, made: Decoded, recipe: Recipe, block: Block, format: str
) -> EncodedBlock:
    """Return decoded rows as bytes."""
    pieces, description = (), b""
    if format == "npy":
        x = np.where((made.status == "unique")[:, None], made.x, np.nan)
        pieces = (plain_bytes(x),)
    elif len(made.x):
        group = row_group(_table(table, made, recipe))
        pieces, description = group.pieces, group.description
    counts = dict(Counter(made.status.tolist()))
    place = (block.file, block.number, block.ends_file)
    return EncodedBlock(*place, len(made.x), pieces, description, (), counts)


def _finish(
    work: Workspace,
    schema: pa.Schema,
    format: str,
    d: int,
    statuses: dict[str, int],
) -> None:
    head, tail = head_bytes(None, None, format), b""
    if format == "npy":
        head = npy_header(np.dtype("float64"), (work.n_rows, d))
    else:
        tail = end_of_file(schema, {}, work.row_groups())
    work.finish(head, tail, {"rows": work.n_rows, "statuses": statuses, "versions": versions()})
