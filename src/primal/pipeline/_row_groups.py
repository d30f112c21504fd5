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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal.errors import DataError
from primal.pipeline._pages import feature_chunk
from primal.pipeline._thrift import I16, I64, LIST, STRUCT, Reader, write_value

__all__ = [
    "FEATURES",
    "MAGIC",
    "RowGroup",
    "end_of_file",
    "feature_row_group",
    "row_group",
    "row_groups_of",
]

MAGIC = b"PAR1"
FEATURES = "features"
# Fields of the Parquet format (parquet.thrift) that hold offsets or counts.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_GROUP_OFFSET, _GROUP_STORED_BYTES, _GROUP_ORDINAL = 5, 6, 7
_CHUNK_OFFSET, _CHUNK_METADATA = 2, 3
_CHUNK_OFFSETS = (_CHUNK_OFFSET, 4, 6)
_COLUMN_BYTES, _COLUMN_STORED_BYTES, _COLUMN_PAGES = 6, 7, 9
_COLUMN_OFFSETS = (_COLUMN_PAGES, 10, 11, 14)
_LARGEST_ORDINAL = 2**15 - 1


@dataclass(frozen=True)
class RowGroup:
    """The bytes of a row group, in pieces, and its description, as if it came first in its file."""

    pieces: tuple[Any, ...]
    description: bytes


def row_group(table: pa.Table) -> RowGroup:
    """Return a table as one row group; the table has at least one row and one column."""
    data, group = _written(table)
    return RowGroup((data,), _movable(group, len(MAGIC)))


def feature_row_group(
    kept: pa.Table, codes: np.ndarray, null: np.ndarray | None, *, nullable: bool
) -> RowGroup:
    """Return one row group of some columns and, after them, the features of the same rows.

    Parameters
    ----------
    kept : pa.Table
        May have no column.
    codes : ndarray of shape (n, width), n > 0
        Float features are not copied: keep them as they are until the pieces are written.
    null, nullable
        See :func:`primal.pipeline._pages.feature_chunk`.
    """
    data, group = _written(kept) if kept.num_columns else (memoryview(b""), _empty_group())
    chunk = feature_chunk(FEATURES, codes, null, nullable=nullable)
    offset = len(MAGIC) + len(data)
    column = {
        _CHUNK_OFFSET: (I64, 0),
        _CHUNK_METADATA: (STRUCT, chunk.metadata | {_COLUMN_PAGES: (I64, offset)}),
    }
    group[_GROUP_COLUMNS][1][1].append(column)
    group[_GROUP_ROWS] = (I64, len(codes))
    for total, part in (
        (_GROUP_BYTES, _COLUMN_BYTES),
        (_GROUP_STORED_BYTES, _COLUMN_STORED_BYTES),
    ):
        group[total] = (I64, group[total][1] + chunk.metadata[part][1])
    return RowGroup((data, *chunk.pieces), _movable(group, len(MAGIC)))


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
            group[_GROUP_ORDINAL] = (I16, ordinal)
        found.append(group)
    fields[_FILE_GROUPS] = (LIST, (STRUCT, found))
    fields[_FILE_ROWS] = (I64, sum(group[_GROUP_ROWS][1] for group in found))
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
        size = sum(
            chunk[_CHUNK_METADATA][1][_COLUMN_STORED_BYTES][1]
            for chunk in group[_GROUP_COLUMNS][1][1]
        )
        found.append((offset, size, _movable(group, offset)))
    return found


def _written(table: pa.Table) -> tuple[memoryview, dict[int, tuple[int, Any]]]:
    """Return the bytes of a table as a row group, and its description as it is in the footer."""
    sink = pa.BufferOutputStream()
    try:
        _write(sink, table.schema, table)
    except pa.ArrowException as error:
        raise DataError(f"kept columns cannot be written to Parquet: {error}.") from None
    whole = memoryview(sink.getvalue())
    footer = _footer(whole)
    _, (group,) = Reader(footer).value(STRUCT)[_FILE_GROUPS][1]
    return whole[len(MAGIC) : len(whole) - len(footer) - 8], group


def _empty_group() -> dict[int, tuple[int, Any]]:
    return {
        _GROUP_COLUMNS: (LIST, (STRUCT, [])),
        _GROUP_BYTES: (I64, 0),
        _GROUP_OFFSET: (I64, len(MAGIC)),
        _GROUP_STORED_BYTES: (I64, 0),
    }


def _write(sink: Any, schema: pa.Schema, table: pa.Table | None) -> None:
    with pq.ParquetWriter(sink, schema) as writer:
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
