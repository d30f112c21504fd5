"""Codes from a column of a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from primal._checks import one_of
from primal._errors import DataError, SpecError
from primal._extras import require
from primal.search._encoder import Encoder
from primal.search._kinds import KINDS, columns_of, is_waves

__all__ = ["read_parquet"]

_METADATA_KEY = b"primal"


def read_parquet(path: Path, column: str) -> tuple[Encoder, str, Iterator[np.ndarray]]:
    """Return the encoder, the kind of code and the codes, one array for each row group."""
    parquet = _pyarrow_parquet()
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:  # every error of pyarrow derives from one of these
        raise DataError(f"cannot read {path}: {error}.") from None
    encoder, kind = _described_by(file.schema_arrow.metadata or {}, path)
    if column not in file.schema_arrow.names:
        raise DataError(
            f"{path} has no column {column!r}: choose one of {', '.join(file.schema_arrow.names)}."
        )
    groups = (file.read_row_group(i, columns=[column]) for i in range(file.num_row_groups))
    return encoder, kind, (_codes(group.column(0), encoder, kind, path) for group in groups)


def _described_by(metadata: dict[bytes, bytes], path: Path) -> tuple[Encoder, str]:
    try:
        written = json.loads(metadata[_METADATA_KEY])
        recipe = written.get("recipe", written)  # the pipeline says more than is needed here
        spec, kind = recipe["spec"], recipe["dtype"]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise SpecError(
            f"{path} does not say how its codes were made: its schema needs the metadata key "
            "'primal' with JSON of the fields 'spec' and 'dtype'."
        ) from None
    scales = recipe.get("column_scales")
    return Encoder.from_spec({"map": spec, "column_scales": scales}), one_of("dtype", kind, KINDS)


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
    length = np.linalg.norm(codes[0].astype(np.float64))
    scale = np.float32(np.sqrt(encoder.n_frequencies) / length)
    return codes if abs(scale - 1.0) < 1e-3 else (codes * scale).astype(KINDS[kind])


def _pyarrow_parquet() -> Any:
    return require("pyarrow.parquet", "reading Parquet")
