"""Which columns of a table are encoded; their matrix of numbers, and rows that do not fit."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from primal._checks import one_of
from primal.errors import DataError, ParameterError
from primal.pipeline._inputs import InputFile
from primal.pipeline._sources import Source, listed, open_source, reading

# Column of the output.
FEATURES = "features"
ON_ERROR = ("raise", "skip", "null")
_LARGEST_EXACT_INTEGER = 2**53
_SHOWN_CHARACTERS = 60
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_NUMBERS = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal),
    *(*_TEXT, pa.types.is_null),
)
_NO_CAST = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)


class Problem(NamedTuple):
    """Why a row, counted from the first of the table, cannot be encoded."""

    row: int
    column: str
    value: str
    reason: str


def find_columns(
    files: tuple[InputFile, ...],
    columns: Any,
    keep: Any = (),
    *,
    d: int | None = None,
    on_error: str = "raise",
) -> tuple[tuple[str, ...], int, pa.Schema]:
    """Return the columns of x, d and the kept types, of the first file that has values.

    Columns are names or patterns such as ``"x*"``, none for files of one column or one matrix;
    both they and `keep` are one, several or None. Rows must have d numbers, by default as many as
    the first has. With ``on_error="raise"`` the first file must be the one.
    """
    one_of("on_error", on_error, ON_ERROR)
    for what, given in (("columns", columns), ("keep", keep)):
        several = isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given)
        if not (several or given is None or isinstance(given, str)):
            raise ParameterError(f"{what} must be a name or a list of names, got {given!r}.")
    patterns, keep = ((one,) if isinstance(one, str) else one or () for one in (columns, keep))
    if FEATURES in keep:
        raise ParameterError(f"a kept column cannot be called {FEATURES!r}: rename it first.")
    if len(set(keep)) < len(keep):
        raise ParameterError(f"keep names a column twice: {', '.join(keep)}.")
    failures: list[DataError] = []
    for file in files:
        try:
            source = open_source(file, keep)
            with reading(file.path):
                schema = source.schema
                names = _chosen(schema, patterns, keep)
                width = _row_width(schema, names)
                if width is None:  # lists of another length than d are bad rows
                    width = d or _first_length(source, names[0])
                elif d not in (None, width):
                    raise DataError(
                        f"{listed(names)} hold {width} numbers in a row, and the map takes {d}"
                    )
                kept = pa.schema([(name, _known_type(schema.field(name).type)) for name in keep])
                if keep:
                    try:
                        pq.ParquetWriter(pa.BufferOutputStream(), kept).close()
                    except pa.ArrowException as error:
                        raise DataError(
                            f"a kept column has a type that Parquet does not hold: {error}"
                        ) from None
            if width:
                return names, width, kept
            # An empty file says nothing; the next one may.
            named = f"{file.path}: column {names[0]!r}"
            failures.append(DataError(f"{named} holds no values, so their number is not known."))
        except DataError as error:
            if on_error == "raise":
                raise
            failures.append(error)
    if len(files) == 1:
        raise failures[0]
    raise DataError(f"none of the {len(files)} files can be read; the first: {failures[0]}")


def _chosen(schema: pa.Schema, patterns: Sequence[str], keep: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that patterns stand for; without any, the one column or the one matrix."""
    there = schema.names
    if not patterns:
        matrices = [one.name for one in schema if pa.types.is_fixed_size_list(one.type)]
        patterns = there if len(there) == 1 else matrices
        if len(patterns) != 1:
            raise DataError(f"say which columns to encode; it has {listed(there)}")
    names: list[str] = []
    for pattern in patterns:
        matching = [one for one in there if fnmatch.fnmatchcase(one, pattern) and one not in keep]
        found = [pattern] if pattern in there else matching
        if not found:
            raise DataError(f"it has no column {pattern!r}, only {listed(there)}")
        names += found
    twice = [name for name, count in Counter(there).items() if count > 1 and name in names]
    if twice:
        raise DataError(f"it has several columns {twice[0]!r}, only {listed(there)}")
    return tuple(dict.fromkeys(names))


def _row_width(schema: pa.Schema, columns: Sequence[str]) -> int | None:
    """Return how many numbers a row has, None where only its list will tell.

    DataError unless the columns are one of lists of numbers, or several of numbers.
    """
    width: int | None = 1
    for name in columns:
        kind = schema.field(name).type
        fixed = pa.types.is_fixed_size_list(kind)
        varying = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        width = kind.list_size if fixed else None if varying else 1
        inner = kind.value_type if fixed or varying or pa.types.is_dictionary(kind) else kind
        if not any(test(inner) for test in _NUMBERS):
            raise DataError(f"column {name!r} has the type {kind}, which holds no numbers.")
        if width != 1 and len(columns) > 1:
            raise DataError(
                f"column {name!r} has the type {kind}, not numbers: take several columns of "
                "numbers, or one of lists."
            )
    return width if len(columns) == 1 else len(columns)


def _first_length(source: Source, name: str) -> int:
    """Return the length of the first list that is not empty, 0 where there is none."""
    for batch in source.batches([name], 0, 1024):
        lengths = pc.call_function("list_value_length", [batch.column(name)])
        full = lengths.filter(pc.call_function("greater", [lengths, 0]))
        if len(full):
            return full[0].as_py()
    return 0


