"""Phases out of codes, and how noisy they are.

A code is either waves (D floats in a row) or phases that were quantised (D / 2 unsigned
integers in a row): the top 8 or 16 bits of ``m.turns(x)``, or all 32 of them.
"""

from __future__ import annotations

import math

import numpy as np

from primal._checks import real_array
from primal.decoding._phases import phases_of, wrapped
from primal.engines import wave_columns
from primal.errors import DataError, ParameterError

__all__ = ["NOISES", "code_phases", "noise_turns", "quantise"]

# Standard deviations in turns. For waves they are measured on uniform phases and rounded up:
# float32 gives up to 4e-9 (at most 1e-8 in any phase), float16 1.6e-5, bfloat16 1.3e-4.
# float64 waves are good to 2e-17, but float64 phases and products are not.
NOISES = {
    "float64": 1e-14,
    "float32": 1e-8,
    "float16": 1.6e-5,
    "bfloat16": 1.3e-4,
    "uint32": 1e-8,
    "uint16": 2.0**-16 / math.sqrt(12.0),
    "uint8": 2.0**-8 / math.sqrt(12.0),
}
_QUANTISED = {np.dtype(np.uint8): 8, np.dtype(np.uint16): 16, np.dtype(np.uint32): 32}


def noise_turns(noise: object) -> float:
    """Return the standard deviation of a phase, in turns, from a name or a number.

    Raises
    ------
    ParameterError
        For an unknown name, or a number outside of [1e-15, 0.25].

    Examples
    --------
    >>> from primal.decoding import noise_turns
    >>> noise_turns("float32"), noise_turns(0.001)
    (1e-08, 0.001)
    """
    if isinstance(noise, str) and noise in NOISES:
        return NOISES[noise]
    if isinstance(noise, (int, float, np.integer, np.floating)) and not isinstance(noise, bool):
        value = float(noise)
        if 1e-15 <= value <= 0.25:
            return value
    names = ", ".join(repr(name) for name in NOISES)
    raise ParameterError(
        f"noise must be one of {names}, or a standard deviation between 1e-15 and 0.25 turns, "
        f"got {noise!r}."
    )


def quantise(turns: np.ndarray, dtype: str = "uint8") -> np.ndarray:
    """Return phases cut to 8 or 16 bits: the cell that each lies in.

    Parameters
    ----------
    turns : ndarray of uint32, any shape
        From ``m.turns(x)``, units of 2**-32 turn.
    dtype : {"uint8", "uint16"}, default="uint8"

    Returns
    -------
    cells : ndarray of that dtype, same shape
        ``plan.decode`` takes it and reads the middle of each cell.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.decoding import quantise
    >>> quantise(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32))
    array([  0, 128, 255], dtype=uint8)
    """
    if turns.dtype != np.uint32 or dtype not in ("uint8", "uint16"):
        raise DataError(
            f"quantise takes uint32 turns to uint8 or uint16, got {turns.dtype} to {dtype!r}: "
            "pass m.turns(x)."
        )
    bits = 8 if dtype == "uint8" else 16
    return (turns >> np.uint32(32 - bits)).astype(dtype)


def code_phases(
    z: object, n_frequencies: int, layout: str, noise_turns: float | None = None
) -> np.ndarray:
    """Return the phases of codes in turns within [-1/2, 1/2], float64 of shape (..., k).

    Parameters
    ----------
    z : array_like of shape (..., 2 k) or ndarray of uint8, uint16 or uint32 of shape (..., k)
    noise_turns : float, optional
        Standard deviation of a phase, if it is known. It says how much the lengths of waves may
        differ; rows in which they differ more, or a wave has none, become NaN.
    """
    if isinstance(z, np.ndarray) and z.dtype in _QUANTISED:
        cells = real_array("z", z, last=n_frequencies)
        bits = _QUANTISED[z.dtype]
        # m.turns rounds to its 32 bits; narrower cells are cut, so their middle is meant.
        middle = 0.0 if bits == 32 else 0.5
        return wrapped((cells + middle) * 2.0**-bits)
    waves = wave_columns(real_array("z", z, last=2 * n_frequencies), layout)
    return phases_of(*waves, noise_turns)
