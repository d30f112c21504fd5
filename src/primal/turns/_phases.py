"""Phases in whole numbers: sums that wrap, and the one way to round them to few bits and back.

Unsigned overflow is the reduction modulo one turn. All are exact functions of integer phases, so
they too have one bit pattern on every machine. Few bits hide nothing: phases are the features
themselves.
"""

import numpy as np

from primal._checks import fixed_point, one_of
from primal.errors import DataError
from primal.turns._waves import waves

_QUARTER = np.uint32(1 << 30)
_HALF = np.uint32(1 << 31)
_WAVE_DTYPES = ("float32", "float64", "float16")


def static_turns(positions: np.ndarray, increments: np.ndarray) -> np.ndarray:
    """Return the phase of every frequency at integer positions.

    Parameters
    ----------
    positions : ndarray of shape (n,), dtype=uint64
        Negative positions in two's complement.
    increments : ndarray of shape (k,), dtype=uint64
        Units of 2**-64 turn for one step.

    Returns
    -------
    turns : ndarray of shape (n, k), dtype=uint64
        Units of 2**-64 turn. Increments are rounded down, so the phase at position t is
        short by less than t * 2**-64 turn.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.turns import static_turns
    >>> turns = static_turns(np.array([1, 2], dtype=np.uint64), primal.increments(1))
    >>> (turns / 2.0**64).round(6)
    array([[0.414214],
           [0.828427]])
    """
    fixed_point("positions", positions, np.uint64, ndim=1)
    fixed_point("increments", increments, np.uint64, ndim=1)
    # A float64 product is already wrong by 8e-3 turn at position 1e12.
    return positions[:, None] * increments


def round_turns(turns: np.ndarray) -> np.ndarray:
    """Return 64-bit turns rounded to the nearest 2**-32 turn; ties round up.

    Parameters
    ----------
    turns : ndarray of any shape, dtype=uint64
        Units of 2**-64 turn.

    Returns
    -------
    ndarray of the same shape, dtype=uint32
        Units of 2**-32 turn.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.turns import round_turns
    >>> round_turns(np.array([2**31 - 1, 2**31, 2**64 - 1], dtype=np.uint64))
    array([0, 1, 0], dtype=uint32)
    """
    fixed_point("turns", turns, np.uint64)
    return ((turns + np.uint64(1 << 31)) >> np.uint64(32)).astype(np.uint32)


def phases_to_uint8(turns: np.ndarray) -> np.ndarray:
    """Return phases rounded to the nearest 1/256 turn.

    Parameters
    ----------
    turns : ndarray of uint32, shape (..., k)
        Units of 2**-32 turn, for instance ``m.turns(x)``.

    Returns
    -------
    codes : ndarray of uint8, shape (..., k)
        Units of 1/256 turn, at most 1/512 turn away (ties go up); the last half unit of the
        turn wraps to 0. :func:`primal.decode_exact` and an `Index` read them.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.turns import phases_to_uint8
    >>> phases_to_uint8(np.array([0, 2**23 - 1, 2**23, 2**31, 2**32 - 1], dtype=np.uint32))
    array([  0,   0,   1, 128,   0], dtype=uint8)
    """
    return rounded_phases(turns, 8).astype(np.uint8)


def phases_to_uint16(turns: np.ndarray) -> np.ndarray:
    """Return phases rounded to the nearest 2**-16 turn, at most 2**-17 turn away.

    Parameters
    ----------
    turns : ndarray of any shape, dtype=uint32
        Units of 2**-32 turn.

    Returns
    -------
    ndarray of the same shape, dtype=uint16

    Examples
    --------
    >>> import numpy as np
    >>> from primal.turns import phases_to_uint16
    >>> phases_to_uint16(np.array([0, 2**30, 2**32 - 1], dtype=np.uint32))
    array([    0, 16384,     0], dtype=uint16)
    """
    return rounded_phases(turns, 16).astype(np.uint16)


