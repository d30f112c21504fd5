"""Arrow columns as matrices of floats, with NaN where there is no number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from primal._checks import raised_as
from primal.errors import DataError

_LISTS = pa.ListType, pa.LargeListType, pa.FixedSizeListType


def names_of(batch: Any) -> list[str]:
    return list(getattr(getattr(batch, "schema", None), "names", ()))


def column(batch: Any, name: str) -> Any:
    found = names_of(batch)
    if found.count(name) != 1:
        raise DataError(f"batches must be Arrow tables with one column {name!r}, got {found}.")
    return batch.column(name)


def plain(values: Any) -> pa.Array:
    """Return one array without chunks, extension type or dictionary."""
    with raised_as(DataError, "columns must be Arrow arrays"):
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        values = values if isinstance(values, pa.Array) else pa.array(values)
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def matrix(columns: Sequence[pa.Array], names: Sequence[str], d: int) -> np.ndarray:
    """Return floats of shape (n, d), of d columns of numbers or one column of lists."""
    lists, is_list = columns[0], isinstance(columns[0].type, _LISTS)
    if len(columns) == d and (d > 1 or not is_list):
        return np.stack([numbers(c, name) for c, name in zip(columns, names, strict=True)], axis=1)
    if pa.types.is_null(lists.type):
        return np.full((len(lists), d), np.nan)
    if not is_list:
        raise DataError(
            f"column {names[0]!r} must contain lists of {d} numbers, got {lists.type}: cast it to "
            f"pa.list_(pa.float32(), {d}), or name {d} columns of numbers."
        )
    lengths = pc.list_value_length(lists)  # type: ignore[missing-attribute]
    fits = np.asarray(pc.fill_null(lengths, -1)) == d
    if fits.all():
        return numbers(lists.flatten(), names[0]).reshape(-1, d)
    x = np.full((len(fits), d), np.nan)
    x[fits] = numbers(lists.filter(pa.array(fits)).flatten(), names[0]).reshape(-1, d)
    return x


def numbers(values: pa.Array, name: str) -> np.ndarray:
    """Return floats, NaN for nulls and for integers that float64 may have rounded."""
    values = plain(values)
    kind = values.type
    if pa.types.is_floating(kind):
        return values.to_numpy(zero_copy_only=False)
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise DataError(f"column {name!r} must contain numbers, got {kind}: cast it to double.")
    found = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.where(np.abs(found) < 2.0**53, found, np.nan)


def bad_row(
    row: int, names: Sequence[str], columns: Sequence[pa.Array], x: np.ndarray, limit: np.ndarray
) -> DataError:
    """Return the error for row x (d,), whose values are those of `columns`, of length 1."""
    j = int(np.argmax(np.where(np.isfinite(x), np.abs(x), np.inf)))
    i = min(j, len(names) - 1)
    place, value = names[i], columns[i][0].as_py()
    if isinstance(value, list) and len(value) == len(x):
        place, value = f"{place}[{j}]", value[j]
    return DataError(
        f"row {row} of this batch cannot be encoded, {place!r} is {value!r:.60}: rows must have "
        f"{len(x)} finite numbers up to {limit.flat[min(j, limit.size - 1)]:.3g}, integers below "
        "2**53. Correct or filter the row, or pass on_error='null'."
    )
