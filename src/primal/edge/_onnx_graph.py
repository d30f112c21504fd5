"""Phases and waves as ONNX nodes: float64 sums of whole numbers, each of them exact.

A row of x and the frequencies are whole numbers of 63 bits, cut into digits of w bits. Sums of
products of digits with the same weight stay below 2**53, so a float64 matrix product has no
rounding in any order; carries are divisions by powers of two and floors. No node depends on how
a runtime sums, and none fuses a product with a sum.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from primal._extras import require
from primal.exact import (
    Finish,
    FrequencyTable,
    HadamardTable,
    Octant32,
)

_LARGEST_WIDTH = 21
_SUM_BITS = 52  # of a sum, before the carry of the one below it
_POWERS = 1022  # 2**-1022, ..., 2**1023 are in the table
# Rows below this have phases of zero; their scale stays in the table.
_LEAST_EXPONENT = -899
_SPLITTER = 134217729.0  # 2**27 + 1, of Dekker's exact product


class Graph:
    """Nodes and constants of a graph."""

    def __init__(self) -> None:
        self.helper = require("onnx.helper", "to_onnx")
        self.numpy_helper = require("onnx.numpy_helper", "to_onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names = (f"v{i}" for i in itertools.count())

    def add(self, op: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Value:
        """Add one node; inputs that are neither values nor names are constants."""
        name = output or next(self._names)
        values = [i if isinstance(i, (Value, str)) else self.constant(i) for i in inputs]
        names = [value.name if isinstance(value, Value) else value for value in values]
        self.nodes.append(self.helper.make_node(op, names, [name], name=f"n_{name}", **attributes))
        return Value(self, name)

    def constant(self, value: Any) -> Value:
        name = next(self._names)
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return Value(self, name)

    def cast(self, value: Value | str, dtype: Any) -> Value:
        return self.add("Cast", value, to=self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _node(op: str) -> Any:
    return lambda value, *others: value.graph.add(op, value, *others)


class Value:
    """The output of a node by its name; operations add nodes."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    __add__, __sub__, __mul__, __truediv__ = map(_node, ("Add", "Sub", "Mul", "Div"))
    __lt__, __gt__, __ge__, __neg__ = map(_node, ("Less", "Greater", "GreaterOrEqual", "Neg"))
    abs, floor, round = map(_node, ("Abs", "Floor", "Round"))

    def cast(self, dtype: Any) -> Value:
        return self.graph.cast(self, dtype)

    def over(self, unit: float) -> Value:
        """Return floor(value / unit) for a power of two."""
        return (self * (1.0 / unit)).floor()

    def modulo(self, unit: float) -> Value:
        return self - self.over(unit) * unit


def static_turns(graph: Graph, t: str, increments: np.ndarray) -> Value:
    """Return phases of int64 positions (n,), whole float64 numbers in units of 2**-32 turn."""
    column = graph.add("Unsqueeze", t, np.array([1]))
    words = column * increments.view(np.int64)[None]  # wraps
    words = (words + np.int64(1 << 31)).cast(np.uint64)
    return graph.add("BitShift", words, np.uint64(32), direction="RIGHT").cast(np.float64)


