"""Checks at the public edge: each returns a clean value or raises a clear error."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from primal._errors import (
    DataError,
    DimensionError,
    MemoryLimitError,
    OptionError,
    PositionError,
    PrimalError,
    SigmaError,
)

# Beyond this a float64 no longer holds every integer.
_LARGEST_EXACT_INTEGER = 2**53
# Multiplications and additions that one call may take: about a day of one processor.
_MOST_STEPS = 1 << 46
# Whole numbers beyond this are no floats, and nobody reads more of them in a message.
_LARGEST_SAID = 10**300
# Up to here no product with a prime root or a quantile leaves the range of float64.
_LARGEST_SCALE = 1e300


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
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise kind(f"{what}: {error or type(error).__name__}") from error


def whole_number(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    """Return `value` as an int from `least` to `most`; booleans and 3.0 are refused."""
    if isinstance(value, (bool, np.bool_)):
        raise DimensionError(f"{name} must be a whole number, got {value!r}.")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DimensionError(
            f"{name} must be a whole number, got {value!r} of type "
            f"{type(value).__name__}: pass an int."
        ) from None
    if number < least:
        raise DimensionError(f"{name} must be at least {least}, got {number}.")
    if most is not None and number > most:
        raise DimensionError(f"{name} must be at most {most}, got {number}.")
    return number


def even_dimension(D: object) -> int:
    """Return D as an even int of at least 2."""
    number = whole_number("D", D, least=1)
    if number % 2:
        alternatives = f"{number - 1} or {number + 1}" if number > 1 else "2"
        raise DimensionError(
            f"D must be even (cosines and sines come in pairs), got {number}: use {alternatives}."
        )
    return number


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    options = tuple(choices)
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise OptionError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def positive_scale(name: str, value: object) -> float:
    """Return `value` as a positive, finite float."""
    if isinstance(value, (bool, np.bool_, str, bytes)):
        raise SigmaError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise SigmaError(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(number) or number <= 0:
        raise SigmaError(f"{name} must be positive and finite, got {number!r}: for example 1.0.")
    return number


def scales(sigma: object, n_frequencies: int) -> float | tuple[float, ...]:
    """Return sigma as one float, or as one float per frequency; at most 1e300 each."""
    checked = _scales(sigma, n_frequencies)
    largest = max(checked) if isinstance(checked, tuple) else checked
    if largest > _LARGEST_SCALE:
        raise SigmaError(
            f"sigma must be at most {_LARGEST_SCALE}, got {largest!r}: scale x instead."
        )
    return checked


def _scales(sigma: object, n_frequencies: int) -> float | tuple[float, ...]:
    if isinstance(sigma, np.ndarray) and sigma.ndim == 0:
        sigma = sigma.item()
    if not isinstance(sigma, (Sequence, np.ndarray)) or isinstance(sigma, (str, bytes)):
        return positive_scale("sigma", sigma)
    nested = any(np.ndim(value) for value in sigma)
    if nested or len(sigma) != n_frequencies:
        shape = np.shape(sigma) if isinstance(sigma, np.ndarray) else (len(sigma),)
        raise SigmaError(
            f"sigma must be one number or one per frequency (D/2 = {n_frequencies}), "
            f"got {'nested values' if nested else 'values'} of shape {shape}."
        )
    return tuple(positive_scale(f"sigma[{i}]", value) for i, value in enumerate(sigma))


def real_array(name: str, value: object, *, last: int | None = None) -> np.ndarray:
    """Return `value` as an array of finite real numbers, its last axis of length `last`.

    The array keeps its type (float16, float32, float64, integers or booleans, all of which
    convert to float64 without rounding) and is not copied.

    Raises
    ------
    DataError
        For text, objects, ragged lists or complex numbers; for a wrong last axis;
        for NaN or infinity (naming the first row and column); for integers
        beyond 2**53, which float64 cannot hold.
    """
    array = _as_numeric(name, value)
    if last is not None and (array.ndim == 0 or array.shape[-1] != last):
        raise DataError(
            f"{name} must have {last} values along its last axis, got shape {array.shape}."
        )
    if array.size == 0:
        return array
    largest, smallest = array.max(), array.min()  # NaN and infinity show up here
    if array.dtype.kind in "iu" and max(int(largest), -int(smallest)) > _LARGEST_EXACT_INTEGER:
        raise DataError(
            f"{name} holds the integer {max(int(largest), -int(smallest))}, beyond 2**53, which "
            "float64 cannot hold exactly: scale it down first."
        )
    if not (np.isfinite(largest) and np.isfinite(smallest)):
        bad = np.unravel_index(np.argmin(np.isfinite(array)), array.shape)
        raise DataError(
            f"{name} holds {array[bad]} at {_place(bad)}: "
            "remove or fill such values before encoding."
        )
    return array


def positions(value: object) -> np.ndarray:
    """Return integer positions as an array of a NumPy integer type, not copied if it is one.

    Raises
    ------
    PositionError
        For non-integers, and for integers outside [-2**63, 2**63].
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        array = value
    else:
        array = np.asarray(value, dtype=object)
        for place, item in enumerate(array.ravel()):
            if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
                raise PositionError(
                    f"positions must be integers, got {item!r} of type {type(item).__name__} "
                    f"at flat index {place}: round or cast it first."
                )
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    largest, smallest = int(array.max()), int(array.min())
    if largest > 2**63 or smallest < -(2**63):
        worst = largest if largest > 2**63 else smallest
        raise PositionError(f"positions must lie in [-2**63, 2**63], got {worst}.")
    if array.dtype == object:
        wrapped = [int(item) & (2**64 - 1) for item in array.ravel()]
        return np.array(wrapped, dtype=np.uint64).reshape(array.shape)
    return array


