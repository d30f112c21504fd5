"""Checks at the public edge: each returns a clean value or raises a clear error."""

import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from primal._hash import is_date, is_missing
from primal._parallel import over_rows
from primal.errors import DataError, MemoryLimitError, ParameterError, PrimalError

T = TypeVar("T")
# Beyond this a float64 no longer holds every integer.
_LARGEST_EXACT_INTEGER = 2**53
# Between these no engine's float64 steps overflow, and none underflows where it could decide a
# bit. Rows of unscaled frequencies have lengths from 2**-55 (the smallest quantile, d = 1) to
# 2**67 (Cauchy quantiles of 2**30 inputs) and sums of at most 2**82; errors are 2**-53 of them,
# and are taken in units of 2**-64 turn: from 2**-108 to 2**146 times sigma, where float64 has
# 2**-1022 to 2**1023. 1e100 is below 2**333, so much room is left for other bases.
_SCALE_RANGE = (1e-100, 1e100)

try:  # bytes of this machine; 2**63 where the system cannot tell
    _TOTAL_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
except (AttributeError, ValueError, OSError):
    _TOTAL_MEMORY = 2**63

# Multiplications and additions that one call may take: about a day of one processor.
_MOST_STEPS = 1 << 46
# Whole numbers beyond this are no floats, and nobody reads more of them in a message.
_LARGEST_SAID = 10**300


@contextmanager
def raised_as(
    kind: type[PrimalError], what: str, *, keep: tuple[type[Exception], ...] = (PrimalError,)
) -> Iterator[None]:
    """Raise whatever a wrong value raises inside as one error of ours, which begins with `what`.

    Values that come from a file or a stranger can be wrong in more ways than can be listed; what
    wrong values raise can be. Errors of `keep` stay what they are.
    """
    try:
        yield
    except keep:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise kind(f"{what}: {error or type(error).__name__}") from error


