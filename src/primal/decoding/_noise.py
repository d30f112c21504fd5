"""Phases out of codes, and how noisy they are.

A code is either waves (D floats in a row) or phases (D / 2 unsigned integers in a row):
``m.turns(x)``, or the same rounded to 8 or 16 bits.
"""

from __future__ import annotations

import math

import numpy as np

from primal._checks import real_array
from primal.decoding._phases import phases_of, wrapped
from primal.engines import wave_columns
from primal.errors import ParameterError

__all__ = ["NOISES", "code_phases", "noise_turns"]

# Standard deviations in turns. For waves they are measured on uniform phases and rounded up:
# float32 gives up to 4e-9 (at most 1e-8 in any phase), float16 1.6e-5, bfloat16 1.3e-4.
# float64 waves are good to 2e-17, but float64 phases and products are not. A rounded phase is
# anywhere within half a step of the one it stands for.
NOISES = {
    "float64": 1e-14,
    "float32": 1e-8,
    "float16": 1.6e-5,
    "bfloat16": 1.3e-4,
    "uint32": 1e-8,
    "uint16": 2.0**-16 / math.sqrt(12.0),
    "uint8": 2.0**-8 / math.sqrt(12.0),
}
_PHASES = (np.uint8, np.uint16, np.uint32)


def noise_turns(noise: object) -> float:
    """Return the standard deviation of a phase, in turns, from a name or a number.

    Raises
    ------
    ParameterError
        For an unknown name, or a number outside of [1e-15, 0.25].
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


def code_phases(
    z: object, n_frequencies: int, layout: str, noise_turns: float | None = None
) -> np.ndarray:
    """Return the phases of codes in turns within [-1/2, 1/2], float64 of shape (..., k).

    Codes are waves (..., 2 k), or phases of uint8, uint16 or uint32 (..., k). The standard
    deviation of a phase, if it is known, says how much the lengths of waves may differ; rows in
    which they differ more, or a wave has none, become NaN.
    """
    if isinstance(z, np.ndarray) and z.dtype in _PHASES:
        return wrapped(real_array("z", z, last=n_frequencies) * 2.0 ** (-8 * z.itemsize))
    waves = wave_columns(real_array("z", z, last=2 * n_frequencies), layout)
    return phases_of(*waves, noise_turns)
