"""A hash of names and numbers that is the same in every process and on every machine."""

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
    "missing". This spreads values evenly and says nothing about security.

    >>> stable_position("Paris"), stable_position(7) == stable_position(7.0) != stable_position("7")
    (3694107836461558954, True)
    """
    digest = hashlib.sha256(_text(value)).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _text(value: object) -> bytes:
    """Return bytes that tell values apart, with the kind of value in front."""
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return b"n"
    if type(value).__name__ in _MISSING and type(value).__module__.startswith("pandas."):
        return b"n"
    if isinstance(value, (numbers.Integral, np.bool_)):
        return b"i%d" % int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return b"i%d" % int(number) if number.is_integer() else b"f" + number.hex().encode()
    raise DataError(
        f"names and categories must be strings or numbers, got {value!r} of type "
        f"{type(value).__name__}: convert it to text, for instance with astype(str)."
    )
