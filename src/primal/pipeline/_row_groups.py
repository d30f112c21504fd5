"""Parquet row groups as movable pieces: made one at a time, put together by a new footer.

Only the footer of a Parquet file holds offsets. A row group written as a file of its own can
therefore be cut out and appended to another file, if the offsets that describe it are shifted.
That is what lets a killed run go on, shards be merged without being read, and workers on other
machines hand over finished bytes, all with the bytes of one uninterrupted run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from primal.pipeline._thrift import LIST, STRUCT, Reader, write_value

__all__ = ["FEATURES", "MAGIC", "RowGroup", "end_of_file", "row_group", "row_groups_of"]

MAGIC = b"PAR1"
FEATURES = "features"
_I16, _I64 = 4, 6
# Fields of the Parquet format (parquet.thrift) that hold offsets or counts.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 3, 5, 7
_CHUNK_OFFSETS, _CHUNK_METADATA = (2, 4, 6), 3
_COLUMN_OFFSETS = (9, 10, 11, 14)
_LARGEST_ORDINAL = 2**15 - 1


@dataclass(frozen=True)
class RowGroup:
    """The bytes of a row group and its description, as if it came first in its file."""

    data: memoryview
    description: bytes


def row_group(table: pa.Table) -> RowGroup:
    """Return a table as one row group; the table has at least one row."""
    whole = memoryview(_whole_file(table))
    footer = _footer(whole)
    _, (group,) = Reader(footer).value(STRUCT)[_FILE_GROUPS][1]
    data = whole[len(MAGIC) : len(whole) - len(footer) - 8]
    return RowGroup(data, _movable(group, len(MAGIC)))


def end_of_file(
    schema: pa.Schema, metadata: Mapping[str, bytes], groups: Iterable[tuple[int, bytes]]
) -> bytes:
    """Return what follows the last row group: footer, its length, magic.

    Parameters
    ----------
    schema : pa.Schema
    metadata : mapping of str to bytes
        Becomes the metadata of the schema.
    groups : iterable of (int, bytes)
        Offset in the file and description of each row group, in order.
    """
    sink = pa.BufferOutputStream()
    _write(sink, schema.with_metadata(metadata), None)
    fields = Reader(_footer(memoryview(sink.getvalue()))).value(STRUCT)
    found = []
    for ordinal, (offset, description) in enumerate(groups):
        group = Reader(description).value(STRUCT)
        _shift_group(group, offset - len(MAGIC))
        if ordinal <= _LARGEST_ORDINAL:
            group[_GROUP_ORDINAL] = (_I16, ordinal)
        found.append(group)
    fields[_FILE_GROUPS] = (LIST, (STRUCT, found))
    fields[_FILE_ROWS] = (_I64, sum(group[_GROUP_ROWS][1] for group in found))
    out = bytearray()
    write_value(STRUCT, fields, out)
    return bytes(out) + len(out).to_bytes(4, "little") + MAGIC


def row_groups_of(footer: bytes) -> list[tuple[int, int, bytes]]:
    """Return offset, number of bytes and description of every row group that a footer lists.

    `footer` ends a file written by this module, in which nothing lies between row groups.
    """
    _, groups = Reader(footer).value(STRUCT)[_FILE_GROUPS][1]
    found = []
    for group in groups:
        offset = group[_GROUP_OFFSET][1]
        size = sum(chunk[_CHUNK_METADATA][1][7][1] for chunk in group[_GROUP_COLUMNS][1][1])
        found.append((offset, size, _movable(group, offset)))
    return found


def _whole_file(table: pa.Table) -> pa.Buffer:
    """Return a table as a Parquet file in memory."""
    # A stream that grows as it is written costs a quarter more than memory of the right size.
    memory = pa.allocate_buffer(int(1.05 * table.nbytes) + (1 << 16))
    try:
        with pa.FixedSizeBufferWriter(memory) as sink:
            _write(sink, table.schema, table)
            return memory.slice(0, sink.tell())
    except (OSError, pa.ArrowInvalid):  # larger than its values, as text of few letters may be
        growing = pa.BufferOutputStream()
        _write(growing, table.schema, table)
        return growing.getvalue()


def _write(sink: Any, schema: pa.Schema, table: pa.Table | None) -> None:
    kept = [name for name in schema.names if name != FEATURES]
    leaf, codec, encoding = f"{FEATURES}.list.element", "none", None
    if FEATURES in schema.names and pa.types.is_integer(schema.field(FEATURES).type.value_type):
        # Parquet keeps small integers in 32 bits: their bytes apart, the zeros pack to nothing.
        codec, encoding = "zstd", {leaf: "BYTE_STREAM_SPLIT"}
    # Float features are noise to a compressor and to a dictionary: time without gain.
    writer = pq.ParquetWriter(
        sink,
        schema,
        use_dictionary=kept or False,
        compression={leaf: codec, **dict.fromkeys(kept, "snappy")},
        compression_level={leaf: 1} if codec == "zstd" else None,
        column_encoding=encoding,
        write_statistics=kept or False,
    )
    with writer:
        if table is not None:
            writer.write_table(table, row_group_size=max(1, table.num_rows))


def _footer(whole: memoryview) -> bytes:
    size = int.from_bytes(whole[-8:-4], "little")
    return bytes(whole[len(whole) - 8 - size : len(whole) - 8])


def _movable(group: dict[int, tuple[int, Any]], offset: int) -> bytes:
    """Return the description of a row group that lies at `offset` as if it came first."""
    _shift_group(group, len(MAGIC) - offset)
    group.pop(_GROUP_ORDINAL, None)
    out = bytearray()
    write_value(STRUCT, group, out)
    return bytes(out)


def _shift_group(group: dict[int, tuple[int, Any]], by: int) -> None:
    _shift(group, (_GROUP_OFFSET,), by)
    for chunk in group[_GROUP_COLUMNS][1][1]:
        _shift(chunk, _CHUNK_OFFSETS, by)
        _shift(chunk[_CHUNK_METADATA][1], _COLUMN_OFFSETS, by)


def _shift(fields: dict[int, tuple[int, Any]], numbers: tuple[int, ...], by: int) -> None:
    for number in numbers:
        kind, value = fields.get(number, (0, 0))
        if value:  # 0 stands for "not there"
            fields[number] = (kind, value + by)
