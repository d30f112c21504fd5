"""Which columns of a table are encoded; their matrix of numbers, and rows that do not fit."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from primal._checks import one_of
from primal.errors import DataError, ParameterError
from primal.pipeline._inputs import InputFile
from primal.pipeline._sources import ARRAY, Source, check_names, listed, open_source, reading

# Column of the output.
FEATURES = "features"
ON_ERROR = ("raise", "skip", "null")
_LARGEST_EXACT_INTEGER = 2**53
_SHOWN_CHARACTERS = 60
_CACHED_VALUES = 1 << 16
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_NO_CAST = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)


@dataclass(frozen=True)
class Problem:
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
    failure: DataError | None = None
    for file in files:
        try:
            source = open_source(file)
            with reading(file.path):
                schema = source.schema
                if not patterns:
                    lists = [one.name for one in schema if pa.types.is_fixed_size_list(one.type)]
                    if lists != [ARRAY] and len(schema.names) != 1:
                        raise DataError(
                            f"say which columns to encode; it has {listed(schema.names)}"
                        )
                names = ()
                for pattern in patterns or schema.names[:1]:
                    matching = [one for one in schema.names if fnmatch.fnmatchcase(one, pattern)]
                    found = [one for one in matching if one not in keep]
                    found = [pattern] if pattern in schema.names else found
                    if not found:
                        only = listed(schema.names)
                        raise DataError(f"it has no column {pattern!r}, only {only}")
                    names = tuple(dict.fromkeys((*names, *found)))
                check_names(schema, names)
                widths = _widths(schema, names)
                check_names(schema, keep)
                kept = pa.schema([(name, _known_type(schema.field(name).type)) for name in keep])
                if keep:
                    try:
                        pq.ParquetWriter(pa.BufferOutputStream(), kept).close()
                    except pa.ArrowException as error:
                        raise DataError(
                            f"a kept column has a type that Parquet does not hold: {error}"
                        ) from None
                if len(names) > 1 and any(width not in (0, 1) for width in widths):
                    raise DataError(
                        f"take one column of lists, or several of numbers: {listed(names)}"
                    )
                width = len(names) if len(names) > 1 or widths[0] == 0 else widths[0]
                if width is None:  # lists of another length than d are bad rows
                    width = d or _first_length(source, names[0])
                elif d is not None and width != d:
                    raise DataError(
                        f"{listed(names)} hold {width} numbers in a row, and the map takes {d}"
                    )
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


def matrix(
    batch: pa.RecordBatch, columns: tuple[str, ...], d: int, path: str = ""
) -> tuple[np.ndarray, list[Problem]]:
    """Return the numbers of one column of lists, or of d columns, and what is wrong with them.

    x is float32 or float64 of shape (n, d), with 0 in place of everything that is not a finite
    number. There is at most one problem for each row, in the order of the rows. DataError, which
    names the file, for columns that do not hold d numbers in a row.
    """
    try:
        widths = _widths(batch.schema, columns, d)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    arrays = [batch.column(name) for name in columns]
    names: tuple[str, ...] = columns
    if widths[0] != 0 and len(arrays) == 1:
        x, problems = _from_lists(arrays[0], columns[0], d)
        names = tuple(f"{columns[0]}[{j}]" for j in range(d))
    else:
        found = [_numbers(array, name) for name, array in zip(columns, arrays, strict=True)]
        problems = [problem for _, bad in found for problem in bad]
        x = np.empty((len(batch), len(found)), np.result_type(*(values for values, _ in found)))
        # A few rows at a time, which stay in the processor's cache.
        step = max(16, _CACHED_VALUES // len(found))
        for first in range(0, len(x), step):
            for j, (values, _) in enumerate(found):
                x[first : first + step, j] = values[first : first + step]
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
    reason, known = f"not of the type {target}", {problem.row for problem in bad}
    bad += [
        Problem(row, name, _shown(array[row].as_py()), reason) for row in lost if row not in known
    ]
    return found, bad


def _widths(schema: pa.Schema, columns: tuple[str, ...], d: int | None = None) -> list[int | None]:
    """Return the length of lists in each column, None where it may differ, 0 for plain values.

    DataError unless they are of types that hold numbers, d in a row if given.
    """
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    widths: list[int | None] = []
    for name in columns:
        kind, alone = schema.field(name).type, len(columns) == 1
        width = kind.list_size if pa.types.is_fixed_size_list(kind) else 0
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            width = None
        inner = kind.value_type if width != 0 or pa.types.is_dictionary(kind) else kind
        if not any(test(inner) for test in (*known, *_TEXT, pa.types.is_null)):
            raise DataError(f"column {name!r} has the type {kind}, which holds no numbers.")
        plain = width in (0, 1)
        if d is not None and ((alone and plain and d > 1) or not (alone or plain)):
            wanted = f"lists of {d} numbers" if alone else "numbers"
            raise DataError(f"column {name!r} has the type {kind}, not {wanted}.")
        widths.append(width)
    return widths


def _from_lists(array: pa.Array, name: str, d: int) -> tuple[np.ndarray, list[Problem]]:
    lengths = pc.fill_null(pc.call_function("list_value_length", [array]), -1).to_numpy(
        zero_copy_only=False
    )
    fits = lengths == d
    problems = []
    for row in np.flatnonzero(~fits).tolist():
        shown, reason = "null", "missing"
        if lengths[row] >= 0:
            shown, reason = _shown(array[row].as_py()), f"{lengths[row]} values, {d} expected"
        problems.append(Problem(row, name, shown, reason))
    whole = bool(fits.all())
    values, bad = _numbers((array if whole else array.filter(pa.array(fits))).flatten(), name)
    rows = np.flatnonzero(fits)
    for one in bad:
        row, entry = int(rows[one.row // d]), f"{name}[{one.row % d}]"
        problems.append(Problem(row, entry, one.value, one.reason))
    if whole:
        return values.reshape(-1, d), problems
    x = np.zeros((len(array), d), dtype=values.dtype)
    x[fits] = values.reshape(-1, d)
    return x, problems


def _numbers(array: pa.Array, name: str) -> tuple[np.ndarray, list[Problem]]:
    """Return values as float32 or float64, and those that are none."""
    bad: list[Problem] = []
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
        known = {problem.row for problem in bad}
        missing = np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False)).tolist()
        bad += [Problem(row, name, "null", "missing") for row in missing if row not in known]
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