def dynamic_turns(
    graph: Graph, x: Value, table: FrequencyTable | HadamardTable
) -> tuple[Value, Value]:
    """Return such phases (n, k) of float64 rows, and which rows have them, bool (n, 1)."""
    powers = graph.constant(np.ldexp(1.0, np.arange(-_POWERS, _POWERS + 2)))

    def power(exponent: Value, plus: int) -> Value:
        place = graph.add("Max", exponent + np.int64(_POWERS + plus), np.int64(0))
        return graph.add("Gather", powers, place)

    limit = table.largest_input
    largest = graph.add("ReduceMax", x.abs(), np.array([1]), keepdims=1)
    valid = graph.add("LessOrEqual", largest, limit)  # not of NaN
    largest = graph.add("Where", valid, largest, 0.0)
    # The smallest a with |x| < 2**a: a logarithm is off by one at most, comparisons settle it.
    bounded = graph.add("Max", largest, np.ldexp(1.0, _LEAST_EXPONENT))
    guess = graph.add("Log", bounded) * (1.0 / np.log(2.0))
    a = graph.add("Ceil", guess).cast(np.int64)
    low, high = bounded >= power(a, 0), bounded < power(a, -1)
    a = a + low.cast(np.int64) - high.cast(np.int64)
    if isinstance(table, HadamardTable):
        (k, d), shown = table.shape, slice(table.skip, table.skip + table.shape[0])
        matrix = table.word_turns(np.eye(d, dtype=np.uint64), table.signs, table.factors)[:, shown]
        width = _digit_width(d, 64)
        digits = _hadamard_digits(x, a, power, table.scale, width)
        return _combined(graph, digits, matrix.view(np.int64), width, 64, np.full(k, -31)), valid
    width = _digit_width(table.shape[1], table.bits + 1)
    digits = _digits((x * power(-a, table.bits)).round(), width, table.bits + 1)
    shifts = table.exponents - (2 * table.bits - table.log2_turns - 1)
    bits = 2 * table.bits + 2
    return _combined(graph, digits, table.mantissas.T, width, bits, shifts, power(a, 0)), valid


def waves(turns: Value) -> tuple[Value, Value]:
    """Return float32 cosines and sines: the operations of ``primal.exact.waves``."""
    f32, choose = np.float32, partial(turns.graph.add, "Where")
    quadrant = (turns + 2.0**29).over(2.0**30)
    rest = turns - quadrant * 2.0**30
    size = rest.abs()
    tail = size.modulo(2.0**Octant32.tail_bits)
    head, tail = (part.cast(f32) * f32(2.0**-29) for part in (size - tail, tail))
    t = head + tail
    y = t * t

    def horner(coefficients: tuple[float, ...]) -> Value:
        value: Any = turns.graph.constant(f32(coefficients[-1]))
        for coefficient in coefficients[-2::-1]:
            value = value * y + f32(coefficient)
        return value

    cosine = horner(Octant32.cosine) * y + f32(1.0)
    linear = head * f32(Octant32.rest) + tail * f32(Octant32.whole)
    sine = head * f32(Octant32.head) + (linear + t * y * horner(Octant32.sine))
    sine = sine * _sign(rest < 0.0)
    odd = quadrant.modulo(2.0) > 0.0
    # Signs are factors: a choice between a number and its negative loses those of zeros.
    lower = quadrant.modulo(4.0) >= 2.0
    left = turns.graph.add("Xor", lower, odd)
    return choose(odd, sine, cosine) * _sign(left), choose(odd, cosine, sine) * _sign(lower)


def features(graph: Graph, turns: Value, D: int, finish: Finish, factors: Any) -> Value:
    """Return float32 features (n, D) of phases; factors are those of the columns, or one."""
    if finish.offsets is not None:
        turns = (turns + finish.offsets.astype(np.float64)).modulo(2.0**32)
    cos, sin = waves(turns)
    if finish.offsets is not None:
        z = cos
    elif finish.layout == "block":
        z = graph.add("Concat", cos, sin, axis=1)
    else:
        pairs = [graph.add("Unsqueeze", part, np.array([2])) for part in (cos, sin)]
        z = graph.add("Flatten", graph.add("Concat", *pairs, axis=2), axis=1)
    # An odd number of features ends with a cosine.
    z = graph.add("Slice", z, np.array([0]), np.array([D]), np.array([1]))
    return z * np.asarray(factors, dtype=np.float32)


def _sign(negative: Value) -> Value:
    return negative.cast(np.float32) * np.float32(-2.0) + np.float32(1.0)


