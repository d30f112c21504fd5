"""Vector codes by Python integers and fractions, after the text of docs/vectors.md.

Every float64 of the definition is a Fraction that is rounded once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

THRESHOLDS = {1: [], 2: [4021], 4: [1058, 2140, 3275, 4503, 5887, 7551, 9834]}
LEVELS = {1: [1], 2: [3, 10], 4: [3, 9, 15, 22, 29, 38, 48, 64]}


@cache
def shape(d):
    """Return m, r and the signs of the three rounds."""
    most = max(-(-d // 8) * 8, d + d // 32)
    sizes = [m for m in (8, 16, 32, 64, 128, 256) if m < 2 * d or m == 8]
    m = max(m for m in sizes if m == 8 or -(-d // m) * m <= most)
    r = -(-d // m)
    found, number = [], 2
    while len(found) < 3 * m * r:
        if all(number % p for p in range(2, math.isqrt(number) + 1)):
            found.append(1 if math.isqrt(4 * 1048583**2 * number) % 2 else -1)
        number += 1
    return m, r, [found[i * m * r :][: m * r] for i in range(3)]


def encode(row, bits, metric, center=None):
    """Return the places of the levels, the factor and the offset of a row."""
    gain = shape(len(row))[0] ** 3
    y, t, square, offset = rotated(tuple(row), metric, None if center is None else tuple(center))
    D = len(y)
    if bits == 8:
        top = max(map(abs, y)) or 1
        levels = [round(rounded(Fraction(127 * v, top))) for v in y]
        places = [level + 128 for level in levels]
    else:
        rms = root(rounded(Fraction(square * gain, D)))
        limits = [math.floor(rounded(rms * Fraction(h, 4096))) for h in THRESHOLDS[bits]]
        above = [sum(abs(v) > limit for limit in limits) for v in y]
        levels = [LEVELS[bits][a] * (-1 if v < 0 else 1) for a, v in zip(above, y, strict=True)]
        half = 2 ** (bits - 1)
        places = [half - 1 - a if v < 0 else half + a for a, v in zip(above, y, strict=True)]
    product = sum(level * v for level, v in zip(levels, y, strict=True)) or 1
    factor = rounded(Fraction(square * gain, product)) * Fraction(2) ** t
    return places, np.float32(float(factor)), np.float32(float(offset))


@cache
def rotated(row, metric, center):
    """Return the rotated words, their exponent, their squared length and the offset."""
    m, r, signs = shape(len(row))
    D, gain = m * r, m**3
    own = [Fraction(float(v)) for v in row]
    if metric == "cosine":
        e = exponent(own)
        words = [round(v * Fraction(2) ** (20 - e)) for v in own]
        length = root(Fraction(sum(w * w for w in words))) or Fraction(1)
        own = [rounded(w / length) for w in words]
    centered = own
    if center is not None:
        centered = [rounded(v - Fraction(float(c))) for v, c in zip(own, center, strict=True)]
    y, t = words_of(centered, gain)
    square = sum(w * w for w in y)
    offset = square * Fraction(4) ** t
    if metric == "ip":
        words, own_t = words_of(own, gain)
        offset -= sum(w * w for w in words) * Fraction(4) ** own_t
    y += [0] * (D - len(row))
    for number in range(3):
        y = [s * v for s, v in zip(signs[number], y, strict=True)]
        blocks = [hadamard(y[i : i + m]) for i in range(0, D, m)]
        if number < 2:
            blocks = [list(column) for column in zip(*blocks, strict=True)]
        y = [v for block in blocks for v in block]
    return y, t, square, offset


def packed(places, bits):
    each = 8 // bits
    groups = [places[i : i + each] for i in range(0, len(places), each)]
    return [sum(p << (bits * i) for i, p in enumerate(group)) for group in groups]


def hadamard(block):
    if len(block) == 1:
        return block
    half = len(block) // 2
    low, high = hadamard(block[:half]), hadamard(block[half:])
    pairs = list(zip(low, high, strict=True))
    return [a + b for a, b in pairs] + [a - b for a, b in pairs]


def words_of(row, gain):
    e, shift = exponent(row), 0
    words = [round(v * Fraction(2) ** (18 - e)) for v in row]
    while sum(w * w for w in words) * gain > 2 ** (60 + 2 * shift):
        shift += 1
    return [(w + (2**shift >> 1)) >> shift for w in words], e - 18 + shift


def exponent(row):
    return math.frexp(float(max(map(abs, row))))[1]


def rounded(value):
    return Fraction(float(value))


def root(value):
    """Return the square root of a fraction, rounded to float64."""
    shift = 200
    scaled = (value.numerator << (2 * shift)) // value.denominator
    found = math.isqrt(scaled)
    exact = found * found * value.denominator == value.numerator << (2 * shift)
    return Fraction(float(Fraction(2 * found + (not exact), 2 << shift)))