def output_array(out: object, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return `out` if it can take the result, or a new array when it is None."""
    if out is None:
        require_memory(math.prod(shape) * dtype.itemsize, f"an output of shape {shape}")
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray) or out.dtype != dtype or out.shape != shape:
        found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise DataError(f"out must be a {dtype} array of shape {shape}, got {found}.")
    if not out.flags.writeable or not out.flags.c_contiguous:
        raise DataError("out must be writeable and C-contiguous: pass np.ascontiguousarray(out).")
    return out


def require_memory(n_bytes: int, what: str) -> None:
    """Raise MemoryLimitError when `what` would not fit into this machine's memory."""
    total = total_memory()
    if n_bytes > total:
        raise MemoryLimitError(
            f"{what} needs {min(n_bytes, _LARGEST_SAID) / 1e9:.3g} GB and this machine has "
            f"{total / 1e9:.3g} GB: ask for less, or work in slices."
        )


def total_memory() -> int:
    """Return the bytes of memory that this machine has; 2**63 where the system cannot tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63


def require_work(n_steps: int, what: str) -> None:
    """Raise DimensionError when `what` would take more than about a day."""
    if n_steps > _MOST_STEPS:
        raise DimensionError(
            f"{what} needs {float(min(n_steps, _LARGEST_SAID)):.2g} multiplications, more than a "
            "day of work: ask for less."
        )


def _as_numeric(name: str, value: object) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} is not a rectangular array of numbers ({error}).") from None
    if array.dtype.kind not in "fiub":
        example = array.ravel()[0] if array.size else value
        raise DataError(
            f"{name} must hold real numbers, got {array.dtype} such as {example!r}: "
            "convert it to float32 or float64."
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise DataError(f"{name} has dtype {array.dtype}: convert it to float64 first.")
    return array


def _place(index: Sequence[int | np.integer]) -> str:
    if len(index) == 0:
        return "the only entry"
    if len(index) == 1:
        return f"column {index[0]}"
    row = index[0] if len(index) == 2 else tuple(int(i) for i in index[:-1])
    return f"row {row}, column {index[-1]}"