def _digit_width(d: int, bits: int) -> int:
    """Return the most bits of a digit with which sums of d products for each digit are exact."""
    width = _LARGEST_WIDTH
    # A top digit may have one bit more.
    while -(-bits // width) * d * 2.0 ** (2 * width - 1) > 2.0**_SUM_BITS:
        width -= 1
    return width


def _digits(whole: Value, width: int, bits: int) -> list[Value]:
    """Return balanced digits of whole float64 numbers, the lowest first."""
    found = []
    for place in range((bits - 1) // width, 0, -1):
        unit = 2.0 ** (place * width)
        digit = (whole * (1.0 / unit)).round()
        whole = whole - digit * unit
        found.append(digit)
    return [whole, *found[::-1]]


def _table_digits(integers: np.ndarray, width: int, n_digits: int) -> list[np.ndarray]:
    """Return balanced digits of int64 numbers, the lowest first, in float64."""
    found = []
    for place in range(n_digits - 1, 0, -1):
        unit = np.int64(place * width)
        digit = (integers >> unit) + ((integers >> (unit - np.int64(1))) & np.int64(1))
        integers = integers - (digit << unit)
        found.append(digit.astype(np.float64))
    return [integers.astype(np.float64), *found[::-1]]


def _combined(
    graph: Graph,
    x_digits: list[Value],
    table: np.ndarray,
    width: int,
    bits: int,
    shifts: np.ndarray,
    row_scale: Value | None = None,
) -> Value:
    """Return floor(S 2**shift row_scale / 2 + 1/2) mod 2**32 of S = sum_j X_j F_j mod 2**bits."""
    n = len(x_digits)
    f_digits = _table_digits(table, width, n)
    carry, total = None, None
    n_sums = min(2 * n - 1, -(-bits // width))
    # Phases of at most 2**32 turns: exponents of x and of a frequency add up to 34 at most.
    least = -int(shifts.max()) if row_scale is None else 2 * FrequencyTable.bits - 33 - 34
    for place in range(n_sums):
        pairs = [(i, place - i) for i in range(n) if 0 <= place - i < n]
        left = graph.add("Concat", *(x_digits[i] for i, _ in pairs), axis=1)
        part = graph.add("MatMul", left, np.concatenate([f_digits[j] for _, j in pairs]))
        part = part if carry is None else part + carry
        carry = part.over(2.0**width) if place < n_sums - 1 else None
        if (place + 1) * width <= least:
            continue  # it counts through its carry only
        part = part if carry is None else part - carry * 2.0**width
        part = part * np.ldexp(1.0, shifts + place * width)
        part = part if row_scale is None else part * row_scale
        part = part.floor().modulo(2.0**33)
        total = part if total is None else total + part
    assert total is not None
    return (total + 1.0).over(2.0).modulo(2.0**32)


def _hadamard_digits(x: Value, a: Value, power: Any, scale: float, width: int) -> list[Value]:
    """Return the digits of sign(x) floor(|x| c 2**64 + 1/2), by an exact product (Dekker)."""
    fraction, exponent = np.frexp(np.float64(scale))
    y = x.abs() * power(-a, 0)
    big, big_c = y * _SPLITTER, fraction * _SPLITTER
    y_high, c_high = big - (big - y), big_c - (big_c - fraction)
    y_low, c_low = y - y_high, fraction - c_high
    product = y * fraction
    error = y_high * c_high - product
    for part, c in ((y_high, c_low), (y_low, c_high), (y_low, c_low)):
        error = error + part * c
    unit = power(a, int(exponent) + 64)
    product, error = product * unit, error * unit
    whole = product.floor()
    left, below = product - whole, error.floor()
    of_whole = below + (error - below >= 0.5).cast(np.float64)
    up = (left - 0.5 >= -error).cast(np.float64)
    more = x.graph.add("Where", x.graph.add("Equal", left, 0.0), of_whole, up)
    turns = (whole * 2.0**-64).round()
    lowest, *others = _digits(whole - turns * 2.0**64, width, 64)
    sign = x.graph.add("Sign", x)
    return [digit * sign for digit in (lowest + more, *others)]
