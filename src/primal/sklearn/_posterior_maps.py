"""Features for a posterior: which are nearest to the exact process, and what they leave out.

A posterior differs from a kernel in what it forgives. Copies of the kernel beyond the rows hardly
show, because rows nearby decide a mean; frequencies left out do. So the lattice of a process has
closer copies and higher frequencies than the one of the smallest kernel error, and the weights of
the kernel's own density. How close is measured, on few rows where the exact posterior is cheap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from primal._lazy import cached_property
from primal.maps import (
    KERNELS,
    KernelPrime,
    KernelSum,
    column_widths,
    gamma_of_length,
    kernel_matrix,
    spread_rows,
)
from primal.sklearn._priors import Prior

# Of the rows, for a comparison: spread evenly, and the furthest out, whose copies show first.
_EVEN_ROWS, _FAR_ROWS = 256, 64
_LEAST_WIDTH = 1e-3  # of a column, in length scales: a constant one needs no room, yet a width
# Distances of copies that are tried, in units of sqrt(1 + (2 width)**2), four to an octave.
_LEAST_DISTANCE, _N_DISTANCES = 1.25, 12
# Rows to predict are moved away from the middle, so that a posterior holds a little beyond them.
_STRETCH = 1.25
_CLEARANCE = 2.0  # length scales between rows and the border halfway to their copies
# Of a divergence: what is less does not count, and copies that are further away do.
_NEGLIGIBLE = 1e-12
_LEAST_VARIANCE = 1e-6  # of a prediction, over the signal: smaller ones are compared as if of this
_MOST_LATTICE_INPUTS = 8
_LARGEST_BEYOND = 0.2  # of the variance: means without more than this are worse than growable ones
_NEIGHBOR = 8  # whose distance tells the density of rows
_QUANTILES = (np.arange(16) + 0.5) / 16.0


@dataclass(frozen=True, eq=False)
class Known:
    """What a posterior depends on: rows (n, d) like the `n_rows` that were fitted.

    `noise` is all of it, and `low` and `high` (d,) are corners of the smallest box around all rows.
    """

    prior: Prior
    noise: float
    rows: np.ndarray
    n_rows: int
    low: np.ndarray
    high: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        return 0.5 * (self.low + self.high)

    @cached_property
    def widths(self) -> np.ndarray:
        """Of every column, in length scales."""
        return np.maximum(column_widths(self.rows) / self.prior.lengths, _LEAST_WIDTH)

    @cached_property
    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of rows spread evenly, and of those furthest out; few are all among the first."""
        n = len(self.rows)
        if n <= _EVEN_ROWS:
            return np.arange(n), np.arange(0)
        apart = np.abs(self.rows - self.middle) / (self.widths * self.prior.lengths)
        far = np.sort(np.argpartition(apart.max(axis=1), -_FAR_ROWS)[-_FAR_ROWS:])
        return np.setdiff1d(spread_rows(n, _EVEN_ROWS), far), far

    @cached_property
    def neighbors(self) -> tuple[int, np.ndarray]:
        """How many of n rows spread evenly lie within a radius of each, and these radii (n,)."""
        rows = self.rows[self.samples[0]] / self.prior.lengths
        squares = np.square(rows).sum(axis=1)
        distances = squares[:, None] + squares - 2.0 * (rows @ rows.T)
        nth = min(_NEIGHBOR, len(rows) - 1)
        nearest = np.partition(distances, nth, axis=1)[:, nth]
        return nth + 1, np.sqrt(np.maximum(nearest, 0.0))

    def reach(self, X: np.ndarray, periods: np.ndarray) -> np.ndarray:
        """Return how far X (n, d) is from the middle of the rows, 1 halfway to the next copy.

        With frequencies (m + 1/4) / period the kernel repeats itself at whole multiples of periods
        that add up to an even number: one in each of two columns, or two in one.
        """
        apart = np.abs(X - self.middle) / periods
        return np.sort(apart, axis=1)[:, -2:].sum(axis=1)


def growable_map(known: Known, D: int) -> KernelPrime:
    """Return features of x / lengths that depend on the kernel alone, unless it is of parts."""
    kernel, d = known.prior.kernel, known.rows.shape[1]
    if isinstance(kernel, KernelSum):
        return KernelPrime(d, D, kernel, form="pair", width=known.widths)
    return KernelPrime(d, D, kernel, gamma_of_length(kernel, 1.0, d), form="pair")


