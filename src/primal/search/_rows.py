"""Rows of codes that grow batch by batch, their ids, and both on disk or from Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from primal._checks import one_of, raised_as, require_memory
from primal._extras import require
from primal._files import FolderFormat, open_regular, parsed_json
from primal.errors import DataError, MissingPackageError, ParameterError, PrimalError
from primal.search._codes import STORED, Map, checked_map, is_waves, n_columns

# Parts below this many rows are joined when more rows come, so that there are never many.
_PART_ROWS = 1 << 16
_LARGEST_ID = 2**63 - 2  # one more must fit, for the next row
# A small JSON file that names the arrays beside it.
_FORMAT = FolderFormat("index.json", "primal index", 3)
_METADATA_KEY = b"primal"


class Rows:
    """Rows in the order in which they were appended, in parts, which are only ever joined."""

    def __init__(self, *parts: np.ndarray) -> None:
        self.parts: list[np.ndarray] = []
        for part in parts:
            self.append(part)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def append(self, codes: np.ndarray) -> None:
        """Append rows, which must not be changed afterwards."""
        if not len(codes):
            return
        parts = self.parts
        parts.append(codes)
        # As in a binary counter: every row is copied at most once for each doubling.
        while len(parts) > 1 and len(parts[-2]) <= min(len(parts[-1]), _PART_ROWS):
            last = parts.pop()
            parts[-1] = np.concatenate([parts[-1], last])

    def at(self, indices: np.ndarray) -> np.ndarray:
        ends = np.cumsum([len(part) for part in self.parts])
        owners = np.searchsorted(ends, indices, side="right")
        out = np.empty((len(indices), self.parts[0].shape[1]), dtype=self.parts[0].dtype)
        for number, part in enumerate(self.parts):
            mine = owners == number
            out[mine] = part[indices[mine] - (ends[number] - len(part))]
        return out

    def remove(self, kept: np.ndarray) -> None:
        parts, self.parts = self.parts, []
        for part in parts:
            mine, kept = kept[: len(part)], kept[len(part) :]
            self.append(part if mine.all() else part[mine])


class Ids:
    """Whole numbers of rows, each once, in the order of the rows; `next` is what the next row gets.

    It is the number after the largest that there has ever been: that of a removed row is not used
    again. As long as nobody gives or removes any, they are the numbers of rows, and not stored.
    """

    def __init__(self) -> None:
        self.next = 0
        self._stored: Rows | None = None
        self._sorted: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def restored(cls, values: np.ndarray | None, next_id: object, n_rows: int) -> Ids:
        """Return ids from what `stored` returned, and `next`; reject what cannot be some."""
        ids, given, most = cls(), None, n_rows
        if values is not None:
            if values.shape != (n_rows, 8) or values.dtype != np.uint8:
                raise DataError(f"{values.dtype} {values.shape} are not the ids of {n_rows} rows.")
            given, most = np.ascontiguousarray(values).view("<i8")[:, 0], _LARGEST_ID + 1
        ids.append(n_rows, given)
        if type(next_id) is not int or not ids.next <= next_id <= most:
            raise DataError(f"the next id must be from {ids.next} to {most}, got {next_id!r}.")
        ids.next = next_id
        return ids

    @property
    def stored(self) -> np.ndarray | None:
        """The ids as bytes, uint8 of shape (n, 8), lowest first; None for the numbers of rows."""
        if self._stored is None:
            return None
        return self.values.astype("<i8").view(np.uint8).reshape(-1, 8)

    @property
    def values(self) -> np.ndarray:
        """All ids in the order of the rows, int64."""
        if self._stored is None:
            return np.arange(self.next)
        return np.concatenate([np.empty((0, 1), dtype=np.int64), *self._stored.parts])[:, 0]

    def append(self, n: int, ids: object = None) -> None:
        """Add n rows, with given ids, which no row may have yet, or the next ones."""
        self._sorted = None
        if ids is None and self._stored is None:
            self.next += n
            return
        if ids is None and self.next + n > _LARGEST_ID + 1:
            raise DataError(
                f"ids after {self.next - 1} would be beyond 2**63 - 2: give those of the {n} new "
                "rows yourself."
            )
        new = np.arange(self.next, self.next + n) if ids is None else self._checked(ids, n)
        if self._stored is None:
            self._stored = Rows(self.values[:, None])
        self._stored.append(new[:, None])
        self.next = max(self.next, int(new.max(initial=-1)) + 1)

    def at(self, rows: np.ndarray) -> np.ndarray:
        if self._stored is None or not rows.size:
            return rows
        return self._stored.at(rows.ravel())[:, 0].reshape(rows.shape)

    def rows_of(self, ids: object, name: str = "ids") -> np.ndarray:
        """Return the rows that have these ids, of which all must be there, in the same shape."""
        wanted = _whole_numbers(ids, name)
        if self._sorted is None:
            order = np.argsort(self.values)
            self._sorted = self.values[order], order
        known, order = self._sorted
        flat = wanted.ravel()
        # Past the end where all are smaller: compare with the last one instead.
        near = np.minimum(np.searchsorted(known, flat), max(0, len(known) - 1))
        missing = flat[known[near] != flat] if len(known) else flat
        if len(missing):
            raise DataError(f"no row of the index has the id {missing[0]}.")
        return order[near].reshape(wanted.shape)

    def remove(self, kept: np.ndarray) -> None:
        self._stored = Rows(self.values[kept][:, None])
        self._sorted = None

    def _checked(self, ids: object, n: int) -> np.ndarray:
        new = np.atleast_1d(_whole_numbers(ids))
        if new.shape != (n,):
            raise DataError(f"ids must be one for each of {n} rows, got shape {new.shape}.")
        if n and (new.min() < 0 or new.max() > _LARGEST_ID):
            raise DataError(f"ids must be from 0 to 2**63 - 2, got {new.min()} to {new.max()}.")
        unique, counts = np.unique(new, return_counts=True)
        if len(unique) < n:
            raise DataError(f"every row needs an id of its own, got {unique[counts > 1][0]} twice.")
        if n and unique[0] < self.next:
            taken = unique[np.isin(unique, self.values)]
            if len(taken):
                raise DataError(f"a row with the id {taken[0]} is there already: remove it first.")
        return new


def _whole_numbers(ids: object, name: str = "ids") -> np.ndarray:
    with raised_as(DataError, f"{name} must be whole numbers, got {type(ids).__name__}"):
        array = np.asarray(ids)
    if array.size and (
        array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max() > _LARGEST_ID)
    ):
        raise DataError(
            f"{name} must be whole numbers below 2**63 - 1, got {array.dtype}: {ids!r:.60}"
        )
    return array.astype(np.int64)


def save(folder: Path, m: Map, stored: str, parts: Sequence[np.ndarray], ids: Ids) -> None:
    none = np.empty((0, n_columns(stored, m.D // 2)), dtype=STORED[stored])
    arrays = {"codes": parts or [none]}
    if ids.stored is not None:
        arrays["ids"] = [ids.stored]
    _FORMAT.save(folder, {"map": m.spec, "stored": stored, "next_id": ids.next}, arrays)


def load(folder: Path, *, verify: bool) -> tuple[Map, str, np.ndarray, Ids]:
    """Return the map, what is stored, the memory-mapped codes and the ids of a saved index."""
    fields, arrays = _FORMAT.load(folder, mapped_from=0, verify=verify)
    what = f"the index in {folder} is damaged"
    with raised_as(DataError, what, keep=(DataError, MissingPackageError)):
        stored = one_of("stored", fields["stored"], STORED)
        m, codes = checked_map(fields["map"]), arrays["codes"]
        shape = (len(codes), n_columns(stored, m.D // 2))
        if codes.shape != shape or codes.dtype != STORED[stored]:
            raise DataError(
                f"{folder} holds {codes.dtype} {codes.shape} where its index has {STORED[stored]} "
                f"{shape}: save the index again."
            )
        ids = Ids.restored(arrays.get("ids"), fields["next_id"], len(codes))
    return m, stored, codes, ids


def read_parquet(path: Path, column: str) -> tuple[Map, str, Iterator[np.ndarray]]:
    """Return the map, what is stored, and the codes of each row group, which must agree on both."""
    if not isinstance(column, str):
        raise ParameterError(f"column must be a name, got {column!r}.")
    paths = sorted(path.glob("[!_]*.parquet")) if path.is_dir() else [path]
    if not paths:
        raise DataError(f"{path} is a folder without Parquet files.")
    m, stored = _described_by(_opened(paths[0], column), paths[0])
    width = n_columns(stored, m.D // 2) * STORED[stored].itemsize

    def groups() -> Iterator[np.ndarray]:
        for one in paths:
            file = _opened(one, column)
            if _described_by(file, one) != (m, stored):
                raise DataError(f"{one} has other codes than {paths[0]}: index them apart.")
            with _unreadable(one):
                for number in range(file.num_row_groups):
                    n_rows = file.metadata.row_group(number).num_rows
                    require_memory(n_rows * width, f"a group of {n_rows} rows of {one}")
                    group = file.read_row_group(number, columns=[column])
                    yield _codes(group.column(0), m.D // 2, stored, one)

    return m, stored, groups()


def _opened(path: Path, column: str) -> Any:
    parquet = require("pyarrow.parquet", "reading Parquet")
    with _unreadable(path):
        with open_regular(path):  # pyarrow would wait for somebody to write to a pipe
            pass
        file = parquet.ParquetFile(path)
    names = file.schema_arrow.names
    if names.count(column) != 1:
        found = f"{names.count(column)} columns" if column in names else "no column"
        raise DataError(f"{path} has {found} {column!r}: choose one of {', '.join(names)}.")
    return file


def _described_by(file: Any, path: Path) -> tuple[Map, str]:
    try:
        metadata = file.schema_arrow.metadata or {}
        written = parsed_json(metadata[_METADATA_KEY], f"the metadata of {path}")
        spec, stored = written["spec"], written["stored"]  # the pipeline says more
    except (AttributeError, KeyError, TypeError, DataError):
        raise DataError(
            f"{path} does not say how its codes were made: its schema needs the metadata key "
            "'primal' with JSON of the fields 'spec' and 'stored'."
        ) from None
    with raised_as(DataError, f"the metadata of {path} are wrong", keep=(MissingPackageError,)):
        return checked_map(spec), one_of("stored", stored, STORED)


def _codes(column: Any, n_frequencies: int, stored: str, path: Path) -> np.ndarray:
    columns, dtype = n_columns(stored, n_frequencies), STORED[stored]
    array = column.combine_chunks()
    flat = np.empty(0, dtype=dtype)
    if len(array):
        # A slice or a list of bytes has offsets; flatten() respects them.
        nested = hasattr(array.type, "value_type") and hasattr(array, "flatten")
        flat = array.flatten().to_numpy(zero_copy_only=False) if nested else flat
        if (
            not nested
            or array.null_count
            or flat.dtype != dtype
            or flat.size != len(array) * columns
        ):
            raise DataError(
                f"{path} has a column of {array.type} with {array.null_count} nulls where "
                f"{stored!r} needs lists of {columns} {dtype}."
            )
    codes = flat.reshape(-1, columns)
    if not is_waves(stored) or not len(codes):
        return codes
    # The pipeline may have scaled waves to the length 1; an index keeps them at sqrt(k).
    with np.errstate(all="ignore"):  # what is not finite is rejected by the index
        length = np.linalg.norm(codes[0].astype(np.float64))
        scale = np.float32(np.sqrt(n_frequencies) / length)
        return codes if abs(scale - 1.0) < 1e-3 else (codes * scale).astype(dtype)


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    """Raise what pyarrow raises, all of it OSError or ValueError, as DataError."""
    try:
        yield
    except PrimalError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"cannot read {path}: {' '.join(str(error).split())}.") from None
