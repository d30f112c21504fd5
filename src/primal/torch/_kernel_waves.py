"""Waves inside Triton kernels: the bits of ``primal.turns.waves`` in fewer instructions.

Three rewritings of the definition leave every bit as it is:

- Scaling by a power of two is exact, so factors of t move into the constants.
- The head and the tail of t add up, rounded once, to the t that the definition converts.
- A product without rounding may be fused with the sum that follows: head times head is one.

Signs come from the phase itself: the sine is negative in the second half of a turn, the
cosine in the two middle quarters; the rounded zeros at the quadrant points follow the same
rule.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from primal.turns import Cosine32, Sine32

# Triton describes neither launches nor constants with types.
jit: Any = triton.jit

# Rests are held times four, in units of 2**-34 turn: t is a rest times _UNIT.
_UNIT = tl.constexpr(2.0**-31)
_TAIL = tl.constexpr((1 << (Sine32.tail_bits + 2)) - 1)
_HEAD = tl.constexpr((1 << 32) - (1 << (Sine32.tail_bits + 2)))
# Bits below an exponent of -8 count units of 2**-31: a tail becomes a float without conversion.
_TAIL_ONE = tl.constexpr((127 - 8) << 23)
_TAIL_ZERO = tl.constexpr(2.0**-8)
_PI4_HEAD = tl.constexpr(Sine32.head * 2.0**-31)
_PI4_REST = tl.constexpr(Sine32.rest * 2.0**-31)
_PI4 = tl.constexpr(Sine32.whole)
_C0, _C1, _C2, _C3 = (tl.constexpr(c) for c in Cosine32.coefficients)
_S0, _S1, _S2 = (tl.constexpr(c) for c in Sine32.coefficients)
_EIGHTH = tl.constexpr(1 << 29)
_QUARTER = tl.constexpr(1 << 30)
_SIGN = tl.constexpr(-(1 << 31))


def next_power_of_two(n: int) -> int:
    """Return the smallest power of two of at least n >= 1."""
    return 1 << (n - 1).bit_length()


def quotient(n: int, step: int) -> int:
    """Return n / step rounded up: how many programs cover n."""
    return -(-n // step)


@jit
def wave_pair(turns, valid=None):
    """Return (cos, sin) in float32 of int32 turns, units of 2**-32 turn.

    Where `valid` is given and false, both are NaN.
    """
    size = tl.abs(turns << 2).to(tl.uint32, bitcast=True)
    head = (size & _HEAD).to(tl.float32)
    tail = ((size & _TAIL) | _TAIL_ONE).to(tl.float32, bitcast=True) - _TAIL_ZERO
    t = tl.fma(head, tl.full(head.shape, _UNIT, tl.float32), tail)
    if valid is not None:
        t = tl.where(valid, t, float("nan"))
    y = t * t
    cosine = (((_C3 * y + _C2) * y + _C1) * y + _C0) * y + 1.0
    linear = head * _PI4_REST + tail * _PI4
    small = linear + (t * y) * ((_S2 * y + _S1) * y + _S0)
    sine = tl.fma(head, tl.full(head.shape, _PI4_HEAD, tl.float32), small)
    return _in_quadrant(turns, cosine, sine)


@jit
def fast_pair(turns, valid):
    """Return (cos, sin) of int32 turns to float32 accuracy, NaN where not `valid`.

    For phases without a promise about bits: half the instructions of `wave_pair`. Meant for
    kernels that may fuse products with sums.
    """
    t = tl.abs(turns << 2).to(tl.uint32, bitcast=True).to(tl.float32) * _UNIT
    t = tl.where(valid, t, float("nan"))
    y = t * t
    cosine = (((_C3 * y + _C2) * y + _C1) * y + _C0) * y + 1.0
    sine = t * (((_S2 * y + _S1) * y + _S0) * y + _PI4)
    return _in_quadrant(turns, cosine, sine)


@jit
def _in_quadrant(turns, cosine, sine):
    """Return (cos, sin) of turns from those of the distance to the nearest quadrant point."""
    odd = ((turns + _EIGHTH) & _QUARTER) != 0
    cos = tl.where(odd, sine, cosine).to(tl.int32, bitcast=True)
    sin = tl.where(odd, cosine, sine).to(tl.int32, bitcast=True)
    cos = cos | ((turns + _QUARTER) & _SIGN)
    sin = sin | (turns & _SIGN)
    return cos.to(tl.float32, bitcast=True), sin.to(tl.float32, bitcast=True)


@jit
def write_pair(
    out, cos, sin, rows, first_column, n_rows, n_frequencies, amplitude,
    INTERLEAVED: tl.constexpr, SCALED: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Store a tile of waves at int64 `rows` and `COLUMNS` frequencies from `first_column`."""
    if SCALED:
        cos = cos * amplitude
        sin = sin * amplitude
    line = out + rows[:, None] * (2 * n_frequencies)
    inside = rows[:, None] < n_rows
    if INTERLEAVED:
        columns = 2 * first_column + tl.arange(0, 2 * COLUMNS)
        value = tl.interleave(cos, sin).to(out.dtype.element_ty)
        tl.store(line + columns[None, :], value, inside & (columns[None, :] < 2 * n_frequencies))
    else:
        columns = first_column + tl.arange(0, COLUMNS)
        inside = inside & (columns[None, :] < n_frequencies)
        tl.store(line + columns[None, :], cos.to(out.dtype.element_ty), inside)
        tl.store(line + n_frequencies + columns[None, :], sin.to(out.dtype.element_ty), inside)
