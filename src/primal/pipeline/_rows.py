"""From a table to a matrix of numbers, and the rows that do not fit into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from primal.errors import DataError

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
    names: tuple[str, ...] = columns
    if len(arrays) == 1 and _is_list(arrays[0].type):
        x, problems = _from_lists(arrays[0], columns[0], d)
        names = tuple(f"{columns[0]}[{j}]" for j in range(d))
    else:
        found = [_numbers(array, name) for name, array in zip(columns, arrays, strict=True)]
        problems = [problem for _, bad in found for problem in bad]
        x = np.empty(
            (table.num_rows, len(found)), dtype=np.result_type(*(values for values, _ in found))
        )
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
    """Return a column in another type; values that it cannot hold become null, and a problem."""
    if array.type == target:
        return array, []
    found, bad = _cast(array, target, name)
    return found, bad + _changed(array, found, name, {problem.row for problem in bad})


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


def check_columns(schema: pa.Schema, columns: tuple[str, ...], d: int | None = None) -> None:
    """Raise DataError unless columns are of types that hold numbers, d in a row if given."""
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    for name in columns:
        kind = schema.field(name).type
        inner = kind.value_type if _is_list(kind) or pa.types.is_dictionary(kind) else kind
        if not any(test(inner) for test in (*known, _is_text, pa.types.is_null)):
            raise DataError(f"column {name!r} has the type {kind}, which holds no numbers.")
        if d is None:
            continue
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
        plain, bad = _exact_integers(array, name)
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


def _exact_integers(array: pa.Array, name: str) -> tuple[pa.Array, list[Problem]]:
    filled = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    large = (filled > _LARGEST_EXACT_INTEGER) | (filled < -_LARGEST_EXACT_INTEGER)
    reason = "an integer beyond 2**53, which float64 cannot hold"
    bad = [Problem(row, name, str(filled[row]), reason) for row in np.flatnonzero(large).tolist()]
    mask = large | array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(filled.astype(np.float64), mask=mask), bad


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


def _changed(before: pa.Array, after: pa.Array, name: str, known: set[int]) -> list[Problem]:
    """Return the values that another type holds, but not as they were.

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
    return [
        Problem(row, name, _shown(before[row].as_py()), reason) for row in lost if row not in known
    ]


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
