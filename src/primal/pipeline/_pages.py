"""The column of features as Parquet pages, written without a copy of the features.

A general writer works out levels for every value, which tell lists apart in a column of values.
Here all lists have one length, so the levels of a row are the same few bytes for every row, and
the values of float features are the memory that they lie in. What is written is plain Parquet
(data pages of version 1), readable by everything that reads the format.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from primal.pipeline._thrift import BINARY, I32, I64, LIST, STRUCT, write_value, write_varint

__all__ = ["ColumnChunk", "feature_chunk", "plain_bytes"]

# Numbers of the format (parquet.thrift): physical types, encodings, codecs.
_INT32, _FLOAT, _FIXED_LEN_BYTE_ARRAY = 1, 4, 7
_PLAIN, _RLE, _BYTE_STREAM_SPLIT = 0, 3, 9
_UNCOMPRESSED, _ZSTD = 0, 6
_DATA_PAGE = 0
_PHYSICAL = {"float32": _FLOAT, "float16": _FIXED_LEN_BYTE_ARRAY, "uint8": _INT32, "uint16": _INT32}
# Values of a page in bytes, about: what a reader holds at a time.
_PAGE_BYTES = 1 << 20


@dataclass(frozen=True)
class ColumnChunk:
    """The pages of one column of a row group.

    Attributes
    ----------
    pieces : tuple of bytes-like
        One after the other they are the chunk; some are views of the features.
    metadata : dict
        Its ``ColumnMetaData``, without the offset.
    """

    pieces: tuple[Any, ...]
    metadata: dict[int, tuple[int, Any]]


def feature_chunk(
    name: str, codes: np.ndarray, null: np.ndarray | None, *, nullable: bool
) -> ColumnChunk:
    """Return a column of lists, all of one length.

    Parameters
    ----------
    name : str
        Of the column, whose lists are non-null values called ``element``.
    codes : ndarray of shape (n, width), float32, float16, uint8 or uint16
    null : ndarray of n bool, or None
        Rows that are null; their values are left out.
    nullable : bool
        Whether the column allows null rows.

    Returns
    -------
    chunk : ColumnChunk
    """
    width = codes.shape[1]
    page_rows = max(1, _PAGE_BYTES // (width * max(4, codes.itemsize)))
    pieces: list[Any] = []
    stored = unpacked = 0
    for first in range(0, len(codes), page_rows):
        rows = slice(first, first + page_rows)
        absent = None if null is None else null[rows]
        head, *rest, n_unpacked = _page(codes[rows], absent, nullable)
        pieces += [head, *rest]
        stored += sum(len(piece) for piece in (head, *rest))
        unpacked += len(head) + n_unpacked
    packed = codes.dtype.kind == "u"
    encodings = [_RLE, _BYTE_STREAM_SPLIT if packed else _PLAIN]
    n_null = 0 if null is None else int(null.sum())
    path = [part.encode() for part in (name, "list", "element")]
    metadata = {
        1: (I32, _PHYSICAL[codes.dtype.name]),
        2: (LIST, (I32, encodings)),
        3: (LIST, (BINARY, path)),
        4: (I32, _ZSTD if packed else _UNCOMPRESSED),
        5: (I64, (len(codes) - n_null) * width + n_null),
        6: (I64, unpacked),
        7: (I64, stored),
    }
    return ColumnChunk(tuple(pieces), metadata)


def plain_bytes(codes: np.ndarray) -> memoryview:
    """Return the bytes of values, the lowest of each first; where they lie so, without a copy."""
    little = np.ascontiguousarray(codes, dtype=codes.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


def _page(codes: np.ndarray, null: np.ndarray | None, nullable: bool) -> tuple[Any, ...]:
    """Return the header and the pieces of a page, then its size unpacked, header apart."""
    width = codes.shape[1]
    if null is not None and null.any():
        codes = codes[~null]
    else:
        null = np.zeros(len(codes), dtype=bool)
    levels = _prefixed(_repetition_levels(null, width))
    levels += _prefixed(_definition_levels(null, width, 2 if nullable else 1))
    n_values = codes.size + int(null.sum())
    values = plain_bytes(codes)
    if codes.dtype.kind != "u":
        size = len(levels) + len(values)
        return _header(size, size, n_values, _PLAIN), levels, values, size
    # Parquet keeps small integers in 32 bits. The bytes of each place apart, zeros pack to nothing.
    places = np.frombuffer(values, dtype=np.uint8).reshape(-1, codes.itemsize).T
    unpacked = levels + places.tobytes() + bytes((4 - codes.itemsize) * codes.size)
    packed = pa.Codec("zstd", compression_level=1).compress(unpacked, asbytes=True)
    header = _header(len(unpacked), len(packed), n_values, _BYTE_STREAM_SPLIT)
    return header, packed, len(unpacked)


def _repetition_levels(null: np.ndarray, width: int) -> bytes:
    """Return 0 for what begins a row and 1 for the rest of it, in runs."""
    whole = _run(1, 0) + (_run(width - 1, 1) if width > 1 else b"")
    if not null.any():
        return whole * len(null)
    return b"".join(_run(1, 0) if one else whole for one in null.tolist())


def _definition_levels(null: np.ndarray, width: int, there: int) -> bytes:
    """Return `there` for a value and 0 for a null row, in runs."""
    runs = []
    for absent, rows in groupby(null.tolist()):
        n_rows = sum(1 for _ in rows)
        runs.append(_run(n_rows, 0) if absent else _run(n_rows * width, there))
    return b"".join(runs)


def _run(length: int, value: int) -> bytes:
    """Return a run of one value in the hybrid of run lengths and packed bits."""
    out = bytearray()
    write_varint(length << 1, out)
    return bytes(out) + bytes([value])


def _prefixed(levels: bytes) -> bytes:
    return len(levels).to_bytes(4, "little") + levels


def _header(n_unpacked: int, n_stored: int, n_values: int, encoding: int) -> bytes:
    data_page = {1: (I32, n_values), 2: (I32, encoding), 3: (I32, _RLE), 4: (I32, _RLE)}
    out = bytearray()
    write_value(
        STRUCT,
        {
            1: (I32, _DATA_PAGE),
            2: (I32, n_unpacked),
            3: (I32, n_stored),
            5: (STRUCT, data_page),
        },
        out,
    )
    return bytes(out)
