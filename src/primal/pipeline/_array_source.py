"""NumPy files as tables: ``.npy`` is one column of rows, ``.npz`` has a column for each array.

Arrays are read a piece at a time, not mapped: mapped pages would count as memory in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa

from primal.errors import DataError

__all__ = ["ARRAY", "open_npy", "open_npz"]

# Name of the column of a .npy file.
ARRAY = "array"


def open_npy(path: str) -> _ArraySource:
    """Return a ``.npy`` file as a table of one column, called "array"."""
    return _ArraySource({ARRAY: _stored(lambda: Path(path).open("rb"), path)})


def open_npz(path: str) -> _ArraySource:
    """Return a ``.npz`` file as a table with a column for each array."""
    with ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".npy")]
        broken = archive.testzip() if members else None
    if not members:
        raise DataError("it holds no arrays")
    if broken:
        raise DataError(f"the array {broken!r} in it is damaged")
    return _ArraySource(
        {
            name.removesuffix(".npy"): _stored(lambda name=name: ZipFile(path).open(name), name)
            for name in members
        }
    )


@dataclass(frozen=True)
class _Stored:
    """Where an array lies in a file, and what it is."""

    open: Callable[[], Any]
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    offset: int

    @property
    def width(self) -> int | None:
        """Columns of a matrix; None for a vector."""
        return self.shape[1] if len(self.shape) == 2 else None

    @property
    def type(self) -> pa.DataType:
        element = pa.from_numpy_dtype(self.dtype.newbyteorder("="))
        return element if self.width is None else pa.list_(element, self.width)

    def rows(self, opened: Any, first: int, last: int) -> np.ndarray:
        """Return rows first to last, C-contiguous and in the byte order of this machine."""
        width = self.width or 1
        if self.fortran and self.width is not None:
            found = np.empty((last - first, width), dtype=self.dtype)
            for j in range(width):
                found[:, j] = self._items(opened, j * self.shape[0] + first, last - first)
        else:
            found = self._items(opened, first * width, (last - first) * width)
        return found.astype(self.dtype.newbyteorder("="), copy=False)

    def _items(self, opened: Any, first: int, count: int) -> np.ndarray:
        opened.seek(self.offset + first * self.dtype.itemsize)
        data = opened.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise DataError("the file ends before its array does")
        return np.frombuffer(data, dtype=self.dtype)


class _ArraySource:
    run_rows = 1

    def __init__(self, arrays: dict[str, _Stored]) -> None:
        self._arrays = arrays
        self.schema = pa.schema([(name, stored.type) for name, stored in arrays.items()])
        counts = {stored.shape[0] for stored in arrays.values()}
        if len(counts) > 1:
            raise DataError(f"its arrays have different numbers of rows, {sorted(counts)}")
        self.n_rows: int = counts.pop()

    def tables(self, names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        files = [self._arrays[name].open() for name in names]
        try:
            for first in range(first_row, self.n_rows, n_rows):
                last = min(first + n_rows, self.n_rows)
                columns = [
                    self._column(name, opened, first, last)
                    for name, opened in zip(names, files, strict=True)
                ]
                yield pa.table(columns, names=names)
        finally:
            for opened in files:
                opened.close()

    def _column(self, name: str, opened: Any, first: int, last: int) -> pa.Array:
        stored = self._arrays[name]
        values = pa.array(stored.rows(opened, first, last).reshape(-1))
        if stored.width is None:
            return values
        return pa.FixedSizeListArray.from_arrays(values, stored.width)


def _stored(opener: Callable[[], Any], name: str) -> _Stored:
    with opener() as opened:
        version = np.lib.format.read_magic(opened)
        if version not in ((1, 0), (2, 0)):
            raise DataError(f"{name} has version {version} of the format, 1.0 or 2.0 is known")
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(opened)
        if dtype.kind not in "fiub" or dtype.itemsize > 8:
            raise DataError(f"{name} holds {dtype}, not real numbers of at most 64 bits")
        if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] == 0):
            raise DataError(f"{name} has the shape {shape}, not rows of numbers")
        stored = _Stored(opener, shape, fortran, dtype, opened.tell())
        expected = stored.offset + int(np.prod(shape, dtype=object)) * dtype.itemsize
        if opened.seek(0, 2) < expected:
            raise DataError("the file ends before its array does")
    return stored
