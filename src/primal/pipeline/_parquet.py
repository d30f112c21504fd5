"""Parquet files of features, four times as fast as a general writer makes them.

A general writer works out levels for every value, which tell lists apart in a column of values.
Here all lists have one length, so the levels of a row are the same few bytes for every row, and
the values of float features are written from the memory that they lie in; kept columns are written
by PyArrow. Only the footer of a file holds offsets: shifted, they let a row group be copied from
file to file, which is how parts become one file.

The footer is in Thrift's compact protocol: a struct is a dict {field number: (type, value)}, a list
a pair (element type, values). Nothing is interpreted, so fields of later versions survive.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal.errors import DataError

Fields = dict[int, tuple[int, Any]]
_MAGIC = b"PAR1"
_PAGE_BYTES = 1 << 20  # of values, about: what a reader holds at a time
# Types of Thrift, and that of lengths, which no field has.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12
_VARINT = 0
# Numbers of the format (parquet.thrift): physical types, encodings, codecs.
_PHYSICAL = {"float32": 4, "float16": 7, "uint8": 1, "uint16": 1}
_PLAIN, _RLE, _BYTE_STREAM_SPLIT, _UNCOMPRESSED, _ZSTD = 0, 3, 9, 0, 6
_LARGEST_ORDINAL = 2**15 - 1


class RowGroup(NamedTuple):
    """The bytes of a row group, in pieces, and its fields in a footer as if it came first."""

    pieces: Iterable[Any]
    fields: Fields


def write_file(stream: BinaryIO, schema: pa.Schema, groups: Iterable[RowGroup]) -> None:
    """Write a Parquet file of row groups; the schema's metadata are those of the file."""
    stream.write(_MAGIC)
    described: list[Fields] = []
    for group in groups:
        start = stream.tell()
        for piece in group.pieces:
            stream.write(piece)
        if start > len(_MAGIC):
            _shift(group.fields, start - len(_MAGIC))
        if len(described) <= _LARGEST_ORDINAL:
            group.fields[7] = (_I16, len(described))
        described.append(group.fields)
    fields = _written(schema.empty_table())[1]
    fields[3] = (_I64, sum(group[3][1] for group in described))
    fields[4] = (_LIST, (_STRUCT, described))
    footer = _thrift(fields)
    stream.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


