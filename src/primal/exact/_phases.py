"""Integer phases: sums that wrap, and the one way to round them to few bits and back.

Unsigned overflow is the reduction modulo one turn. All are exact functions of integer phases, so
they too have one bit pattern on every machine. Few bits hide nothing: phases are the features
themselves.
"""

import math

import numpy as np

from primal._checks import fixed_point, reject_masked, whole_number
from primal.errors import DataError


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
    >>> from primal.exact import static_turns
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
    >>> from primal.exact import round_turns
    >>> round_turns(np.array([2**31 - 1, 2**31, 2**64 - 1], dtype=np.uint64))
    array([0, 1, 0], dtype=uint32)
    """
    fixed_point("turns", turns, np.uint64)
    return ((turns + np.uint64(1 << 31)) >> np.uint64(32)).astype(np.uint32)


def pack(turns: np.ndarray, n_bits: int) -> np.ndarray:
    """Return phases rounded to a few bits each, packed into bytes.

    Parameters
    ----------
    turns : ndarray of uint32, shape (..., k)
        Units of 2**-32 turn, for instance ``m.turns(x)``.
    n_bits : int
        Of each phase, 1 to 32.

    Returns
    -------
    codes : ndarray of uint8, shape (..., ceil(k n_bits / 8))
        The nearest multiples of 2**-n_bits turn (ties go up; the last half unit of the turn wraps
        to 0), the highest bit of each first; unused bits of the last byte are 0. With 8 bits a byte
        is a phase, and a decode plan reads the codes as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.exact import pack
    >>> pack(np.array([0, 2**23 - 1, 2**23, 2**31, 2**32 - 1], dtype=np.uint32), 8)
    array([  0,   0,   1, 128,   0], dtype=uint8)
    >>> pack(np.array([0, 2**30, 2**31, 3 * 2**30], dtype=np.uint32), 2)
    array([27], dtype=uint8)
    """
    n_bits = whole_number("n_bits", n_bits, least=1, most=32)
    codes = _checked_turns(turns)
    if n_bits < 32:  # unsigned overflow is the wrap
        codes = (codes + np.uint32(1 << (31 - n_bits))) >> np.uint32(32 - n_bits)
    if n_bits == 8:
        return codes.astype(np.uint8)
    # As rows: NumPy packs arrays of at most 32 axes.
    k, rows = turns.shape[-1], codes.astype(">u4").reshape(-1, 1).view(np.uint8)
    each = np.unpackbits(rows, axis=-1)[:, 32 - n_bits :]
    each = each.reshape(math.prod(turns.shape[:-1]), k * n_bits)
    return np.packbits(each, axis=-1).reshape(*turns.shape[:-1], -(-k * n_bits // 8))


def unpack(codes: np.ndarray, n_bits: int, k: int) -> np.ndarray:
    """Return the phases that :func:`pack` packed, in units of 2**-32 turn.

    Parameters
    ----------
    codes : ndarray of uint8, shape (..., ceil(k n_bits / 8))
    n_bits, k : int
        Bits of each phase, and phases of each row.

    Returns
    -------
    turns : ndarray of uint32, shape (..., k)

    Examples
    --------
    >>> import numpy as np
    >>> from primal.exact import pack, unpack
    >>> turns = np.array([0, 2**30, 2**31], dtype=np.uint32)
    >>> unpack(pack(turns, 3), 3, k=3) / 2**32
    array([0.  , 0.25, 0.5 ])
    """
    reject_masked("codes", codes)
    n_bits = whole_number("n_bits", n_bits, least=1, most=32)
    k = whole_number("k", k, least=1)
    n_bytes = -(-k * n_bits // 8)
    array = isinstance(codes, np.ndarray) and codes.dtype == np.uint8 and codes.ndim > 0
    if not array or codes.shape[-1] != n_bytes:
        raise DataError(
            f"codes must be an array of uint8 with {n_bytes} bytes in a row ({k} phases of "
            f"{n_bits} bits), got {_described(codes)}."
        )
    rows = codes.reshape(-1, n_bytes)
    each = np.unpackbits(rows, axis=-1, count=k * n_bits).reshape(-1, n_bits)
    words = np.zeros((len(each), 32), dtype=np.uint8)
    words[:, :n_bits] = each
    turns = np.packbits(words, axis=-1).view(">u4").astype(np.uint32)
    return turns.reshape(*codes.shape[:-1], k)


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
