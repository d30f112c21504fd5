"""Increments: the fraction of sigma * sqrt(p) as an exact 64-bit integer.

A float is an exact rational m * 2**t, so sigma * sqrt(p) = sqrt(m**2 * p) * 2**t and its
binary digits are those of an integer square root. The integers are up to 93 bits long;
NumPy has 64. Two facts keep everything in uint64: the remainder of an integer square
root, V - n**2, is never larger than 2 n, so it survives the wrap-around of V - n * n;
and each further group of 32 digits follows from that remainder by one division.
"""

import math

import numpy as np

from primal._checks import positive_scale, require_memory, whole_number
from primal.exact._primes import prime_slice

# Arrays of this many elements stay in cache through the hundred steps of a root.
_CHUNK = 1 << 14
_U32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFF_FFFF)


def increments(n: int, *, start: int = 0, sigma: float = 1.0) -> np.ndarray:
    """Return floor(2**64 * sigma * sqrt(p)) mod 2**64 for `n` primes from index `start`.

    This is how far the phase of a prime moves in one step, in units of 2**-64 turn. The
    result is exact: it comes from integer square roots, with sigma as the rational
    number that the float is.

    Parameters
    ----------
    n : int
        How many, at least 0.
    start : int, default=0
        Index of the first prime; index 0 is the prime 2.
    sigma : float, default=1.0
        Scale, positive and finite.

    Returns
    -------
    increments : ndarray of shape (n,), dtype=uint64

    Examples
    --------
    The first one is the first initial value of SHA-512 (FIPS 180-4). That is a coincidence
    of definitions and says nothing about security.

    >>> import primal
    >>> hex(primal.increments(1)[0])
    '0x6a09e667f3bcc908'
    """
    n = whole_number("n", n)
    start = whole_number("start", start)
    sigma = positive_scale("sigma", sigma)
    require_memory(32 * n, f"n = {n} increments")
    return floor_roots(prime_slice(start, start + n), sigma, 64)


def floor_roots(
    p: np.ndarray, sigma: float | np.ndarray, log2_scale: int | np.ndarray
) -> np.ndarray:
    """Return floor(sigma * sqrt(p) * 2**log2_scale) mod 2**64, exactly, as uint64.

    p has the shape (n,) or (n, m), positive integers below 2**32; scales are positive, one for
    all entries or one for every row.
    """
    rows = p.reshape(len(p), math.prod(p.shape[1:]))
    result = np.empty(rows.shape, dtype=np.uint64)
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    sigmas = np.broadcast_to(np.asarray(sigma, dtype=np.float64), len(rows))[:, None]
    shifts = np.broadcast_to(np.asarray(log2_scale, dtype=np.int64), len(rows))[:, None]
    for first in range(0, len(rows), step):
        block = slice(first, first + step)
        head, tail, exponent = _scaled_roots(rows[block].astype(np.uint64), sigmas[block])
        # A very large sigma needs more digits than there are behind the tail.
        too_long = exponent + shifts[block] > 32
        drop = np.where(too_long, 32, 32 - exponent - shifts[block]).astype(np.uint64)
        in_tail = drop <= _U32
        shift_in_tail = np.where(in_tail, drop, _U32)
        from_tail = (head << (_U32 - shift_in_tail)) + (tail >> shift_in_tail)
        from_head = head >> np.minimum(drop - np.minimum(drop, _U32), np.uint64(63))
        result[block] = np.where(in_tail, from_tail, from_head)
        for i, j in np.argwhere(too_long) + np.array([first, 0]):
            value = _exact_floor(int(rows[i, j]), float(sigmas[i, 0]), int(shifts[i, 0]))
            result[i, j] = value & (2**64 - 1)
    return result.reshape(p.shape)


def _exact_floor(p: int, sigma: float, log2_scale: int) -> int:
    """Return floor(sigma * sqrt(p) * 2**log2_scale) by Python's own integers, of any size."""
    numerator, denominator = sigma.as_integer_ratio()
    shift = 2 * (1 - denominator.bit_length() + log2_scale)
    square = numerator * numerator * p
    return math.isqrt(square << shift if shift >= 0 else square >> -shift)


def _scaled_roots(p: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return head, tail and exponent of the leading 91 or more binary digits of sigma * sqrt(p).

    The product is (head + tail * 2**-32 + less than 2**-32) * 2**exponent, with uint64 heads in
    [2**59, 2**61), uint64 tails below 2**32 and int64 exponents.
    """
    mantissa, sigma_exponent = np.frexp(sigma)
    m = np.ldexp(mantissa, 53).astype(np.uint64)  # in [2**52, 2**53)
    t = sigma_exponent.astype(np.int64) - 53
    # Move p into [2**30, 2**32) by a power of four, which leaves the root's digits alone.
    bits = np.frexp(p.astype(np.float64))[1].astype(np.int64)
    v = (32 - bits) // 2
    high, low, rest = _product_limbs(m, p << (2 * v).astype(np.uint64))
    head, remainder = _root_of_122_bits(high, low)
    return head, _next_32_bits(head, remainder, rest), 8 + t - v


def _product_limbs(m: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return m**2 * p, below 2**138, as (high * 2**64 + low) * 2**16 + rest."""
    # Schoolbook multiplication in digits of 32 bits; no step exceeds 64 bits.
    m0, m1 = m & _LOW32, m >> _U32
    square = _carry([m0 * m0, np.uint64(2) * m0 * m1, m1 * m1])
    c0, c1, c2, c3, c4 = _carry([digit * p for digit in square])
    s16, s48 = np.uint64(16), np.uint64(48)
    low16 = np.uint64(0xFFFF)
    low = (c0 >> s16) | (c1 << s16) | ((c2 & low16) << s48)
    high = (c2 >> s16) | (c3 << s16) | (c4 << s48)
    return high, low, c0 & low16


def _carry(digits: list[np.ndarray]) -> list[np.ndarray]:
    """Return the same number with every digit below 2**32, one digit longer."""
    clean = []
    carry = np.zeros_like(digits[0])
    for digit in digits:
        total = digit + carry
        clean.append(total & _LOW32)
        carry = total >> _U32
    return [*clean, carry]


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
