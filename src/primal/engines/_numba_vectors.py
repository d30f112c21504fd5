"""What a compiler cannot find in loops: vectors of eight, and products of 128 bits.

Arrays have shape (m, 8), C-contiguous, of any type that adds; a row is a vector. On processors with
shorter vectors LLVM takes several. Values of LLVM have no type that is worth writing down.
"""

from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

# Called with fewer arguments than it is defined with, which no type says.
intrinsic: Any = extending.intrinsic
LANES = 8
I32, I64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()


class Code:
    """Instructions in the place of a call; arguments go by their number."""

    def __init__(self, context, builder, signature, arguments) -> None:
        self.context, self.builder = context, builder
        self.kinds, self.arguments = signature.args, arguments
        self.nothing = context.get_dummy_value()

    def places(self, first, n: int = LANES, step=None):
        """Return first, first + step, ...; the step is one by default."""
        found = [first]
        for _ in range(n - 1):
            found.append(self.builder.add(found[-1], ir.Constant(I64, 1) if step is None else step))
        return found

    def width(self, array: int):
        """Return the number of columns of an array."""
        return self.builder.extract_value(self._struct(array).shape, 1)

    def vector(self, array: int, index):
        """Return the vector that begins at a flat index."""
        return self.builder.load(self._pointer(array, index), align=self._align(array))

    def set_vector(self, array: int, index, value) -> None:
        """Store a vector from a flat index on."""
        self.builder.store(value, self._pointer(array, index), align=self._align(array))

    def row(self, array: int, place):
        """Return a row of eight columns."""
        return self.vector(array, self.builder.mul(place, ir.Constant(I64, LANES)))

    def set_rows(self, array: int, places: list, values: Iterable) -> None:
        """Store rows of eight columns."""
        for place, value in zip(places, values, strict=True):
            self.set_vector(array, self.builder.mul(place, ir.Constant(I64, LANES)), value)

    def element(self, array: int, index):
        """Return one element, eight times over."""
        at = self.builder.gep(self._struct(array).data, [index])
        return self.splat(self.builder.load(at))

    def constant(self, kind, value: float):
        """Return a constant, eight times over."""
        return self.splat(ir.Constant(kind, value))

    def splat(self, value):
        """Return a value, eight times over."""
        vector = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        one = self.builder.insert_element(vector, value, ir.Constant(I32, 0))
        return self.picked(one, vector, [0] * LANES)

    def picked(self, a, b, places: Iterable[int]):
        """Return entries of two vectors, those of the second behind those of the first."""
        mask = list(places)
        return self.builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(mask)), mask))

    def signed(self, value, sign):
        """Return -value where a sign has all bits set, value where none."""
        return self.builder.sub(self.builder.xor(value, sign), sign)

    def float_call(self, name: str, *values):
        """Call a function of LLVM for vectors of float64."""
        kind = ir.FunctionType(values[0].type, [value.type for value in values])
        module = self.builder.module
        found = cgutils.get_or_insert_function(module, kind, f"llvm.{name}.v{LANES}f64")
        return self.builder.call(found, values)

    def pair(self, array: int) -> Callable:
        """Return the function that makes sum and difference of rows of an array."""
        floating, code = isinstance(self.kinds[array].dtype, types.Float), self.builder
        plus, minus = (code.fadd, code.fsub) if floating else (code.add, code.sub)
        return lambda a, b: (plus(a, b), minus(a, b))

    def wide_pair(self, one, other):
        """Return sum and difference of two vectors of 128-bit words in two parts, (high, low)."""
        code, ((a, b), (c, d)) = self.builder, (one, other)
        total = code.add(b, d)
        carry = code.zext(code.icmp_unsigned("<", total, b), b.type)
        borrow = code.zext(code.icmp_unsigned("<", b, d), b.type)
        return (
            (code.add(code.add(a, c), carry), total),
            (code.sub(code.sub(a, c), borrow), code.sub(b, d)),
        )

    def transposed(self, rows: list):
        """Return the columns of eight vectors of eight."""
        half = 1
        while half < LANES:
            low = [i if not i & half else i - half + LANES for i in range(LANES)]
            high = [i + half if not i & half else i + LANES for i in range(LANES)]
            for i in range(LANES):
                if not i & half:
                    a, b = rows[i], rows[i + half]
                    rows[i], rows[i + half] = self.picked(a, b, low), self.picked(a, b, high)
            half *= 2
        return rows

    def _struct(self, array: int):
        make = self.context.make_array(self.kinds[array])
        return make(self.context, self.builder, value=self.arguments[array])

    def _pointer(self, array: int, index):
        element = self.context.get_value_type(self.kinds[array].dtype)
        at = self.builder.gep(self._struct(array).data, [index])
        return self.builder.bitcast(at, ir.VectorType(element, LANES).as_pointer())

    def _align(self, array: int) -> int:
        return self.kinds[array].dtype.bitwidth // 8


def transformed(rows: list, pair: Callable):
    """Return the transform of 2, 4, 8 or 16 values, by the sum and the difference of two."""
    half = 1
    while half < len(rows):
        for i in range(len(rows)):
            if not i & half:
                rows[i], rows[i + half] = pair(rows[i], rows[i + half])
        half *= 2
    return rows


@intrinsic
def add_product(typing_context, high, low, a, b):
    """Return the two words of high * 2**64 + low + a * b, a signed number of 128 bits."""

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        upper, lower, first, second = arguments
        sixty_four = ir.Constant(wide, 64)
        total = builder.or_(
            builder.shl(builder.sext(upper, wide), sixty_four), builder.zext(lower, wide)
        )
        product = builder.mul(builder.sext(first, wide), builder.sext(second, wide))
        total = builder.add(total, product)
        words = (
            builder.trunc(builder.lshr(total, sixty_four), I64),
            builder.trunc(total, I64),
        )
        return context.make_tuple(builder, signature.return_type, words)

    words = types.Tuple((types.int64, types.uint64))
    return words(types.int64, types.uint64, types.int64, types.int64), generate
