"""One way to read every format: a schema, perhaps a number of rows, and batches from a row on.

NumPy files are tables too: ``.npy`` is one column of rows, ``.npz`` has a column for each array.
They are read a piece at a time, not mapped: mapped pages would count as memory in use.
"""

from __future__ import annotations

import codecs
import errno
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate
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
    batches: Callable[[Sequence[str], int, int], Iterator[pa.RecordBatch]]
    n_rows: int | None = None  # None where only reading the whole file would tell
    run_rows: int = 1  # best read by one worker: fewer would decode the same bytes twice


def open_source(file: InputFile, names: Iterable[str] = ()) -> Source:
    """Return the open file; DataError, naming it, if it cannot be read or lacks one of `names`."""
    openers = {"csv": _open_csv, "npy": open_arrays, "npz": open_arrays, "arrow": _open_arrow}
    with reading(file.path):
        if file.n_bytes == 0:
            raise DataError("the file is empty")
        source = openers.get(file.format, _open_parquet)(file.path)
        counts = Counter(source.schema.names)
        for name in names:
            if counts[name] != 1:
                problem = f"{counts[name]} columns" if counts[name] else "no column"
                raise DataError(f"it has {problem} {name!r}, only {listed(source.schema.names)}")
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


def empty_batch(schema: pa.Schema, names: Sequence[str] | None = None) -> pa.RecordBatch:
    batch = pa.record_batch([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    return batch if names is None else batch.select(names)


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _open_parquet(path: str) -> Source:
    file = pq.ParquetFile(
        path, buffer_size=_COLUMN_BUFFER, pre_buffer=False, page_checksum_verification=True
    )
    metadata = file.metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def batches(names: Sequence[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
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
    with pa.OSFile(path) as opened:
        is_file = opened.read(6) == b"ARROW1"
    open_reader = pa.ipc.open_file if is_file else pa.ipc.open_stream

    def batches(names: Sequence[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(path) as opened, open_reader(opened) as reader:
            found, skip = reader, first_row
            if is_file:
                first = bisect_right(list(accumulate(sizes)), first_row)
                found = (reader.get_batch(i) for i in range(first, len(sizes)))
                skip -= sum(sizes[:first])
            for batch in found:
                chosen = batch.select(names)
                chosen.validate(full=True)  # a wrong offset would read foreign memory
                yield chosen.slice(skip)
                skip = 0

    # Mapped, only the pages that hold the sizes are touched.
    with pa.memory_map(path) as mapped, open_reader(mapped) as reader:
        if not is_file:
            return Source(reader.schema, batches)
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
        return Source(reader.schema, batches, sum(sizes), max(sizes, default=1))


def _open_csv(path: str) -> Source:
    """Return a CSV file with names in its first line; only its end tells its number of rows.

    Every value is read as text and converted later, so that a bad one can be named. Kept columns
    have the types that Arrow infers from the first 4 MB. Lines with a wrong number of fields come
    back as rows of nulls with their text in the column `MALFORMED`.
    """

    def opened(
        names: Sequence[str] | None, text: list[str], malformed: dict[int, str]
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

    with opened(None, [], {}) as reader:
        schema = reader.schema
    for i, kind in enumerate(schema.types):
        if pa.types.is_null(kind) or pa.types.is_binary(kind):  # without any value, or not UTF-8
            schema = schema.set(i, schema.field(i).with_type(pa.string()))

    def batches(names: Sequence[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
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
    lines = np.array(sorted(malformed), dtype=np.int64)
    n_before = lines - at - np.arange(len(lines))  # rows of the batch that come before each
    n_before = n_before[n_before <= len(batch)]
    places = np.insert(np.arange(len(batch)), n_before, -1)
    lost = places < 0
    texts = np.full(len(places), None, dtype=object)
    texts[lost] = [malformed.pop(line) for line in lines[: len(n_before)].tolist()]
    if len(n_before):
        batch = batch.take(pa.array(places, mask=lost))
    return batch.append_column(MALFORMED, pa.array(texts, pa.string())), at + len(places)


def open_arrays(path: str) -> Source:
    """Return a ``.npy`` file as one column, called "array", a ``.npz`` file as one for each."""
    if path.lower().endswith(".npz"):
        with ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            if not members:
                raise DataError("it holds no arrays")
            if broken := archive.testzip():
                raise DataError(f"the array {broken!r} in it is damaged")
        arrays = {name.removesuffix(".npy"): _stored(path, name) for name in members}
    else:
        arrays = {ARRAY: _stored(path)}
    counts = sorted({stored.shape[0] for stored in arrays.values()})
    if len(counts) > 1:
        raise DataError(f"its arrays have different numbers of rows, {counts}")

    def batches(names: Sequence[str], first_row: int, n_rows: int) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            chosen = [(arrays[name], stack.enter_context(arrays[name].open())) for name in names]
            for first in range(first_row, counts[0], n_rows):
                last = min(first + n_rows, counts[0])
                columns = [stored.column(opened, first, last) for stored, opened in chosen]
                yield pa.record_batch(columns, names=names)

    schema = pa.schema([(name, stored.type) for name, stored in arrays.items()])
    return Source(schema, batches, counts[0])


@dataclass(frozen=True)
class _Stored:
    """Where an array lies in a file, and what it is: rows of numbers, or numbers."""

    open: Callable[[], Any]
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    offset: int

    @property
    def type(self) -> pa.DataType:
        element = pa.from_numpy_dtype(self.dtype.newbyteorder("="))
        return element if len(self.shape) == 1 else pa.list_(element, self.shape[1])

    def column(self, opened: Any, first: int, last: int) -> pa.Array:
        n_rows, width = last - first, math.prod(self.shape[1:])
        if self.fortran:
            starts = range(first, first + width * self.shape[0], self.shape[0])
            found = np.stack([self._items(opened, start, n_rows) for start in starts], axis=1)
        else:
            found = self._items(opened, first * width, n_rows * width)
        values = pa.array(found.astype(self.dtype.newbyteorder("="), copy=False).reshape(-1))
        return values if len(self.shape) == 1 else pa.FixedSizeListArray.from_arrays(values, width)

    def _items(self, opened: Any, first: int, count: int) -> np.ndarray:
        opened.seek(self.offset + first * self.dtype.itemsize)
        data = opened.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise DataError("the file ends before its array does")
        return np.frombuffer(data, dtype=self.dtype)


def _stored(path: str, member: str = "") -> _Stored:
    """Return where the array of a ``.npy`` file lies, or that of a member of a ``.npz`` file."""

    def opener() -> Any:
        return ZipFile(path).open(member) if member else Path(path).open("rb")

    name, header = member or path, np.lib.format
    readers = {(1, 0): header.read_array_header_1_0, (2, 0): header.read_array_header_2_0}
    with opener() as opened:
        version = header.read_magic(opened)
        if version not in readers:
            raise DataError(f"{name} has version {version} of the format, 1.0 or 2.0 is known")
        shape, fortran, dtype = readers[version](opened)
        if dtype.kind not in "fiub" or dtype.itemsize > 8:
            raise DataError(f"{name} holds {dtype}, not real numbers of at most 64 bits")
        if len(shape) not in (1, 2) or 0 in shape[1:]:
            raise DataError(f"{name} has the shape {shape}, not rows of numbers")
        offset = opened.tell()
        if opened.seek(0, 2) < offset + math.prod(shape) * dtype.itemsize:
            raise DataError("the file ends before its array does")
    return _Stored(opener, shape, fortran, dtype, offset)
