"""One way to read every format: a schema, perhaps a number of rows, and batches from a row on.

NumPy files are tables too: ``.npy`` is one column of rows, ``.npz`` has a column for each array.
They are read a piece at a time, not mapped: mapped pages would count as memory in use.
"""

from __future__ import annotations

import codecs
import errno
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from primal.errors import DataError
from primal.pipeline._inputs import InputFile, resumable

# Name of the column of a .npy file.
ARRAY = "array"
# Added column: the text of a line with too few or too many fields, else null.
MALFORMED = "primal: malformed line"
# Bytes parsed at a time; no line may be longer.
_BLOCK_BYTES = 1 << 22
# Bytes of each column that are fetched at a time: a row group may be larger than memory.
_COLUMN_BUFFER = 1 << 18
# Failures of the system, which say nothing about a file.
_TRANSIENT = {errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ETIMEDOUT}


@dataclass(frozen=True)
class Source:
    """An open input file.

    ``batches(names, first_row, n_rows)`` returns columns from a row on, any number at a time;
    `n_rows` is about how many rows the caller takes at a time. A source that cannot count its
    rows starts at row 0 only.
    """

    schema: pa.Schema
    batches: Callable[[list[str], int, int], Iterator[pa.RecordBatch]]
    n_rows: int | None = None  # None where only reading the whole file would tell
    run_rows: int = 1  # best read by one worker: fewer would decode the same bytes twice


