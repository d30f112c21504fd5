"""Blocks: the rows of one row group, the unit of work, of resuming and of sharing.

Block b of a file holds its rows b * batch_rows to (b + 1) * batch_rows, whatever was asked of
other files; so a worker can find its blocks alone, and rows left out move no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from primal.errors import DataError
from primal.pipeline._inputs import InputFile
from primal.pipeline._sources import Source, check_names, open_source, reading

__all__ = [
    "Block",
    "Span",
    "read_span",
    "shard_spans",
    "spans_after",
    "split_span",
    "total_rows",
]


@dataclass(frozen=True)
class Span:
    """Blocks `first` to `last` (not included) of one file.

    `last` and `n_rows`, the number of rows in them, are None where only reading will tell.
    """

    file: int
    first: int
    last: int | None
    n_rows: int | None


@dataclass(frozen=True)
class Block:
    """The rows of one block, or why they cannot be read.

    Attributes
    ----------
    file, number : int
        Index of the file, and of the block in it.
    first_row : int
        In the file.
    table : pa.Table or None
    failure : str
        Why there is no table, in a sentence that names the file.
    ends_file : bool
        Whether no block of the file comes after this one.
    """

    file: int
    number: int
    first_row: int
    table: pa.Table | None
    failure: str
    ends_file: bool


def shard_spans(
    files: tuple[InputFile, ...], names: list[str], batch_rows: int, shard: tuple[int, int]
) -> Iterator[Span]:
    """Return the spans of shard i of n, in the order of the rows.

    A file that can tell its number of blocks is cut into n runs of about equal length; run j
    of file f goes to shard (j + f) mod n, so that many small files spread as well. Other files
    (CSV, Arrow streams, broken ones, those without the columns `names`) go to shard f mod n as a
    whole.
    """
    i, n = shard
    for index, file in enumerate(files):
        n_rows = _n_rows(file, names)
        if n_rows is None:
            if index % n == i:
                yield Span(index, 0, None, None)
            continue
        n_blocks = max(1, -(-n_rows // batch_rows))
        run = (i - index) % n
        first, last = -(-run * n_blocks // n), -(-(run + 1) * n_blocks // n)
        if first < last:
            yield _counted_span(index, first, last, n_rows, batch_rows)


def total_rows(spans: list[Span]) -> int | None:
    """Return the number of rows in spans, None where only reading will tell."""
    counts = [span.n_rows for span in spans]
    return None if None in counts else sum(count or 0 for count in counts)


def spans_after(
    spans: list[Span], file: int, number: int, ends_file: bool, batch_rows: int
) -> list[Span]:
    """Return what is left of spans after block `number` of a file has been finished."""
    left = []
    for span in spans:
        if span.file > file:
            left.append(span)
        elif span.file == file and span.last is None and not ends_file:
            left.append(Span(file, number + 1, None, None))
        elif span.file == file and span.last is not None and number + 1 < span.last:
            n_rows = span.first * batch_rows + (span.n_rows or 0)
            left.append(_counted_span(file, number + 1, span.last, n_rows, batch_rows))
    return left


def split_span(
    files: tuple[InputFile, ...], span: Span, batch_rows: int, least_blocks: int
) -> Iterator[Span]:
    """Return a span in pieces that different workers can read without much waste."""
    if span.last is None:
        yield span
        return
    step = max(least_blocks, -(-open_source(files[span.file]).run_rows // batch_rows))
    n_rows = span.first * batch_rows + (span.n_rows or 0)
    for first in range(span.first, span.last, step):
        last = min(first + step, span.last)
        yield _counted_span(span.file, first, last, n_rows, batch_rows)


def read_span(
    files: tuple[InputFile, ...], span: Span, names: list[str], batch_rows: int
) -> Iterator[Block]:
    """Return the blocks of a span; a block that cannot be read has no table.

    Where blocks can be found without reading those before, one damaged block costs no other.
    """
    file = files[span.file]
    try:
        source = open_source(file)
        with reading(file.path):
            check_names(source.schema, names)
    except DataError as error:
        yield Block(span.file, span.first, span.first * batch_rows, None, str(error), True)
        return
    if source.n_rows is None:
        yield from _uncounted(file, source, span, names, batch_rows)
        return
    n_blocks = max(1, -(-source.n_rows // batch_rows))
    number, last = span.first, n_blocks if span.last is None else span.last
    while number < last:
        try:
            with reading(file.path):
                for table in _even(
                    source.tables(names, number * batch_rows, batch_rows), batch_rows
                ):
                    yield _block(span.file, number, table, batch_rows, number + 1 == n_blocks)
                    number += 1
                    if number == last:
                        return
                if source.n_rows == 0:
                    empty = _empty(source.schema, names)
                    yield _block(span.file, 0, empty, batch_rows, True)
                    return
                raise DataError("it holds fewer rows than it says")
        except DataError as error:
            yield Block(
                span.file, number, number * batch_rows, None, str(error), number + 1 == n_blocks
            )
            number += 1


def _uncounted(
    file: InputFile, source: Source, span: Span, names: list[str], batch_rows: int
) -> Iterator[Block]:
    """Read from the start to the end, one table ahead to know which block ends the file."""
    number, held, failure = 0, _empty(source.schema, names), ""
    tables = _even(source.tables(names, 0, batch_rows), batch_rows, keep_rest=True)
    try:
        with reading(file.path):
            for n_before, table in enumerate(tables):
                if n_before:
                    if number >= span.first:
                        yield _block(span.file, number, held, batch_rows, False)
                    number += 1
                held = table
    except DataError as error:
        failure = str(error)
    if number >= span.first:
        yield _block(span.file, number, held, batch_rows, not failure)
    if failure:
        first_row = number * batch_rows + held.num_rows
        yield Block(span.file, number + 1, first_row, None, failure, True)


def _block(file: int, number: int, table: pa.Table, batch_rows: int, ends_file: bool) -> Block:
    return Block(file, number, number * batch_rows, table, "", ends_file)


def _even(
    tables: Iterator[pa.Table], n_rows: int, *, keep_rest: bool = False
) -> Iterator[pa.Table]:
    """Return the same rows in tables of `n_rows`, the last one shorter.

    With `keep_rest` the rows before a failure come first, then the failure.
    """
    held: list[pa.Table] = []
    n_held = 0
    failure: Exception | None = None
    try:
        for table in tables:
            rest = table
            while n_held + rest.num_rows >= n_rows:
                taken = n_rows - n_held
                yield pa.concat_tables([*held, rest.slice(0, taken)])
                held, n_held, rest = [], 0, rest.slice(taken)
            if rest.num_rows:
                held.append(rest)
                n_held += rest.num_rows
    except Exception as error:
        if not keep_rest:
            raise
        failure = error
    if held:
        yield pa.concat_tables(held)
    if failure is not None:
        raise failure


def _counted_span(file: int, first: int, last: int, n_rows: int, batch_rows: int) -> Span:
    return Span(file, first, last, min(last * batch_rows, n_rows) - first * batch_rows)


def _n_rows(file: InputFile, names: list[str]) -> int | None:
    try:
        source = open_source(file)
        check_names(source.schema, names)
        return source.n_rows
    except DataError:
        return None


def _empty(schema: pa.Schema, names: list[str]) -> pa.Table:
    return pa.schema([schema.field(name) for name in names]).empty_table()
