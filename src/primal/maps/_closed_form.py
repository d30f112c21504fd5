"""The mean squared error of weighted frequencies in closed form, without data.

Every kernel here is a mixture of Gaussian ones, k(t) = E exp(-s |t|**2 / 2) over a law of s (of
the whole vector, or of each coordinate on its own). For differences t of a Gaussian law with
standard deviations tau_j, and w_i >= 0 on frequencies f_i, the mean squared error

    E (sum_i w_i cos(f_i . t) - k(t))**2 = w' Q w - 2 b' w + c

has elementary Q, b and c. All of it is made of correctly rounded operations in a fixed order, so
weights and choices have the same bits everywhere. Lengths are in units of the kernel's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from primal._arithmetic import LEGENDRE_8, fold_sum, log
from primal._arithmetic import exp as unlimited_exp

_SMALLEST = -700.0  # exp of less is 0 for every purpose here
# Of the mean weight: too little to count in a kernel, enough for a phase that can be decoded.
LEAST_WEIGHT = 2.0**-30
_BLOCK_ROWS = 16  # of a matrix, which stay in cache through all steps of an exponential


def exp(x: np.ndarray) -> np.ndarray:
    return unlimited_exp(np.maximum(x, _SMALLEST))


@dataclass(frozen=True, eq=False)
class Mixture:
    """A kernel as a mixture of Gaussian ones: rates s with their chances, (n,) each.

    `each` says that every coordinate has an s of its own: the kernel is a product over them.
    """

    rates: np.ndarray
    chances: np.ndarray
    each: bool = False

    def overlaps(self, frequencies: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return b, E cos(f_i . t) k(t), shape (k,)."""
        squares, found = frequencies * frequencies, []
        for column, t in zip(squares.T, (tau * tau).tolist(), strict=True):
            spread = 1.0 + self.rates * t
            found.append((-0.5 * t) * (column[:, None] / spread) - 0.5 * log(spread))
        return self._combined(found)

    def densities(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the density of the kernel's law at frequencies, up to a factor, shape (k,)."""
        found = [
            -0.5 * (column[:, None] / self.rates) - 0.5 * log(self.rates)
            for column in (frequencies * frequencies).T
        ]
        return self._combined(found)

    def square(self, tau: np.ndarray, shift: np.ndarray | None = None) -> float:
        """Return c, E k(t)**2; with a shift E k(t + shift)**2."""
        rates = (self.rates[:, None] + self.rates).reshape(1, -1)
        shifts = np.zeros(len(tau)) if shift is None else shift
        found = []
        for t, off in zip((tau * tau).tolist(), (shifts * shifts).tolist(), strict=True):
            spread = 1.0 + rates * t
            found.append(-0.5 * (off * rates / spread + log(spread)))
        chances = (self.chances[:, None] * self.chances).reshape(-1)
        return float(Mixture(rates[0], chances, self.each)._combined(found)[0])

    def _combined(self, logarithms: list[np.ndarray]) -> np.ndarray:
        """Return the mean over s of exp of the sum over coordinates, or the product of means."""
        parts = logarithms if self.each else [_added(logarithms)]
        return _product([fold_sum(self.chances * exp(part)) for part in parts], len(parts[0]))


@dataclass(frozen=True, eq=False)
class Product:
    """Mixtures on groups of columns, multiplied: what lattices and errors of weights need."""

    parts: tuple[tuple[Mixture, np.ndarray], ...]  # with the columns of each, of shape (n,)
    each = True

    def overlaps(self, frequencies: np.ndarray, tau: np.ndarray) -> np.ndarray:
        found = [m.overlaps(frequencies[:, own], tau[own]) for m, own in self.parts]
        return _product(found, len(frequencies))

    def densities(self, frequencies: np.ndarray) -> np.ndarray:
        found = [m.densities(frequencies[:, own]) for m, own in self.parts]
        return _product(found, len(frequencies))

    def square(self, tau: np.ndarray, shift: np.ndarray | None = None) -> float:
        shifts = np.zeros(len(tau)) if shift is None else shift
        return math.prod(m.square(tau[own], shifts[own]) for m, own in self.parts)


def _added(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for other in parts[1:]:
        total = total + other
    return total


def _product(parts: list[np.ndarray], n: int) -> np.ndarray:
    product = np.ones(n)
    for part in parts:
        product = product * part
    return product


def gaussian() -> Mixture:
    """Return exp(-|t|**2 / 2)."""
    return Mixture(np.ones(1), np.ones(1))


def chi_mixture(degrees: int, *, inverse: bool, each: bool = False, scale: float = 1.0) -> Mixture:
    """Return the mixture over s = scale chi**2 / degrees, or over one over it, by 40 nodes.

    The latter is the Matern kernel of smoothness degrees / 2, the former the rational quadratic
    one with alpha = degrees / 2.
    """
    # Chi of a few degrees is never above 9; short lengths are long frequencies or far tails.
    edges = np.arange(6) * np.arange(6) * 0.36
    left, half = edges[:-1], 0.5 * (edges[1:] - edges[:-1])
    lengths, widths = [], []
    for node, weight in LEGENDRE_8:
        for sign in (-1.0, 1.0):
            lengths.append(left + half * (1.0 + sign * node))
            widths.append(weight * half)
    r = np.concatenate(lengths)
    chances = np.concatenate(widths) * exp((degrees - 1) * log(r) - 0.5 * r * r)
    s = scale * (r * r / degrees)
    return Mixture(1.0 / s if inverse else s, chances / fold_sum(chances), each)


def gram(frequencies: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return Q, E cos(f_i . t) cos(f_j . t), shape (k, k)."""
    scaled = frequencies * tau
    k = len(scaled)
    found = np.empty((k, k))
    for first in range(0, k, _BLOCK_ROWS):
        rows = slice(first, first + _BLOCK_ROWS)
        apart = np.zeros((len(scaled[rows]), k - first))
        together = np.zeros_like(apart)
        for column in scaled.T:
            difference = column[rows, None] - column[first:]
            total = column[rows, None] + column[first:]
            apart += difference * difference
            together += total * total
        found[rows, first:] = 0.5 * (exp(-0.5 * apart) + exp(-0.5 * together))
        found[first:, rows] = found[rows, first:].T
    return found


def relative_error(Q: np.ndarray, b: np.ndarray, c: float, weights: np.ndarray) -> float:
    """Return the root of the mean squared error over that of the kernel."""
    quadratic = fold_sum(weights * fold_sum(Q * weights))
    error = quadratic - 2.0 * fold_sum(b * weights) + c
    return float(np.sqrt(np.maximum(error, 0.0) / c))


def best_weights(Q: np.ndarray, b: np.ndarray, start: np.ndarray, sweeps: int) -> np.ndarray:
    """Return positive weights of sum 1 with nearly the least error, by cyclic coordinate descent.

    The error at t = 0 counts like that of all other t together, so that the sum is nearly 1 before
    it is made 1: features keep the length 1 that the kernel of x with itself has.
    """
    Q, b = Q + 1.0, b + 1.0
    least = LEAST_WEIGHT / len(start)
    w = start.tolist()
    slopes = fold_sum(Q * start) - b
    curvatures = Q.diagonal().tolist()
    for _ in range(sweeps):
        for i, row in enumerate(Q):
            new = w[i] - float(slopes[i]) / curvatures[i]
            new = new if new > least else least
            if new != w[i]:
                slopes += row * (new - w[i])
                w[i] = new
    weights = np.array(w)
    return weights / fold_sum(weights)
