"""Codes from a column of a Parquet file, or of a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from primal._checks import one_of, raised_as, require_memory
from primal._extras import require
from primal._files import open_regular, parsed_json
from primal.errors import DataError, MissingPackageError, PrimalError
from primal.search._encoder import Encoder
from primal.search._kinds import KINDS, columns_of, is_waves

__all__ = ["read_parquet"]

_METADATA_KEY = b"primal"


def read_parquet(path: Path, column: str) -> tuple[Encoder, str, Iterator[np.ndarray]]:
    """Return the encoder, the kind of code and the codes, one array for each row group.

    A folder has parts, ``*.parquet``, which must all say the same of their codes.
    """
    paths = [path]
    if path.is_dir():
        paths = sorted(one for one in path.glob("*.parquet") if not one.name.startswith("_"))
    if not paths:
        raise DataError(f"{path} is a folder without Parquet files.")
    first = _opened(paths[0], column)
    encoder, kind = _described_by(first.schema_arrow.metadata or {}, paths[0])

    def groups() -> Iterator[np.ndarray]:
        for one in paths:
            file = _opened(one, column)
            if _described_by(file.schema_arrow.metadata or {}, one) != (encoder, kind):
                raise DataError(f"{one} has other codes than {paths[0]}: index them apart.")
            yield from _groups(file, column, encoder, kind, one)

    return encoder, kind, groups()


def _opened(path: Path, column: str) -> Any:
    parquet = _pyarrow_parquet()
    with _unreadable(path):
        with open_regular(path):  # pyarrow would wait for somebody to write to a pipe
            pass
        file = parquet.ParquetFile(path)
    if column not in file.schema_arrow.names:
        raise DataError(
            f"{path} has no column {column!r}: choose one of {', '.join(file.schema_arrow.names)}."
        )
    return file


def _groups(
    file: Any, column: str, encoder: Encoder, kind: str, path: Path
) -> Iterator[np.ndarray]:
    width = columns_of(kind, encoder.n_frequencies) * KINDS[kind].itemsize
    with _unreadable(path):
        for number in range(file.num_row_groups):
            n_rows = file.metadata.row_group(number).num_rows
            require_memory(n_rows * width, f"a group of {n_rows} rows of {path}")
            group = file.read_row_group(number, columns=[column])
            yield _codes(group.column(0), encoder, kind, path)


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    """Raise what pyarrow raises, all of it OSError or ValueError, as DataError."""
    try:
        yield
    except PrimalError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"cannot read {path}: {' '.join(str(error).split())}.") from None


def _described_by(metadata: dict[bytes, bytes], path: Path) -> tuple[Encoder, str]:
    try:
        written = parsed_json(metadata[_METADATA_KEY], f"the metadata of {path}")
        spec, kind = written["spec"], written["stored"]  # the pipeline says more
        scales = written.get("column_scales")
    except (AttributeError, KeyError, TypeError, DataError):
        raise DataError(
            f"{path} does not say how its codes were made: its schema needs the metadata key "
            "'primal' with JSON of the fields 'spec' and 'stored'."
        ) from None
    with raised_as(DataError, f"the metadata of {path} are wrong", keep=(MissingPackageError,)):
        kind = one_of("stored", kind, KINDS)
        return Encoder.from_spec({"map": spec, "column_scales": scales}), kind


def _codes(column: Any, encoder: Encoder, kind: str, path: Path) -> np.ndarray:
    """Return a chunked column of lists as rows of codes."""
    columns = columns_of(kind, encoder.n_frequencies)
    array = column.combine_chunks()
    # A slice or a list of bytes has offsets; flatten() respects them.
    flat = np.frombuffer(b"", dtype=KINDS[kind])
    if len(array):
        nested = hasattr(array, "flatten") and not array.null_count
        flat = array.flatten().to_numpy(zero_copy_only=False) if nested else flat
        if not nested or flat.dtype != KINDS[kind] or flat.size != len(array) * columns:
            raise DataError(
                f"{path} has a column of {array.type} with {array.null_count} nulls where "
                f"{kind!r} needs lists of {columns} {KINDS[kind]}."
            )
    codes = flat.reshape(-1, columns)
    if not is_waves(kind) or not len(codes):
        return codes
    # The pipeline may have scaled waves to the length 1; an index keeps them at sqrt(k).
    with np.errstate(all="ignore"):  # what is not finite is refused by the index
        length = np.linalg.norm(codes[0].astype(np.float64))
        scale = np.float32(np.sqrt(encoder.n_frequencies) / length)
        return codes if abs(scale - 1.0) < 1e-3 else (codes * scale).astype(KINDS[kind])


def _pyarrow_parquet() -> Any:
    return require("pyarrow.parquet", "reading Parquet")
