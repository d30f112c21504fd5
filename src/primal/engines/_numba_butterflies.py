"""Steps of signed Hadamard transforms of eight columns, (m, 8), in vectors and registers.

Signs (m,) have all bits set for minus. Words of 128 bits are two arrays, high and low.
"""

from llvmlite import ir
from numba import types

from primal.engines._numba_vectors import DOUBLE, I32, I64, LANES, Code, intrinsic, transformed


def _butterflies(size: int):
    """Return the function (y, row, stride) that transforms rows row, row + stride, ... in place."""

    def butterflies(typing_context, y, row, stride):
        def generate(*call):
            code = Code(*call)
            places = code.places(code.arguments[1], size, code.arguments[2])
            rows = [code.row(0, place) for place in places]
            code.set_rows(0, places, transformed(rows, code.pair(0)))
            return code.nothing

        return types.void(y, types.int64, types.int64), generate

    return intrinsic(butterflies)


butterflies2, butterflies4, butterflies8, butterflies16 = map(_butterflies, (2, 4, 8, 16))


def _double_butterflies(size: int):
    """Return the function (y, row, stride, signs) that transforms rows, signs and transforms."""

    def butterflies(typing_context, y, row, stride, signs):
        def generate(*call):
            code = Code(*call)
            places = code.places(code.arguments[1], size, code.arguments[2])
            rows = transformed([code.row(0, place) for place in places], code.pair(0))
            signed = [
                code.signed(row, code.element(3, place))
                for row, place in zip(rows, places, strict=True)
            ]
            code.set_rows(0, places, transformed(signed, code.pair(0)))
            return code.nothing

        return types.void(y, types.int64, types.int64, signs), generate

    return intrinsic(butterflies)


double2, double4, double8, double16 = map(_double_butterflies, (2, 4, 8, 16))


@intrinsic
def signed_butterflies(typing_context, source, first, signs, target):
    """Write the transform of rows first .. first + 7 of `source`, with signs, to `target`."""

    def generate(*call):
        code = Code(*call)
        places = code.places(code.arguments[1])
        rows = [code.signed(code.row(0, place), code.element(2, place)) for place in places]
        code.set_rows(3, places, transformed(rows, code.pair(0)))
        return code.nothing

    return types.void(source, types.int64, signs, target), generate


@intrinsic
def word_butterflies(typing_context, x, column, factor, signs, target):
    """Do what `signed_butterflies` does with the words of eight columns of x, (8, d).

    A word is sign(x) floor(|x| factor + 1/2); x is float32 or float64. Returns 0 if the words are
    right: all products are below 2**51.
    """

    def generate(*call):
        code = Code(*call)
        builder, start = code.builder, code.arguments[1]
        factors = code.splat(code.arguments[2])
        zero, one, half, limit, up = (
            code.constant(DOUBLE, v) for v in (0.0, 1.0, 0.5, 2.0**51, 1.5 * 2.0**52)
        )
        minus = builder.and_(code.vector(3, start), code.constant(I64, -(1 << 63)))
        up_bits = builder.bitcast(up, minus.type)
        rows, outside = [], builder.fcmp_ordered("<", one, zero)
        for begin in code.places(start, LANES, code.width(0)):
            point = code.vector(0, begin)
            if point.type != up.type:
                point = builder.fpext(point, up.type)
            size = code.float_call("fabs", point)
            # To the nearest whole number, a half to an even one: from which it may still go up.
            whole = builder.fsub(code.float_call("fma", size, factors, up), up)
            middle = builder.fadd(whole, half)
            beyond = code.float_call("fma", size, factors, builder.fneg(middle))
            higher = builder.fcmp_ordered(">=", beyond, zero)
            whole = builder.select(higher, builder.fadd(whole, one), whole)
            outside = builder.or_(outside, builder.fcmp_unordered(">=", whole, limit))
            flipped = builder.xor(builder.bitcast(point, minus.type), minus)
            whole = code.float_call("copysign", whole, builder.bitcast(flipped, up.type))
            bits = builder.bitcast(builder.fadd(whole, up), minus.type)
            rows.append(builder.sub(bits, up_bits))
        rows = transformed(code.transposed(rows), code.pair(4))
        code.set_rows(4, code.places(start), rows)
        return builder.zext(builder.bitcast(outside, ir.IntType(LANES)), I64)

    return types.int64(x, types.int64, types.float64, signs, target), generate


