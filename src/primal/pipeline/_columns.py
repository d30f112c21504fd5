"""Which columns are encoded and which are kept, found in the first file that has them."""

from __future__ import annotations

import fnmatch
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from primal.errors import DataError, ParameterError
from primal.pipeline._array_source import ARRAY
from primal.pipeline._inputs import InputFile
from primal.pipeline._rows import check_columns, column_array, width_of
from primal.pipeline._sources import Source, check_names, listed, open_source, reading

# Column of the output.
FEATURES = "features"


def checked_names(what: str, given: object) -> tuple[str, ...]:
    """Return names given as one, several or None, which stands for none."""
    names = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        raise ParameterError(f"{what} must be a name or a list of names, got {given!r}.")
    return tuple(names)


def find_columns(
    files: tuple[InputFile, ...],
    patterns: tuple[str, ...],
    keep: tuple[str, ...] = (),
    *,
    d: int | None = None,
    on_error: str = "raise",
) -> tuple[tuple[str, ...], int, pa.Schema]:
    """Return the columns of x, d and the kept types, of the first file that has values.

    Patterns are names or such as ``"x*"``; none for files of one column or one matrix. Rows must
    have d numbers, by default as many as the first has. With ``on_error="raise"`` the first file
    must be the one.
    """
    failure: DataError | None = None
    for file in files:
        try:
            source = open_source(file)
            with reading(file.path):
                names = _chosen(patterns, source.schema, keep)
                check_names(source.schema, keep)
                fields = [source.schema.field(name) for name in keep]
                kept = pa.schema([(field.name, _known_type(field.type)) for field in fields])
                if keep:
                    _check_kept(kept)
                width = _n_inputs(source, names, d)
        except DataError as error:
            if on_error == "raise":
                raise
            failure = failure or error
            continue
        if width:
            return names, width, kept
        # An empty file says nothing; the next one may.
        named = f"{file.path}: column {names[0]!r}"
        failure = failure or DataError(f"{named} holds no values, so their number is not known.")
    if len(files) == 1 and failure is not None:
        raise failure
    raise DataError(f"none of the {len(files)} files can be read; the first: {failure}")


def _chosen(patterns: tuple[str, ...], schema: pa.Schema, keep: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that patterns name, each once, in the order of the patterns."""
    if not patterns:
        matrices = [field.name for field in schema if pa.types.is_fixed_size_list(field.type)]
        if matrices != [ARRAY] and len(schema.names) != 1:
            raise DataError(f"say which columns to encode; it has {listed(schema.names)}")
        patterns = (schema.names[0],)
    chosen: dict[str, None] = {}
    for pattern in patterns:
        found = [pattern] if pattern in schema.names else []
        found = found or [
            name for name in schema.names if fnmatch.fnmatchcase(name, pattern) and name not in keep
        ]
        if not found:
            raise DataError(f"it has no column {pattern!r}, only {listed(schema.names)}")
        chosen |= dict.fromkeys(found)
    check_names(schema, chosen)
    check_columns(schema, tuple(chosen))
    return tuple(chosen)


def _n_inputs(source: Source, names: tuple[str, ...], d: int | None) -> int:
    """Return how many numbers a row has, 0 where no row is there to tell."""
    widths = [width_of(source.schema.field(name).type) for name in names]
    if len(names) > 1:
        if any(width != 1 for width in widths):
            raise DataError(f"take one column of lists, or several of numbers: {listed(names)}")
        found = len(names)
    elif widths[0] is not None:
        found = widths[0]
    elif d is not None:  # lists of another length are bad rows
        return d
    else:
        found = 0
        for table in source.tables(list(names), 0, 1024):
            lengths = pc.call_function("list_value_length", [column_array(table, names[0])])
            full = lengths.filter(pc.call_function("greater", [lengths, 0]))
            if len(full):
                return full[0].as_py()
    if d is not None and found != d:
        raise DataError(f"{listed(names)} hold {found} numbers in a row, and the map takes {d}")
    return found


def _check_kept(kept: pa.Schema) -> None:
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), kept):
            pass
    except pa.ArrowException as error:
        raise DataError(f"a kept column has a type that Parquet does not hold: {error}") from None


def _known_type(kind: pa.DataType) -> Any:
    """Return a type that holds the same values, and that Parquet and Arrow's functions know.

    Categories are numbered with room for those of other files, and views (what Polars writes)
    become plain text or bytes.
    """
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _known_type(kind.value_type), kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(_known_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_known_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _known_type(part.type)) for part in kind])
    return kind
