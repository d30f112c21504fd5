"""What a compiler cannot find in loops: vectors of eight, and products of 128 bits.

Arrays have shape (m, 8), C-contiguous, of any type that adds; a row is a vector. On processors with
shorter vectors LLVM takes several.
"""

from __future__ import annotations

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


def _sums(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the transform of 2, 4, 8 or 16 vectors."""
    floating = isinstance(rows[0].type.element, (ir.FloatType, ir.DoubleType))
    plus, minus = (builder.fadd, builder.fsub) if floating else (builder.add, builder.sub)
    half = 1
    while half < len(rows):
        for i in range(len(rows)):
            if not i & half:
                a, b = rows[i], rows[i + half]
                rows[i], rows[i + half] = plus(a, b), minus(a, b)
        half *= 2
    return rows


def _butterflies(size: int) -> Any:
    """Return the function (y, row, stride) that transforms rows row, row + stride, ... in place."""

    def butterflies(typing_context: Any, y: Any, row: Any, stride: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, first, step = arguments
            kind, places = signature.args[0], [first]
            for _ in range(size - 1):
                places.append(builder.add(places[-1], step))
            pointers = [_row(context, builder, kind, array, place) for place in places]
            rows = _sums(builder, [builder.load(at, align=4) for at in pointers])
            for value, at in zip(rows, pointers, strict=True):
                builder.store(value, at, align=4)
            return context.get_dummy_value()

        return types.void(y, types.int64, types.int64), generate

    return _intrinsic(butterflies)


butterflies2, butterflies4, butterflies8, butterflies16 = map(_butterflies, (2, 4, 8, 16))


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
        rows, places = [], []
        for offset in range(8):
            places.append(builder.add(start, ir.Constant(_I64, offset)))
            at = _row(context, builder, from_kind, from_array, places[-1])
            sign = _element(context, builder, sign_kind, sign_array, places[-1])
            rows.append(builder.sub(builder.xor(builder.load(at, align=8), sign), sign))
        for value, place in zip(_sums(builder, rows), places, strict=True):
            builder.store(value, _row(context, builder, to_kind, to_array, place), align=8)
        return context.get_dummy_value()

    return types.void(source, types.int64, signs, target), generate


@_intrinsic
def write_words(typing_context: Any, x: Any, column: Any, factor: Any, words: Any) -> Any:
    """Write sign(x) floor(|x| factor + 1/2) of eight columns of x (8, d) to rows of `words`.

    x is float32 or float64. Returns 0 if the words are right: all products are below 2**51.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, by, out = arguments
        kind, _, _, out_kind = signature.args
        double = ir.DoubleType()
        vector = ir.VectorType(double, _LANES)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), "llvm.fma.v8f64"
        )
        factors = _splat(builder, by)
        zero, one, half, limit, up = (
            _splat(builder, ir.Constant(double, v)) for v in (0.0, 1.0, 0.5, 2.0**51, 1.5 * 2.0**52)
        )
        up_bits = builder.bitcast(up, ir.VectorType(_I64, _LANES))
        width = context.make_array(kind)(context, builder, value=array).shape
        width = builder.extract_value(width, 1)
        rows, outside = [], ir.Constant(ir.VectorType(ir.IntType(1), _LANES), [0] * _LANES)
        for lane in range(_LANES):
            index = builder.add(builder.mul(width, ir.Constant(_I64, lane)), start)
            point = builder.load(_pointer(context, builder, kind, array, index, _LANES), align=4)
            point = point if kind.dtype == types.float64 else builder.fpext(point, vector)
            minus = builder.fcmp_ordered("<", point, zero)
            size = builder.select(minus, builder.fneg(point), point)
            product = builder.fmul(size, factors)
            outside = builder.or_(outside, builder.fcmp_unordered(">=", product, limit))
            rest = builder.call(fused, (size, factors, builder.fneg(product)))  # exact
            whole = builder.fsub(builder.fadd(product, up), up)  # to the nearest
            off = builder.fsub(product, whole)
            # In the middle the rest decides; elsewhere it is too small to.
            higher = builder.and_(
                builder.fcmp_ordered("==", off, half), builder.fcmp_ordered(">=", rest, zero)
            )
            lower = builder.and_(
                builder.fcmp_ordered("==", off, builder.fneg(half)),
                builder.fcmp_ordered("<", rest, zero),
            )
            whole = builder.select(higher, builder.fadd(whole, one), whole)
            whole = builder.select(lower, builder.fsub(whole, one), whole)
            whole = builder.select(minus, builder.fneg(whole), whole)
            bits = builder.bitcast(builder.fadd(whole, up), up_bits.type)
            rows.append(builder.sub(bits, up_bits))
        for offset, value in enumerate(_transposed(builder, rows)):
            place = builder.add(start, ir.Constant(_I64, offset))
            builder.store(value, _row(context, builder, out_kind, out, place), align=8)
        return builder.zext(builder.bitcast(outside, ir.IntType(_LANES)), _I64)

    return types.int64(x, types.int64, types.float64, words), generate


@_intrinsic
def wide_butterflies(typing_context: Any, high: Any, low: Any, row: Any, stride: Any) -> Any:
    """Replace rows `row` and row + stride of 128-bit words, in two parts, by sum and difference."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        highs, lows, first, step = arguments
        high_kind, low_kind = signature.args[:2]
        places = (first, builder.add(first, step))
        high_at = [_row(context, builder, high_kind, highs, place) for place in places]
        low_at = [_row(context, builder, low_kind, lows, place) for place in places]
        (a, c), (b, d) = ([builder.load(at, align=8) for at in side] for side in (high_at, low_at))
        total, wide = builder.add(b, d), ir.VectorType(_I64, _LANES)
        carry = builder.zext(builder.icmp_unsigned("<", total, b), wide)
        borrow = builder.zext(builder.icmp_unsigned("<", b, d), wide)
        builder.store(total, low_at[0], align=8)
        builder.store(builder.sub(b, d), low_at[1], align=8)
        builder.store(builder.add(builder.add(a, c), carry), high_at[0], align=8)
        builder.store(builder.sub(builder.sub(a, c), borrow), high_at[1], align=8)
        return context.get_dummy_value()

    return types.void(high, low, types.int64, types.int64), generate


@_intrinsic
def write_turns(
    typing_context: Any, y: Any, first: Any, factors: Any, column: Any, turns: Any
) -> Any:
    """Write 32-bit turns of rows first .. first + 7 of y to eight columns of `turns`, (8, k).

    The words are multiplied with the factors of the columns and rounded to the upper half.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, factor_array, column_start, out = arguments
        kind, _, factor_kind, _, out_kind = signature.args
        half, shift = (_splat(builder, ir.Constant(_I64, v)) for v in (1 << 31, 32))
        narrow = ir.VectorType(_I32, _LANES)
        rows = []
        for offset in range(8):
            by = ir.Constant(_I64, offset)
            at = _row(context, builder, kind, array, builder.add(start, by))
            place = builder.add(column_start, by)
            factor = _element(context, builder, factor_kind, factor_array, place)
            word = builder.add(builder.mul(builder.load(at, align=8), factor), half)
            rows.append(builder.trunc(builder.lshr(word, shift), narrow))
        width = context.make_array(out_kind)(context, builder, value=out).shape
        width = builder.extract_value(width, 1)
        for lane, value in enumerate(_transposed(builder, rows)):
            index = builder.add(builder.mul(width, ir.Constant(_I64, lane)), column_start)
            at = _pointer(context, builder, out_kind, out, index, _LANES)
            builder.store(value, at, align=4)
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
