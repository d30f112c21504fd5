"""The compact protocol of Thrift, in which Parquet describes itself: read, change, write.

A struct is a dict {field number: (type, value)}, a list a pair (element type, values). Nothing
is interpreted, so fields of later versions of the format survive.
"""

from __future__ import annotations

import struct as packing
from typing import Any

__all__ = ["BINARY", "I16", "I32", "I64", "LIST", "STRUCT", "Reader", "write_value", "write_varint"]

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE = 0, 1, 2, 3, 7
I16, I32, I64, BINARY, LIST, _SET, STRUCT = 4, 5, 6, 8, 9, 10, 12
_INTEGERS = (I16, I32, I64)


class Reader:
    """Reads values one after the other from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def value(self, kind: int) -> Any:
        """Return the next value, of a type known from its field or list."""
        if kind in (_TRUE, _FALSE):  # a boolean outside of a field has its own byte
            return self._byte() == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in _INTEGERS:
            number = self._varint()
            return (number >> 1) ^ -(number & 1)
        if kind == _DOUBLE:
            return packing.unpack("<d", self._bytes(8))[0]
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            return head & 15, [self.value(head & 15) for _ in range(size)]
        if kind == STRUCT:
            return self._struct()
        raise ValueError(f"type {kind} does not occur in a Parquet footer")

    def _struct(self) -> dict[int, tuple[int, Any]]:
        fields: dict[int, tuple[int, Any]] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self.value(I16)
            fields[number] = (kind, kind == _TRUE if kind in (_TRUE, _FALSE) else self.value(kind))
        return fields

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return bytes(self._data[self._at - size : self._at])


def write_value(kind: int, value: Any, out: bytearray) -> None:
    """Append one value to `out`; the inverse of :meth:`Reader.value`."""
    if kind in (_TRUE, _FALSE):
        out.append(_TRUE if value else _FALSE)
    elif kind == _BYTE:
        out.append(value)
    elif kind in _INTEGERS:
        write_varint((value << 1) ^ (value >> 63), out)
    elif kind == _DOUBLE:
        out += packing.pack("<d", value)
    elif kind == BINARY:
        write_varint(len(value), out)
        out += value
    elif kind == STRUCT:
        _write_struct(value, out)
    else:
        element, values = value
        out.append(min(len(values), 15) << 4 | element)
        if len(values) >= 15:
            write_varint(len(values), out)
        for item in values:
            write_value(element, item, out)


def _write_struct(fields: dict[int, tuple[int, Any]], out: bytearray) -> None:
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < number - last <= 15:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            write_value(I16, number, out)
        if kind not in (_TRUE, _FALSE):
            write_value(kind, value, out)
        last = number
    out.append(_STOP)


def write_varint(number: int, out: bytearray) -> None:
    """Append a whole number, seven bits to a byte, the lowest first."""
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
