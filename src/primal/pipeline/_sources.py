"""One way to read every format: a schema, perhaps a number of rows, and tables from a row on."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from tokenize import TokenError
from typing import Protocol
from zipfile import BadZipFile
from zlib import error as ZlibError

import pyarrow as pa
import pyarrow.parquet as pq

from primal.errors import DataError
from primal.pipeline._array_source import open_npy, open_npz
from primal.pipeline._csv_source import CsvSource
from primal.pipeline._inputs import InputFile, resumable

__all__ = ["Source", "check_names", "listed", "open_source", "reading"]

# Bytes of each column that are fetched at a time: a row group may be larger than memory.
_COLUMN_BUFFER = 1 << 18


# Failures of the system, which say nothing about a file.
_TRANSIENT = {errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETIMEDOUT}


class Source(Protocol):
    """An open input file."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def n_rows(self) -> int | None:
        """Number of rows, or None where only reading the whole file would tell."""
        ...

    @property
    def run_rows(self) -> int:
        """Rows that are best read by one worker: fewer would decode the same bytes twice."""
        ...

    def tables(self, names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        """Return the columns `names` from a row on, in tables of any size.

        `n_rows` is about how many rows the caller takes at a time. A source that cannot count
        its rows starts at row 0 only.
        """
        ...


def open_source(file: InputFile) -> Source:
    """Return the open file; DataError if it cannot be read, naming it."""
    with reading(file.path):
        if file.n_bytes == 0:
            raise DataError("the file is empty")
        if file.format == "parquet":
            return _ParquetSource(file.path)
        if file.format == "csv":
            return CsvSource(file.path)
        if file.format == "npy":
            return open_npy(file.path)
        if file.format == "npz":
            return open_npz(file.path)
        with pa.OSFile(file.path) as opened:
            stream = opened.read(6) != b"ARROW1"
        return _StreamSource(file.path) if stream else _ArrowSource(file.path)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into a DataError that names it.

    What is not the fault of the file (a failing disk, no memory) becomes a PrimalError that is
    none of its data: no row may be given up for it.
    """
    try:
        yield
    except (
        *(DataError, OSError, EOFError, ValueError, KeyError, MemoryError, OverflowError),
        *(RuntimeError, TypeError, SyntaxError, TokenError, BadZipFile, ZlibError),
        pa.ArrowException,
    ) as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        if isinstance(error, MemoryError) or getattr(error, "errno", None) in _TRANSIENT:
            raise resumable(f"{path} cannot be read now: {reason}") from error
        raise DataError(f"{path} cannot be read: {reason}.") from None


class _ParquetSource:
    def __init__(self, path: str) -> None:
        self._file = pq.ParquetFile(
            path, buffer_size=_COLUMN_BUFFER, pre_buffer=False, page_checksum_verification=True
        )
        self.schema = self._file.schema_arrow
        metadata = self._file.metadata
        self.n_rows = metadata.num_rows
        groups = range(metadata.num_row_groups)
        self.run_rows = max((metadata.row_group(i).num_rows for i in groups), default=1)

    def tables(self, names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        metadata, start = self._file.metadata, 0
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            skip = max(0, first_row - start)
            start += size
            if skip >= size:
                continue
            # One at a time: what a damaged page takes with it must not depend on `first_row`.
            for batch in self._file.iter_batches(n_rows, row_groups=[group], columns=names):
                if skip < batch.num_rows:
                    yield pa.Table.from_batches([batch.slice(skip)]).select(names)
                skip = max(0, skip - batch.num_rows)


def check_names(schema: pa.Schema, names: Iterable[str]) -> None:
    """Raise DataError unless every name is that of exactly one column."""
    there = Counter(schema.names)
    for name in names:
        if there[name] != 1:
            problem = f"{there[name]} columns" if there[name] else "no column"
            raise DataError(f"it has {problem} {name!r}, only {listed(schema.names)}")


def listed(names: Sequence[str]) -> str:
    """Return names for a message, the first twenty of them."""
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _checked(batch: pa.RecordBatch, names: list[str]) -> pa.Table:
    """Return some columns; a wrong offset in them would otherwise read foreign memory."""
    table = pa.Table.from_batches([batch]).select(names)
    table.validate(full=True)
    return table


class _ArrowSource:
    """Arrow IPC file: batches can be read in any order."""

    def __init__(self, path: str) -> None:
        self._path = path
        # Mapped, only the pages that hold the sizes are touched.
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
            self.schema = reader.schema
            sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        self._sizes = sizes
        self.n_rows: int = sum(sizes)
        self.run_rows: int = max(sizes, default=1)

    def tables(self, names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        with pa.OSFile(self._path) as opened, pa.ipc.open_file(opened) as reader:
            start = 0
            for i, size in enumerate(self._sizes):
                if start + size > first_row:
                    table = _checked(reader.get_batch(i), names)
                    yield table.slice(max(0, first_row - start))
                start += size


class _StreamSource:
    """Arrow IPC stream: read from its start, and of unknown length."""

    n_rows = None
    run_rows = 1

    def __init__(self, path: str) -> None:
        self._path = path
        with pa.OSFile(path) as opened, pa.ipc.open_stream(opened) as reader:
            self.schema = reader.schema

    def tables(self, names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        with pa.OSFile(self._path) as opened, pa.ipc.open_stream(opened) as reader:
            for batch in reader:
                yield _checked(batch, names)