def phases_to_bits(turns: np.ndarray) -> np.ndarray:
    """Return the signs of the cosines and sines of phases, one bit each.

    Parameters
    ----------
    turns : ndarray of uint32, shape (..., k)
        Units of 2**-32 turn.

    Returns
    -------
    bits : ndarray of uint8, shape (..., ceil(2 k / 8))
        Bit i is 1 where output i is >= 0, also for an exact zero of either sign, in the order cos,
        sin, cos, sin, ...; bit i is bit i % 8 of byte i // 8 (``bitorder="little"``), and what is
        left of the last byte is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.turns import phases_to_bits
    >>> eighths = np.array([[1, 3, 5, 7]], dtype=np.uint32) << np.uint32(29)
    >>> np.unpackbits(phases_to_bits(eighths), axis=-1, bitorder="little")
    array([[1, 1, 0, 1, 0, 0, 1, 0]], dtype=uint8)
    """
    turns = _checked_turns(turns)
    signs = np.empty((*turns.shape, 2), dtype=np.uint8)
    signs[..., 0] = turns + _QUARTER <= _HALF
    signs[..., 1] = turns <= _HALF
    flat = signs.reshape(*turns.shape[:-1], 2 * turns.shape[-1])
    return np.packbits(flat, axis=-1, bitorder="little")


def phases_to_turns(codes: np.ndarray) -> np.ndarray:
    """Return phases of 8 or 16 bits in units of 2**-32 turn.

    Parameters
    ----------
    codes : ndarray of any shape, dtype=uint8 or uint16
        As :func:`phases_to_uint8` and :func:`phases_to_uint16` make them.

    Returns
    -------
    ndarray of the same shape, dtype=uint32

    Examples
    --------
    >>> import numpy as np
    >>> from primal.turns import phases_to_turns
    >>> phases_to_turns(np.array([0, 64, 128], dtype=np.uint8)) / 2**32
    array([0.  , 0.25, 0.5 ])
    """
    if not isinstance(codes, np.ndarray) or codes.dtype not in (np.uint8, np.uint16):
        raise DataError(
            f"phases must be an array of uint8 or uint16, got {_described(codes)}: pass what "
            "phases_to_uint8 or phases_to_uint16 returned."
        )
    return codes.astype(np.uint32) << np.uint32(32 - 8 * codes.itemsize)


def phases_to_waves(codes: np.ndarray, dtype: object = np.float32) -> np.ndarray:
    """Return the waves of phases of 8 or 16 bits.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (..., k)
    dtype : {"float32", "float64", "float16"}, default="float32"
        float16 is rounded from float32.

    Returns
    -------
    z : ndarray of shape (..., 2 k)
        cos, sin, cos, sin, ... (the interleaved layout).

    Examples
    --------
    >>> import numpy as np
    >>> from primal.turns import phases_to_waves
    >>> phases_to_waves(np.array([0, 64, 128], dtype=np.uint8)).astype(int)
    array([ 1,  0,  0,  1, -1,  0])
    """
    try:
        name = np.dtype(dtype).name  # type: ignore[arg-type]
    except (TypeError, ValueError):
        name = str(dtype)
    one_of("dtype", name, _WAVE_DTYPES)
    turns = phases_to_turns(codes)
    if codes.ndim == 0:
        raise DataError(f"codes must have shape (..., k), got shape {codes.shape}.")
    wide = turns.astype(np.uint64) << np.uint64(32) if name == "float64" else turns
    z = np.empty((*codes.shape[:-1], 2 * codes.shape[-1]), dtype=name)
    z[..., 0::2], z[..., 1::2] = waves(wide)
    return z


def rounded_phases(turns: np.ndarray, n_bits: int) -> np.ndarray:
    """Return the top bits of uint32 turns, rounded, as uint32; unsigned overflow is the wrap."""
    turns = _checked_turns(turns)
    return (turns + np.uint32(1 << (31 - n_bits))) >> np.uint32(32 - n_bits)


def _checked_turns(turns: np.ndarray) -> np.ndarray:
    if not isinstance(turns, np.ndarray) or turns.dtype != np.uint32 or turns.ndim == 0:
        raise DataError(
            f"turns must be an array of uint32, shape (..., k), got {_described(turns)}: "
            "pass m.turns(x)."
        )
    return fixed_point("turns", turns, np.uint32)


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__
