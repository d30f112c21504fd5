"""Compiled loops. Each row makes its turns in a small buffer, then its waves.

Two passes over a buffer in the first-level cache vectorise better than one loop that mixes
64-bit and 32-bit lanes. No fast-math: multiplications and additions must stay separate.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from primal.turns._waves import Cosine32, Sine32

__all__ = ["fast", "near", "static"]

_F32 = np.float32
_U32 = np.uint32
_U64 = np.uint64
_S0, _S1, _S2 = (_F32(c) for c in Sine32.coefficients)
_C0, _C1, _C2, _C3 = (_F32(c) for c in Cosine32.coefficients)
_PI4_HEAD, _PI4_REST, _PI4 = _F32(Sine32.head), _F32(Sine32.rest), _F32(Sine32.whole)
_TAIL = np.int32((1 << Sine32.tail_bits) - 1)
_ONE = _F32(1.0)
_TO_UNIT = _F32(2.0**-29)
_EIGHTH = _U32(1 << 29)
_THIRTY = _U32(30)
_HALF_ULP = _U64(1 << 31)
_THIRTY_TWO = _U64(32)
# Adding this leaves a float64's fraction, in units of 2**-32, in its low 32 bits.
_FRACTION_TO_LOW_BITS = 1.5 * 2.0**20


@njit(cache=True, nogil=True, inline="always")
def _waves(u):
    """Return (cos, sin) of a uint32 turn: the operations of ``primal.turns.waves``."""
    quadrant = _U32(_U32(u + _EIGHTH) >> _THIRTY)
    rest = np.int32(_U32(u - _U32(quadrant << _THIRTY)))
    size = np.int32(abs(rest))
    tail = np.int32(size & _TAIL)
    t_head = _F32(np.int32(size - tail)) * _TO_UNIT
    t_tail = _F32(tail) * _TO_UNIT
    t = _F32(size) * _TO_UNIT
    y = t * t
    cosine = (((_C3 * y + _C2) * y + _C1) * y + _C0) * y + _ONE
    linear = t_head * _PI4_REST + t_tail * _PI4
    small = linear + (t * y) * ((_S2 * y + _S1) * y + _S0)
    sine = t_head * _PI4_HEAD + small
    sine = -sine if rest < np.int32(0) else sine
    odd = (quadrant & _U32(1)) != _U32(0)
    # Times -1 flips the sign exactly, also of zero.
    cos_sign = _ONE - _F32(np.int32(_U32(quadrant + _U32(1)) & _U32(2)))
    sin_sign = _ONE - _F32(np.int32(quadrant & _U32(2)))
    cos = (sine if odd else cosine) * cos_sign
    sin = (cosine if odd else sine) * sin_sign
    return cos, sin


@njit(cache=True, nogil=True)
def _write_block(turns, cos_out, sin_out):
    for i in range(turns.shape[0]):
        cos, sin = _waves(turns[i])
        cos_out[i] = cos
        sin_out[i] = sin


@njit(cache=True, nogil=True)
def _write_interleaved(turns, out):
    for i in range(turns.shape[0]):
        cos, sin = _waves(turns[i])
        out[2 * i] = cos
        out[2 * i + 1] = sin


@njit(cache=True, nogil=True)
def _write_row(turns, out, block):
    k = turns.shape[0]
    if block:
        _write_block(turns, out[:k], out[k:])
    else:
        _write_interleaved(turns, out)


@njit(cache=True, nogil=True)
def static(increments, positions, out, block):
    """Write codes of integer positions."""
    k = increments.shape[0]
    turns = np.empty(k, dtype=np.uint32)
    for r in range(positions.shape[0]):
        t = positions[r]
        for i in range(k):
            turns[i] = _U32((t * increments[i] + _HALF_ULP) >> _THIRTY_TWO)
        _write_row(turns, out[r], block)


@njit(cache=True, nogil=True)
def near(products, row_exponents, exponents, first_shift, second_shift, out, block):
    """Write features from the two exact products of every phase."""
    k = exponents.shape[0]
    turns = np.empty(k, dtype=np.uint32)
    for r in range(products.shape[0]):
        a = row_exponents[r]
        for i in range(k):
            shift = a + exponents[i]
            total = _shifted(np.int64(products[r, i]), shift + first_shift)
            total += _shifted(np.int64(products[r, k + i]), shift + second_shift)
            turns[i] = _U32((_U64(total) + _HALF_ULP) >> _THIRTY_TWO)
        _write_row(turns, out[r], block)


@njit(cache=True, nogil=True, inline="always")
def _shifted(value, shift):
    # A near shift is always below 63; see ``primal.turns._digits``.
    return (value << max(shift, 0)) >> min(max(-shift, 0), 63)


@njit(cache=True, nogil=True)
def fast(phases, out, block):
    """Write features from float64 phases in turns."""
    k = phases.shape[1]
    turns = np.empty(k, dtype=np.uint32)
    shifted = np.empty(k, dtype=np.float64)
    bits = shifted.view(np.uint64)
    for r in range(phases.shape[0]):
        for i in range(k):
            phase = phases[r, i]
            shifted[i] = (phase - np.rint(phase)) + _FRACTION_TO_LOW_BITS
        for i in range(k):
            turns[i] = _U32(bits[i])
        _write_row(turns, out[r], block)
