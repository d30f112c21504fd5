"""What a compiler cannot find in loops: vectors of eight, and products of 128 bits.

Arrays have shape (m, 8), C-contiguous, of any type that adds; a row is a vector. On processors with
shorter vectors LLVM takes several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

# Called with fewer arguments than it is defined with, which no type says.
_intrinsic: Any = extending.intrinsic
_LANES = 8
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: int) -> Any:
    """Return a pointer to the vector that begins at a flat index of an array."""
    data = context.make_array(kind)(context, builder, value=array).data
    element = context.get_value_type(kind.dtype)
    at = builder.gep(data, [index])
    return builder.bitcast(at, ir.VectorType(element, lanes).as_pointer())


def _row(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    index = builder.mul(row, ir.Constant(_I64, _LANES))
    return _pointer(context, builder, kind, array, index, _LANES)


def _element(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Return one element, eight times over."""
    data = context.make_array(kind)(context, builder, value=array).data
    return _splat(builder, builder.load(builder.gep(data, [index])))


def _splat(builder: Any, value: Any) -> Any:
    vector = ir.Constant(ir.VectorType(value.type, _LANES), ir.Undefined)
    zero = ir.Constant(_I32, 0)
    one = builder.insert_element(vector, value, zero)
    mask = ir.Constant(ir.VectorType(_I32, _LANES), [0] * _LANES)
    return builder.shuffle_vector(one, vector, mask)


def _sums(rows: list[Any], pair: Callable[[Any, Any], tuple[Any, Any]]) -> list[Any]:
    """Return the transform of 2, 4, 8 or 16 values, by the sum and the difference of two."""
    half = 1
    while half < len(rows):
        for i in range(len(rows)):
            if not i & half:
                rows[i], rows[i + half] = pair(rows[i], rows[i + half])
        half *= 2
    return rows


