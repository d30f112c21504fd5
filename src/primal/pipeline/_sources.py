"""One way to read every format: a schema, perhaps a number of rows, and tables from a row on."""

from __future__ import annotations

import codecs
import errno
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from tokenize import TokenError
from zipfile import BadZipFile
from zlib import error as ZlibError

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from primal.errors import DataError
from primal.pipeline._array_source import open_npy, open_npz
from primal.pipeline._inputs import InputFile, Source, resumable

# Added column: the text of a line with too few or too many fields, else null.
MALFORMED = "primal: malformed line"
# Bytes parsed at a time; no line may be longer.
_BLOCK_BYTES = 1 << 22
# Bytes of each column that are fetched at a time: a row group may be larger than memory.
_COLUMN_BUFFER = 1 << 18
# Failures of the system, which say nothing about a file.
_TRANSIENT = {errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETIMEDOUT}


def open_source(file: InputFile) -> Source:
    """Return the open file; DataError if it cannot be read, naming it."""
    openers = {"csv": _open_csv, "npy": open_npy, "npz": open_npz, "arrow": _open_arrow}
    with reading(file.path):
        if file.n_bytes == 0:
            raise DataError("the file is empty")
        return openers.get(file.format, _open_parquet)(file.path)


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


def _open_parquet(path: str) -> Source:
    file = pq.ParquetFile(
        path, buffer_size=_COLUMN_BUFFER, pre_buffer=False, page_checksum_verification=True
    )
    metadata = file.metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def tables(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        skip = first_row
        for group, size in enumerate(sizes):
            if skip >= size:
                skip -= size
                continue
            # One at a time: what a damaged page takes with it must not depend on `first_row`.
            for batch in file.iter_batches(n_rows, row_groups=[group], columns=names):
                if skip < batch.num_rows:
                    yield pa.Table.from_batches([batch.slice(skip)]).select(names)
                skip = max(0, skip - batch.num_rows)
            skip = 0

    return Source(file.schema_arrow, tables, metadata.num_rows, max(sizes, default=1))


def _open_arrow(path: str) -> Source:
    """Return an Arrow IPC file, or a stream, which is read from its start and of unknown length."""

    def checked(batch: pa.RecordBatch, names: list[str]) -> pa.Table:
        table = pa.Table.from_batches([batch]).select(names)
        table.validate(full=True)  # a wrong offset would read foreign memory
        return table

    def stream_tables(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        with pa.OSFile(path) as opened, pa.ipc.open_stream(opened) as reader:
            for batch in reader:
                yield checked(batch, names)

    def file_tables(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        start = 0
        with pa.OSFile(path) as opened, pa.ipc.open_file(opened) as reader:
            for i, size in enumerate(sizes):
                if start + size > first_row:
                    yield checked(reader.get_batch(i), names).slice(max(0, first_row - start))
                start += size

    with pa.OSFile(path) as opened:
        if opened.read(6) != b"ARROW1":
            opened.seek(0)
            with pa.ipc.open_stream(opened) as reader:
                return Source(reader.schema, stream_tables)
    # Mapped, only the pages that hold the sizes are touched.
    with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        return Source(reader.schema, file_tables, sum(sizes), max(sizes, default=1))


def _open_csv(path: str) -> Source:
    """Return a CSV file with names in its first line; only its end tells its number of rows.

    Every value is read as text and converted later, so that a bad one can be named. Kept columns
    have the types that Arrow infers from the first 4 MB. Lines with a wrong number of fields come
    back as rows of nulls with their text in the column `MALFORMED`.
    """

    def opened(
        names: list[str] | None, text: list[str], malformed: dict[int, str]
    ) -> csv.CSVStreamingReader:
        def note(row: csv.InvalidRow) -> str:
            malformed[row.number - 2] = row.text  # counted from 1, and the names are a line too
            return "skip"

        return csv.open_csv(
            _CheckedText(path),
            # Only without threads are malformed lines counted.
            read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
            parse_options=csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(text, pa.string()),
                include_columns=names,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    with opened(None, [], {}) as reader:  # a column without any value is text
        untyped = [
            pa.types.is_null(kind) or pa.types.is_binary(kind) for kind in reader.schema.types
        ]
        fields = zip(reader.schema, untyped, strict=True)
        schema = pa.schema([one.with_type(pa.string()) if no else one for one, no in fields])

    def tables(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        malformed: dict[int, str] = {}
        at = 0
        with opened(names, schema.names, malformed) as reader:
            for batch in reader:
                table, at = _with_malformed(pa.Table.from_batches([batch]), malformed, at)
                yield table
        if malformed:  # lines after the last good one
            yield _with_malformed(reader.schema.empty_table(), malformed, at)[0]

    return Source(schema, tables)


class _CheckedText(io.RawIOBase):
    """The bytes of a file, decompressed, which must be UTF-8.

    Arrow checks the columns that it converts, but not the malformed lines that it hands over.
    """

    def __init__(self, path: str) -> None:
        self._opened = pa.input_stream(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._opened.read(None if size < 0 else size)
        self._decoder.decode(data, final=not data)
        return data

    def close(self) -> None:
        self._opened.close()
        super().close()


def _with_malformed(table: pa.Table, malformed: dict[int, str], at: int) -> tuple[pa.Table, int]:
    """Put malformed lines back at their places; `at` is the row of the file that comes next."""
    places: list[int | None] = []
    texts: list[str | None] = []
    taken = 0
    while taken < table.num_rows or at in malformed:
        text = malformed.pop(at, None)
        texts.append(text)
        places.append(taken if text is None else None)
        taken += text is None
        at += 1
        if not malformed:  # the usual case, without a loop
            rest = table.num_rows - taken
            texts += [None] * rest
            places += range(taken, table.num_rows)
            at, taken = at + rest, table.num_rows
    if None in places:
        table = table.take(pa.array(places, pa.int64()))
    return table.append_column(MALFORMED, pa.array(texts, pa.string())), at
