"""Blocks: the rows of one part, the unit of work, of resuming and of sharing.

Block b of a file holds its rows b * rows to (b + 1) * rows, whatever was asked of other files; so
a worker can find its blocks alone, and rows left out move no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa

from primal.errors import DataError
from primal.pipeline._inputs import InputFile
from primal.pipeline._sources import Source, empty_batch, open_source, reading

Key = tuple[int, int]  # file and number of a block


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
    """The rows of one block, or why they cannot be read."""

    file: int  # index of the file
    number: int  # of the block in it
    first_row: int  # in the file
    batch: pa.RecordBatch | None
    failure: str  # why there is none, in a sentence that names the file
    ends_file: bool  # whether no block of the file comes after this one


def shard_spans(
    files: tuple[InputFile, ...], names: list[str], rows: int, shard: tuple[int, int] = (0, 1)
) -> list[Span]:
    """Return the spans of shard i of n, in the order of the rows.

    A file that can tell its number of blocks is cut into n runs of about equal length; run j of
    file f goes to shard (j + f) mod n, so that many small files spread as well. Other files (CSV,
    Arrow streams, broken ones, those without the columns `names`) go to shard f mod n as a whole.
    """
    (i, n), spans = shard, []
    for index, file in enumerate(files):
        try:
            n_rows = open_source(file, names).n_rows
        except DataError:
            n_rows = None
        if n_rows is None:
            if index % n == i:
                spans.append(Span(index, 0, None, None))
            continue
        n_blocks = max(1, -(-n_rows // rows))
        run = (i - index) % n
        first, last = -(-run * n_blocks // n), -(-(run + 1) * n_blocks // n)
        if first < last:
            spans.append(Span(index, first, last, min(last * rows, n_rows) - first * rows))
    return spans


def split_span(file: InputFile, span: Span, rows: int, least_blocks: int) -> Iterator[Span]:
    """Return a span in pieces that different workers can read without much waste."""
    if span.last is None:
        yield span
        return
    step = max(least_blocks, -(-open_source(file).run_rows // rows))
    for first in range(span.first, span.last, step):
        yield Span(span.file, first, min(first + step, span.last), None)


def read_span(
    files: tuple[InputFile, ...],
    span: Span,
    names: list[str],
    rows: int,
    done: Collection[Key] = (),
) -> Iterator[Block]:
    """Return the blocks of a span that are not `done`; one that cannot be read has no rows.

    Where blocks can be found without reading those before, one damaged block costs no other.
    """
    file, at = files[span.file], span.file
    try:
        source = open_source(file, names)
    except DataError as error:
        if (at, span.first) not in done:
            yield Block(at, span.first, span.first * rows, None, str(error), True)
        return
    if source.n_rows is None:
        blocks = _uncounted(file, source, at, names, rows)
        yield from (block for block in blocks if (at, block.number) not in done)
        return
    n_blocks = max(1, -(-source.n_rows // rows))
    number, last = span.first, n_blocks if span.last is None else span.last
    while number < last:
        if (at, number) in done:
            number += 1
            continue
        try:
            with reading(file.path):
                for batch in _even(source.batches(names, number * rows, rows), rows):
                    yield Block(at, number, number * rows, batch, "", number + 1 == n_blocks)
                    number += 1
                    if number == last or (at, number) in done:
                        break
                else:
                    if source.n_rows:
                        raise DataError("it holds fewer rows than it says")
                    yield Block(at, 0, 0, empty_batch(source.schema).select(names), "", True)
                    return
        except DataError as error:
            yield Block(at, number, number * rows, None, str(error), number + 1 == n_blocks)
            number += 1


def _uncounted(
    file: InputFile, source: Source, at: int, names: list[str], rows: int
) -> Iterator[Block]:
    """Read from the start to the end, one block ahead to know which block ends the file."""
    number, held, failure = 0, None, ""

    def until_failure() -> Iterator[pa.RecordBatch]:
        nonlocal failure
        try:
            with reading(file.path):
                yield from source.batches(names, 0, rows)
        except DataError as error:
            failure = str(error)

    for batch in _even(until_failure(), rows):
        if held is not None:
            yield Block(at, number, number * rows, held, "", False)
            number += 1
        held = batch
    held = empty_batch(source.schema).select(names) if held is None else held
    yield Block(at, number, number * rows, held, "", not failure)
    if failure:
        yield Block(at, number + 1, number * rows + held.num_rows, None, failure, True)


def _even(batches: Iterator[pa.RecordBatch], n_rows: int) -> Iterator[pa.RecordBatch]:
    """Return the same rows in batches of `n_rows`, the last one shorter."""
    held: list[pa.RecordBatch] = []
    n_missing = n_rows
    for batch in batches:
        while len(batch) >= n_missing:
            held.append(batch.slice(0, n_missing))
            yield pa.concat_batches(held) if len(held) > 1 else held[0]
            held, n_missing, batch = [], n_rows, batch.slice(n_missing)
        if len(batch):
            held.append(batch)
            n_missing -= len(batch)
    if held:
        yield pa.concat_batches(held) if len(held) > 1 else held[0]
