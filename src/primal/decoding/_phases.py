"""Phases out of codes, how noisy they are, and which rows have none.

A code is either waves (D floats in a row) or phases (D / 2 unsigned integers in a row):
``m.turns(x)``, or the same rounded to 8 or 16 bits.

A pair (cos, sin) of length 0 points nowhere: atan2(0, 0) is a number, but not a phase. A code may
be scaled by one unknown factor, so lengths are compared within a row. Noise that moves phases
moves lengths as well, hence the noise that a decoder is made for says how far they may differ.
"""

import math
from contextlib import suppress
from typing import Any

import numpy as np

from primal._checks import real_array, wave_array
from primal._parallel import row_blocks
from primal.errors import ParameterError
from primal.exact import wave_columns

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
# A pair this much shorter than the mean of its row has no phase. Noise of .08 turns, half the
# length of a wave, leaves one of 256 pairs so short in one row of a million, less noise in fewer.
SHORTEST_WAVE = 2.0**-14
# Rounding a wave to a float type moves its length up to 1.4 times as far as it turns it.
_LENGTH_NOISE = 2.0
# A Lipschitz function of normal noise exceeds its mean by so many deviations at most once in
# ten million cases: exp(-t**2 / 2).
_DEVIATIONS = 5.68
# Rows converted at once: a few arrays that stay in the cache of a core.
_BLOCK_ENTRIES = 1 << 14


def noise_turns(noise: object) -> float:
    """Return the standard deviation of a phase, in turns, from a name or a number."""
    if isinstance(noise, str) and noise in NOISES:
        return NOISES[noise]
    numeric = isinstance(noise, (int, float, np.integer, np.floating))
    if numeric and not isinstance(noise, bool) and 1e-15 <= noise <= 0.25:
        return float(noise)
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
    waves = wave_columns(wave_array("z", z, last=2 * n_frequencies), layout)
    return phases_of(*waves, noise_turns)


def split_missing(value: object, *, last: int) -> tuple[object, np.ndarray]:
    """Return rows (..., last) with zeros in place of each that has NaN, and which these are."""
    floats: Any = value
    if isinstance(value, (list, tuple)):
        with suppress(TypeError, ValueError, OverflowError, RecursionError):
            floats = np.asarray(value)
    if type(floats) is not np.ndarray or floats.dtype.kind != "f" or floats.shape[-1:] != (last,):
        return value, np.zeros((), dtype=bool)  # whatever it is, no row of it has NaN
    missing = np.asarray(np.isnan(floats).any(axis=-1))
    return (np.where(missing[..., None], 0, floats) if missing.any() else value), missing


def phases_of(cos: np.ndarray, sin: np.ndarray, noise_turns: float | None = None) -> np.ndarray:
    """Return the phases of waves (..., k), in turns within [-1/2, 1/2]; NaN in rows that have none.

    `noise_turns` is the standard deviation of a phase, if it is known; see :func:`have_phases`.
    """
    turns = np.empty(cos.shape)
    flat, cos, sin = (a.reshape(-1, cos.shape[-1]) for a in (turns, cos, sin))
    for rows in row_blocks(*flat.shape, _BLOCK_ENTRIES):
        x, y = cos[rows].astype(np.float64), sin[rows].astype(np.float64)
        np.arctan2(y, x, out=flat[rows])
        flat[rows] *= 0.5 / np.pi
        if not _squared_alike(x, y, noise_turns):
            x, y = cos[rows].astype(np.float64), sin[rows].astype(np.float64)
            flat[rows][~have_phases(x, y, noise_turns)] = np.nan
    return turns


def have_phases(cos: np.ndarray, sin: np.ndarray, noise_turns: float | None = None) -> np.ndarray:
    """Return which rows of waves (n, k) have a phase in every pair, bool of shape (n,).

    Without the standard deviation of a phase only pairs that are far shorter than the others are
    found; with it also rows whose lengths differ by more than such noise explains.

    Noise of s in both coordinates of a unit wave turns it by s radians and changes its length by
    at most as much. The distance of k lengths from their mean is a Lipschitz function of the
    noise with a mean of at most s sqrt(k - 1), and their mean is one with a mean of at least 1;
    so with t as in ``_DEVIATIONS`` the first exceeds s (sqrt(k - 1) + t), or the second falls
    below 1 - s t / sqrt(k), at most once in ten million rows each.
    """
    k = cos.shape[1]
    with np.errstate(over="ignore"):
        lengths = np.sqrt(cos * cos + sin * sin)
    mean = lengths.mean(axis=1)
    extreme = np.flatnonzero(~((mean > 1e-140) & (mean < 1e140)))
    if len(extreme):  # squares over- or underflow there
        largest = np.maximum(np.abs(cos[extreme]), np.abs(sin[extreme])).max(axis=1, keepdims=True)
        largest[largest == 0.0] = 1.0
        lengths[extreme] = np.hypot(cos[extreme] / largest, sin[extreme] / largest)
        mean[extreme] = lengths[extreme].mean(axis=1)
    found = lengths.min(axis=1) > SHORTEST_WAVE * mean
    if noise_turns is not None:
        lengths -= mean[:, None]
        distance = np.sqrt(np.einsum("ij,ij->i", lengths, lengths))
        least_mean = max(0.0, 1.0 - _length_noise(noise_turns) * _DEVIATIONS / math.sqrt(k))
        found &= distance * least_mean <= _largest_distance(k, noise_turns) * mean
    return found


def _squared_alike(x: np.ndarray, y: np.ndarray, noise_turns: float | None) -> bool:
    """Return whether all lengths are so close that every row has its phases; overwrites x and y.

    That is the usual case, and costs a third of looking at every row.
    """
    with np.errstate(over="ignore"):
        x *= x
        y *= y
        x += y
    low, high = float(x.min()), float(x.max())
    if not (low > 1e-280 and high < 1e280 and low > SHORTEST_WAVE**2 * high):
        return False
    if noise_turns is None:
        return True
    k = x.shape[-1]
    return math.sqrt(k) * (high - low) <= 2.0 * _largest_distance(k, noise_turns) * low


def _length_noise(noise_turns: float) -> float:
    """Return the largest deviation of a length, as a share of it, at some noise of its phase."""
    return _LENGTH_NOISE * 2.0 * math.pi * noise_turns


def _largest_distance(k: int, noise_turns: float) -> float:
    """Return how far k lengths may be from their mean, as a share of it."""
    return _length_noise(noise_turns) * (math.sqrt(k - 1) + _DEVIATIONS)


def wrapped(turns: np.ndarray) -> np.ndarray:
    """Return phases less their nearest whole number of turns."""
    return turns - np.rint(turns)