def _known_type(kind: pa.DataType) -> Any:
    """Return a type that holds the same values, and that Parquet and Arrow's functions know.

    Categories are numbered with room for those of other files, and views (what Polars writes)
    become plain text or bytes.
    """
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _known_type(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_known_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_known_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _known_type(part.type)) for part in kind])
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def matrix(
    batch: pa.RecordBatch, columns: tuple[str, ...], d: int, path: str = ""
) -> tuple[np.ndarray, list[Problem]]:
    """Return the numbers of one column of lists, or of d columns, and what is wrong with them.

    x is float32 or float64 of shape (n, d), with 0 in place of everything that is not a finite
    number. There is at most one problem for each row, in the order of the rows. DataError, which
    names the file, for columns that do not hold d numbers in a row.
    """
    try:
        width = _row_width(batch.schema, columns)
        if width == 1 and d > 1:
            kind = batch.schema.field(columns[0]).type
            raise DataError(f"column {columns[0]!r} has the type {kind}, not lists of {d} numbers.")
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    names: tuple[str, ...] = columns
    if len(columns) == 1 and width != 1:
        x, problems = _from_lists(batch.column(columns[0]), columns[0], d)
        names = tuple(f"{columns[0]}[{j}]" for j in range(d))
    else:
        found = [_numbers(batch.column(name), name) for name in columns]
        problems = [problem for _, bad in found for problem in bad]
        x = np.stack([values for values, _ in found], axis=1)
    finite = np.isfinite(x)
    if not finite.all():
        for row, j in np.argwhere(~finite).tolist():
            problems.append(Problem(row, names[j], str(x[row, j]), "not a finite number"))
        x = np.where(finite, x, x.dtype.type(0.0))
    first_of_row = {problem.row: problem for problem in reversed(problems)}
    return x, [first_of_row[row] for row in sorted(first_of_row)]


def converted(array: pa.Array, target: pa.DataType, name: str) -> tuple[pa.Array, list[Problem]]:
    """Return a column in another type; values that it cannot hold become null, and a problem.

    So do values that it holds, but not as they were. Rounding of floats is none; text that became
    a number is compared as that number.
    """
    if array.type == target:
        return array, []
    found, bad = _cast(array, target, name)
    if _is_text(array.type) or pa.types.is_nested(array.type):
        return found, bad
    try:
        if pa.types.is_floating(target):
            finite = pc.call_function("is_finite", [array.cast(pa.float64())])
            held = pc.call_function("is_finite", [found])
            same = pc.call_function("or", [pc.call_function("invert", [finite]), held])
        else:
            same = pc.call_function("equal", [found.cast(array.type), array])
    except _NO_CAST:
        return found, bad
    lost = np.flatnonzero(~pc.fill_null(same, True).to_numpy(zero_copy_only=False)).tolist()
    reason = f"not of the type {target}"
    return found, bad + [Problem(row, name, _shown(array[row].as_py()), reason) for row in lost]


def _from_lists(array: pa.Array, name: str, d: int) -> tuple[np.ndarray, list[Problem]]:
    lengths = pc.fill_null(pc.call_function("list_value_length", [array]), -1).to_numpy()
    fits = lengths == d
    rows, problems = np.flatnonzero(fits), []
    for row in np.flatnonzero(~fits).tolist():
        shown, reason = "null", "missing"
        if lengths[row] >= 0:
            shown, reason = _shown(array[row].as_py()), f"{lengths[row]} values, {d} expected"
        problems.append(Problem(row, name, shown, reason))
    values, bad = _numbers(array.filter(pa.array(fits)).flatten(), name)
    for one in bad:
        row, entry = int(rows[one.row // d]), f"{name}[{one.row % d}]"
        problems.append(Problem(row, entry, one.value, one.reason))
    x = np.zeros((len(array), d), dtype=values.dtype)
    x[rows] = values.reshape(-1, d)
    return x, problems


def _numbers(array: pa.Array, name: str) -> tuple[np.ndarray, list[Problem]]:
    """Return values as float32 or float64, and those that are none; the first one found counts."""
    bad: list[Problem] = []
    if pa.types.is_fixed_size_list(array.type):  # of one number each
        array = pc.call_function("list_element", [array, 0])
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        plain = array
    elif pa.types.is_integer(array.type):
        filled = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
        large = (filled > _LARGEST_EXACT_INTEGER) | (filled < -_LARGEST_EXACT_INTEGER)
        reason = "an integer beyond 2**53, which float64 cannot hold"
        rows = np.flatnonzero(large).tolist()
        bad = [Problem(row, name, str(filled[row]), reason) for row in rows]
        mask = large | array.is_null().to_numpy(zero_copy_only=False)
        plain = pa.array(filled.astype(np.float64), mask=mask)
    else:
        plain, bad = _cast(array, pa.float64(), name)
    if plain.null_count:
        missing = np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False)).tolist()
        bad += [Problem(row, name, "null", "missing") for row in missing]
        plain = pc.fill_null(plain, pa.scalar(0.0).cast(plain.type))
    values = plain.to_numpy(zero_copy_only=False)
    narrow = values.dtype in (np.float16, np.float32)
    return values.astype(np.float32 if narrow else np.float64, copy=False), bad


def _is_text(kind: pa.DataType) -> bool:
    return any(test(kind) for test in _TEXT)


def _cast(array: pa.Array, target: pa.DataType, name: str) -> tuple[pa.Array, list[Problem]]:
    """Return values in another type, null where that fails, and those that failed."""
    if _is_text(array.type) and not _is_text(target):
        array = pc.call_function("utf8_trim_whitespace", [array.cast(pa.large_string())])
    try:
        return array.cast(target), []
    except _NO_CAST:
        pass
    values: list[Any] = []
    bad = []
    wanted = "not a number" if pa.types.is_floating(target) else f"not of the type {target}"
    for row, value in enumerate(array):
        try:
            values.append(value.cast(target).as_py())
        except _NO_CAST:
            values.append(None)
            bad.append(Problem(row, name, _shown(value.as_py()), wanted))
    return pa.array(values, target), bad


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
