"""An index on disk, and codes from a column of a Parquet file."""

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
from primal.search._rows import Ids

# A small JSON file that names the arrays beside it.
_FORMAT = FolderFormat("index.json", "primal index", 3)
_METADATA_KEY = b"primal"


def save(folder: Path, m: Map, stored: str, parts: Sequence[np.ndarray], ids: Ids) -> None:
    """Write an index into a folder, in place of one that is there."""
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
    """Return the map, what is stored and the codes, one array for each row group.

    The parts of a folder, ``*.parquet``, must all say the same of their codes.
    """
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
    if column not in file.schema_arrow.names:
        raise DataError(
            f"{path} has no column {column!r}: choose one of {', '.join(file.schema_arrow.names)}."
        )
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
    """Return a chunked column of lists as rows of codes."""
    columns, dtype = n_columns(stored, n_frequencies), STORED[stored]
    array = column.combine_chunks()
    flat = np.empty(0, dtype=dtype)
    if len(array):
        # A slice or a list of bytes has offsets; flatten() respects them.
        nested = hasattr(array, "flatten") and not array.null_count
        flat = array.flatten().to_numpy(zero_copy_only=False) if nested else flat
        if not nested or flat.dtype != dtype or flat.size != len(array) * columns:
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
