"""``waves``: from turns to (cosine, sine), the one definition of the output bits.

Every engine and framework repeats exactly these operations in this order. Each is an
integer operation or one correctly rounded floating-point operation, none is fused, so
the result has one bit pattern everywhere. ``tools/fit_waves.py`` makes the coefficients.

A phase is split into the nearest quadrant point and a rest of at most an eighth of a turn,
t = rest / (eighth of a turn). Polynomials give cos(pi t / 4) and sin(pi t / 4); the quadrant
swaps and negates them.
"""

import math

import numpy as np

from primal._checks import fixed_point


def _floats(digits: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, digits.split()))


class Octant32:
    """Polynomials of float32: 1 + t**2 (c0 + c1 t**2 + ...), pi t / 4 + t**3 (s0 + s1 t**2 + ...).

    |t| has up to 30 bits and pi / 4 all of them, so one float32 product would round twice.
    Instead |t| is cut into a head of 12 bits and a tail, pi / 4 into a head of 12 bits and a
    rest: the product of the heads is exact and everything else is small. This halves the mean
    squared error of decoding.
    """

    cosine = _floats("-0x1.3bd3ccp-2 0x1.03c1aep-6 -0x1.55b146p-12 0x1.d47d5ep-19")
    sine = _floats("-0x1.4abbbap-4 0x1.465e54p-9 -0x1.2d8004p-15")
    tail_bits = 18
    head = 3217 / 4096  # pi / 4 to 12 bits
    rest = float(np.float32(math.pi / 4 - 3217 / 4096))
    whole = float(np.float32(math.pi / 4))


class Octant64:
    """Polynomials of float64: 1 + t**2 (c0 + c1 t**2 + ...), t (s0 + s1 t**2 + ...)."""

    cosine = _floats(
        "-0x1.3bd3cc9be45dep-2 0x1.03c1f081b5ac0p-6 -0x1.55d3c7e3cb241p-12 0x1.e1f5068688d5bp-19"
        " -0x1.a6d1eef479be1p-26 0x1.f9ce245cada0bp-34 -0x1.b2f3eb054afcdp-42"
    )
    sine = _floats(
        "0x1.921fb54442d18p-1 -0x1.4abbce625be41p-4 0x1.466bc677587f8p-9 -0x1.32d2cce2e5b19p-15"
        " 0x1.50782fda12d96p-22 -0x1.e30071afc3e59p-30 0x1.e3f38399551bfp-38"
    )


def waves(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine and sine of phases given in fixed-point turns.

    Parameters
    ----------
    turns : ndarray of uint32 or uint64, any shape
        Units of 2**-32 or 2**-64 turn.

    Returns
    -------
    cos, sin : ndarray of float32 (from uint32) or float64 (from uint64)
        Within 1.3e-7 (float32) or 4e-16 (float64) of the true values, exact at the four
        quadrant points; the cosine is an even function of the phase, the sine odd.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.exact import waves
    >>> quarter = np.array([0, 2**30, 2**31, 3 * 2**30], dtype=np.uint32)
    >>> cos, sin = waves(quarter)
    >>> cos.astype(int), sin.astype(int)
    (array([ 1,  0, -1,  0]), array([ 0,  1,  0, -1]))
    """
    fixed_point("turns", turns, np.uint32, np.uint64)
    eighth, to_quadrant, one, two = _WORDS[turns.dtype]
    quadrant = (turns + eighth) >> to_quadrant
    rest = turns - (quadrant << to_quadrant)
    narrow = turns.dtype == np.uint32
    cosine, sine = _octant32(rest.view(np.int32)) if narrow else _octant64(rest.view(np.int64))

    odd = (quadrant & one).astype(bool)
    cos = np.where(odd, sine, cosine)
    sin = np.where(odd, cosine, sine)
    # The second bit of a quadrant is the sign; shifted to the top, higher bits fall off.
    sin_sign = quadrant & two
    quadrant += one
    quadrant &= two
    cos_bits, sin_bits = cos.view(turns.dtype), sin.view(turns.dtype)
    cos_bits ^= quadrant << to_quadrant
    sin_bits ^= sin_sign << to_quadrant
    return cos, sin


def _constants(dtype: str, *values: float) -> tuple[np.ndarray, ...]:
    return tuple(np.array(value, dtype) for value in values)


# Constants are made once: for a single row they cost as much as the arithmetic.
_WORDS = {np.dtype(f"uint{b}"): _constants(f"uint{b}", 1 << (b - 3), b - 2, 1, 2) for b in (32, 64)}
_TAIL, _SIGN = _constants("int32", (1 << Octant32.tail_bits) - 1, -(2**31))
_UNIT32, _ONE32, _HEAD, _REST, _WHOLE = _constants(
    "float32", 2.0**-29, 1.0, Octant32.head, Octant32.rest, Octant32.whole
)
_COSINE32 = _constants("float32", *Octant32.cosine)
_SINE32 = _constants("float32", *Octant32.sine)
_COSINE64 = _constants("float64", *Octant64.cosine)
_SINE64 = _constants("float64", *Octant64.sine)


def _octant32(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (cos, sin) of int32 rests of at most 2**29, in units of 2**-32 turn."""
    size = np.abs(rest)
    tail = size & _TAIL
    size -= tail
    t_head, t_tail = size.astype(np.float32), tail.astype(np.float32)
    t = t_head + t_tail  # both are exact: rounded once, as the whole size would be
    for part in (t_head, t_tail, t):
        part *= _UNIT32
    y = t * t
    cosine = _horner(_COSINE32, y) * y
    cosine += _ONE32
    linear = t_head * _REST + t_tail * _WHOLE
    linear += (t * y) * _horner(_SINE32, y)
    sine = t_head * _HEAD
    sine += linear
    sign = sine.view(np.int32)
    sign ^= rest & _SIGN
    return cosine, sine


def _octant64(rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (cos, sin) of int64 rests of at most 2**61, in units of 2**-64 turn."""
    t = rest.astype(np.float64) * 2.0**-61
    y = t * t
    cosine = _horner(_COSINE64, y) * y + 1.0
    return cosine, _horner(_SINE64, y) * t


def _horner(coefficients: tuple[np.ndarray, ...], y: np.ndarray) -> np.ndarray:
    value = y * coefficients[-1]
    value += coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        value *= y
        value += coefficient
    return value
