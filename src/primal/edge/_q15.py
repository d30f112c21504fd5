"""Waves in 16-bit integers, for chips without floating point: 32-bit products and shifts only.

The phase is split as in ``primal.exact.waves``. With r the size of the rest in units of
2**-19 turn (at most 2**16, to the nearest) and y = (r / 2**16)**2 in units of 2**-16,

    cosine = 32767 - y (A0 - y (A1 - y A2)),    sine = r (B0 - y (B1 - y B2)),

every product of unsigned 32-bit numbers rounded by a shift. There are 2**20 distinct phases, so
all of them can be tried: ``tests/edge/test_q15.py`` does. ``tools/fit_waves.py`` makes the
coefficients.
"""

import numpy as np

from primal._checks import fixed_point

ONE = 32767
COSINE = (40426, 33289, 696)
SINE = (51469, 42293, 1258)


def waves_q15(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine and sine of phases in units of 1 / 32767.

    Parameters
    ----------
    turns : ndarray of uint32, any shape
        Units of 2**-32 turn.

    Returns
    -------
    cos, sin : ndarray of int16, the shape of `turns`
        Within 0.92 units of the true values, and exact at the four quadrant points. A header of
        :func:`export_c` computes the same integers.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.edge._q15 import waves_q15
    >>> waves_q15(np.array([0, 2**29, 2**31], dtype=np.uint32))
    (array([ 32767,  23170, -32767], dtype=int16), array([    0, 23170,     0], dtype=int16))
    """
    turns = np.asarray(fixed_point("turns", turns, np.uint32))
    quadrant = (turns + np.uint32(1 << 29)) >> np.uint32(30)
    rest = (turns - (quadrant << np.uint32(30))).view(np.int32)
    size = np.abs(rest).astype(np.uint32)
    r = _shifted(size, 13)
    cosine, sine = octant_q15(r, COSINE, SINE)
    sine = np.where(rest < 0, -sine, sine)

    odd = (quadrant & np.uint32(1)).astype(bool)
    cos, sin = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
    cos = np.where((quadrant + np.uint32(1)) & np.uint32(2), -cos, cos)
    sin = np.where(quadrant & np.uint32(2), -sin, sin)
    return cos.astype(np.int16), sin.astype(np.int16)


def octant_q15(
    r: np.ndarray, cosine: tuple[int, ...], sine: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return (cos, sin), int32, of uint32 rests of at most 2**16, in units of 2**-19 turn."""
    y = _shifted((r >> np.uint32(1)) * ((r + np.uint32(1)) >> np.uint32(1)), 14)
    inner = np.uint32(cosine[1]) - _shifted(y * np.uint32(cosine[2]), 16)
    outer = np.uint32(cosine[0]) - _shifted(y * inner, 20)
    cos = ONE - _shifted(y * outer, 18).astype(np.int32)
    inner = np.uint32(sine[1]) - _shifted(y * np.uint32(sine[2]), 16)
    outer = np.uint32(sine[0]) - _shifted(y * inner, 19)
    return cos, _shifted(r * outer, 17).astype(np.int32)


def _shifted(value: np.ndarray, by: int) -> np.ndarray:
    """Return unsigned numbers over 2**by to the nearest, halves up."""
    return (value + np.uint32(1 << (by - 1))) >> np.uint32(by)
