"""The paper's algorithms as written, on numbers that count what is done with them.

A timing depends on caches, threads and whoever else uses the machine; a count does not. What is
counted is additions, multiplications, divisions, roots, cosines, sines and arctangents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from primal_studies.paper._stats import log_slope

__all__ = ["SERIES", "Growth", "growth"]


class _Number:
    """A number that adds one to a common count whenever something is computed from it."""

    count = 0
    __slots__ = ()

    def _computed(self, other: object = None) -> _Number:
        _Number.count += 1
        return self

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = _computed
    # NumPy calls these for the functions of the same name.
    sqrt = cos = sin = arctan2 = _computed


_ONE = _Number()


class Growth(NamedTuple):
    """How a count grows with one size: the exponent over the two largest of the sizes."""

    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def exponent(self) -> float:
        """The slope between the last two sizes, where the largest power rules."""
        return log_slope(self.sizes[-2:], self.counts[-2:])[0]


def growth(name: str) -> Growth:
    """Return the operations of one series, "method_operation_size", at growing sizes.

    Examples
    --------
    >>> from primal_studies.paper.experiments._operations import growth
    >>> round(growth("dynamic_forward_N").exponent, 2)
    1.0
    """
    *_, varied = name.split("_")
    sizes = (32, 64, 128) if varied != "d" or "pinv" not in name else (8, 16, 32)
    counts = []
    for size in sizes:
        _Number.count = 0
        SERIES[name](size)
        counts.append(_Number.count)
    return Growth(sizes, tuple(counts))


def _numbers(*shape: int) -> np.ndarray:
    return np.full(shape, _ONE, dtype=object)


def _basis(d: int, D: int) -> np.ndarray:
    return np.sqrt(_numbers(D // 2, d))


def _forward(n: int, d: int, D: int) -> None:
    phases = _numbers(n, d) @ _numbers(d, D // 2) * _ONE  # 2 pi sigma
    np.cos(phases), np.sin(phases)


def _inverse(n: int, d: int, D: int) -> None:
    """Arctangents, then the cached pseudoinverse."""
    phases = [[_ONE.arctan2(_ONE) for _ in range(D // 2)] for _ in range(n)]
    np.array(phases, dtype=object) @ _numbers(D // 2, d)


def _pseudoinverse(d: int, D: int) -> None:
    """Solve (W^T W) X = W^T by elimination."""
    w = _numbers(D // 2, d)
    gram = w.T @ w
    right = np.array(w.T)
    for pivot in range(d):
        for row in range(pivot + 1, d):
            factor = gram[row, pivot] / gram[pivot, pivot]
            gram[row, pivot:] = gram[row, pivot:] - gram[pivot, pivot:] * factor
            right[row] = right[row] - right[pivot] * factor
    for pivot in reversed(range(d)):
        right[pivot] = (right[pivot] - gram[pivot, pivot + 1 :] @ right[pivot + 1 :]) * _ONE


def _static_forward(n: int, D: int) -> None:
    phases = np.outer(_numbers(n), _numbers(D // 2)) * _ONE
    np.cos(phases), np.sin(phases)


def _static_inverse(rows: int, n: int, D: int) -> None:
    """Compare every code with those of the n positions that are possible."""
    _static_forward(n, D)
    _numbers(rows, D) @ _numbers(D, n)


def _static_init(D: int) -> None:
    np.sqrt(_numbers(D // 2))


SERIES: dict[str, Callable[[int], object]] = {
    "static_init_D": _static_init,
    "dynamic_init_d": lambda d: _basis(d, 8),
    "dynamic_init_D": lambda D: _basis(4, D),
    "dynamic_forward_N": lambda n: _forward(n, 4, 8),
    "dynamic_forward_d": lambda d: _forward(4, d, 8),
    "dynamic_forward_D": lambda D: _forward(4, 4, D),
    "dynamic_inverse_N": lambda n: _inverse(n, 4, 8),
    "dynamic_inverse_d": lambda d: _inverse(4, d, 8),
    "dynamic_inverse_D": lambda D: _inverse(4, 4, D),
    "dynamic_pinv_D": lambda D: _pseudoinverse(4, D),
    "dynamic_pinv_d": lambda d: _pseudoinverse(d, 2 * d),
    "static_forward_N": lambda n: _static_forward(n, 8),
    "static_forward_D": lambda D: _static_forward(4, D),
    "static_inverse_N": lambda rows: _static_inverse(rows, 8, 8),
    "static_inverse_D": lambda D: _static_inverse(4, 8, D),
    "static_inverse_n": lambda n: _static_inverse(4, n, 8),
    # A Gaussian projection does the same with other numbers in W.
    "gaussian_forward_N": lambda n: _forward(n, 4, 8),
    "gaussian_forward_d": lambda d: _forward(4, d, 8),
    "gaussian_forward_D": lambda D: _forward(4, 4, D),
}
