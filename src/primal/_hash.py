"""A hash of names and numbers that is the same in every process and on every machine."""

import datetime
import hashlib
import math
import numbers

import numpy as np

from primal.errors import DataError

# Types of what pandas puts in place of a missing value; it need not be imported to tell.
_MISSING = ("NAType", "NaTType")


def stable_position(value: object) -> int:
    """Return a whole number in [0, 2**63) that depends on nothing but the value.

    Python's own ``hash`` of a string changes from run to run. Here the number is the first 63
    bits of the SHA-256 of the value's text. Equal numbers of different types (1, 1.0, True)
    have one position; the text "1" has another; None, NaN, pandas.NA and NaT are one category,
    "missing". Dates and durations are rejected, whatever their unit. This spreads values
    evenly and says nothing about security.

    >>> stable_position("Paris"), stable_position(7) == stable_position(7.0) != stable_position("7")
    (3694107836461558954, True)
    """
    digest = hashlib.sha256(_text(value)).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def is_missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, pandas.NA or NaT."""
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    kind = type(value)
    return value is None or (kind.__name__ in _MISSING and kind.__module__.startswith("pandas."))


def is_date(value: object) -> bool:
    """Whether a value is a date, a time or a duration, of Python, NumPy or pandas."""
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return isinstance(value, dates) or type(value).__name__ == "Period"


def array_values(array: np.ndarray) -> list:
    """Return the entries of an array of one axis as Python's own, but for dates and durations."""
    # Of some units, nanoseconds among them, tolist makes whole numbers.
    return list(array) if array.dtype.kind in "mM" else array.tolist()


def _text(value: object) -> bytes:
    """Return bytes that tell values apart, with the kind of value in front."""
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if is_missing(value):
        return b"n"
    # To NumPy a timedelta64 is an integer.
    if isinstance(value, (numbers.Integral, np.bool_)) and not isinstance(value, np.timedelta64):
        try:
            return b"i%d" % int(value)
        except ValueError as error:  # of thousands of digits
            raise DataError(f"an integer is too long to be a name: {error}.") from None
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return b"i%d" % int(number) if number.is_integer() else b"f" + number.hex().encode()
    raise DataError(
        f"names and categories must be strings or numbers, got {value!r} of type "
        f"{type(value).__name__}: convert it to text, for instance with astype(str)."
    )
