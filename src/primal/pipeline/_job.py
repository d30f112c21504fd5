"""One block through the recipe: bad rows apart, features made, bytes ready to be appended."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from primal._errors import DataError
from primal.pipeline._blocks import Block
from primal.pipeline._csv_source import MALFORMED
from primal.pipeline._inputs import InputFile
from primal.pipeline._recipe import Recipe
from primal.pipeline._row_groups import FEATURES, row_group
from primal.pipeline._rows import Problem, check_type, column_array, converted, matrix

__all__ = ["EncodedBlock", "Job", "Rejected", "complaint"]


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
    data : bytes-like
        What is appended to the output.
    description : bytes
        Of the Parquet row group; empty for other formats and blocks without rows.
    rejected : tuple of Rejected
    """

    file: int
    number: int
    ends_file: bool
    rows: int
    data: memoryview
    description: bytes
    rejected: tuple[Rejected, ...]

    def __reduce__(self) -> tuple:
        # A memoryview does not travel to another process, bytes do.
        fields = (self.file, self.number, self.ends_file, self.rows)
        return EncodedBlock, (*fields, bytes(self.data), self.description, self.rejected)


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

    def encode(self, block: Block) -> EncodedBlock:
        """Return the finished block.

        Raises
        ------
        DataError
            For a bad row or an unreadable block, with ``on_error="raise"``.
        """
        table, rejected = self.table(block, reuse=True)
        data, description = memoryview(b""), b""
        if table.num_rows:
            if self.format == "parquet":
                made = row_group(table)
                data, description = made.data, made.description
            else:
                data = memoryview(_plain(column_array(table, FEATURES), self.recipe.dtype))
        return EncodedBlock(
            block.file,
            block.number,
            block.ends_file,
            table.num_rows,
            data,
            description,
            tuple(rejected),
        )

    def table(self, block: Block, *, reuse: bool = False) -> tuple[pa.Table, list[Rejected]]:
        """Return the output rows of a block, and those that were turned down.

        With `reuse` the features lie in memory that the next call in this thread writes over.
        """
        path = self.files[block.file].path
        if block.table is None:
            return self._without(block, block.failure)
        try:
            x, kept, problems = self.rows(block)
        except DataError as error:
            return self._without(block, str(error))
        if problems and self.recipe.on_error == "raise":
            raise complaint(path, block.first_row, problems)
        rejected = [
            Rejected(path, str(block.first_row + p.row), p.column, p.value, p.reason)
            for p in problems
        ]
        bad = np.zeros(len(x), dtype=bool)
        bad[[p.row for p in problems]] = True
        null = self.recipe.on_error == "null"
        if rejected and not null:
            x, kept = x[~bad], [column.filter(pa.array(~bad)) for column in kept]
        out = _scratch(len(x), self.recipe.map.D) if reuse else None
        values = pa.array(self.recipe.codes(x, self.device, out).reshape(-1))
        mask = pa.array(bad) if rejected and null else None
        kind = self.recipe.feature_type
        features = pa.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)
        return pa.Table.from_arrays([*kept, features], schema=self.schema), rejected

    def rows(self, block: Block) -> tuple[np.ndarray, list[pa.Array], list[Problem]]:
        """Return x of shape (n, d), the kept columns, and what is wrong with some rows."""
        table = block.table
        assert table is not None
        for name in self.recipe.columns:
            check_type(f"{self.files[block.file].path}: {name}", table.schema.field(name).type)
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
        return x, kept, _by_row(problems + _malformed(table))

    def _without(self, block: Block, failure: str) -> tuple[pa.Table, list[Rejected]]:
        """Return no rows for a block that cannot be read."""
        if self.recipe.on_error == "raise":
            raise DataError(failure)
        row = str(block.first_row) if block.first_row else ""
        rejected = Rejected(self.files[block.file].path, row, "", "", failure)
        return self.schema.empty_table(), [rejected]


_thread = threading.local()


def _scratch(n_rows: int, D: int) -> np.ndarray:
    """Return memory for float32 features of shape (n_rows, D), the same for later calls.

    New memory for every block would cost as much as a third of the encoding: the system hands
    it out page by page.
    """
    memory = getattr(_thread, "memory", None)
    if memory is None or memory.size < n_rows * D:
        memory = _thread.memory = np.empty(n_rows * D, dtype=np.float32)
    return memory[: n_rows * D].reshape(n_rows, D)


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


def _plain(features: pa.Array, dtype: str) -> bytes:
    """Return the stored values of features; rows that are null become NaN."""
    flat = features.values.to_numpy(zero_copy_only=False).reshape(len(features), -1)
    if features.null_count:
        flat = flat.copy()
        flat[features.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
