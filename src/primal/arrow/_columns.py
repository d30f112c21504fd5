"""Arrow columns as matrices of floats, with NaN where there is no number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from primal.errors import DataError

_LARGEST_INTEGER = 2**53
_LISTS: tuple[Callable[[Any], bool], ...] = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
)


def as_arrow(batch: Any) -> Any:
    """Return a RecordBatch or Table as it is; a Table of a dict of columns or of a DataFrame."""
    return batch if isinstance(batch, (pa.RecordBatch, pa.Table)) else pa.table(batch)


def column(batch: Any, name: str) -> Any:
    found = batch.schema.get_all_field_indices(name)
    if len(found) != 1:
        raise DataError(
            f"the batch must have one column {name!r}, got {batch.schema.names!r:.200}: rename or "
            "select its columns."
        )
    return batch.column(found[0])


def plain(values: Any) -> pa.Array:
    """Return one array without chunks, extension type or dictionary."""
    if isinstance(values, pa.ChunkedArray):
        chunks = values.chunks
        values = pa.concat_arrays(chunks) if chunks else pa.array([], values.type)
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def matrix(columns: Sequence[pa.Array], names: Sequence[str], d: int) -> np.ndarray:
    """Return x of shape (n, d), float32 or float64, of d columns or one column of lists."""
    kind = columns[0].type
    if len(columns) == d and not any(is_list(kind) for is_list in _LISTS):
        found = [numbers(values, name) for values, name in zip(columns, names, strict=True)]
        return np.stack(found, axis=1)
    if pa.types.is_null(kind):
        return np.full((len(columns[0]), d), np.nan)
    if len(columns) != 1 or not any(is_list(kind) for is_list in _LISTS):
        raise DataError(
            f"column {names[0]!r} must contain lists of {d} numbers, got {kind}: cast it to "
            f"pa.list_(pa.float32(), {d}), or name {d} columns of numbers."
        )
    lists = columns[0]
    if lists.null_count == 0 and pa.types.is_fixed_size_list(kind) and kind.list_size == d:
        return numbers(lists.flatten(), names[0]).reshape(-1, d)
    lengths = pc.fill_null(pc.list_value_length(lists), -1)  # type: ignore[missing-attribute]
    fits = lengths.to_numpy(zero_copy_only=False) == d
    lists = lists if fits.all() else lists.filter(pa.array(fits))
    values = numbers(lists.flatten(), names[0]).reshape(-1, d)
    if fits.all():
        return values
    x = np.full((len(fits), d), np.nan, dtype=values.dtype)
    x[fits] = values
    return x


def numbers(values: pa.Array, name: str) -> np.ndarray:
    """Return numbers as float32 or float64, NaN for nulls and integers that float64 cannot hold."""
    values = plain(values)
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_floating(kind):
        found = values.to_numpy(zero_copy_only=False)
        return found.astype(np.float32) if found.dtype == np.float16 else found
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise DataError(f"column {name!r} must contain numbers, got {kind}: cast it to double.")
    found = pc.fill_null(values, pa.scalar(0).cast(kind)).to_numpy(zero_copy_only=False)
    lost = values.is_null().to_numpy(zero_copy_only=False)
    if not pa.types.is_boolean(kind):
        lost = lost | (found > _LARGEST_INTEGER) | (found < -_LARGEST_INTEGER)
    return np.where(lost, np.nan, found.astype(np.float64))


def bad_row(
    row: int, names: Sequence[str], columns: Sequence[pa.Array], x: np.ndarray
) -> DataError:
    """Return the error for row x (d,), which came from row 0 of these columns."""
    j = int(np.argmax(np.where(np.isfinite(x), np.abs(x), np.inf)))
    which = j if len(names) > 1 else 0
    where, value = names[which], columns[which][0].as_py()
    if isinstance(value, list) and len(value) == len(x):
        where, value = f"{where}[{j}]", value[j]
    reason = ""
    if isinstance(value, list):
        reason = f" of length {len(value)}, not {len(x)}"
    elif np.isfinite(x[j]):
        reason = ", too large for a phase"
    return DataError(
        f"row {row} of this batch cannot be encoded, {where!r} is {value!r:.60}{reason}: correct "
        "or filter the row, or pass on_error='null'."
    )
