"""From a table to a matrix of numbers, and the rows that do not fit into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from primal.errors import DataError

__all__ = [
    "Problem",
    "check_columns",
    "check_type",
    "column_array",
    "converted",
    "matrix",
    "width_of",
]

_LARGEST_EXACT_INTEGER = 2**53
_SHOWN_CHARACTERS = 60
_CACHED_VALUES = 1 << 16
_NO_CAST = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)


@dataclass(frozen=True)
class Problem:
    """Why a row, counted from the first of the table, cannot be encoded."""

    row: int
    column: str
    value: str
    reason: str


def matrix(table: pa.Table, columns: tuple[str, ...], d: int) -> tuple[np.ndarray, list[Problem]]:
    """Return the numbers of one column of lists, or of d columns, and what is wrong with them.

    x is float32 or float64 of shape (n, d), with 0 in place of everything that is not a finite
    number. There is at most one problem for each row, in the order of the rows.
    """
    arrays = [column_array(table, name) for name in columns]
    if len(arrays) == 1 and _is_list(arrays[0].type):
        x, problems = _from_lists(arrays[0], columns[0], d)
        names = [f"{columns[0]}[{j}]" for j in range(d)]
    else:
        parts, problems = [], []
        for name, array in zip(columns, arrays, strict=True):
            values, bad = _numbers(array)
            parts.append(values)
            problems += [Problem(row, name, shown, reason) for row, shown, reason in bad]
        x = _side_by_side(parts, table.num_rows)
        names = list(columns)
    finite = np.isfinite(x)
    if not finite.all():
        for row, j in np.argwhere(~finite).tolist():
            problems.append(Problem(row, names[j], str(x[row, j]), "not a finite number"))
        x = np.where(finite, x, x.dtype.type(0.0))
    return x, _first_of_each_row(problems)


def converted(array: pa.Array, target: pa.DataType, name: str) -> tuple[pa.Array, list[Problem]]:
    """Return a column in another type; values that it cannot hold become null, and a problem."""
    if array.type == target:
        return array, []
    found, bad = _cast(array, target)
    bad += _changed(array, found, {index for index, _, _ in bad})
    return found, [Problem(row, name, shown, reason) for row, shown, reason in bad]


def column_array(table: pa.Table, name: str) -> pa.Array:
    """Return a column as one array."""
    chunks = table.column(name).chunks
    if len(chunks) == 1:
        return chunks[0]
    return pa.concat_arrays(chunks) if chunks else pa.array([], table.schema.field(name).type)


def width_of(kind: pa.DataType) -> int | None:
    """Return how many numbers a value of this type holds; None where each value may differ."""
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size
    return None if _is_list(kind) else 1


def check_type(name: str, kind: pa.DataType) -> None:
    """Raise DataError unless a column of this type can hold numbers."""
    inner = kind.value_type if _is_list(kind) or pa.types.is_dictionary(kind) else kind
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    if not any(test(inner) for test in (*known, _is_text, pa.types.is_null)):
        raise DataError(f"column {name!r} has the type {kind}, which holds no numbers.")


def check_columns(schema: pa.Schema, columns: tuple[str, ...], d: int) -> None:
    """Raise DataError unless columns are of types that hold d numbers of a row."""
    for name in columns:
        kind = schema.field(name).type
        check_type(name, kind)
        alone, plain = len(columns) == 1, width_of(kind) == 1
        if (alone and plain and d > 1) or not (alone or plain):
            wanted = f"lists of {d} numbers" if alone else "numbers"
            raise DataError(f"column {name!r} has the type {kind}, not {wanted}.")


def _is_list(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def _from_lists(array: pa.Array, name: str, d: int) -> tuple[np.ndarray, list[Problem]]:
    lengths = pc.fill_null(pc.call_function("list_value_length", [array]), -1).to_numpy(
        zero_copy_only=False
    )
    fits = lengths == d
    problems = []
    for row in np.flatnonzero(~fits).tolist():
        if lengths[row] < 0:
            problems.append(Problem(row, name, "null", "missing"))
        else:
            shown = _shown(array[row].as_py())
            problems.append(Problem(row, name, shown, f"{lengths[row]} values, {d} expected"))
    whole = bool(fits.all())
    values, bad = _numbers((array if whole else array.filter(pa.array(fits))).flatten())
    rows = np.flatnonzero(fits)
    for flat, shown, reason in bad:
        problems.append(Problem(int(rows[flat // d]), f"{name}[{flat % d}]", shown, reason))
    if whole:
        return values.reshape(-1, d), problems
    x = np.zeros((len(array), d), dtype=values.dtype)
    x[fits] = values.reshape(-1, d)
    return x, problems


def _numbers(array: pa.Array) -> tuple[np.ndarray, list[tuple[int, str, str]]]:
    """Return values as float32 or float64, and (index, value, reason) of those that are none."""
    bad: list[tuple[int, str, str]] = []
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        plain = array
    elif pa.types.is_integer(array.type):
        plain, bad = _exact_integers(array)
    else:
        plain, bad = _cast(array, pa.float64())
    if plain.null_count:
        known = {index for index, _, _ in bad}
        missing = np.flatnonzero(plain.is_null().to_numpy(zero_copy_only=False)).tolist()
        bad += [(index, "null", "missing") for index in missing if index not in known]
        plain = pc.fill_null(plain, pa.scalar(0.0).cast(plain.type))
    values = plain.to_numpy(zero_copy_only=False)
    narrow = values.dtype in (np.float16, np.float32)
    return values.astype(np.float32 if narrow else np.float64, copy=False), bad


def _exact_integers(array: pa.Array) -> tuple[pa.Array, list[tuple[int, str, str]]]:
    filled = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    if not len(filled) or max(int(filled.max()), -int(filled.min())) <= _LARGEST_EXACT_INTEGER:
        return pa.array(filled.astype(np.float64), mask=array.is_null().to_numpy(False)), []
    large = (filled > _LARGEST_EXACT_INTEGER) | (filled < -_LARGEST_EXACT_INTEGER)
    reason = "an integer beyond 2**53, which float64 cannot hold"
    bad = [(index, str(filled[index]), reason) for index in np.flatnonzero(large).tolist()]
    mask = large | array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(filled.astype(np.float64), mask=mask), bad


def _cast(array: pa.Array, target: pa.DataType) -> tuple[pa.Array, list[tuple[int, str, str]]]:
    """Return values in another type, null where that fails, with (index, value, reason)."""
    if _is_text(array.type) and not _is_text(target):
        array = pc.call_function("utf8_trim_whitespace", [array.cast(pa.large_string())])
    try:
        return array.cast(target), []
    except _NO_CAST:
        pass
    values: list[Any] = []
    bad = []
    wanted = "not a number" if pa.types.is_floating(target) else f"not of the type {target}"
    for index, value in enumerate(array):
        try:
            values.append(value.cast(target))
        except _NO_CAST:
            values.append(None)
            bad.append((index, _shown(value.as_py()), wanted))
    return pa.array([None if v is None else v.as_py() for v in values], target), bad


def _changed(before: pa.Array, after: pa.Array, known: set[int]) -> list[tuple[int, str, str]]:
    """Return (index, value, reason) of values that another type holds, but not as they were.

    Rounding of floats is none; text that became a number is compared as that number.
    """
    if _is_text(before.type) or pa.types.is_nested(before.type):
        return []
    try:
        if pa.types.is_floating(after.type):
            finite = pc.call_function("is_finite", [before.cast(pa.float64())])
            held = pc.call_function("is_finite", [after])
            same = pc.call_function("or", [pc.call_function("invert", [finite]), held])
        else:
            same = pc.call_function("equal", [after.cast(before.type), before])
    except _NO_CAST:
        return []
    lost = np.flatnonzero(~pc.fill_null(same, True).to_numpy(zero_copy_only=False)).tolist()
    reason = f"not of the type {after.type}"
    return [(row, _shown(before[row].as_py()), reason) for row in lost if row not in known]


def _side_by_side(columns: list[np.ndarray], n: int) -> np.ndarray:
    """Return columns as a matrix; a few rows at a time, which stay in the processor's cache."""
    x = np.empty((n, len(columns)), dtype=np.result_type(*columns))
    step = max(16, _CACHED_VALUES // len(columns))
    for first in range(0, n, step):
        rows = slice(first, first + step)
        for j, values in enumerate(columns):
            x[rows, j] = values[rows]
    return x


def _first_of_each_row(problems: list[Problem]) -> list[Problem]:
    first: dict[int, Problem] = {}
    for problem in problems:
        first.setdefault(problem.row, problem)
    return [first[row] for row in sorted(first)]


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
