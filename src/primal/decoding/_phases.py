"""Phases out of waves, and which rows have none.

A pair (cos, sin) of length 0 points nowhere: atan2(0, 0) is a number, but not a phase. A code may
be scaled by one unknown factor, so lengths are compared within a row. Noise that moves phases
moves lengths as well, hence the noise that a decoder is made for says how far they may differ.
"""

from __future__ import annotations

import math

import numpy as np

from primal.engines._numpy import row_blocks

__all__ = ["have_phases", "phases_of", "wrapped"]

# A pair this much shorter than the mean of its row has no phase. Noise of .08 turns, half the
# length of a wave, leaves one of 256 pairs so short in one row of a million, less noise in fewer.
_SHORTEST = 2.0**-14
# Rounding a wave to a float type moves its length up to 1.4 times as far as it turns it.
_LENGTH_NOISE = 2.0
# A Lipschitz function of normal noise exceeds its mean by so many deviations at most once in
# ten million cases: exp(-t**2 / 2).
_DEVIATIONS = 5.68
# Rows converted at once: a few arrays that stay in the cache of a core.
_BLOCK_ENTRIES = 1 << 15


def phases_of(cos: np.ndarray, sin: np.ndarray, noise_turns: float | None = None) -> np.ndarray:
    """Return the phases of waves, in turns within [-1/2, 1/2]; NaN in rows that have none.

    Parameters
    ----------
    cos, sin : ndarray of shape (..., k)
    noise_turns : float, optional
        Standard deviation of a phase, if it is known; see :func:`have_phases`.

    Returns
    -------
    turns : ndarray of shape (..., k), dtype=float64
    """
    k = cos.shape[-1]
    turns = np.empty(cos.shape)
    flat, cos, sin = turns.reshape(-1, k), cos.reshape(-1, k), sin.reshape(-1, k)
    for rows in row_blocks(len(flat), k, _BLOCK_ENTRIES):
        x, y = cos[rows].astype(np.float64), sin[rows].astype(np.float64)
        np.arctan2(y, x, out=flat[rows])
        flat[rows] /= 2.0 * np.pi
        flat[rows][~have_phases(x, y, noise_turns)] = np.nan
    return turns


def have_phases(cos: np.ndarray, sin: np.ndarray, noise_turns: float | None = None) -> np.ndarray:
    """Return which rows have a phase in every pair, bool of shape (n,).

    Parameters
    ----------
    cos, sin : ndarray of shape (n, k), dtype=float64
    noise_turns : float, optional
        Standard deviation of a phase. Without it only pairs that are far shorter than the others
        are found; with it also rows whose lengths differ by more than such noise explains.

    Notes
    -----
    Noise of s in both coordinates of a unit wave turns it by s radians and changes its length by
    at most as much. The distance of k lengths from their mean is a Lipschitz function of the
    noise with a mean of at most s sqrt(k - 1), and their mean is one with a mean of at least 1;
    so with t as in ``_DEVIATIONS`` the first exceeds s (sqrt(k - 1) + t), or the second falls
    below 1 - s t / sqrt(k), at most once in ten million rows each.
    """
    if cos.size == 0:
        return np.ones(len(cos), dtype=bool)
    with np.errstate(over="ignore"):
        squares = cos * cos
        squares += sin * sin
    k, noise = cos.shape[1], _LENGTH_NOISE * 2.0 * math.pi * (noise_turns or 0.0)
    most = noise * (math.sqrt(k - 1) + _DEVIATIONS)
    # The usual case, at a third of the cost: all lengths are so close that no row needs a look.
    low, high = float(squares.min()), float(squares.max())
    if low > 1e-280 and high < 1e280:
        near = low > _SHORTEST**2 * high
        if near and (noise_turns is None or math.sqrt(k) * (high - low) <= 2.0 * most * low):
            return np.ones(len(squares), dtype=bool)
    lengths = np.sqrt(squares, out=squares)
    mean = lengths.mean(axis=1)
    extreme = np.flatnonzero(~((mean > 1e-140) & (mean < 1e140)))
    if len(extreme):  # squares over- or underflow there
        largest = np.maximum(np.abs(cos[extreme]), np.abs(sin[extreme])).max(axis=1, keepdims=True)
        largest[largest == 0.0] = 1.0
        lengths[extreme] = np.hypot(cos[extreme] / largest, sin[extreme] / largest)
        mean[extreme] = lengths[extreme].mean(axis=1)
    found = lengths.min(axis=1) > _SHORTEST * mean
    if noise_turns is not None:
        lengths -= mean[:, None]
        distance = np.sqrt(np.einsum("ij,ij->i", lengths, lengths))
        least_mean = max(0.0, 1.0 - noise * _DEVIATIONS / math.sqrt(k))
        found &= distance * least_mean <= most * mean
    return found


def wrapped(turns: np.ndarray) -> np.ndarray:
    """Return phases less their nearest whole number of turns."""
    return turns - np.rint(turns)
