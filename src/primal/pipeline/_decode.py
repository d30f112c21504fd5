"""``decode``: from stored features back to the columns they were made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from primal._errors import DataError, NotInvertibleError, OptionError
from primal.decoding import Box, Gaussian, Integers, pseudoinverse
from primal.decoding._noise import NOISES, code_phases
from primal.pipeline._array_source import ARRAY
from primal.pipeline._blocks import Block, Span, read_span
from primal.pipeline._encode import output_format
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import EncodedBlock, Progress
from primal.pipeline._local import in_order
from primal.pipeline._manifest import finished_manifest
from primal.pipeline._pages import plain_bytes
from primal.pipeline._recipe import Recipe
from primal.pipeline._record import head_bytes, npy_header, read_record, versions
from primal.pipeline._row_groups import FEATURES, end_of_file, row_group
from primal.pipeline._rows import column_array
from primal.pipeline._sources import open_source
from primal.pipeline._store import Workspace

__all__ = ["DecodeReport", "decode"]

STATUS = "status"


@dataclass(frozen=True)
class DecodeReport:
    """What a decoding came to.

    Attributes
    ----------
    path : Path
    rows : int
    statuses : dict of str to int
        How many rows are "unique", "ambiguous" or "failed"; empty for the linear inverse.
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
    """Turn stored features back into x.

    The output appears when it is complete. A run that was killed goes on where it stopped when
    it is called again.

    Parameters
    ----------
    src : path
        An output of :func:`encode` with floats or phases in it; sign bits cannot be inverted.
    dst : path
        ``.parquet``: the columns that were encoded, in float64, and the kept ones;
        ``.npy``: x alone.
    prior : Box, Gaussian or Integers, optional
        Without it the linear inverse, right only where no phase had wrapped. With it the
        lattice decoder, whose verdict on each row goes to the last column, ``status``.
        A name that a kept column has gets ``_decoded`` added.
    noise : str or float, optional
        With `prior`: standard deviation of a phase in turns, by default that of the type stored.
    beam : int, default=1
        With `prior`: partial solutions kept.
    overwrite : bool, default=False
    progress : callable, optional
        Called with rows done and rows in all.

    Returns
    -------
    report : DecodeReport

    Raises
    ------
    NotInvertibleError
        For sign bits, or fewer phases than inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> x = np.linspace(-1.0, 1.0, 30).reshape(10, 3)
    >>> np.save("points.npy", x)
    >>> _ = pipeline.encode("points.npy", "features.parquet", dim=64, sigma=0.05)
    >>> pipeline.decode("features.parquet", "back.npy").rows
    10
    >>> bool(np.abs(np.load("back.npy") - x).max() < 1e-5)
    True
    """
    source_path, target = Path(src), Path(dst)
    format = output_format(target)
    record = read_record(source_path)
    (file,) = find_inputs(source_path, target)
    if prior is None and beam != 1:
        raise OptionError(f"beam is for decoding with a prior, got beam = {beam} without one.")
    if format == "npy" and prior is not None:
        raise OptionError("a .npy file has no room for the status of rows: write .parquet.")
    decoded = _decoder(record.recipe, prior, noise, beam)
    request = {
        "decode": asdict(file),
        "prior": None if prior is None else str(prior),
        "noise": noise if noise is None or isinstance(noise, str) else float(noise),
        "beam": int(beam),
    }
    complete = finished_manifest(target, request, overwrite)
    if complete is not None:
        return DecodeReport(target, complete["rows"], complete["statuses"], 0, True)
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
    return DecodeReport(target, n_rows, statuses, resumed, False)


@dataclass(frozen=True)
class _Decoded:
    """Rows of x, NaN where there were no features; and the verdict on each, with a prior."""

    x: np.ndarray
    valid: np.ndarray
    status: np.ndarray | None


def _decoder(recipe: Recipe, prior: Any, noise: Any, beam: int) -> Callable[[pa.Table], _Decoded]:
    """Return the function from stored rows to decoded ones."""
    if recipe.dtype == "bits":
        raise NotInvertibleError(
            "sign bits say in which quarter turn each phase lies and no more: encode with "
            "dtype = 'uint8-phase' to decode later."
        )
    m = recipe.map
    stored = recipe.dtype.removesuffix("-phase")
    inverse = plan = None
    if prior is None:
        inverse = pseudoinverse(m.basis).T
    else:
        noise = NOISES[stored] if noise is None else noise
        plan = m.decode_plan(prior=prior, noise=noise, beam=beam)

    def decoded(table: pa.Table) -> _Decoded:
        codes, valid = recipe.stored(column_array(table, FEATURES))
        if stored.startswith("uint"):  # the stored phase is the nearest one, not a cell
            codes = codes.astype(np.uint32) << np.uint32(32 - 8 * codes.dtype.itemsize)
        x = np.full((len(valid), m.d), np.nan)
        if plan is None:
            x[valid] = code_phases(codes, m.basis.n_frequencies, m.layout) @ inverse
            return _Decoded(x, valid, None)
        result = plan.decode(codes, check=False)  # the statuses of all rows are reported
        x[valid] = result.x
        status = np.full(len(valid), "missing", dtype="<U9")
        status[valid] = result.status
        return _Decoded(x, valid, status)

    return decoded


def _table(table: pa.Table, made: _Decoded, recipe: Recipe) -> pa.Table:
    """Return kept columns, decoded ones, and the verdict."""
    columns, names = [table.column(name) for name in recipe.keep], list(recipe.keep)
    for name, column in _x_columns(recipe, made.x, made.valid):
        columns.append(column)
        names.append(_new_name(name, names))
    if made.status is not None:
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
    table: pa.Table, made: _Decoded, recipe: Recipe, block: Block, format: str
) -> EncodedBlock:
    """Return decoded rows as bytes."""
    pieces, description = (), b""
    if format == "npy":
        pieces = (plain_bytes(made.x),)
    elif len(made.x):
        group = row_group(_table(table, made, recipe))
        pieces, description = group.pieces, group.description
    counts = {} if made.status is None else dict(Counter(made.status.tolist()))
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
