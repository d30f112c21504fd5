"""One block through the recipe: bad rows apart, features made, and the part written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from primal._files import written_whole
from primal.errors import DataError
from primal.pipeline._blocks import Block
from primal.pipeline._columns import FEATURES
from primal.pipeline._folder import on_disk, part_path, write_rejected
from primal.pipeline._inputs import InputFile
from primal.pipeline._parquet import RowGroup, feature_group, write_file
from primal.pipeline._recipe import Recipe
from primal.pipeline._record import METADATA_KEY, Extent, Record
from primal.pipeline._rows import Problem, check_columns, column_array, converted, matrix
from primal.pipeline._sources import MALFORMED

# Called with rows done and rows in all, None while that is unknown.
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Made:
    """The rows of a part, in one row group or none."""

    groups: tuple[RowGroup, ...]
    rows: int
    rejected: tuple[tuple[str, ...], ...] = ()  # file, row, column, value, reason
    extent: Extent | None = None  # of the rows that were encoded, where there are any
    statuses: dict[str, int] | None = None  # verdicts of a decoding
    x: np.ndarray | None = None  # what an encoding read, zeros in bad rows
    codes: np.ndarray | None = None  # what it stores
    null: np.ndarray | None = None  # rows without codes


@dataclass(frozen=True)
class Job:
    """Everything that making a part takes; small, so that it can be sent to any worker."""

    files: tuple[InputFile, ...]
    names: tuple[str, ...]  # columns that are read
    rows_per_part: int
    folder: str  # where parts go
    about: dict[str, Any]  # see Record
    schema: pa.Schema  # of a part
    recipe: Recipe  # of the features

    @cached_property
    def run(self) -> str:
        """What parts of one run have in common: how they are made, from which files."""
        inputs = [[Path(file.path).name, file.n_bytes] for file in self.files]
        return hashlib.sha256(json.dumps([self.about, inputs], sort_keys=True).encode()).hexdigest()

    def make(self, block: Block) -> Made:
        """Return the rows of a part."""
        raise NotImplementedError

    def npy_rows(self, table: pa.Table) -> np.ndarray:
        """Return the rows of a ``.npy`` file from the table of a part."""
        return self.recipe.npy_rows(table)

    def write(self, block: Block) -> Record:
        """Make a part, write it, and return its record; DataError for a row that is refused."""
        made, folder, key = self.make(block), Path(self.folder), (block.file, block.number)
        part = (*key, made.rows, block.ends_file, len(made.rejected))
        record = Record(self.about, self.run, (part,), made.extent, made.statuses or {})
        metadata = {METADATA_KEY: json.dumps(record.as_json()).encode()}
        with on_disk(self.folder):
            if made.rejected:
                write_rejected(folder, key, made.rejected)
            with written_whole(part_path(folder, key)) as stream:
                write_file(stream, self.schema.with_metadata(metadata), made.groups)
        return record


@dataclass(frozen=True)
class EncodeJob(Job):
    """Parts of features; `layer` is a PyTorch module that makes floats in place of the map."""

    kept: pa.Schema
    layer: Any = None
    device: str = "cpu"

    def make(self, block: Block) -> Made:
        path, recipe = self.files[block.file].path, self.recipe
        try:
            if block.table is None:
                raise DataError(block.failure)
            x, kept, problems = self._checked(block.table, path)
        except DataError as error:
            if recipe.on_error == "raise":
                raise
            first = str(block.first_row) if block.first_row else ""
            return Made((), 0, ((path, first, "", "", str(error)),))
        try:
            codes = recipe.codes(x, self.layer, self.device)
        except DataError:  # finite numbers are refused for their size only
            x = x.copy()
            problems = _by_row([*problems, *self._too_large(x)])
            codes = recipe.codes(x, self.layer, self.device)
        if problems and recipe.on_error == "raise":
            raise complaint(path, block.first_row, problems)
        rejected = tuple(
            (path, str(block.first_row + p.row), p.column, p.value, p.reason) for p in problems
        )
        bad = np.zeros(len(x), dtype=bool)
        bad[[p.row for p in problems]] = True
        if problems and recipe.on_error == "skip":
            codes, kept = codes[~bad], [column.filter(pa.array(~bad)) for column in kept]
        null = bad if recipe.on_error == "null" else None
        if not len(codes):
            return Made((), 0, rejected, x=x, codes=codes, null=null)
        kept = pa.Table.from_arrays(kept, schema=self.kept)
        groups = (feature_group(FEATURES, kept, codes, null),)
        extent = Extent.of(x[~bad] if problems else x, recipe.frequencies)
        return Made(groups, len(codes), rejected, extent, x=x, codes=codes, null=null)

    def _checked(
        self, table: pa.Table, path: str
    ) -> tuple[np.ndarray, list[pa.Array], list[Problem]]:
        """Return x of shape (n, d), the kept columns, and what is wrong with some rows."""
        recipe = self.recipe
        try:
            check_columns(table.schema, recipe.columns, recipe.map.d)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        x, problems = matrix(table, recipe.columns, recipe.map.d)
        kept = []
        for field in self.kept:
            column, bad = converted(column_array(table, field.name), field.type, field.name)
            kept.append(column)
            problems += bad
        if MALFORMED in table.column_names:
            column = column_array(table, MALFORMED)
            rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
            reason = "wrong number of fields"
            problems += [Problem(row, "", column[row].as_py()[:60], reason) for row in rows]
        return x, kept, _by_row(problems) if problems else []

    def _too_large(self, x: np.ndarray) -> list[Problem]:
        """Return the rows whose phases are too many turns long, and put zeros in their place."""
        columns, found, blocks = self.recipe.columns, [], [(0, len(x))]
        while blocks:
            first, last = blocks.pop()
            try:
                self.recipe.map.turns(x[first:last])
                continue
            except DataError:
                pass
            if last - first > 1:
                middle = (first + last) // 2
                blocks += [(middle, last), (first, middle)]
                continue
            j = int(np.abs(x[first]).argmax())
            name, value = columns[j if len(columns) > 1 else 0], str(x[first, j])
            reason = "too large: a phase would be too many turns long to have a fraction"
            found.append(Problem(first, name, value, reason))
            x[first] = 0.0
        return found


def complaint(path: str, first_row: int, problems: list[Problem]) -> DataError:
    """Return the error for the first of some bad rows of a block."""
    first = problems[0]
    where = f"{path}: row {first_row + first.row}"
    if first.column:
        where += f", column {first.column!r}"
    more = f" ({len(problems)} such rows in this block)" if len(problems) > 1 else ""
    return DataError(
        f"{where} holds {first.value!r}: {first.reason}{more}. Rows count from 0. Fix it, or pass "
        "on_error='skip' or 'null' (--on-error) to leave such rows out."
    )


def _by_row(problems: list[Problem]) -> list[Problem]:
    """Return one problem for each row; the last one found, since it is the most telling."""
    last = {problem.row: problem for problem in problems}
    return [last[row] for row in sorted(last)]
