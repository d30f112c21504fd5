"""(epsilon, delta)-differential privacy for sums of integer codes, by OpenDP.

Rows become phases of 8 bits and those whole numbers, so that the most that one record can change
a sum is a whole number under a root: nothing is clipped, and no rounding of floats leaks. OpenDP
adds discrete Gaussian noise and does the arithmetic of the guarantee: zero-concentrated
differential privacy (rho), which adds up over releases. Neighbors are data sets that differ by one
record, present or absent.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from primal._checks import positive_scale, real_number
from primal._extras import require
from primal._forks import ForkSafe
from primal.errors import ParameterError
from primal.exact import pack, waves

# Units of a cosine: finer ones would change no answer, and 64-bit sums hold 2**38 squares of these.
UNIT = 1 << 12
_PHASES = np.arange(256, dtype=np.uint32) << np.uint32(24)
_spending = ForkSafe()


def whole_features(m: Any, X: object) -> np.ndarray:
    """Return [cos | sin] of 8-bit phases of rows X (n, d), int64 in units of 1/4096."""
    phases = pack(m.turns(X), 8)
    table = _wave_table()
    return np.concatenate([table[0][phases], table[1][phases]], axis=-1)


def largest_square(k: int) -> int:
    """Return the largest squared length of a row of k phases: exact, for every row there is."""
    cos, sin = _wave_table()
    return k * int((cos * cos + sin * sin).max())


def largest_product_square(k: int) -> int:
    """Return the most that the squares of all products of two features, i <= j, add up to.

    They are half of the squared length of all products, once more with those of one feature.
    """
    cos, sin = _wave_table()
    return -(-(largest_square(k) ** 2 + k * int((cos**4 + sin**4).max())) // 2)


def _wave_table() -> tuple[np.ndarray, np.ndarray]:
    cos, sin = (np.rint(w.astype(np.float64) * UNIT) for w in waves(_PHASES))
    return cos.astype(np.int64), sin.astype(np.int64)


class Accountant:
    """A budget of (epsilon, delta), from which every release of the same records is paid.

    It cannot be copied or pickled: each copy could spend all of it.

    Parameters
    ----------
    epsilon : float
        From 1e-9 to 1e4, between which OpenDP can convert it.
    delta : float
        Far below one over the number of records.

    Attributes
    ----------
    epsilon, delta : float
    rho : float
        The same budget in zero-concentrated differential privacy, by OpenDP's conversion.
    spent : float
        Of rho.

    Examples
    --------
    >>> from primal.privacy import Accountant
    >>> Accountant(1.0, 1e-5).spent
    0.0
    """

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon = real_number("epsilon", epsilon, above=1e-9, below=1e4)
        self.delta = real_number("delta", delta, above=0.0, below=1.0)
        self.spent = 0.0

    @property
    def rho(self) -> float:
        """The largest rho whose epsilon at this delta is within the budget, or hardly less."""
        return _rho_of(self.epsilon, self.delta)

    @property
    def left(self) -> float:
        """What is left of rho."""
        return max(0.0, self.rho - self.spent)

    def spend(self, rho: float) -> None:
        """Take from the budget, or reject the request."""
        rho = positive_scale("rho", rho)
        with _spending.lock:  # two threads must not both spend what is left
            if rho > self.left:
                raise ParameterError(
                    f"the budget epsilon = {self.epsilon:g} has rho = {self.left:.4g} left of "
                    f"{self.rho:.4g}, and this release takes {rho:.4g}: release less."
                )
            self.spent += rho

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "a budget is not copied or pickled, because every copy could spend all of it: pass "
            "this Accountant to every release."
        )


@lru_cache
def _rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho, up to a millionth of it, that has at most this epsilon at delta."""
    # rho + 2 sqrt(rho log 1/delta) is an upper bound of epsilon, and not twice as large.
    root = math.sqrt(-math.log(delta))
    low = (math.sqrt(epsilon - math.log(delta)) - root) ** 2
    high = 2.0 * low
    while epsilon_of(high, delta) <= epsilon:
        low, high = high, 2.0 * high
    while high - low > 1e-6 * low:
        middle = (low + high) / 2.0
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


def epsilon_of(rho: float, delta: float) -> float:
    """Return epsilon at delta of rho, by OpenDP's conversion."""
    dp = opendp()
    approximate = dp.c.make_zCDP_to_approxDP(_measurement(1.0 / math.sqrt(2.0 * rho)))
    return float(approximate.map(1.0).epsilon(delta))


def noisy(
    sums: np.ndarray, square: int, rho: float, budget: Accountant
) -> tuple[np.ndarray, float]:
    """Return sums with discrete Gaussian noise, and its scale, paid from the budget.

    `square` is the square of the most that one record changes `sums`, int64 of any shape.
    """
    sensitivity = math.nextafter(math.sqrt(square), math.inf)
    # A little more noise, so that the rounding of OpenDP's bounds cannot exceed rho.
    scale = sensitivity / math.sqrt(2.0 * rho) * (1.0 + 1e-9)
    measurement = _measurement(scale)
    budget.spend(float(measurement.map(sensitivity)))
    released = np.array(measurement(sums.ravel().tolist()), dtype=np.int64)
    return released.reshape(sums.shape), scale


def _measurement(scale: float) -> Any:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def opendp() -> Any:
    """Return OpenDP, with the parts enabled that this room uses."""
    dp = require("opendp.prelude", "differential privacy")
    dp.enable_features("contrib")
    return dp
