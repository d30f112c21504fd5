"""The coherence scan of the Numba engine: a fast screen, then exact values of the survivors.

The similarity of two StaticPrime codes at lag l is g(l) = mean_m cos(2 pi l f_m). The screen
takes 32-bit phases and a short polynomial; a lag whose screened |g| comes within its error
bound of the largest so far is kept and computed again in float64.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["screen", "screen_error"]

_F32 = np.float32
_U32 = np.uint32
_U64 = np.uint64
# Lags for which a 32-bit phase is stepped by addition before it is taken afresh from 64 bits.
_RUN = 256
# -sin(2 pi s) for |s| <= 1/4 turn: the minimax polynomial, off by at most 5.9e-7.
_TO_QUARTER = _F32(2.0**-30)
_P0 = _F32(-1.570791)
_P1 = _F32(0.64589286)
_P2 = _F32(-0.07943434)
_P3 = _F32(0.004333095)


def screen_error(k: int) -> float:
    """Return a bound on the error of a screened g over k frequencies.

    256 steps of at most 2**-33 turn and the 32-bit start make 2e-7 in a cosine, the polynomial
    and its rounding 1e-6, and a float32 sum of k terms in any order k * 2**-24.
    """
    return 2e-6 + k * 2.0**-24


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _mean_cosine(phases, steps):
    """Step every 32-bit phase once and return the sum of their cosines."""
    total = _F32(0.0)
    for i in range(phases.shape[0]):
        u = _U32(phases[i] + steps[i])
        phases[i] = u
        # |u| as a signed turn, less a quarter: cos(2 pi u) = -sin(2 pi s).
        size = np.int32(np.int32(u) ^ (np.int32(u) >> np.int32(31)))
        s = np.int32(size - np.int32(1 << 30))
        t = _F32(s) * _TO_QUARTER
        y = t * t
        total += t * (_P0 + y * (_P1 + y * (_P2 + y * _P3)))
    return total


@njit(cache=True, nogil=True)
def screen(increments, first, last, margin, lags, values):
    """Write the lags in [first, last) that may have the largest |g|, and their screened g.

    A lag stays while its |g| is within `margin` of the largest seen. Returns how many there
    are, or -1 when `lags` is too short for them.
    """
    k = increments.shape[0]
    steps = np.empty(k, dtype=np.uint32)
    phases = np.empty(k, dtype=np.uint32)
    for i in range(k):
        steps[i] = _U32((increments[i] + _U64(1 << 31)) >> _U64(32))
    scale = _F32(1.0) / _F32(k)
    largest = _F32(0.0)
    n_kept = 0
    lag = first
    while lag < last:
        for i in range(k):
            turns = _U64(lag - 1) * increments[i]
            phases[i] = _U32((turns + _U64(1 << 31)) >> _U64(32))
        for _ in range(min(_RUN, last - lag)):
            g = _mean_cosine(phases, steps) * scale
            if abs(g) >= largest - margin:
                largest = max(largest, abs(g))
                if n_kept == lags.shape[0]:
                    # Forget those that the largest has left behind.
                    kept = 0
                    for j in range(n_kept):
                        if abs(values[j]) >= largest - margin:
                            lags[kept] = lags[j]
                            values[kept] = values[j]
                            kept += 1
                    if kept == n_kept:
                        return -1
                    n_kept = kept
                lags[n_kept] = lag
                values[n_kept] = g
                n_kept += 1
            lag += 1
    return n_kept
