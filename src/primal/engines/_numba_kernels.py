"""Compiled loops of the Numba engine, each over rows, each free of the interpreter lock.

A row makes its turns in a small buffer, then its waves: two passes over a buffer in the
first-level cache vectorise better than one loop that mixes 64-bit and 32-bit lanes. There
is no fast-math: multiplications and additions of the waves must stay separate.

`finish` says what becomes of a row's turns: (block layout or not, amplitudes of the
frequencies, offsets or none); `out` has a sine for as many frequencies as it has columns beyond k.

Phases come from approximations with a proven error. Where that leaves their rounding to 2**-32
turn open, `_exact_turn` decides: see ``primal.turns._digits``.
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from primal.engines._numba_vectors import add_product
from primal.turns import Cosine32, Cosine64, Sine32, Sine64

_F32 = np.float32
_U32 = np.uint32
_U64 = np.uint64
_S0, _S1, _S2 = (_F32(c) for c in Sine32.coefficients)
_C0, _C1, _C2, _C3 = (_F32(c) for c in Cosine32.coefficients)
_COSINE64, _SINE64 = Cosine64.coefficients, Sine64.coefficients
_PI4_HEAD, _PI4_REST = _F32(Sine32.head * 2.0**-29), _F32(Sine32.rest * 2.0**-29)
_PI4 = _F32(Sine32.whole)
_TAIL = np.int32((1 << Sine32.tail_bits) - 1)
_HEAD = np.int32(-(1 << Sine32.tail_bits))
# Bits below an exponent of -6 count units of 2**-29: a tail becomes a float without conversion.
_TAIL_ONE = np.int32((127 - 6) << 23)
_TAIL_ZERO = _F32(2.0**-6)
_ONE = _F32(1.0)
_TO_UNIT = _F32(2.0**-29)
_TWO = _U32(2)
_EIGHTH, _QUARTER, _SIGN = _U32(1 << 29), _U32(1 << 30), _U32(1 << 31)
_HALF_ULP = _U64(1 << 31)
_THIRTY_TWO = _U64(32)
# Adding this to a fraction rounds it to units of 2**-32 and leaves them in its low 32 bits.
_FRACTION_TO_LOW_BITS = 1.5 * 2.0**20
_HALF_UNIT = 2.0**-33
_LOW31 = np.int64(2**31 - 1)
_LOW32 = np.int64(2**32 - 1)

# Loops in Numba's cache are made anew when this file changes, and contain those of others.
# Compiled with: 0514e5d0eb2a
_kernel = njit(cache=True, nogil=True)
_inlined = njit(cache=True, nogil=True, inline="always")


def _waves32(u):
    """Return (cos, sin) of a uint32 turn: the bits of ``primal.turns.waves`` in fewer operations.

    Scaling by a power of two is exact and moves into constants; the head and the tail of t add up,
    rounded once, to t; the sine is negative in the second half of a turn, the cosine in the two
    middle quarters, also where they round to zero.
    """
    size = np.int32(abs(np.int32(np.int32(u << _TWO) >> _TWO)))
    head = _F32(np.int32(size & _HEAD))
    tail = np.int32((size & _TAIL) | _TAIL_ONE).view(_F32) - _TAIL_ZERO
    t = head * _TO_UNIT + tail
    y = t * t
    cosine = (((_C3 * y + _C2) * y + _C1) * y + _C0) * y + _ONE
    linear = head * _PI4_REST + tail * _PI4
    small = linear + (t * y) * ((_S2 * y + _S1) * y + _S0)
    sine = head * _PI4_HEAD + small
    odd = (_U32(u + _EIGHTH) & _QUARTER) != _U32(0)
    cos, sin = (sine, cosine) if odd else (cosine, sine)
    cos_bits = _U32(np.float32(cos).view(_U32) | _U32(_U32(u + _QUARTER) & _SIGN))
    sin_bits = _U32(np.float32(sin).view(_U32) | _U32(u & _SIGN))
    return np.uint32(cos_bits).view(_F32), np.uint32(sin_bits).view(_F32)


def _waves64(u):
    """Return (cos, sin) of a uint64 turn: the operations of ``primal.turns.waves``."""
    shifted = u + _U64(1 << 61)
    t = np.float64(np.int64(u << _U64(2))) * 2.0**-63
    y = t * t
    cosine = _horner64(_COSINE64, y) * y + 1.0
    sine = _horner64(_SINE64, y) * t
    odd = (shifted & _U64(1 << 62)) != _U64(0)
    cos, sin = (sine, cosine) if odd else (cosine, sine)
    # A sign is flipped exactly, also of zero.
    cos_bits = np.float64(cos).view(_U64) ^ ((shifted + _U64(1 << 62)) & _U64(1 << 63))
    sin_bits = np.float64(sin).view(_U64) ^ (shifted & _U64(1 << 63))
    return np.uint64(cos_bits).view(np.float64), np.uint64(sin_bits).view(np.float64)


@_inlined
def _horner64(coefficients, y):
    value = coefficients[-1]
    for i in range(len(coefficients) - 2, -1, -1):
        value = value * y + coefficients[i]
    return value


def _waves(u):
    """Return (cos, sin) of a turn, of float32 for uint32 and of float64 for uint64."""
    return _waves64(u) if u.dtype == np.uint64 else _waves32(u)


@overload(_waves, inline="always")
def _waves_by_type(u):
    return _waves64 if u == types.uint64 else _waves32


@_kernel
def _write_block(turns, amplitudes, cos_out, sin_out):
    for i in range(sin_out.shape[0]):
        cos, sin = _waves(turns[i])
        cos_out[i] = cos * amplitudes[i]
        sin_out[i] = sin * amplitudes[i]


@_kernel
def _write_interleaved(turns, amplitudes, out):
    for i in range(out.shape[0] // 2):
        cos, sin = _waves(turns[i])
        out[2 * i] = cos * amplitudes[i]
        out[2 * i + 1] = sin * amplitudes[i]


@_kernel
def _write_cosines(turns, amplitudes, out):
    for i in range(turns.shape[0]):
        out[i] = _waves(turns[i])[0] * amplitudes[i]


@_kernel
def write_row(turns, finish, out):
    """Write one row of waves; a factor of 1 leaves every bit, also the sign of zero.

    Turns and offsets are uint32 and waves float32, or all of them have 64 bits.
    """
    block, amplitudes, offsets = finish
    k = turns.shape[0]
    n_pairs = out.shape[0] - k
    if offsets.shape[0] > 0:
        for i in range(k):
            turns[i] += offsets[i]
    if block:
        # Two slices, so that the compiler sees that the stores cannot overlap.
        _write_block(turns, amplitudes, out[:k], out[k:])
        _write_cosines(turns[n_pairs:], amplitudes[n_pairs:], out[n_pairs:k])
    else:
        _write_interleaved(turns, amplitudes, out[: 2 * n_pairs])
        _write_cosines(turns[n_pairs:], amplitudes[n_pairs:], out[2 * n_pairs :])


@_kernel
def write_waves(turns, finish, out):
    """Write the waves of turns, shape (n, k), into `out`."""
    for r in range(turns.shape[0]):
        write_row(turns[r], finish, out[r])


@_kernel
def static(increments, positions, finish, out):
    """Write the codes of integer positions."""
    k = increments.shape[0]
    turns = np.empty(k, dtype=finish[2].dtype)
    shift = _U64(64 - 8 * turns.itemsize)
    half = (_U64(1) << shift) >> _U64(1)
    for r in range(positions.shape[0]):
        t = positions[r]
        for i in range(k):
            turns[i] = (t * increments[i] + half) >> shift
        write_row(turns, finish, out[r])


@_inlined
def _row_exponent(x):
    largest = 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j]))
    return math.frexp(largest)[1]


@_kernel
def row_lengths(x, lengths):
    """Write the length of every row, without overflow or underflow of its squares."""
    for r in range(x.shape[0]):
        a = _row_exponent(x[r])
        # Two factors: a single power of two overflows for rows of denormal numbers.
        first, second = math.ldexp(1.0, -(a // 2)), math.ldexp(1.0, a // 2 - a)
        total = 0.0
        for j in range(x.shape[1]):
            scaled = x[r, j] * first * second
            total += scaled * scaled
        lengths[r] = math.ldexp(math.sqrt(total), a)


@_inlined
def _integer_row(x, integers):
    """Write a row of x as the integers of the definition; return its exponent."""
    a = _row_exponent(x)
    half = (62 - a) // 2
    first, second = math.ldexp(1.0, half), math.ldexp(1.0, 62 - a - half)
    for j in range(x.shape[0]):
        integers[j] = np.int64(np.rint(x[j] * first * second))
    return a


@_inlined
def _add_shifted(words, value, position):
    """Add value * 2**position (below 2**128) to a 192-bit integer in three words."""
    first = position // 64
    shift = position % 64
    low = _U64(value) << _U64(shift)
    high = _U64((value >> np.int64(1)) >> np.int64(63 - shift))
    carry = _U64(0)
    for w in range(first, 3):
        part = low if w == first else (high if w == first + 1 else _U64(value >> np.int64(63)))
        total = part + carry
        carried = total < carry
        words[w] = words[w] + total
        carry = _U64(1) if carried or words[w] < total else _U64(0)


@_kernel
def _exact_turn(x, f, exponent, words):
    """Return the exact phase of integer rows x and f, rounded to 2**-32 turn.

    Each factor is cut at 31 bits; the four products of 62 bits are summed in two halves each.
    """
    hh_high = hh_low = mid_high = mid_low = ll_high = ll_low = np.int64(0)
    for j in range(x.shape[0]):
        xh, xl = x[j] >> np.int64(31), x[j] & _LOW31
        fh, fl = f[j] >> np.int64(31), f[j] & _LOW31
        hh, mid, ll = xh * fh, xh * fl + xl * fh, xl * fl
        hh_high += hh >> np.int64(32)
        hh_low += hh & _LOW32
        mid_high += mid >> np.int64(32)
        mid_low += mid & _LOW32
        ll_high += ll >> np.int64(32)
        ll_low += ll & _LOW32
    words[:] = _U64(0)
    _add_shifted(words, hh_high, 94)
    _add_shifted(words, hh_low, 62)
    _add_shifted(words, mid_high, 63)
    _add_shifted(words, mid_low, 31)
    _add_shifted(words, ll_high, 32)
    _add_shifted(words, ll_low, 0)
    return _U32((_window(words, exponent) + _HALF_ULP) >> _THIRTY_TWO)


@_kernel
def _window(words, exponent):
    """Return the 64 bits of a 192-bit sum that are its turns."""
    start = max(60 - exponent, 0)  # below 0 for rows of zeros only
    sign = _U64(np.int64(words[2]) >> np.int64(63))
    if start > 191:
        return sign
    word = start // 64
    shift = _U64(start % 64)
    above = words[word + 1] if word < 2 else sign
    return (words[word] >> shift) | ((above << _U64(1)) << (_U64(63) - shift))


@_kernel
def _round_row(phases, errors, length, shifted, bits, turns):
    """Round float64 phases to 2**-32 turn; return whether any of them is unsure."""
    n_unsure = 0
    for i in range(phases.shape[0]):
        fraction = phases[i] - np.rint(phases[i])
        rounded = fraction + _FRACTION_TO_LOW_BITS
        shifted[i] = rounded
        off = abs(fraction - (rounded - _FRACTION_TO_LOW_BITS))
        n_unsure += 1 if off + length * errors[i] >= _HALF_UNIT else 0
    for i in range(phases.shape[0]):
        turns[i] = _U32(bits[i])
    return n_unsure > 0


@_kernel
def _settle_row(phases, errors, length, shifted, x, mantissas, exponents, scratch, turns):
    """Compute the unsure phases of a row exactly."""
    integers, words = scratch
    a = _integer_row(x, integers)
    for i in range(phases.shape[0]):
        off = (phases[i] - np.rint(phases[i])) - (shifted[i] - _FRACTION_TO_LOW_BITS)
        if abs(off) + length * errors[i] >= _HALF_UNIT:
            turns[i] = _exact_turn(integers, mantissas[i], a + exponents[i], words)


@_kernel
def turns_from_phases(phases, x, lengths, errors, mantissas, exponents, turns):
    """Write exact turns from float64 phases, whose errors for |x| = 1 are `errors`."""
    shifted, bits, scratch = _scratch(phases, x)
    for r in range(phases.shape[0]):
        if _round_row(phases[r], errors, lengths[r], shifted, bits, turns[r]):
            row = phases[r], errors, lengths[r], shifted, x[r]
            _settle_row(*row, mantissas, exponents, scratch, turns[r])


@_kernel
def from_phases(phases, x, lengths, errors, mantissas, exponents, finish, out):
    """Write the features of the same turns."""
    turns = np.empty(phases.shape[1], dtype=np.uint32)
    shifted, bits, scratch = _scratch(phases, x)
    for r in range(phases.shape[0]):
        if _round_row(phases[r], errors, lengths[r], shifted, bits, turns):
            row = phases[r], errors, lengths[r], shifted, x[r]
            _settle_row(*row, mantissas, exponents, scratch, turns)
        write_row(turns, finish, out[r])


@_inlined
def _scratch(phases, x):
    """Return room for the rounded phases of a row, the same as bits, and room for exact sums."""
    shifted = np.empty(phases.shape[1], dtype=np.float64)
    sums = np.empty(x.shape[1], dtype=np.int64), np.empty(3, dtype=np.uint64)
    return shifted, shifted.view(np.uint64), sums


@_kernel
def fast(phases, finish, out):
    """Write features from float64 phases in turns."""
    k = phases.shape[1]
    turns = np.empty(k, dtype=np.uint32)
    shifted = np.empty(k, dtype=np.float64)
    bits = shifted.view(np.uint64)
    for r in range(phases.shape[0]):
        for i in range(k):
            shifted[i] = (phases[r, i] - np.rint(phases[r, i])) + _FRACTION_TO_LOW_BITS
        for i in range(k):
            turns[i] = _U32(bits[i])
        write_row(turns, finish, out[r])


@_kernel
def accumulate(sums, row_exponents, exponents, shift, total):
    """Add one exact sum, shifted to its place, to int64 turns that wrap."""
    for r in range(sums.shape[0]):
        row_shift = row_exponents[r] + shift
        for i in range(exponents.shape[0]):
            s = row_shift + exponents[i]
            left, right = min(max(s, 0), 63), min(max(-s, 0), 63)
            value = (np.int64(sums[r, i]) << left) >> right
            total[r, i] += value if s < 64 else np.int64(0)


@_kernel
def from_sums(total, integers, row_exponents, errors, mantissas, exponents, turns):
    """Round 64-bit turns to uint32 ones; `errors`, for |x| < 1, are in units of 2**-64 turn."""
    words = np.empty(3, dtype=np.uint64)
    for r in range(total.shape[0]):
        scale = math.ldexp(1.0, row_exponents[r])
        for i in range(total.shape[1]):
            turn = _U64(total[r, i]) + _HALF_ULP
            # Every shift to the right may have lost one unit more.
            error = errors[i] * scale + 16.0
            low = np.float64(np.int64(turn) & _LOW32)
            if low >= error and low <= 2.0**32 - 1.0 - error:
                turns[r, i] = _U32(turn >> _THIRTY_TWO)
            else:
                turns[r, i] = _exact_turn(
                    integers[r], mantissas[i], row_exponents[r] + exponents[i], words
                )


@_kernel
def wide_features(sums, positions, row_exponents, exponents, finish, out):
    """Write float64 waves from all exact sums of digit products, shape (terms, n, k)."""
    n_terms, n, k = sums.shape
    words, turns = np.empty(3, dtype=np.uint64), np.empty(k, dtype=np.uint64)
    for r in range(n):
        for i in range(k):
            words[:] = _U64(0)
            for term in range(n_terms):
                _add_shifted(words, np.int64(sums[term, r, i]), positions[term])
            turns[i] = _window(words, row_exponents[r] + exponents[i])
        write_row(turns, finish, out[r])


@_kernel
def wide_direct(x, mantissas, exponents, finish, out):
    """Write float64 waves of few inputs: a sum of at most seven products has 128 bits."""
    k, d = mantissas.shape
    integers, turns = np.empty(d, dtype=np.int64), np.empty(k, dtype=np.uint64)
    for r in range(x.shape[0]):
        a = _integer_row(x[r], integers)
        for i in range(k):
            high, low = np.int64(0), _U64(0)
            for j in range(d):
                high, low = add_product(high, low, integers[j], mantissas[i, j])
            start = max(60 - a - exponents[i], 0)  # below 0 for rows of zeros only
            shift = _U64(start & 63)
            if start < 64:
                turns[i] = (low >> shift) | ((_U64(high) << _U64(1)) << (_U64(63) - shift))
            else:
                turns[i] = _U64(high >> np.int64(min(start - 64, 63)))
        write_row(turns, finish, out[r])