def posterior_map(known: Known, D: int) -> KernelPrime:
    """Return the features of x / lengths whose predictions diverge least on few of the rows.

    The growable ones, or a lattice with copies of the kernel beyond all rows, as far away as is
    worth while.
    """
    kernel, growable = known.prior.kernel, growable_map(known, D)
    if isinstance(kernel, KernelSum) or growable.d > _MOST_LATTICE_INPUTS:
        return growable
    comparison, best, least = Comparison(known, _STRETCH), growable, math.inf
    for m in chain(_lattices(kernel, known, D), [growable]):
        divergence = comparison.divergence(m)
        if divergence < least - _NEGLIGIBLE:
            best, least = m, divergence
        if least < _NEGLIGIBLE:
            break
    return best


def _lattices(kernel: str, known: Known, D: int) -> Iterator[KernelPrime]:
    """Yield lattices, those with the furthest copies first."""
    d = known.rows.shape[1]
    shape = np.sqrt(1.0 + 4.0 * known.widths**2)
    least = float(known.reach(known.rows, known.prior.lengths * shape).max()) / _LEAST_DISTANCE
    first = max(math.ceil(4.0 * math.log2(least)), 0) if least else 0
    for i in reversed(range(first, first + _N_DISTANCES)):
        width = _LEAST_DISTANCE * 2.0 ** (i / 4.0) * shape / 8.0
        options: dict[str, Any] = {"form": "pair", "method": "spectral", "width": width}
        m = KernelPrime(d, D, kernel, gamma_of_length(kernel, 1.0, d), **options)
        if Beyond.of(m, known).variance < _LARGEST_BEYOND:
            yield m


