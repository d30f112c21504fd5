"""What Triton kernels share: tiles, phases as float64 sums, and waves with the promised bits.

`wave_pair` has the bits of ``primal.exact.waves`` in fewer instructions. Three rewritings leave
every bit as it is:

- Scaling by a power of two is exact, so factors of t move into the constants.
- The head and the tail of t add up, rounded once, to the t that the definition converts.
- A product without rounding may be fused with the sum that follows: head times head is one.

Signs come from the phase itself: the sine is negative in the second half of a turn, the
cosine in the two middle quarters; the rounded zeros at the quadrant points follow the same
rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl

from primal.exact import Octant32

# Triton describes neither launches nor constants with types.
jit: Any = triton.jit

# Rests are held times four, in units of 2**-34 turn: t is a rest times _UNIT.
_UNIT = tl.constexpr(2.0**-31)
_TAIL = tl.constexpr((1 << (Octant32.tail_bits + 2)) - 1)
_HEAD = tl.constexpr((1 << 32) - (1 << (Octant32.tail_bits + 2)))
# Bits below an exponent of -8 count units of 2**-31: a tail becomes a float without conversion.
_TAIL_ONE = tl.constexpr((127 - 8) << 23)
_TAIL_ZERO = tl.constexpr(2.0**-8)
_PI4_HEAD = tl.constexpr(Octant32.head * 2.0**-31)
_PI4_REST = tl.constexpr(Octant32.rest * 2.0**-31)
_PI4 = tl.constexpr(Octant32.whole)
_C0, _C1, _C2, _C3 = (tl.constexpr(c) for c in Octant32.cosine)
_S0, _S1, _S2 = (tl.constexpr(c) for c in Octant32.sine)
_EIGHTH = tl.constexpr(1 << 29)
_QUARTER = tl.constexpr(1 << 30)
_SIGN = tl.constexpr(-(1 << 31))

# Up to this many inputs plain multiplications are faster than the matrix unit.
MOST_PLAIN_INPUTS = 8

# Adding this to a phase below 2**20 turns leaves its fraction, in units of 2**-31 turn, in the
# low bits; any other phase (or NaN) shows by its exponent.
_MAGIC = tl.constexpr(1.5 * 2.0**21)
_MAGIC_EXPONENT = tl.constexpr(1023 + 21)
# The same in units of 2**-32 turn, for phases below 2**19 turns.
_FINE_MAGIC = tl.constexpr(1.5 * 2.0**20)
_HALF_UNIT = tl.constexpr(2.0**-33)


def next_power_of_two(n: int) -> int:
    """Return the smallest power of two of at least n >= 1."""
    return 1 << (n - 1).bit_length()


def quotient(n: int, step: int) -> int:
    """Return n / step rounded up: how many programs cover n."""
    return -(-n // step)


class Tile(NamedTuple):
    """Rows, frequencies and inputs that a program takes at once, and how it runs."""

    rows: int
    columns: int
    depth: int
    num_warps: int
    num_stages: int


def tile_for(n_inputs: int, n_frequencies: int) -> Tile:
    """Return the tile that was fastest on an H200 for such a shape."""
    if n_inputs <= MOST_PLAIN_INPUTS:
        return Tile(16, min(128, max(16, next_power_of_two(n_frequencies))), 16, 4, 1)
    if n_inputs <= 16:
        return Tile(64, 32, 16, 4, 2)
    return Tile(64, 64, 16, 4, 4)


@jit
def tile(n_rows, n_frequencies, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Return the int64 rows and the first column of this program.

    Programs that run together share rows of x: all columns of a few row blocks in turn.
    """
    across = tl.cdiv(n_frequencies, COLUMNS)
    program = tl.program_id(0)
    rows = (program // across).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    return rows, (program % across) * COLUMNS


@jit
def fast_turns(phases):
    """Return float64 phases as int32 turns, and which of them are below 2**20 turns."""
    bits = (phases + _MAGIC).to(tl.int64, bitcast=True)
    return bits.to(tl.int32) << 1, (bits >> 52) == _MAGIC_EXPONENT


@jit
def rounded_turns(phases, errors):
    """Return float64 phases rounded to int32 turns, and which of these are sure.

    `errors` bounds the error of the phases; a rounding is sure unless the middle between two
    turns is that close. No phase of 2**19 turns or more is: its error is at least 3 * 2**-34.
    """
    shifted = phases + _FINE_MAGIC
    off = tl.abs(phases - (shifted - _FINE_MAGIC))
    return shifted.to(tl.int64, bitcast=True).to(tl.int32), off + errors < _HALF_UNIT


@jit
def float64_sum(
    x, frequencies, rows, columns, n_rows, n_frequencies, N_INPUTS: tl.constexpr,
    FEW_INPUTS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Return x @ frequencies.T for a tile, in float64.

    With FEW_INPUTS by plain multiplications, else DEPTH inputs at a time through the matrix
    unit. (Triton's interpreter cannot loop up to a run-time value: N_INPUTS is a constant.)
    """
    total = tl.zeros((ROWS, COLUMNS), tl.float64)
    if FEW_INPUTS:
        for j in tl.static_range(N_INPUTS):
            a = tl.load(x + rows * N_INPUTS + j, rows < n_rows, other=0).to(tl.float64)
            b = tl.load(frequencies + columns * N_INPUTS + j, columns < n_frequencies, other=0)
            total = tl.fma(a[:, None], b[None, :], total)
    else:
        for first in range(0, N_INPUTS, DEPTH):
            j = first + tl.arange(0, DEPTH)
            a = tl.load(
                x + rows[:, None] * N_INPUTS + j[None, :],
                (rows[:, None] < n_rows) & (j[None, :] < N_INPUTS),
                other=0,
            ).to(tl.float64)
            b = tl.load(
                frequencies + columns[None, :] * N_INPUTS + j[:, None],
                (columns[None, :] < n_frequencies) & (j[:, None] < N_INPUTS),
                other=0,
            )
            total = tl.dot(a, b, total, out_dtype=tl.float64)
    return total


@jit
def wave_pair(turns, valid=None):
    """Return (cos, sin) in float32 of int32 turns, units of 2**-32 turn.

    Where `valid` is given and false, both are NaN.
    """
    size = tl.abs(turns << 2).to(tl.uint32, bitcast=True)
    head = (size & _HEAD).to(tl.float32)
    tail = ((size & _TAIL) | _TAIL_ONE).to(tl.float32, bitcast=True) - _TAIL_ZERO
    unit = tl.full(head.shape, _UNIT, tl.float32)
    if valid is not None:
        unit = tl.where(valid, unit, float("nan"))
    t = tl.fma(head, unit, tail)
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
