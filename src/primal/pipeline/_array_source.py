"""NumPy files as tables: ``.npy`` is one column of rows, ``.npz`` has a column for each array.

Arrays are read a piece at a time, not mapped: mapped pages would count as memory in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa

from primal.errors import DataError
from primal.pipeline._inputs import Source

# Name of the column of a .npy file.
ARRAY = "array"


def open_npy(path: str) -> Source:
    """Return a ``.npy`` file as a table of one column, called "array"."""
    return _source({ARRAY: _stored(lambda: Path(path).open("rb"), path)})


def open_npz(path: str) -> Source:
    """Return a ``.npz`` file as a table with a column for each array."""
    with ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        broken = archive.testzip() if members else None
    if not members:
        raise DataError("it holds no arrays")
    if broken:
        raise DataError(f"the array {broken!r} in it is damaged")
    return _source(
        {
            name.removesuffix(".npy"): _stored(lambda name=name: ZipFile(path).open(name), name)
            for name in members
        }
    )


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
        """Return rows first to last."""
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


def _source(arrays: dict[str, _Stored]) -> Source:
    counts = sorted({stored.n_rows for stored in arrays.values()})
    if len(counts) > 1:
        raise DataError(f"its arrays have different numbers of rows, {counts}")

    def tables(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        with ExitStack() as stack:
            chosen = [(arrays[name], stack.enter_context(arrays[name].open())) for name in names]
            for first in range(first_row, counts[0], n_rows):
                last = min(first + n_rows, counts[0])
                columns = [stored.column(opened, first, last) for stored, opened in chosen]
                yield pa.table(columns, names=names)

    schema = pa.schema([(name, stored.type) for name, stored in arrays.items()])
    return Source(schema, tables, counts[0])


def _stored(opener: Callable[[], Any], name: str) -> _Stored:
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    with opener() as opened:
        version = np.lib.format.read_magic(opened)
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