def whole_number(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    """Return `value` as an int from `least` to `most`; booleans and 3.0 are rejected."""
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be a whole number, got {value!r}.")
    if isinstance(value, np.ndarray):
        reject_masked(name, value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(
            f"{name} must be a whole number, got {value!r} of type "
            f"{type(value).__name__}: pass an int."
        ) from None
    if number < least:
        raise ParameterError(f"{name} must be at least {least}, got {number}.")
    if most is not None and number > most:
        raise ParameterError(f"{name} must be at most {most}, got {number}.")
    return number


def even_dimension(D: object, *, name: str = "D", or_else: str = "") -> int:
    """Return D as an even int of at least 2; the advice for an odd one may end with `or_else`."""
    number = whole_number(name, D, least=1)
    if number % 2:
        alternatives = f"{number - 1} or {number + 1}" if number > 1 else "2"
        raise ParameterError(
            f"{name} must be even (cosines and sines come in pairs), got {number}: use "
            f"{alternatives}{or_else}."
        )
    return number


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    options = tuple(choices)
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ParameterError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def instance_of(name: str, value: object, *kinds: type) -> None:
    """Raise ParameterError unless `value`, which may be a secret, is of one of our own types."""
    if not isinstance(value, kinds):
        named = " or ".join(kind.__name__ for kind in kinds)
        raise ParameterError(f"{name} must be of type {named}, got {type(value).__name__}.")


def flag(name: str, value: object) -> bool:
    """Return `value` as a bool; arrays and other things that are merely true are rejected."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def callback(name: str, value: Callable[..., T] | None) -> Callable[..., T] | None:
    """Return `value` if it can be called or is None."""
    if value is not None and not callable(value):
        raise ParameterError(f"{name} must be a function or None, got {value!r}.")
    return value


def file_path(name: str, value: object) -> Path:
    """Return `value` as a path; only strings and paths are."""
    if not isinstance(value, (str, os.PathLike)) or not str(value) or "\0" in str(value):
        raise ParameterError(f"{name} must be a path, got {value!r}.")
    try:
        os.fsencode(value)
    except ValueError:
        raise ParameterError(
            f"{name} must be a path that this system can name, got {value!r}: use characters that "
            "have UTF-8 text."
        ) from None
    return Path(value)


def positive_scale(name: str, value: object) -> float:
    """Return `value` as a positive, finite float."""
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise ParameterError(f"{name} must be a number, got {value!r}.")
    if isinstance(value, np.ndarray):
        reject_masked(name, value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ParameterError(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(number) or number <= 0:
        raise ParameterError(
            f"{name} must be positive and finite, got {number!r}: for example 1.0."
        )
    return number


def real_number(name: str, value: object, *, above: float, below: float) -> float:
    """Return `value` as a float strictly between two limits."""
    number = math.nan
    if isinstance(value, np.ndarray):
        reject_masked(name, value)
    if not isinstance(value, (bool, np.bool_, str, bytes)):
        with suppress(TypeError, ValueError, OverflowError, RuntimeError):
            number = float(value)  # type: ignore[arg-type]
    if not above < number < below:
        raise ParameterError(
            f"{name} must be a number strictly between {above:g} and {below:g}, got {value!r}."
        )
    return number


def fixed_point(name: str, value: object, *dtypes: type, ndim: int | None = None) -> np.ndarray:
    """Return `value` if it is an array of turns in one of these unsigned types."""
    if type(value) is not np.ndarray:
        reject_masked(name, value)
    if (
        not isinstance(value, (np.ndarray, np.generic))
        or value.dtype not in dtypes
        or ndim not in (None, value.ndim)
    ):
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        names = " or ".join(dtype.__name__ for dtype in dtypes)
        axes = "" if ndim is None else f" with {ndim} axis" + "es" * (ndim > 1)
        raise DataError(f"{name} must be an array of {names}{axes}, got {found}.")
    return value  # type: ignore[bad-return]  # scalars of NumPy behave like arrays


def scales(sigma: object, n_frequencies: int) -> float | tuple[float, ...]:
    """Return sigma as one float, or as one float per frequency, each from 1e-100 to 1e100."""
    reject_masked("sigma", sigma)
    if isinstance(sigma, np.ndarray) and sigma.ndim == 0:
        sigma = sigma.item()
    elif hasattr(sigma, "__array__"):  # also of other libraries
        with raised_as(ParameterError, "sigma must be numbers"):
            sigma = np.asarray(sigma) if np.ndim(sigma) else sigma  # type: ignore[bad-argument-type]
    several = isinstance(sigma, (Sequence, np.ndarray)) and not isinstance(sigma, (str, bytes))
    given: dict[str, Any] = {"sigma": sigma}
    if several:
        nested = any(np.ndim(value) for value in sigma)
        if nested or len(sigma) != n_frequencies:
            shape = np.shape(sigma) if isinstance(sigma, np.ndarray) else (len(sigma),)
            raise ParameterError(
                f"sigma must be one number or one per frequency (D/2 = {n_frequencies}), "
                f"got {'nested values' if nested else 'values'} of shape {shape}."
            )
        given = {f"sigma[{i}]": value for i, value in enumerate(sigma)}
    found, (smallest, largest) = tuple(positive_scale(*one) for one in given.items()), _SCALE_RANGE
    for one in found:
        if not smallest <= one <= largest:
            raise ParameterError(
                f"sigma must be from {smallest:g} to {largest:g}, got {one!r}: scale x instead."
            )
    return found if several else found[0]


def real_array(name: str, value: object, *, last: int | None = None) -> np.ndarray:
    """Return `value` as an array of finite real numbers, its last axis of length `last`.

    The array keeps its type (float16, float32, float64, integers or booleans, all of which
    convert to float64 without rounding) and is not copied. Integers beyond 2**53, which float64
    cannot hold, and masked values are rejected too.
    """
    return sized_array(name, value, last=last)[0]


def wave_array(name: str, value: object, **options: Any) -> np.ndarray:
    """Return cosines and sines as an array of floats, checked as by `real_array`.

    Integers and booleans are waves that something has rounded: their phases are wrong, or belong to
    another scale.
    """
    array = real_array(name, value, **options)
    if array.dtype.kind != "f":
        raise DataError(
            f"{name} must contain cosines and sines as floats, got {array.dtype}: convert them to "
            "float32, and undo the scale that made integers of them."
        )
    return array


def sized_array(name: str, value: object, *, last: int | None = None) -> tuple[np.ndarray, float]:
    """Return what `real_array` does, and the largest size of a number in it (0.0 for none)."""
    if type(value) is np.ndarray:
        array = value
    else:
        reject_masked(name, value)
        if isinstance(value, range):  # NumPy would write all of it
            n = (value.stop - value.start) // value.step
            require_memory(8 * n, f"{name} with {n} numbers")
        with raised_as(DataError, f"{name} is not a rectangular array of numbers"):
            array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        if array.dtype == object:  # also what becomes of integers that int64 cannot hold
            reject_lost_values(name, array)
        example = array.ravel()[0] if array.size else value
        raise DataError(
            f"{name} must hold real numbers, got {array.dtype} such as {example!r}: "
            "convert it to float32 or float64."
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise DataError(f"{name} has dtype {array.dtype}: convert it to float64 first.")
    if last is not None and (array.ndim == 0 or array.shape[-1] != last):
        raise DataError(
            f"{name} must have {last} values along its last axis, got shape {array.shape}."
        )
    if array.size == 0:
        return array, 0.0
    # NaN and infinity show up here.
    small = array.ndim < 2 or array.size < 1 << 18
    high, low = (array.max().item(), array.min().item()) if small else _extremes(array)
    if array.dtype.kind in "iu":
        _reject_large_integers(name, (high, low))
    largest = max(float(high), -float(low))
    if not largest < math.inf:
        bad = np.unravel_index(np.argmin(np.isfinite(array)), array.shape)
        raise DataError(
            f"{name} holds {array[bad]} at {_place(bad)}: "
            "remove or fill such values before encoding."
        )
    if type(value) is not np.ndarray and largest >= _LARGEST_EXACT_INTEGER:
        reject_lost_values(name, value)  # integers among floats: NumPy has rounded them
    return array, largest


def _extremes(array: np.ndarray) -> tuple[Any, Any]:
    """Return the largest and the smallest number of an array, in pieces that a cache holds."""
    found = []

    def work(first: int, last: int) -> None:
        found.append((array[first:last].max(), array[first:last].min()))

    over_rows(len(array), max(1, (1 << 16) * len(array) // array.size), work)
    highs, lows = zip(*found, strict=True)
    return np.max(highs).item(), np.min(lows).item()


def real_matrix(name: str, value: object) -> np.ndarray:
    """Return `value` as an array of finite real numbers with two axes, none of length zero."""
    array = real_array(name, value)
    if array.ndim != 2 or array.size == 0:
        raise DataError(f"{name} must have rows and columns, got shape {array.shape}.")
    return array


def reject_lost_values(name: str, value: object, *, as_floats: bool = True) -> None:
    """Raise DataError for what a conversion to an array would lose without a word.

    That is masked values, and, if it becomes one of floats, integers beyond 2**53, dates and
    durations: in an array, in a list, or in a column of a table whose other columns are floats.
    """
    reject_masked(name, value)
    if not as_floats:
        return
    if isinstance(value, (list, tuple)):
        value = np.asarray(value, dtype=object)
    columns = getattr(value, "columns", None)
    parts = [(name, value)]
    if columns is not None:
        parts = [(f"column {c!r} of {name}", np.asarray(value[c])) for c in columns]  # type: ignore[not-subscriptable]
    for said, part in parts:
        if isinstance(part, np.ndarray) and part.size and part.dtype.kind in "iuOmM":
            if part.ndim and part.dtype.kind in "OmM":
                reject_objects(said, part)
            by_size = part.ravel() if part.dtype == object else (part.max(), part.min())
            _reject_large_integers(said, by_size)


def reject_objects(name: str, array: np.ndarray, *, dates: bool = False) -> None:
    """Raise DataError for values that stand for none, and for dates and durations unless allowed.

    NumPy takes dates for integers of some unit, and errors about missing values of pandas do not
    name their row.
    """
    for place, item in enumerate(array.ravel()):
        if not isinstance(item, float) and is_missing(item):
            index = np.unravel_index(place, array.shape)
            where = f"row {index[0]}" if array.ndim == 1 else _place(index)
            raise DataError(f"{name} contains {item} at {where}: remove or fill such values first.")
        if not dates and is_date(item):
            raise DataError(
                f"{name} contains dates or durations, such as {item!r}: count them in a unit, for "
                "instance days."
            )


def positions(value: object, name: str = "positions") -> np.ndarray:
    """Return integer positions as an array of a NumPy integer type, not copied if it is one."""
    reject_masked(name, value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        array = value
    else:
        with raised_as(DataError, f"{name} must be integers, got {type(value).__name__}"):
            array = np.asarray(value, dtype=object)
        for place, item in enumerate(array.ravel()):
            if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
                raise DataError(
                    f"{name} must be integers, got {item!r} of type {type(item).__name__} "
                    f"at flat index {place}: round or cast it first."
                )
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    largest, smallest = int(array.max()), int(array.min())
    if largest > 2**63 or smallest < -(2**63):
        worst = largest if largest > 2**63 else smallest
        raise DataError(f"{name} must lie in [-2**63, 2**63], got {worst}.")
    if array.dtype == object:
        wrapped = [int(item) & (2**64 - 1) for item in array.ravel()]
        return np.array(wrapped, dtype=np.uint64).reshape(array.shape)
    return array


def output_array(out: object, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return `out` if it can take the result, or a new array when it is None."""
    if out is None:
        require_memory(math.prod(shape) * dtype.itemsize, f"an output of shape {shape}")
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.dtype != dtype or out.shape != shape:
        found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise DataError(f"out must be a {dtype} array of shape {shape}, got {found}.")
    if not out.flags.writeable or not out.flags.c_contiguous:
        raise DataError("out must be writeable and C-contiguous: pass np.ascontiguousarray(out).")
    return out


def require_memory(n_bytes: int, what: str) -> None:
    """Raise MemoryLimitError when `what` would not fit into this machine's memory."""
    if n_bytes > _TOTAL_MEMORY:
        raise MemoryLimitError(
            f"{what} needs {min(n_bytes, _LARGEST_SAID) / 1e9:.3g} GB and this machine has "
            f"{_TOTAL_MEMORY / 1e9:.3g} GB: ask for less, or work in slices."
        )


def require_work(n_steps: int, what: str) -> None:
    """Raise ParameterError when `what` would take more than about a day."""
    if n_steps > _MOST_STEPS:
        raise ParameterError(
            f"{what} needs {float(min(n_steps, _LARGEST_SAID)):.2g} multiplications, more than a "
            "day of work: ask for less."
        )


def _reject_large_integers(name: str, values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, (int, np.integer)) and abs(int(value)) > _LARGEST_EXACT_INTEGER:
            raise DataError(
                f"{name} holds the integer {value}, beyond 2**53, which float64 cannot hold "
                "exactly: scale it down first."
            )


def reject_masked(name: str, value: object) -> None:
    """Raise DataError for a masked array, or a list of them, if any of its values is missing.

    Whatever converts a value to an array or a number would take what is under the mask.
    """
    masked = sys.modules.get("numpy.ma")  # before it is imported there are no masked arrays
    if masked is None or type(value) is np.ndarray:
        return
    for part in (value, *value) if isinstance(value, (list, tuple)) else (value,):
        if isinstance(part, masked.MaskedArray) and masked.is_masked(part):
            mask = masked.getmaskarray(part)
            first = np.unravel_index(np.argmax(mask), mask.shape)
            raise DataError(
                f"{name} is masked: {np.count_nonzero(mask)} of {mask.size} values are missing, "
                f"the first at {_place(first)}: remove or fill them first."
            )


def _place(index: Sequence[int | np.integer]) -> str:
    if len(index) == 0:
        return "the only entry"
    if len(index) == 1:
        return f"column {index[0]}"
    row = index[0] if len(index) == 2 else tuple(int(i) for i in index[:-1])
    return f"row {row}, column {index[-1]}"
