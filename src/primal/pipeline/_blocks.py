"""Blocks: the rows of one part, the unit of work, of resuming and of sharing.

Block b of a file holds its rows b * rows to (b + 1) * rows, whatever was asked of other files; so
a worker can find its blocks alone, and rows left out move no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from primal.errors import DataError
from primal.pipeline._inputs import InputFile
from primal.pipeline._sources import Source, empty_batch, open_source, reading

Key = tuple[int, int]  # file and number of a block


class Span(NamedTuple):
    """Blocks `first` to `last` (not included, None where only reading will tell) of one file."""

    file: int
    first: int
    last: int | None


@dataclass(frozen=True)
class Block:
    """The rows of one block, or why they cannot be read."""

    file: int  # index of the file
    number: int  # of the block in it
    first_row: int  # in the file
    batch: pa.RecordBatch | None
    ends_file: bool  # whether no block of the file comes after this one
    failure: str = ""  # why there is no batch, in a sentence that names the file

    def table(self) -> pa.RecordBatch:
        """Return the rows; DataError where they cannot be read."""
        if self.batch is None:
            raise DataError(self.failure)
        return self.batch


@dataclass(frozen=True)
class Blocks:
    """The columns `names` of some files, in blocks of `rows` rows."""

    files: tuple[InputFile, ...]
    names: tuple[str, ...]
    rows: int

    def spans(self, shard: tuple[int, int] = (0, 1)) -> tuple[list[Span], int | None]:
        """Return the spans of shard i of n, in the order of the rows, and how many rows they have.

        A file that can tell its number of blocks is cut into n runs of about equal length; run j
        of file f goes to shard (j + f) mod n, so that many small files spread as well. Other files
        (CSV, Arrow streams, broken ones, those without the columns) go to shard f mod n as a whole,
        and the number of rows is then None.
        """
        (i, n), rows = shard, self.rows
        spans: list[Span] = []
        total: int | None = 0
        for index, file in enumerate(self.files):
            try:
                n_rows = open_source(file, self.names).n_rows
            except DataError:
                n_rows = None
            if n_rows is None:
                if index % n == i:
                    spans.append(Span(index, 0, None))
                    total = None
                continue
            n_blocks = max(1, -(-n_rows // rows))
            run = (i - index) % n
            first, last = -(-run * n_blocks // n), -(-(run + 1) * n_blocks // n)
            if first < last:
                spans.append(Span(index, first, last))
                if total is not None:
                    total += min(last * rows, n_rows) - first * rows
        return spans, total

    def split(self, span: Span, least_blocks: int) -> Iterator[Span]:
        """Return a span in pieces that different workers can read without much waste."""
        if span.last is None:
            yield span
            return
        step = max(least_blocks, -(-open_source(self.files[span.file]).run_rows // self.rows))
        for first in range(span.first, span.last, step):
            yield Span(span.file, first, min(first + step, span.last))

    def read(self, span: Span, done: Collection[Key] = ()) -> Iterator[Block]:
        """Return the blocks of a span that are not `done`; one that cannot be read has no rows.

        Where blocks can be found without reading those before, one damaged block costs no other.
        """
        at, file, rows = span.file, self.files[span.file], self.rows
        try:
            source = open_source(file, self.names)
        except DataError as error:
            if (at, span.first) not in done:
                yield Block(at, span.first, span.first * rows, None, True, str(error))
            return
        if source.n_rows is None:
            blocks = self._read_through(at, source)
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
                    for batch in _even(source.batches(self.names, number * rows, rows), rows):
                        yield Block(at, number, number * rows, batch, number + 1 == n_blocks)
                        number += 1
                        if number == last or (at, number) in done:
                            break
                    else:
                        if source.n_rows:
                            raise DataError("it holds fewer rows than it says")
                        yield Block(at, 0, 0, empty_batch(source.schema, self.names), True)
                        return
            except DataError as error:
                ends_file = number + 1 == n_blocks
                yield Block(at, number, number * rows, None, ends_file, str(error))
                number += 1

    def _read_through(self, at: int, source: Source) -> Iterator[Block]:
        """Read from the start to the end, one block ahead to know which block ends the file."""
        rows, failure = self.rows, ""

        def until_failure() -> Iterator[pa.RecordBatch]:
            nonlocal failure
            try:
                with reading(self.files[at].path):
                    yield from source.batches(self.names, 0, rows)
            except DataError as error:
                failure = str(error)

        batches = _even(until_failure(), rows)
        number, held = 0, next(batches, empty_batch(source.schema, self.names))
        for batch in batches:
            yield Block(at, number, number * rows, held, False)
            number, held = number + 1, batch
        yield Block(at, number, number * rows, held, not failure)
        if failure:
            yield Block(at, number + 1, number * rows + len(held), None, True, failure)


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