class Comparison:
    """How features predict half of few rows from the other half, beside the kernel itself.

    The rows to predict are `stretch` times as far from the middle, and those that predict have so
    much less noise that they tell as much as all do. Variances are over the signal.
    """

    def __init__(self, known: Known, stretch: float = 1.0) -> None:
        self._known, prior = known, known.prior
        even, far = known.samples
        x, of_far = known.rows / prior.lengths, len(far) / len(known.rows)
        to_predict = [rows[1::2] if len(rows) > 1 else rows for rows in (even, far)]
        # How much of all rows each stands for.
        self._shares = np.repeat(
            [(1.0 - of_far) / len(to_predict[0]), of_far / max(len(to_predict[1]), 1)],
            [len(rows) for rows in to_predict],
        )
        given, new = x[np.concatenate([even[::2], far[::2]])], x[np.concatenate(to_predict)]
        middle = known.middle / prior.lengths
        self._points = np.concatenate([given, middle + stretch * (new - middle)])
        self._n = n = len(given)
        gamma = 1.0
        if not isinstance(prior.kernel, KernelSum):
            gamma = gamma_of_length(prior.kernel, 1.0, x.shape[1])
        exact = kernel_matrix(prior.kernel, self._points, gamma)[:n]
        self._signal, noise = exact[0, 0], known.noise / prior.signal
        # Below this share of the largest eigenvalue there can be, neither factor would exist.
        self._shift = max(noise * n / known.n_rows, 1e-11 * n * self._signal) * np.eye(n)
        self._noise, self._covariance = noise / self._signal, exact[:, :n] + self._shift
        self._exact = self._solved(exact)

    def _solved(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of given rows in the means, and the variances."""
        known, new = K[:, : self._n], K[:, self._n :]
        weights = linalg.solve(known + self._shift, new, assume_a="pos")
        return weights, 1.0 - (new * weights).sum(axis=0) / self._signal

    def _squares(self, m: KernelPrime) -> tuple[np.ndarray, np.ndarray]:
        """Return expected squares of differences of means, and variances."""
        Z = m.encode(self._points, dtype="float64")
        weights, variances = self._solved(Z[: self._n] @ Z.T)
        far = beyond_copies(m, self._known, self._points[self._n :] * self._known.prior.lengths)
        weights[:, far], variances[far] = 0.0, 1.0
        apart = weights - self._exact[0]
        squares = (apart * (self._covariance @ apart)).sum(axis=0) / self._signal
        return np.maximum(squares, 0.0), Beyond.of(m, self._known).added(variances)

    def mean_error(self, m: KernelPrime) -> float:
        """Return how far means are from the exact ones, over the deviation of the prior.

        Root mean square over rows and over targets that the exact process draws.
        """
        return math.sqrt(float(self._shares @ self._squares(m)[0]))

    def divergence(self, m: KernelPrime) -> float:
        """Return the mean divergence of measurements from exact ones (Kullback and Leibler)."""
        squares, variances = self._squares(m)
        ours, exact = (
            np.maximum(each + self._noise, _LEAST_VARIANCE) for each in (variances, self._exact[1])
        )
        each = np.log(ours / exact) + (exact + squares) / ours - 1.0
        return 0.5 * float(self._shares @ each)


def beyond_copies(m: KernelPrime, known: Known, X: np.ndarray) -> np.ndarray:
    """Return which X (n, d) are nearer to a copy of the rows' middle than to the middle itself."""
    if m.method != "spectral":
        return np.zeros(len(X), dtype=bool)
    return known.reach(X, known.prior.lengths * _copies_at(m)) > 1.0


def too_wide(m: KernelPrime, known: Known, X: np.ndarray) -> np.ndarray:
    """Return which X (n, d) make the box around the rows too wide for copies of the kernel.

    Rows at one side must not disturb predictions at the other side, next to their copies: between
    the box and the border halfway to its next copy there have to be two length scales, at which
    every kernel is below 0.15. A box that `fit` chose features for may be wider, and grow by the
    factor that it was judged with.
    """
    if m.method != "spectral":
        return np.zeros(len(X), dtype=bool)
    periods = _copies_at(m)

    def widths(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        corners = known.middle + 0.5 * np.atleast_2d(high - low)
        return known.reach(corners, known.prior.lengths * periods)

    clear = 1.0 - _CLEARANCE * math.sqrt(min(m.d, 2)) / float(periods.min())
    most = min(max(clear, _STRETCH * float(widths(known.low, known.high)[0])), 1.0)
    low, high = np.minimum(known.low, X), np.maximum(known.high, X)
    found = widths(low, high) > most
    if not found.any() and widths(low.min(axis=0), high.max(axis=0))[0] > most:
        found = np.any((low < known.low) | (high > known.high), axis=1)
    return np.asarray(found)


def _copies_at(m: KernelPrime) -> np.ndarray:
    """Return the distance of copies of the kernel along each column, in length scales (d,)."""
    return 1.0 / (4.0 * np.abs(m.frequencies[0]))


class Beyond(NamedTuple):
    """The prior's variance beyond the frequencies of a lattice, and what rows leave of it.

    Both over the signal. The weights of the lattice hold it all the same, since they add up to 1.
    """

    variance: float
    undetermined: float

    @classmethod
    def of(cls, m: KernelPrime, known: Known) -> Beyond:
        """Return that of features of x / lengths.

        Rows of a density rho leave 1 / (1 + rho (2 pi)**d S(w) signal / noise) of the variance at a
        frequency w, S its law; the share is the mean over frequencies longer than the lattice's and
        over rows.
        """
        if m.method != "spectral":
            return cls(0.0, 0.0)
        d, nu = m.d, -0.5 * KERNELS[str(m.kernel)].degrees
        steps = 8.0 * math.pi * np.abs(m.frequencies[0])  # the shortest one is a quarter of a step
        longest = (len(m.frequencies) * float(steps.prod()) / _ball(d)) ** (1.0 / d)
        # |w|**2 of a Gaussian law is a chi-square, of Matern's 2 nu (1 / b - 1), b of a beta law.
        if nu:
            beyond = float(special.betainc(nu, 0.5 * d, 1.0 / (1.0 + longest**2 / (2.0 * nu))))
            stretch = 1.0 / special.betaincinv(nu, 0.5 * d, beyond * _QUANTILES)
            constant = special.poch(nu, 0.5 * d) * (2.0 * math.pi / nu) ** (0.5 * d)
            laws = constant * stretch ** -(nu + 0.5 * d)
        else:
            beyond = float(special.gammaincc(0.5 * d, 0.5 * longest**2))
            squares = 2.0 * special.gammainccinv(0.5 * d, beyond * _QUANTILES)
            laws = (2.0 * math.pi) ** (0.5 * d) * np.exp(-0.5 * squares)
        # What is narrower than half a wave is as wide as that to all waves.
        n_near, radii = known.neighbors
        volumes = _ball(d) * np.maximum(radii, 0.5 * math.pi / longest) ** d
        densities = n_near / volumes * (known.n_rows / len(radii))
        told = np.multiply.outer(laws, densities * (known.prior.signal / known.noise))
        return cls(beyond, float((1.0 / (1.0 + told)).mean()))

    def added(self, variances: np.ndarray) -> np.ndarray:
        """Return variances by the features, over the signal, with what is left beyond them."""
        return variances + self.variance * np.maximum(self.undetermined - variances, 0.0)


def _ball(d: int) -> float:
    """Return the volume of the ball of radius 1."""
    return math.pi ** (d / 2.0) / math.gamma(d / 2.0 + 1.0)