@intrinsic
def write_turns(typing_context, y, first, factors, column, turns):
    """Write 32-bit turns of rows first .. first + 7 of y to eight columns of `turns`, (8, k).

    The transform of the words is multiplied with the factors of the columns and rounded to the
    upper half.
    """

    def generate(*call):
        code = Code(*call)
        builder, column_start = code.builder, code.arguments[3]
        half = code.constant(I64, 1 << 31)
        rows = transformed([code.row(0, at) for at in code.places(code.arguments[1])], code.pair(0))
        words = [
            builder.add(builder.mul(row, code.element(2, place)), half)
            for row, place in zip(rows, code.places(column_start), strict=True)
        ]
        begins = code.places(column_start, LANES, code.width(4))
        s32, narrow = code.constant(I64, 32), ir.VectorType(I32, LANES)
        for begin, value in zip(begins, code.transposed(words), strict=True):
            code.set_vector(4, begin, builder.trunc(builder.lshr(value, s32), narrow))
        return code.nothing

    return types.void(y, types.int64, factors, types.int64, turns), generate


def _wide_butterflies(size: int):
    """Return the function (high, low, row, stride) that transforms rows of 128-bit words."""

    def butterflies(typing_context, high, low, row, stride):
        def generate(*call):
            code = Code(*call)
            places = code.places(code.arguments[2], size, code.arguments[3])
            rows = [(code.row(0, place), code.row(1, place)) for place in places]
            highs, lows = zip(*transformed(rows, code.wide_pair), strict=True)
            code.set_rows(0, places, highs)
            code.set_rows(1, places, lows)
            return code.nothing

        return types.void(high, low, types.int64, types.int64), generate

    return intrinsic(butterflies)


wide2, wide4, wide8 = map(_wide_butterflies, (2, 4, 8))


@intrinsic
def wide_signed(typing_context, high, low, row, signs, high_out, low_out):
    """Do what `signed_butterflies` does for rows of 128-bit words."""

    def generate(*call):
        code = Code(*call)
        builder, places, rows = code.builder, code.places(code.arguments[2]), []
        zero = code.constant(I64, 0)
        for place in places:
            sign = code.element(3, place)
            lower = code.signed(code.row(1, place), sign)
            # The borrow of minus zero is lost in the low word and kept in the high one.
            carry = builder.zext(builder.icmp_unsigned("==", lower, zero), zero.type)
            upper = builder.xor(code.row(0, place), sign)
            rows.append((builder.add(upper, builder.and_(carry, sign)), lower))
        highs, lows = zip(*transformed(rows, code.wide_pair), strict=True)
        code.set_rows(4, places, highs)
        code.set_rows(5, places, lows)
        return code.nothing

    return types.void(high, low, types.int64, signs, high_out, low_out), generate


@intrinsic
def write_wide_turns(typing_context, high, low, first, factors, column, turns):
    """Write 64-bit turns of eight rows of 128-bit words to eight columns of `turns`, (8, k)."""

    def generate(*call):
        code = Code(*call)
        builder, column_start, rows = code.builder, code.arguments[4], []
        low32, s31, s32, one = (code.constant(I64, v) for v in (2**32 - 1, 31, 32, 1))
        places = zip(code.places(code.arguments[2]), code.places(column_start), strict=True)
        for place, column_place in places:
            upper, lower = code.row(0, place), code.row(1, place)
            factor = code.element(3, column_place)
            middle = builder.add(
                builder.mul(builder.lshr(lower, s32), factor),
                builder.lshr(builder.mul(builder.and_(lower, low32), factor), s32),
            )
            # Bit 63 of the low word of the product rounds, halves up.
            top = builder.and_(builder.lshr(middle, s31), one)
            total = builder.add(builder.mul(upper, factor), builder.lshr(middle, s32))
            rows.append(builder.add(total, top))
        begins = code.places(column_start, LANES, code.width(5))
        for begin, value in zip(begins, code.transposed(rows), strict=True):
            code.set_vector(5, begin, value)
        return code.nothing

    return types.void(high, low, types.int64, factors, types.int64, turns), generate
