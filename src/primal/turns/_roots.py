"""Exact digits of sigma * sqrt(p), for whole arrays of primes at once.

A float is an exact rational m * 2**t, so sigma * sqrt(p) = sqrt(m**2 * p) * 2**t and its
binary digits are those of an integer square root. The integers are up to 93 bits long;
NumPy has 64. Two facts keep everything in uint64: the remainder of an integer square
root, V - n**2, is never larger than 2 n, so it survives the wrap-around of V - n * n;
and each further group of 32 digits follows from that remainder by one division.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

_U32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFF_FFFF)


class ScaledRoots(NamedTuple):
    """sigma * sqrt(p) = (head + tail * 2**-32 + less than 2**-32) * 2**exponent."""

    head: np.ndarray  # uint64 in [2**59, 2**61)
    tail: np.ndarray  # uint64 in [0, 2**32)
    exponent: np.ndarray  # int64

    def floor_scaled(self, log2_scale: np.ndarray | int) -> np.ndarray:
        """Return floor(sigma * sqrt(p) * 2**log2_scale) modulo 2**64, as uint64.

        Every element needs exponent + log2_scale <= 32: there are no digits beyond `tail`.
        """
        drop = np.uint64(1) * (32 - self.exponent - log2_scale).astype(np.uint64)
        in_tail = drop <= _U32
        shift_in_tail = np.where(in_tail, drop, _U32)
        from_tail = (self.head << (_U32 - shift_in_tail)) + (self.tail >> shift_in_tail)
        from_head = self.head >> np.minimum(drop - np.minimum(drop, _U32), np.uint64(63))
        return np.where(in_tail, from_tail, from_head)


def scaled_roots(p: np.ndarray, sigma: float | np.ndarray) -> ScaledRoots:
    """Return the leading 91 or more binary digits of sigma * sqrt(p).

    Parameters
    ----------
    p : ndarray of uint64
        Positive integers below 2**32.
    sigma : float or ndarray of float64
        Positive, broadcastable to `p`; taken as the exact rational that it is.
    """
    mantissa, sigma_exponent = np.frexp(np.asarray(sigma, dtype=np.float64))
    m = np.ldexp(mantissa, 53).astype(np.uint64)  # in [2**52, 2**53)
    t = sigma_exponent.astype(np.int64) - 53
    # Move p into [2**30, 2**32) by a power of four, which leaves the root's digits alone.
    bits = np.frexp(p.astype(np.float64))[1].astype(np.int64)
    v = (32 - bits) // 2
    limbs = _product_limbs(m, p << (2 * v).astype(np.uint64))
    head, remainder = _root_of_122_bits(limbs.high, limbs.low)
    tail = _next_32_bits(head, remainder, limbs.rest)
    return ScaledRoots(head, tail, 8 + t - v)


def exact_floor(p: int, sigma: float, log2_scale: int) -> int:
    """Return floor(sigma * sqrt(p) * 2**log2_scale) by Python's own integers.

    The slow twin of :meth:`ScaledRoots.floor_scaled`, without its limit on the size.
    """
    numerator, denominator = float(sigma).as_integer_ratio()
    t = 1 - denominator.bit_length()
    shift = 2 * (t + log2_scale)
    square = numerator * numerator * int(p)
    return math.isqrt(square << shift if shift >= 0 else square >> -shift)


class _Limbs(NamedTuple):
    """c = m**2 * p as (high * 2**64 + low) * 2**16 + rest; c is below 2**138."""

    high: np.ndarray
    low: np.ndarray
    rest: np.ndarray


def _product_limbs(m: np.ndarray, p: np.ndarray) -> _Limbs:
    # Schoolbook multiplication in digits of 32 bits; no step exceeds 64 bits.
    m0, m1 = m & _LOW32, m >> _U32
    digits = [m0 * m0, np.uint64(2) * m0 * m1, m1 * m1]
    square = _carry(digits)
    c0, c1, c2, c3, c4 = _multiply_digits(square, p)
    s16, s48 = np.uint64(16), np.uint64(48)
    low16 = np.uint64(0xFFFF)
    low = (c0 >> s16) | (c1 << s16) | ((c2 & low16) << s48)
    high = (c2 >> s16) | (c3 << s16) | (c4 << s48)
    return _Limbs(high, low, c0 & low16)


def _carry(digits: list[np.ndarray]) -> list[np.ndarray]:
    """Return the same number with every digit below 2**32, one digit longer."""
    clean = []
    carry = np.zeros_like(digits[0])
    for digit in digits:
        total = digit + carry
        clean.append(total & _LOW32)
        carry = total >> _U32
    return [*clean, carry]


def _multiply_digits(digits: list[np.ndarray], p: np.ndarray) -> list[np.ndarray]:
    product = []
    carry = np.zeros_like(p)
    for digit in digits:
        total = digit * p + carry
        product.append(total & _LOW32)
        carry = total >> _U32
    return [*product, carry]


def _root_of_122_bits(high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return n = floor(sqrt(high * 2**64 + low)) and the remainder; 2**59 <= n < 2**61."""
    a = np.sqrt(high.astype(np.float64)).astype(np.uint64)
    # float64 rounding can put the estimate one off on either side.
    a -= (a * a > high).astype(np.uint64)
    a += ((a + np.uint64(1)) * (a + np.uint64(1)) <= high).astype(np.uint64)
    rest = ((high - a * a) << np.uint64(31)) + (low >> np.uint64(33))
    b = np.minimum(rest // a, _LOW32)  # 2**32 would overflow its own square
    # The square of b was left out above: one correction brings b within one.
    b = (rest - ((b * b) >> np.uint64(33))) // a
    n = (a << _U32) + b
    for _ in range(2):
        remainder = (low - n * n).view(np.int64)
        n = n - (remainder < 0).astype(np.uint64)
        n = n + (remainder > (n + n).view(np.int64)).astype(np.uint64)
    return n, low - n * n


def _next_32_bits(n: np.ndarray, remainder: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return the 32 binary digits of the root that follow n."""
    c = np.minimum(
        remainder.astype(np.float64) * 2.0**31 / n.astype(np.float64), 2.0**32 - 1
    ).astype(np.uint64)
    # Exact test of the estimate: (n 2**32 + c)**2 <= V  <=>  q * 2**33 >= c**2.
    q = ((remainder << np.uint64(31)) + (rest << np.uint64(15)) - n * c).view(np.int64)
    for _ in range(2):
        too_big = q < _ceil_square(c)
        c = c - too_big.astype(np.uint64)
        q = q + np.where(too_big, n.view(np.int64), 0)
        room = (q - n.view(np.int64)) >= _ceil_square(c + np.uint64(1))
        room &= c < _LOW32
        c = c + room.astype(np.uint64)
        q = q - np.where(room, n.view(np.int64), 0)
    return c


def _ceil_square(c: np.ndarray) -> np.ndarray:
    """Return ceil(c**2 / 2**33) as int64, for 0 <= c <= 2**32."""
    # c = 2**32 would overflow the square; its answer 2**31 comes out of the halves.
    half = c >> np.uint64(1)
    odd = c & np.uint64(1)
    # c**2 = 4 half**2 + odd * (4 half + 1)
    whole = half * half + odd * half
    return ((whole + odd + np.uint64(2**31 - 1)) >> np.uint64(31)).view(np.int64)