def _pair(builder: Any, kind: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return the function that makes sum and difference of two vectors of a type of Numba."""
    floating = isinstance(kind, types.Float)
    plus, minus = (builder.fadd, builder.fsub) if floating else (builder.add, builder.sub)
    return lambda a, b: (plus(a, b), minus(a, b))


def _butterflies(size: int) -> Any:
    """Return the function (y, row, stride) that transforms rows row, row + stride, ... in place."""

    def butterflies(typing_context: Any, y: Any, row: Any, stride: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, first, step = arguments
            kind, places = signature.args[0], [first]
            for _ in range(size - 1):
                places.append(builder.add(places[-1], step))
            pointers = [_row(context, builder, kind, array, place) for place in places]
            rows = _sums([builder.load(at, align=4) for at in pointers], _pair(builder, kind.dtype))
            for value, at in zip(rows, pointers, strict=True):
                builder.store(value, at, align=4)
            return context.get_dummy_value()

        return types.void(y, types.int64, types.int64), generate

    return _intrinsic(butterflies)


butterflies2, butterflies4, butterflies8, butterflies16 = map(_butterflies, (2, 4, 8, 16))


def _double_butterflies(size: int) -> Any:
    """Return the function (y, row, stride, signs) that transforms rows, signs and transforms again.

    `signs` (m,) have all bits set for minus.
    """

    def butterflies(typing_context: Any, y: Any, row: Any, stride: Any, signs: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, first, step, sign_array = arguments
            kind, sign_kind, places = signature.args[0], signature.args[3], [first]
            for _ in range(size - 1):
                places.append(builder.add(places[-1], step))
            pointers = [_row(context, builder, kind, array, place) for place in places]
            pair = _pair(builder, kind.dtype)
            rows = _sums([builder.load(at, align=8) for at in pointers], pair)
            for number, place in enumerate(places):
                sign = _element(context, builder, sign_kind, sign_array, place)
                rows[number] = builder.sub(builder.xor(rows[number], sign), sign)
            for value, at in zip(_sums(rows, pair), pointers, strict=True):
                builder.store(value, at, align=8)
            return context.get_dummy_value()

        return types.void(y, types.int64, types.int64, signs), generate

    return _intrinsic(butterflies)


double2, double4, double8, double16 = map(_double_butterflies, (2, 4, 8, 16))


@_intrinsic
def signed_butterflies(
    typing_context: Any, source: Any, first: Any, signs: Any, target: Any
) -> Any:
    """Write the transform of rows first .. first + 7 of `source`, with signs, to `target`.

    `signs` (m,) have all bits set for minus.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from_array, start, sign_array, to_array = arguments
        from_kind, _, sign_kind, to_kind = signature.args
        rows, places, pair = [], [], _pair(builder, from_kind.dtype)
        for offset in range(8):
            places.append(builder.add(start, ir.Constant(_I64, offset)))
            at = _row(context, builder, from_kind, from_array, places[-1])
            sign = _element(context, builder, sign_kind, sign_array, places[-1])
            rows.append(builder.sub(builder.xor(builder.load(at, align=8), sign), sign))
        for value, place in zip(_sums(rows, pair), places, strict=True):
            builder.store(value, _row(context, builder, to_kind, to_array, place), align=8)
        return context.get_dummy_value()

    return types.void(source, types.int64, signs, target), generate


@_intrinsic
def word_butterflies(
    typing_context: Any, x: Any, column: Any, factor: Any, signs: Any, target: Any
) -> Any:
    """Do what `signed_butterflies` does with the words of eight columns of x, (8, d).

    A word is sign(x) floor(|x| factor + 1/2); x is float32 or float64. Returns 0 if the words are
    right: all products are below 2**51.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, by, sign_array, out = arguments
        kind, _, _, sign_kind, out_kind = signature.args
        vector = ir.VectorType(ir.DoubleType(), _LANES)

        def call(name: str, *values: Any) -> Any:
            kind = ir.FunctionType(vector, [vector] * len(values))
            function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v8f64")
            return builder.call(function, values)

        factors = _splat(builder, by)
        zero, one, half, limit, up = (
            _splat(builder, ir.Constant(ir.DoubleType(), v))
            for v in (0.0, 1.0, 0.5, 2.0**51, 1.5 * 2.0**52)
        )
        up_bits = builder.bitcast(up, ir.VectorType(_I64, _LANES))
        sign_at = _pointer(context, builder, sign_kind, sign_array, start, _LANES)
        minus = builder.and_(
            builder.load(sign_at, align=8), _splat(builder, ir.Constant(_I64, -(1 << 63)))
        )
        width = context.make_array(kind)(context, builder, value=array).shape
        width = builder.extract_value(width, 1)
        rows, outside = [], ir.Constant(ir.VectorType(ir.IntType(1), _LANES), [0] * _LANES)
        for lane in range(_LANES):
            index = builder.add(builder.mul(width, ir.Constant(_I64, lane)), start)
            point = builder.load(_pointer(context, builder, kind, array, index, _LANES), align=4)
            point = point if kind.dtype == types.float64 else builder.fpext(point, vector)
            size = call("fabs", point)
            # To the nearest whole number, a half to an even one: from which it may still go up.
            whole = builder.fsub(call("fma", size, factors, up), up)
            beyond = call("fma", size, factors, builder.fneg(builder.fadd(whole, half)))
            higher = builder.fcmp_ordered(">=", beyond, zero)
            whole = builder.select(higher, builder.fadd(whole, one), whole)
            outside = builder.or_(outside, builder.fcmp_unordered(">=", whole, limit))
            flipped = builder.xor(builder.bitcast(point, up_bits.type), minus)
            whole = call("copysign", whole, builder.bitcast(flipped, vector))
            bits = builder.bitcast(builder.fadd(whole, up), up_bits.type)
            rows.append(builder.sub(bits, up_bits))
        rows = _sums(_transposed(builder, rows), _pair(builder, out_kind.dtype))
        for offset, value in enumerate(rows):
            place = builder.add(start, ir.Constant(_I64, offset))
            builder.store(value, _row(context, builder, out_kind, out, place), align=8)
        return builder.zext(builder.bitcast(outside, ir.IntType(_LANES)), _I64)

    return types.int64(x, types.int64, types.float64, signs, target), generate


def _wide_pair(builder: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return the function that makes sum and difference of two vectors of (high, low) words."""
    wide = ir.VectorType(_I64, _LANES)

    def pair(one: Any, other: Any) -> tuple[Any, Any]:
        (a, b), (c, d) = one, other
        total = builder.add(b, d)
        carry = builder.zext(builder.icmp_unsigned("<", total, b), wide)
        borrow = builder.zext(builder.icmp_unsigned("<", b, d), wide)
        return (
            (builder.add(builder.add(a, c), carry), total),
            (builder.sub(builder.sub(a, c), borrow), builder.sub(b, d)),
        )

    return pair


def _wide_butterflies(size: int) -> Any:
    """Return the function (high, low, row, stride) that transforms rows of 128-bit words."""

    def butterflies(typing_context: Any, high: Any, low: Any, row: Any, stride: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = [arguments[2]]
            for _ in range(size - 1):
                places.append(builder.add(places[-1], arguments[3]))
            pointers = [
                [_row(context, builder, kind, array, place) for kind, array in parts]
                for place in places
                for parts in [list(zip(signature.args[:2], arguments[:2], strict=True))]
            ]
            rows = [tuple(builder.load(at, align=8) for at in pair) for pair in pointers]
            for values, pair in zip(_sums(rows, _wide_pair(builder)), pointers, strict=True):
                for value, at in zip(values, pair, strict=True):
                    builder.store(value, at, align=8)
            return context.get_dummy_value()

        return types.void(high, low, types.int64, types.int64), generate

    return _intrinsic(butterflies)


wide2, wide4, wide8 = map(_wide_butterflies, (2, 4, 8))


@_intrinsic
def wide_signed(
    typing_context: Any, high: Any, low: Any, row: Any, signs: Any, high_out: Any, low_out: Any
) -> Any:
    """Do what `signed_butterflies` does for rows of 128-bit words in two parts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        wide = ir.VectorType(_I64, _LANES)
        zero = ir.Constant(wide, [0] * _LANES)
        places = [builder.add(arguments[2], ir.Constant(_I64, offset)) for offset in range(8)]
        rows = []
        for place in places:
            upper, lower = (
                builder.load(_row(context, builder, kinds[i], arguments[i], place), align=8)
                for i in (0, 1)
            )
            sign = _element(context, builder, kinds[3], arguments[3], place)
            lower = builder.sub(builder.xor(lower, sign), sign)
            # The borrow of minus zero is lost in the low word and kept in the high one.
            carry = builder.zext(builder.icmp_unsigned("==", lower, zero), wide)
            upper = builder.add(builder.xor(upper, sign), builder.and_(carry, sign))
            rows.append((upper, lower))
        for values, place in zip(_sums(rows, _wide_pair(builder)), places, strict=True):
            for value, i in zip(values, (4, 5), strict=True):
                at = _row(context, builder, kinds[i], arguments[i], place)
                builder.store(value, at, align=8)
        return context.get_dummy_value()

    return types.void(high, low, types.int64, signs, high_out, low_out), generate


@_intrinsic
def write_wide_turns(
    typing_context: Any, high: Any, low: Any, first: Any, factors: Any, column: Any, turns: Any
) -> Any:
    """Write 64-bit turns of eight rows of 128-bit words to eight columns of `turns`, (8, k)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        low32, s31, s32, one = (
            _splat(builder, ir.Constant(_I64, v)) for v in (2**32 - 1, 31, 32, 1)
        )
        rows = []
        for offset in range(8):
            by = ir.Constant(_I64, offset)
            place = builder.add(arguments[2], by)
            upper, lower = (
                builder.load(_row(context, builder, kinds[i], arguments[i], place), align=8)
                for i in (0, 1)
            )
            place = builder.add(arguments[4], by)
            factor = _element(context, builder, kinds[3], arguments[3], place)
            middle = builder.add(
                builder.mul(builder.lshr(lower, s32), factor),
                builder.lshr(builder.mul(builder.and_(lower, low32), factor), s32),
            )
            # Bit 63 of the low word of the product rounds, halves up.
            top = builder.and_(builder.lshr(middle, s31), one)
            total = builder.add(builder.mul(upper, factor), builder.lshr(middle, s32))
            rows.append(builder.add(total, top))
        lanes = _transposed(builder, rows)
        _write_columns(context, builder, kinds[5], arguments[5], arguments[4], lanes)
        return context.get_dummy_value()

    return types.void(high, low, types.int64, factors, types.int64, turns), generate


def _write_columns(
    context: Any, builder: Any, kind: Any, array: Any, column: Any, lanes: list[Any]
) -> None:
    """Store eight vectors at a column of an array of eight rows."""
    width = builder.extract_value(context.make_array(kind)(context, builder, value=array).shape, 1)
    for lane, value in enumerate(lanes):
        index = builder.add(builder.mul(width, ir.Constant(_I64, lane)), column)
        builder.store(value, _pointer(context, builder, kind, array, index, _LANES), align=4)


@_intrinsic
def write_turns(
    typing_context: Any, y: Any, first: Any, factors: Any, column: Any, turns: Any
) -> Any:
    """Write 32-bit turns of rows first .. first + 7 of y to eight columns of `turns`, (8, k).

    The transform of the words is multiplied with the factors of the columns and rounded to the
    upper half.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, factor_array, column_start, out = arguments
        kind, _, factor_kind, _, out_kind = signature.args
        half = _splat(builder, ir.Constant(_I64, 1 << 31))
        rows, offsets = [], [ir.Constant(_I64, offset) for offset in range(8)]
        for by in offsets:
            at = _row(context, builder, kind, array, builder.add(start, by))
            rows.append(builder.load(at, align=8))
        rows = _sums(rows, _pair(builder, kind.dtype))
        for number, by in enumerate(offsets):
            place = builder.add(column_start, by)
            factor = _element(context, builder, factor_kind, factor_array, place)
            word = builder.add(builder.mul(rows[number], factor), half)
            rows[number] = builder.bitcast(word, ir.VectorType(_I32, 2 * _LANES))
        _write_columns(context, builder, out_kind, out, column_start, _upper_halves(builder, rows))
        return context.get_dummy_value()

    return types.void(y, types.int64, factors, types.int64, turns), generate


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of eight vectors of eight."""
    half = 1
    while half < _LANES:
        low = [i if not i & half else i - half + _LANES for i in range(_LANES)]
        high = [i + half if not i & half else i + _LANES for i in range(_LANES)]
        masks = [ir.Constant(ir.VectorType(_I32, _LANES), mask) for mask in (low, high)]
        for i in range(_LANES):
            if not i & half:
                a, b = rows[i], rows[i + half]
                rows[i], rows[i + half] = (builder.shuffle_vector(a, b, mask) for mask in masks)
        half *= 2
    return rows


def _upper_halves(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of the upper halves of eight vectors of eight words, given as halves.

    On the way a vector holds all rows so far of one lane side by side, then those of the next.
    """

    def picked(a: Any, b: Any, places: Iterable[int]) -> Any:
        mask = list(places)
        kind = ir.VectorType(_I32, len(mask))
        return builder.shuffle_vector(a, b, ir.Constant(kind, mask))

    def joined(a: Any, b: Any, n_rows: int, lanes: range) -> Any:
        starts = (side + n_rows * lane for lane in lanes for side in (0, 2 * _LANES))
        return picked(a, b, (start + row for start in starts for row in range(n_rows)))

    odd = [i + 2 * lane for lane in range(_LANES) for i in (1, 1 + 2 * _LANES)]
    twos = [picked(a, b, odd) for a, b in zip(rows[::2], rows[1::2], strict=True)]
    fours = [
        [joined(a, b, 2, lanes) for a, b in zip(twos[::2], twos[1::2], strict=True)]
        for lanes in (range(4), range(4, 8))
    ]
    eights = [joined(a, b, 4, lanes) for a, b in fours for lanes in (range(2), range(2, 4))]
    return [picked(v, v, range(i, i + _LANES)) for v in eights for i in (0, _LANES)]


@_intrinsic
def add_product(typing_context: Any, high: Any, low: Any, a: Any, b: Any) -> Any:
    """Return the two words of high * 2**64 + low + a * b, a signed number of 128 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        upper, lower, first, second = arguments
        sixty_four = ir.Constant(wide, 64)
        total = builder.or_(
            builder.shl(builder.sext(upper, wide), sixty_four), builder.zext(lower, wide)
        )
        product = builder.mul(builder.sext(first, wide), builder.sext(second, wide))
        total = builder.add(total, product)
        words = (
            builder.trunc(builder.lshr(total, sixty_four), _I64),
            builder.trunc(total, _I64),
        )
        return context.make_tuple(builder, signature.return_type, words)

    words = types.Tuple((types.int64, types.uint64))
    return words(types.int64, types.uint64, types.int64, types.int64), generate
