"""One block through the recipe: bad rows apart, features made, bytes ready to be appended."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from primal.errors import DataError
from primal.pipeline._blocks import Block
from primal.pipeline._csv_source import MALFORMED
from primal.pipeline._extent import Extent
from primal.pipeline._inputs import InputFile
from primal.pipeline._pages import plain_bytes
from primal.pipeline._recipe import DTYPES, FLOATS, Recipe
from primal.pipeline._row_groups import feature_row_group
from primal.pipeline._rows import Problem, check_columns, column_array, converted, matrix

__all__ = ["EncodedBlock", "Job", "Progress", "Rejected", "Rows", "complaint"]

# Called with rows done and rows in all, None while that is unknown.
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Rejected:
    """A row that was not encoded; `row` is empty for a whole file."""

    file: str
    row: str
    column: str
    value: str
    reason: str


@dataclass(frozen=True)
class EncodedBlock:
    """A finished block.

    Attributes
    ----------
    file, number : int
    ends_file : bool
    rows : int
        In the output.
    pieces : tuple of bytes-like
        What is appended to the output, one after the other.
    description : bytes
        Of the Parquet row group; empty for other formats and blocks without rows.
    rejected : tuple of Rejected
    counts : dict of str to int
        What else is to be told of its rows.
    extent : Extent or None
        Of the rows that were encoded, where there are any.
    """

    file: int
    number: int
    ends_file: bool
    rows: int
    pieces: tuple[Any, ...]
    description: bytes
    rejected: tuple[Rejected, ...]
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    extent: Extent | None = None


@dataclass(frozen=True)
class Rows:
    """The output rows of a block, before they become bytes.

    Attributes
    ----------
    kept : pa.Table
    codes : ndarray of shape (n, width)
    null : ndarray of n bool, or None
        Rows without features, whose codes mean nothing; None if there are none.
    rejected : tuple of Rejected
        Rows that were turned down.
    extent : Extent or None
        Of the rows with features.
    """

    kept: pa.Table
    codes: np.ndarray
    null: np.ndarray | None
    rejected: tuple[Rejected, ...]
    extent: Extent | None


@dataclass(frozen=True)
class Job:
    """Everything that encoding a block takes; small, so that it can be sent to any worker.

    Attributes
    ----------
    files : tuple of InputFile
    recipe : Recipe
    kept : pa.Schema
        Columns passed through, with the types that they have in the output.
    format : {"parquet", "npy"}
    device : str
        "cpu", or a device of PyTorch such as "cuda" that makes the float features.
    """

    files: tuple[InputFile, ...]
    recipe: Recipe
    kept: pa.Schema
    format: str
    device: str = "cpu"

    @property
    def names(self) -> list[str]:
        """Columns that are read."""
        return list(dict.fromkeys((*self.recipe.columns, *self.recipe.keep)))

    @property
    def schema(self) -> pa.Schema:
        """Columns that are written."""
        return self.recipe.schema(self.kept)

    def encode(self, block: Block, memory: np.ndarray | None = None) -> EncodedBlock:
        """Return the finished block.

        Parameters
        ----------
        block : Block
        memory : ndarray of float32, optional
            From :meth:`memory_for`; the pieces of the result may then lie in it.

        Raises
        ------
        DataError
            For a bad row or an unreadable block, with ``on_error="raise"``.
        """
        made = self.output_rows(block, memory)
        pieces, description = (), b""
        if len(made.codes):
            if self.format == "parquet":
                nullable = self.recipe.on_error == "null"
                group = feature_row_group(made.kept, made.codes, made.null, nullable=nullable)
                pieces, description = group.pieces, group.description
            else:
                if made.null is not None:
                    made.codes[made.null] = np.nan
                pieces = (plain_bytes(made.codes),)
        place = (block.file, block.number, block.ends_file)
        return EncodedBlock(
            *place, len(made.codes), pieces, description, made.rejected, extent=made.extent
        )

    def memory_for(self, block: Block, memory: np.ndarray | None = None) -> np.ndarray:
        """Return memory that `encode` can make use of: what is given, if it is large enough."""
        n_rows = 0 if block.table is None else block.table.num_rows
        size = n_rows * self.recipe.map.D if self.recipe.dtype in FLOATS else 0
        if memory is not None and memory.size >= size:
            return memory
        return np.empty(size, dtype=np.float32)

    def output_rows(self, block: Block, memory: np.ndarray | None = None) -> Rows:
        """Return the output rows of a block, and those that were turned down; see `encode`."""
        path = self.files[block.file].path
        if block.table is None:
            return self._without(block, block.failure)
        try:
            x, kept, problems = self.rows(block)
        except DataError as error:
            return self._without(block, str(error))
        if problems and self.recipe.on_error == "raise":
            raise complaint(path, block.first_row, problems)
        rejected = tuple(
            Rejected(path, str(block.first_row + p.row), p.column, p.value, p.reason)
            for p in problems
        )
        null = None
        if rejected:
            bad = np.zeros(len(x), dtype=bool)
            bad[[p.row for p in problems]] = True
            if self.recipe.on_error == "null":
                null = bad
            else:
                x, kept = x[~bad], [column.filter(pa.array(~bad)) for column in kept]
        out = None
        if memory is not None and self.recipe.dtype in FLOATS:
            D = self.recipe.map.D
            out = memory[: len(x) * D].reshape(len(x), D)
        codes = self.recipe.codes(x, self.device, out)
        extent = Extent.of(x if null is None else x[~null], self.recipe.map.basis)
        return Rows(pa.Table.from_arrays(kept, schema=self.kept), codes, null, rejected, extent)

    def rows(self, block: Block) -> tuple[np.ndarray, list[pa.Array], list[Problem]]:
        """Return x of shape (n, d), the kept columns, and what is wrong with some rows."""
        table = block.table
        assert table is not None
        path, d = self.files[block.file].path, self.recipe.map.d
        try:
            check_columns(table.schema, self.recipe.columns, d)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        x, problems = matrix(table, self.recipe.columns, self.recipe.map.d)
        too_large = self.recipe.out_of_range(x)
        if too_large:
            x = x.copy()
            reason = "too large: a phase would be too many turns long to have a fraction"
            for row in too_large:
                j = int(np.abs(x[row]).argmax())
                name = self.recipe.columns[j if len(self.recipe.columns) > 1 else 0]
                problems.append(Problem(row, name, str(x[row, j]), reason))
                x[row] = 0.0
        kept = []
        for field in self.kept:
            column, bad = converted(column_array(table, field.name), field.type, field.name)
            kept.append(column)
            problems += bad
        if self.files[block.file].format == "csv":
            problems += _malformed(table)
        return x, kept, _by_row(problems)

    def _without(self, block: Block, failure: str) -> Rows:
        """Return no rows for a block that cannot be read."""
        if self.recipe.on_error == "raise":
            raise DataError(failure)
        row = str(block.first_row) if block.first_row else ""
        rejected = Rejected(self.files[block.file].path, row, "", "", failure)
        codes = np.empty((0, self.recipe.width), dtype=DTYPES[self.recipe.dtype])
        return Rows(self.kept.empty_table(), codes, None, (rejected,), None)


def complaint(path: str, first_row: int, problems: list[Problem]) -> DataError:
    """Return the error for the first of some bad rows of a block."""
    first = problems[0]
    where = f"{path}: row {first_row + first.row}"
    if first.column:
        where += f", column {first.column!r}"
    more = f" ({len(problems)} such rows in this block)" if len(problems) > 1 else ""
    return DataError(
        f"{where} holds {first.value!r}: {first.reason}{more}. Rows count from 0. Mend it, or "
        "pass on_error='skip' or 'null' (--on-error) to go on without such rows."
    )


def _malformed(table: pa.Table) -> list[Problem]:
    """Return the CSV lines with a wrong number of fields."""
    if MALFORMED not in table.column_names:
        return []
    column = column_array(table, MALFORMED)
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
    reason = "wrong number of fields"
    return [Problem(row, "", column[row].as_py()[:60], reason) for row in rows]


def _by_row(problems: list[Problem]) -> list[Problem]:
    """Return one problem for each row; the last one said, since it is the most telling."""
    last = {problem.row: problem for problem in problems}
    return [last[row] for row in sorted(last)]
