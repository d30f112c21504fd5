"""Phases and waves as ONNX nodes: float64 sums of whole numbers, each of them exact.

A row of x and the frequencies are whole numbers of 63 bits, cut into digits of w bits. Sums of
products of digits with the same weight stay below 2**53, so a float64 matrix product has no
rounding in any order; carries are divisions by powers of two and floors. No node depends on how
a runtime sums, and none fuses a product with a sum.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from primal._extras import require
from primal.bases import HadamardTable, Table
from primal.engines import Finish, word_turns
from primal.turns import FREQUENCY_BITS, LARGEST_LOG2_TURNS, Cosine32, Sine32

_LARGEST_WIDTH = 21
_SUM_BITS = 52  # of a sum, before the carry of the one below it
_POWERS = 1022  # 2**-1022, ..., 2**1023 are in the table
# Rows below this have phases of zero; their scale stays in the table.
_LEAST_EXPONENT = -899
_SPLITTER = 134217729.0  # 2**27 + 1, of Dekker's exact product


class Graph:
    """Nodes and constants of a graph; methods add nodes and return the names of their outputs."""

    def __init__(self, prefix: str = "") -> None:
        self.helper = require("onnx.helper", "to_onnx")
        self.numpy_helper = require("onnx.numpy_helper", "to_onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names = (f"{prefix}v{i}" for i in itertools.count())

    def add(self, op: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Add one node; inputs that are no names are constants."""
        name = output or next(self._names)
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(self.helper.make_node(op, names, [name], name=f"n_{name}", **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = next(self._names)
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return name

    def cast(self, value: str, dtype: Any) -> str:
        return self.add("Cast", value, to=self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def floor(self, value: str, unit: Any) -> str:
        """Return floor(value / unit) for powers of two."""
        return self.add("Floor", self.add("Mul", value, 1.0 / np.float64(unit)))

    def rest(self, value: str, unit: float, whole: str) -> str:
        return self.add("Sub", value, self.add("Mul", whole, np.float64(unit)))

    def modulo(self, value: str, unit: float) -> str:
        return self.rest(value, unit, self.floor(value, unit))


def static_turns(graph: Graph, t: str, increments: np.ndarray) -> str:
    """Return phases of int64 positions (n,), whole float64 numbers in units of 2**-32 turn."""
    column = graph.add("Unsqueeze", t, np.array([1]))
    words = graph.add("Mul", column, increments.view(np.int64)[None])  # wraps
    words = graph.cast(graph.add("Add", words, np.int64(1 << 31)), np.uint64)
    return graph.cast(graph.add("BitShift", words, np.uint64(32), direction="RIGHT"), np.float64)


def dynamic_turns(graph: Graph, x: str, table: Table) -> tuple[str, str]:
    """Return such phases (n, k) of float64 rows, and which rows have them, bool (n, 1)."""
    powers = graph.constant(np.ldexp(1.0, np.arange(-_POWERS, _POWERS + 2)))

    def power(exponent: str, plus: int) -> str:
        place = graph.add("Max", graph.add("Add", exponent, np.int64(_POWERS + plus)), np.int64(0))
        return graph.add("Gather", powers, place)

    limit = np.float64(2.0**LARGEST_LOG2_TURNS / table.largest_l1_norm)
    largest = graph.add("ReduceMax", graph.add("Abs", x), np.array([1]), keepdims=1)
    valid = graph.add("LessOrEqual", largest, limit)  # not of NaN
    largest = graph.add("Where", valid, largest, np.float64(0.0))
    # The smallest a with |x| < 2**a: a logarithm is off by one at most, comparisons settle it.
    bounded = graph.add("Max", largest, np.ldexp(1.0, _LEAST_EXPONENT))
    guess = graph.add("Mul", graph.add("Log", bounded), np.float64(1.0 / np.log(2.0)))
    a = graph.cast(graph.add("Ceil", guess), np.int64)
    low = graph.add("GreaterOrEqual", bounded, power(a, 0))
    high = graph.add("Less", bounded, power(a, -1))
    a = graph.add("Add", a, graph.cast(low, np.int64))
    a = graph.add("Sub", a, graph.cast(high, np.int64))
    if isinstance(table, HadamardTable):
        (k, d), shown = table.shape, slice(table.skip, table.skip + table.shape[0])
        matrix = word_turns(np.eye(d, dtype=np.uint64), table.signs, table.factors)[:, shown]
        width = _digit_width(d, 64)
        digits = _hadamard_digits(graph, x, a, power, table.scale, width)
        return _combined(graph, digits, matrix.view(np.int64), width, 64, np.full(k, -31)), valid
    width = _digit_width(table.shape[1], FREQUENCY_BITS + 1)
    scaled = graph.add("Mul", x, power(graph.add("Neg", a), FREQUENCY_BITS))
    digits = _digits(graph, graph.add("Round", scaled), width, FREQUENCY_BITS + 1)
    shifts = table.exponents - (2 * FREQUENCY_BITS - LARGEST_LOG2_TURNS - 1)
    bits = 2 * FREQUENCY_BITS + 2
    return _combined(graph, digits, table.mantissas.T, width, bits, shifts, power(a, 0)), valid


def waves(graph: Graph, turns: str) -> tuple[str, str]:
    """Return float32 cosines and sines: the operations of ``primal.turns.waves``."""
    f32 = np.float32
    quadrant = graph.floor(graph.add("Add", turns, 2.0**29), 2.0**30)
    rest = graph.rest(turns, 2.0**30, quadrant)
    size = graph.add("Abs", rest)
    tail = graph.modulo(size, 2.0**Sine32.tail_bits)
    parts = (graph.add("Sub", size, tail), tail)
    head, tail = (graph.add("Mul", graph.cast(part, f32), f32(2.0**-29)) for part in parts)
    t = graph.add("Add", head, tail)
    y = graph.add("Mul", t, t)

    def horner(coefficients: tuple[float, ...]) -> str:
        value: Any = f32(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = graph.add("Add", graph.add("Mul", value, y), f32(coefficient))
        return value

    cosine = graph.add("Add", graph.add("Mul", horner(Cosine32.coefficients), y), f32(1.0))
    linear = graph.add(
        "Add",
        graph.add("Mul", head, f32(Sine32.rest)),
        graph.add("Mul", tail, f32(Sine32.whole)),
    )
    cubic = graph.add("Mul", graph.add("Mul", t, y), horner(Sine32.coefficients))
    sine = graph.add(
        "Add", graph.add("Mul", head, f32(Sine32.head)), graph.add("Add", linear, cubic)
    )
    sine = graph.add("Mul", sine, _sign(graph, graph.add("Less", rest, np.float64(0.0))))
    half = graph.modulo(quadrant, 2.0)
    odd = graph.add("Greater", half, np.float64(0.0))
    # Signs are factors: a choice between a number and its negative loses those of zeros.
    lower = graph.add("GreaterOrEqual", graph.modulo(quadrant, 4.0), np.float64(2.0))
    left = graph.add("Xor", lower, odd)
    cos = graph.add("Mul", graph.add("Where", odd, sine, cosine), _sign(graph, left))
    sin = graph.add("Mul", graph.add("Where", odd, cosine, sine), _sign(graph, lower))
    return cos, sin


def features(graph: Graph, turns: str, D: int, finish: Finish, factors: Any) -> str:
    """Return float32 features (n, D) of phases; factors are those of the columns, or one."""
    if finish.offsets is not None:
        turns = graph.add("Add", turns, finish.offsets.astype(np.float64))
        turns = graph.modulo(turns, 2.0**32)
    cos, sin = waves(graph, turns)
    if finish.offsets is not None:
        z = cos
    elif finish.layout == "block":
        z = graph.add("Concat", cos, sin, axis=1)
    else:
        pairs = [graph.add("Unsqueeze", part, np.array([2])) for part in (cos, sin)]
        z = graph.add("Flatten", graph.add("Concat", *pairs, axis=2), axis=1)
    # An odd number of features ends with a cosine.
    z = graph.add("Slice", z, np.array([0]), np.array([D]), np.array([1]))
    return graph.add("Mul", z, np.asarray(factors, dtype=np.float32))


def _sign(graph: Graph, negative: str) -> str:
    minus_two = graph.add("Mul", graph.cast(negative, np.float32), np.float32(-2.0))
    return graph.add("Add", minus_two, np.float32(1.0))


def _digit_width(d: int, bits: int) -> int:
    """Return the most bits of a digit with which sums of d products for each digit are exact."""
    width = _LARGEST_WIDTH
    # A top digit may have one bit more.
    while -(-bits // width) * d * 2.0 ** (2 * width - 1) > 2.0**_SUM_BITS:
        width -= 1
    return width


def _digits(graph: Graph, whole: str, width: int, bits: int) -> list[str]:
    """Return balanced digits of whole float64 numbers, the lowest first."""
    found = []
    for place in range((bits - 1) // width, 0, -1):
        unit = 2.0 ** (place * width)
        digit = graph.add("Round", graph.add("Mul", whole, np.float64(1.0 / unit)))
        whole = graph.rest(whole, unit, digit)
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
    x_digits: list[str],
    table: np.ndarray,
    width: int,
    bits: int,
    shifts: np.ndarray,
    row_scale: str | None = None,
) -> str:
    """Return floor(S 2**shift row_scale / 2 + 1/2) mod 2**32 of S = sum_j X_j F_j mod 2**bits."""
    n = len(x_digits)
    f_digits = _table_digits(table, width, n)
    carry, total = None, None
    n_sums = min(2 * n - 1, -(-bits // width))
    # Phases of at most 2**32 turns: exponents of x and of a frequency add up to 34 at most.
    least = -int(shifts.max()) if row_scale is None else 2 * FREQUENCY_BITS - 33 - 34
    for place in range(n_sums):
        pairs = [(i, place - i) for i in range(n) if 0 <= place - i < n]
        left = graph.add("Concat", *(x_digits[i] for i, _ in pairs), axis=1)
        part = graph.add("MatMul", left, np.concatenate([f_digits[j] for _, j in pairs]))
        if carry is not None:
            part = graph.add("Add", part, carry)
        if place < n_sums - 1:
            carry = graph.floor(part, 2.0**width)
        if (place + 1) * width <= least:
            continue  # it counts through its carry only
        if place < n_sums - 1:
            part = graph.rest(part, 2.0**width, carry)  # type: ignore[arg-type]
        part = graph.add("Mul", part, np.ldexp(1.0, shifts + place * width))
        if row_scale is not None:
            part = graph.add("Mul", part, row_scale)
        part = graph.modulo(graph.add("Floor", part), 2.0**33)
        total = part if total is None else graph.add("Add", total, part)
    halves = graph.add("Add", total, np.float64(1.0))
    return graph.modulo(graph.floor(halves, 2.0), 2.0**32)


def _hadamard_digits(
    graph: Graph, x: str, a: str, power: Any, scale: float, width: int
) -> list[str]:
    """Return the digits of sign(x) floor(|x| c 2**64 + 1/2), by an exact product (Dekker)."""
    fraction, exponent = np.frexp(np.float64(scale))
    y = graph.add("Mul", graph.add("Abs", x), power(graph.add("Neg", a), 0))
    big = graph.add("Mul", y, np.float64(_SPLITTER))
    y_high = graph.add("Sub", big, graph.add("Sub", big, y))
    y_low = graph.add("Sub", y, y_high)
    big_c = fraction * _SPLITTER
    c_high = big_c - (big_c - fraction)
    c_low = fraction - c_high
    product = graph.add("Mul", y, fraction)
    error = graph.add("Sub", graph.add("Mul", y_high, c_high), product)
    for part, c in ((y_high, c_low), (y_low, c_high), (y_low, c_low)):
        error = graph.add("Add", error, graph.add("Mul", part, c))
    unit = power(a, int(exponent) + 64)
    product, error = (graph.add("Mul", part, unit) for part in (product, error))
    whole = graph.add("Floor", product)
    left = graph.add("Sub", product, whole)
    below = graph.add("Floor", error)
    up = graph.add("GreaterOrEqual", graph.add("Sub", error, below), np.float64(0.5))
    of_whole = graph.add("Add", below, graph.cast(up, np.float64))
    up = graph.add(
        "GreaterOrEqual", graph.add("Sub", left, np.float64(0.5)), graph.add("Neg", error)
    )
    is_whole = graph.add("Equal", left, np.float64(0.0))
    more = graph.add("Where", is_whole, of_whole, graph.cast(up, np.float64))
    turns = graph.add("Round", graph.add("Mul", whole, np.float64(2.0**-64)))
    lowest, *others = _digits(graph, graph.rest(whole, 2.0**64, turns), width, 64)
    sign = graph.add("Sign", x)
    return [graph.add("Mul", d, sign) for d in (graph.add("Add", lowest, more), *others)]