def feature_group(
    name: str, kept: pa.Table, codes: np.ndarray, null: np.ndarray | None
) -> RowGroup:
    """Return one row group of some columns and, after them, a column of lists of one length.

    The codes, of shape (n, width), are float32, float16, uint8 or uint16. Floats are not copied:
    keep them as they are until the pieces are written. `null` tells rows without a list; it is
    None for a column that allows none. `kept` may have no column.
    """
    at, width, packed = len(_MAGIC), codes.shape[1], codes.dtype.kind == "u"
    group: Fields = {1: (_LIST, (_STRUCT, [])), 2: (_I64, 0), 5: (_I64, at), 6: (_I64, 0)}
    (data,), group = table_group(kept) if kept.num_columns else ((b"",), group)
    encoding = _BYTE_STREAM_SPLIT if packed else _PLAIN
    gone = np.zeros(len(codes), dtype=bool) if null is None else null
    n_stored = n_unpacked = 0
    pieces: list[Any] = [data]
    # Levels are runs of one number. Repetition is 0 for the first value of a row and 1 for others;
    # definition is 0 without a list, 1 with one, or 2 where lists may be missing.
    absent = _thrift(2, _VARINT) + b"\0"
    whole = absent + (_thrift(2 * width - 2, _VARINT) + b"\1" if width > 1 else b"")
    there = b"\1" if null is None else b"\2"
    page_rows = max(1, _PAGE_BYTES // (width * max(4, codes.itemsize)))
    for first in range(0, len(codes), page_rows):
        part, lost = codes[first : first + page_rows], gone[first : first + page_rows]
        repetition, definition = bytearray(), bytearray()
        ends = [0, *(np.flatnonzero(np.diff(lost)) + 1).tolist(), len(lost)]
        for start, end in pairwise(ends):
            n = end - start
            repetition += (absent if lost[start] else whole) * n
            n_run, level = (n, b"\0") if lost[start] else (n * width, there)
            definition += _thrift(2 * n_run, _VARINT) + level
        levels = b"".join(len(one).to_bytes(4, "little") + one for one in (repetition, definition))
        n_lost = int(lost.sum())
        part = part[~lost] if n_lost else part
        little = np.ascontiguousarray(part, dtype=part.dtype.newbyteorder("<"))
        values = little.reshape(-1).view(np.uint8).data
        page, unpacked = [levels, values], len(levels) + len(values)
        if packed:
            # Parquet keeps small integers in 32 bits. Bytes of each place apart, zeros pack to
            # nothing.
            places = np.frombuffer(values, dtype=np.uint8).reshape(-1, part.itemsize).T
            content = levels + places.tobytes() + bytes((4 - part.itemsize) * part.size)
            page, unpacked = [pa.compress(content, "zstd", asbytes=True)], len(content)
        n_bytes = sum(len(piece) for piece in page)
        n_values = (_I32, part.size + n_lost)
        data_page = {1: n_values, 2: (_I32, encoding), 3: (_I32, _RLE), 4: (_I32, _RLE)}
        sizes = {2: (_I32, unpacked), 3: (_I32, n_bytes)}
        header = _thrift({1: (_I32, 0), **sizes, 5: (_STRUCT, data_page)})
        pieces += [header, *page]
        n_stored += len(header) + n_bytes
        n_unpacked += len(header) + unpacked
    n_null = int(gone.sum())
    metadata = {
        1: (_I32, _PHYSICAL[codes.dtype.name]),
        2: (_LIST, (_I32, [_RLE, encoding])),
        3: (_LIST, (_BINARY, [name.encode(), b"list", b"element"])),
        4: (_I32, _ZSTD if packed else _UNCOMPRESSED),
        5: (_I64, (len(codes) - n_null) * width + n_null),
        6: (_I64, n_unpacked),
        7: (_I64, n_stored),
        9: (_I64, at + len(data)),
    }
    group[1][1][1].append({2: (_I64, 0), 3: (_STRUCT, metadata)})
    group[2] = (_I64, group[2][1] + n_unpacked)
    group[3] = (_I64, len(codes))
    group[6] = (_I64, group[6][1] + n_stored)
    return RowGroup(pieces, group)


def table_group(table: pa.Table) -> RowGroup:
    """Return a table of at least one row and one column as one row group."""
    data, footer = _written(table)
    return RowGroup((data,), footer[4][1][1][0])


def stored_groups(path: Path) -> Iterator[RowGroup]:
    """Return the row groups of a file, in which nothing lies between them; to be used in turn."""
    with path.open("rb") as opened:
        opened.seek(-8, os.SEEK_END)
        size = int.from_bytes(opened.read(4), "little")
        opened.seek(-8 - size, os.SEEK_END)
        _, groups = _value(iter(opened.read(size)))[4][1]
        for group in groups:
            start = group[5][1]
            left = sum(chunk[3][1][7][1] for chunk in group[1][1][1])
            _shift(group, len(_MAGIC) - start)
            opened.seek(start)
            steps = [_PAGE_BYTES] * (left // _PAGE_BYTES) + [left % _PAGE_BYTES]
            yield RowGroup(map(opened.read, steps), group)


def _written(table: pa.Table) -> tuple[bytes, Fields]:
    """Return the row group of a table as PyArrow writes it, and the fields of the footer."""
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(table, sink, row_group_size=max(1, table.num_rows))
    except pa.ArrowException as error:
        raise DataError(f"kept columns cannot be written to Parquet: {error}.") from None
    whole = memoryview(sink.getvalue())
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    return bytes(whole[len(_MAGIC) : start]), _value(iter(bytes(whole[start:-8])))


def _shift(group: Fields, by: int) -> None:
    """Move a row group; an offset of 0 stands for "not there"."""
    places = [(group, (5,))]
    for chunk in group[1][1][1]:  # and its metadata
        places += [(chunk, (2, 4, 6)), (chunk[3][1], (9, 10, 11, 14))]
    for fields, numbers in places:
        for number in numbers:
            if fields.get(number, (_I64, 0))[1]:
                fields[number] = (_I64, fields[number][1] + by)


def _value(data: Iterator[int], kind: int = _STRUCT) -> Any:
    """Return the next value of Thrift in some bytes; the inverse of `_thrift`."""
    if kind in (_TRUE, _FALSE, _BYTE):  # a boolean outside of a field has its own byte
        byte = next(data)
        return byte if kind == _BYTE else byte == _TRUE
    if kind in (_VARINT, _I16, _I32, _I64):
        number = shift = 0
        while (byte := next(data)) >= 128:
            number |= (byte & 127) << shift
            shift += 7
        number |= byte << shift
        return number if kind == _VARINT else (number >> 1) ^ -(number & 1)
    if kind == _BINARY:
        return bytes(islice(data, _value(data, _VARINT)))
    if kind == _LIST:
        head = next(data)
        size = head >> 4 if head >> 4 != 15 else _value(data, _VARINT)
        return head & 15, [_value(data, head & 15) for _ in range(size)]
    fields: Fields = {}
    number = 0
    while head := next(data):
        kind = head & 15
        number = number + (head >> 4) if head >> 4 else _value(data, _I16)
        fields[number] = (kind, kind == _TRUE if kind in (_TRUE, _FALSE) else _value(data, kind))
    return fields


def _thrift(value: Any, kind: int = _STRUCT) -> bytes:
    if kind in (_TRUE, _FALSE):
        return bytes([_TRUE if value else _FALSE])
    if kind == _BYTE:
        return bytes([value])
    if kind in (_VARINT, _I16, _I32, _I64):  # seven bits to a byte, the lowest first
        number, out = value if kind == _VARINT else (value << 1) ^ (value >> 63), bytearray()
        while number >= 128:
            out.append(number & 127 | 128)
            number >>= 7
        return bytes([*out, number])
    if kind == _BINARY:
        return _thrift(len(value), _VARINT) + value
    if kind == _LIST:
        element, values = value
        size = b"" if len(values) < 15 else _thrift(len(values), _VARINT)
        head = bytes([min(len(values), 15) << 4 | element]) + size
        return head + b"".join(_thrift(item, element) for item in values)
    out, last = bytearray(), 0
    for number, (inner, item) in sorted(value.items()):
        boolean = inner in (_TRUE, _FALSE)
        inner = (_TRUE if item else _FALSE) if boolean else inner
        near = 0 < number - last <= 15
        out += (
            bytes([(number - last) << 4 | inner])
            if near
            else bytes([inner]) + _thrift(number, _I16)
        )
        out += b"" if boolean else _thrift(item, inner)
        last = number
    return bytes(out) + b"\0"