def open_source(file: InputFile, names: Iterable[str] = ()) -> Source:
    """Return the open file; DataError, naming it, if it cannot be read or lacks a column."""
    openers = {"csv": _open_csv, "npy": open_arrays, "npz": open_arrays, "arrow": _open_arrow}
    with reading(file.path):
        if file.n_bytes == 0:
            raise DataError("the file is empty")
        source = openers.get(file.format, _open_parquet)(file.path)
        check_names(source.schema, names)
        return source


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


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _open_parquet(path: str) -> Source:
    file = pq.ParquetFile(
        path, buffer_size=_COLUMN_BUFFER, pre_buffer=False, page_checksum_verification=True
    )
    metadata = file.metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def batches(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
        skip = first_row
        for group, size in enumerate(sizes):
            if skip >= size:
                skip -= size
                continue
            # One at a time: what a damaged page takes with it must not depend on `first_row`.
            for batch in file.iter_batches(n_rows, row_groups=[group], columns=names):
                if skip < batch.num_rows:
                    yield batch.slice(skip).select(names)
                skip = max(0, skip - batch.num_rows)
            skip = 0

    return Source(file.schema_arrow, batches, metadata.num_rows, max(sizes, default=1))


def _open_arrow(path: str) -> Source:
    """Return an Arrow IPC file, or a stream, which is read from its start and of unknown length."""

    def checked(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
        batch = batch.select(names)
        batch.validate(full=True)  # a wrong offset would read foreign memory
        return batch

    def from_stream(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(path) as opened, pa.ipc.open_stream(opened) as reader:
            for batch in reader:
                yield checked(batch, names)

    def from_file(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
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
                return Source(reader.schema, from_stream)
    # Mapped, only the pages that hold the sizes are touched.
    with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        return Source(reader.schema, from_file, sum(sizes), max(sizes, default=1))


def _open_csv(path: str) -> Source:
    """Return a CSV file with names in its first line; only its end tells its number of rows.

    Every value is read as text and converted later, so that a bad one can be named. Kept columns
    have the types that Arrow infers from the first 4 MB. Lines with a wrong number of fields come
    back as rows of nulls with their text in the column `MALFORMED`.
    """

    def opened(
        names: list[str] | None, text: list[str], malformed: dict[int, str]
    ) -> csv.CSVStreamingReader:
        decoder = codecs.getincrementaldecoder("utf-8")()

        def note(row: csv.InvalidRow) -> str:
            malformed[row.number - 2] = row.text  # counted from 1, and the names are a line too
            return "skip"

        def checked(data: pa.Buffer) -> pa.Buffer:
            decoder.decode(data, final=not data.size)
            return data

        return csv.open_csv(
            # Arrow checks the columns that it converts, but not the malformed lines it hands over.
            pa.TransformInputStream(pa.input_stream(path), checked),
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

    def batches(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
        malformed: dict[int, str] = {}
        at = 0
        with opened(names, schema.names, malformed) as reader:
            for batch in reader:
                whole, at = _with_malformed(batch, malformed, at)
                yield whole
        if malformed:  # lines after the last good one
            yield _with_malformed(empty_batch(reader.schema), malformed, at)[0]

    return Source(schema, batches)


def _with_malformed(
    batch: pa.RecordBatch, malformed: dict[int, str], at: int
) -> tuple[pa.RecordBatch, int]:
    """Put malformed lines back at their places; `at` is the row of the file that comes next."""
    places: list[int | None] = []
    texts: list[str | None] = []
    taken = 0
    while taken < batch.num_rows or at in malformed:
        text = malformed.pop(at, None)
        texts.append(text)
        places.append(taken if text is None else None)
        taken += text is None
        at += 1
        if not malformed:  # the usual case, without a loop
            rest = batch.num_rows - taken
            texts += [None] * rest
            places += range(taken, batch.num_rows)
            at, taken = at + rest, batch.num_rows
    if None in places:
        batch = batch.take(pa.array(places, pa.int64()))
    return batch.append_column(MALFORMED, pa.array(texts, pa.string())), at


def open_arrays(path: str) -> Source:
    """Return a ``.npy`` file as one column, called "array", a ``.npz`` file as one for each."""
    if path.lower().endswith(".npz"):
        with ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            if not members:
                raise DataError("it holds no arrays")
            if broken := archive.testzip():
                raise DataError(f"the array {broken!r} in it is damaged")
        arrays = {
            name.removesuffix(".npy"): _stored(partial(_opened, path, name), name)
            for name in members
        }
    else:
        arrays = {ARRAY: _stored(partial(_opened, path), path)}
    counts = sorted({stored.n_rows for stored in arrays.values()})
    if len(counts) > 1:
        raise DataError(f"its arrays have different numbers of rows, {counts}")

    def batches(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            chosen = [(arrays[name], stack.enter_context(arrays[name].open())) for name in names]
            for first in range(first_row, counts[0], n_rows):
                last = min(first + n_rows, counts[0])
                columns = [stored.column(opened, first, last) for stored, opened in chosen]
                yield pa.record_batch(columns, names=names)

    schema = pa.schema([(name, stored.type) for name, stored in arrays.items()])
    return Source(schema, batches, counts[0])


def _opened(path: str, member: str = "") -> Any:
    return ZipFile(path).open(member) if member else Path(path).open("rb")


@dataclass(frozen=True)
class _Stored:
    """Where an array lies in a file, and what it is; `width` is None for a vector."""

    open: Callable[[], Any]
    n_rows: int
    width: int | None
    fortran: bool
    dtype: np.dtype
    offset: int

    @property
    def type(self) -> pa.DataType:
        element = pa.from_numpy_dtype(self.dtype.newbyteorder("="))
        return element if self.width is None else pa.list_(element, self.width)

    def column(self, opened: Any, first: int, last: int) -> pa.Array:
        width = self.width or 1
        if self.fortran and self.width is not None:
            found = np.empty((last - first, width), dtype=self.dtype)
            for j in range(width):
                found[:, j] = self._items(opened, j * self.n_rows + first, last - first)
        else:
            found = self._items(opened, first * width, (last - first) * width)
        values = pa.array(found.astype(self.dtype.newbyteorder("="), copy=False).reshape(-1))
        if self.width is None:
            return values
        return pa.FixedSizeListArray.from_arrays(values, self.width)

    def _items(self, opened: Any, first: int, count: int) -> np.ndarray:
        opened.seek(self.offset + first * self.dtype.itemsize)
        data = opened.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise DataError("the file ends before its array does")
        return np.frombuffer(data, dtype=self.dtype)


def _stored(opener: Callable[[], Any], name: str) -> _Stored:
    header = np.lib.format
    readers = {(1, 0): header.read_array_header_1_0, (2, 0): header.read_array_header_2_0}
    with opener() as opened:
        version = header.read_magic(opened)
        if version not in readers:
            raise DataError(f"{name} has version {version} of the format, 1.0 or 2.0 is known")
        shape, fortran, dtype = readers[version](opened)
        if dtype.kind not in "fiub" or dtype.itemsize > 8:
            raise DataError(f"{name} holds {dtype}, not real numbers of at most 64 bits")
        if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] == 0):
            raise DataError(f"{name} has the shape {shape}, not rows of numbers")
        offset = opened.tell()
        expected = offset + int(np.prod(shape, dtype=object)) * dtype.itemsize
        if opened.seek(0, 2) < expected:
            raise DataError("the file ends before its array does")
    return _Stored(opener, shape[0], shape[1] if len(shape) == 2 else None, fortran, dtype, offset)
