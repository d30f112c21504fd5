"""Frequencies and weights of a kernel that is made of parts.

A sum of kernels is the features of each side by side. A product of kernels of x - y has the sums of
their frequencies: kernels on columns apart share one lattice or one sequence, and a periodic kernel
has the frequencies n / period with the weights of its Fourier series,

    exp(-gamma sin(pi t / period)**2) = sum_n exp(-a) I_n(a) cos(2 pi n t / period),  a = gamma / 2,

over all whole n: exact features, but for those n that are left out.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from primal._arithmetic import fold_sum
from primal.exact import Basis, mixture_scales
from primal.maps._closed_form import Mixture, Product
from primal.maps._design import Nodes, equal_errors, lattice_nodes, lattice_wins
from primal.maps._kernel_sums import KernelSum, Part
from primal.maps._kernels import KERNELS, design_widths, resolved_basis, start_frequencies

# Inputs up to which a lattice serves.
MOST_LATTICE_INPUTS = 8
_LEAST_WEIGHT = 2.0**-60  # of the largest: no frequency is lost altogether, and no sum changes
_LEAST_TAIL = 1e-15
# Chi-square laws of kernels that are products over columns, see `mixture_scales`; their factors.
_COLUMN_LAWS = {"laplacian": (-1, 1.0), "cauchy": (2, math.sqrt(2.0))}


def composed_nodes(kernel: KernelSum, d: int, k: int, width: tuple[float, ...]) -> Nodes:
    """Return k frequencies in turns per unit of x, their weights and the predicted error.

    Weights add up to the kernel of x with itself. `width` is the standard deviation of each input,
    or empty where every gamma implies it.
    """
    terms = [_Term(parts, d, width) for _, parts in kernel.terms]
    scales = [scale for scale, _ in kernel.terms]
    shares = _shares(terms, scales, k)
    found = [term.nodes(n) for term, n in zip(terms, shares, strict=True)]
    # In root mean squares. Kernels are positive, so that of their sum is at least this large.
    sizes = [scale * term.size for scale, term in zip(scales, terms, strict=True)]
    errors = [size * nodes.predicted_error for size, nodes in zip(sizes, found, strict=True)]
    weights = [scale * nodes.weights for scale, nodes in zip(scales, found, strict=True)]
    return Nodes(
        np.concatenate([nodes.frequencies for nodes in found]),
        np.concatenate(weights),
        (math.hypot(*errors) / math.hypot(*sizes),),
    )


def _shares(terms: list[_Term], scales: list[float], k: int) -> list[int]:
    """Return how many of k frequencies each term gets: in proportion to its scale times its inputs.

    Periodic terms get no more than they have harmonics, as long as others can use the rest.
    """
    sizes = np.array([s * term.n_inputs for s, term in zip(scales, terms, strict=True)])
    useful = np.array([min(term.most_useful, k) for term in terms])
    found = np.ones(len(terms), dtype=np.int64)
    for _ in range(k - len(terms)):
        lacking = found < useful
        short = np.where(lacking | ~lacking.any(), sizes / found, 0.0)
        found[int(np.argmax(short))] += 1
    return found.tolist()


class _Term:
    """A product of parts: smooth ones on columns apart, and the harmonics of periodic ones."""

    def __init__(self, parts: tuple[Part, ...], d: int, width: tuple[float, ...]) -> None:
        self._d = d
        smooth = [part for part in parts if not part.is_periodic]
        self._columns = [column for part in smooth for column in part.columns]
        self._kinds = _merged([(part.kernel, len(part.columns)) for part in smooth])
        self._tau = tuple(tau for part in smooth for tau in _part_widths(part, width))
        self._turns = np.concatenate([[], *map(_turns_per_length, smooth)])
        waves = [part for part in parts if part.is_periodic]
        self._axes = [
            (column, 0.5 * gamma, period)
            for part in waves
            for column, gamma, period in zip(
                part.columns,
                part.each("gamma").tolist(),
                part.each("period").tolist(),
                strict=True,
            )
        ]
        self.n_inputs = len(self._columns) + len(self._axes)
        series = [_fourier_weights(a) for _, a, _ in self._axes]
        self.most_useful = 1 << 62
        if not smooth:
            counts = [2 * int((w > w[0] * _LEAST_WEIGHT).sum()) - 1 for w in series]
            self.most_useful = (math.prod(counts) + 1) // 2
        # Root of the mean square over phases: of cosines, two of each but the first.
        squares = [2.0 * fold_sum(w * w) - w[0] * w[0] for w in series]
        self._wave_size = math.sqrt(math.prod(squares))
        self.size = self._wave_size
        if smooth:
            self.size *= math.sqrt(_mixture(self._kinds).square(np.array(self._tau)))

    def nodes(self, k: int) -> Nodes:
        """Return k frequencies in turns per unit of x, and weights of sum 1."""
        if not self._axes:
            found = self._smooth(k)
            return Nodes(self._placed(found), found.weights, found.errors)
        harmonics, weights = self._harmonics(2 * k)
        if not self._columns:
            # Of h and -h, which have one cosine, that whose first number is not negative.
            leading = [next((n for n in row if n), 0) for row in harmonics.tolist()]
            kept = np.flatnonzero(np.array(leading) >= 0)[:k]
            double = np.where(np.array(leading)[kept] > 0, 2.0, 1.0) * weights[kept]
            tail = max(1.0 - float(fold_sum(double)), 0.0)
            return Nodes(harmonics[kept], _normalized(double), (tail / self._wave_size,))
        n, error = self._n_harmonics(weights, k)
        # What does not divide goes to the strongest, that of the constant.
        sets = [self._smooth(k - (n - 1) * (k // n)), *([self._smooth(k // n)] * (n - 1))]
        shares = _normalized(weights[:n])
        return Nodes(
            np.concatenate([self._placed(s) + h for s, h in zip(sets, harmonics[:n], strict=True)]),
            np.concatenate([s.weights * w for s, w in zip(sets, shares, strict=True)]),
            (error / self._wave_size,),
        )

    def _n_harmonics(self, weights: np.ndarray, k: int) -> tuple[int, float]:
        """Return how many harmonics share k frequencies best, and the error that remains."""
        best = (1, math.inf)
        tails = np.maximum(1.0 - np.cumsum(weights), 0.0)
        # h and -h have equal weights, and come together.
        last = np.flatnonzero(weights[:-1] > weights[1:] * (1.0 + 2.0**-40)) + 1
        for n in last[last <= k].tolist():
            smooth, tail = self._smooth(k // n).predicted_error, float(tails[n - 1])
            if smooth + tail < best[1]:
                best = n, smooth + tail
            if smooth >= best[1] or tail < _LEAST_TAIL:
                break
        return best

    def _smooth(self, k: int) -> Nodes:
        return _smooth_nodes(self._kinds, self._tau, k)

    def _placed(self, nodes: Nodes) -> np.ndarray:
        found = np.zeros((len(nodes.frequencies), self._d))
        found[:, self._columns] = nodes.frequencies * self._turns
        return found

    def _harmonics(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the strongest sums of n / period, both signs, (m, d), with their weights."""
        frequencies, weights = np.zeros((1, self._d)), np.ones(1)
        least = most if len(self._axes) == 1 else math.isqrt(most) + 1
        for column, a, period in self._axes:
            own = _fourier_weights(a, least)
            n = np.arange(2 * len(own) - 1)
            n = np.where(n % 2 == 1, (n + 1) // 2, -(n // 2))  # 0, 1, -1, 2, -2, ...
            products = (weights[:, None] * own[np.abs(n)]).reshape(-1)
            kept = np.argsort(-products, kind="stable")[:most]
            frequencies = frequencies[kept // len(n)]
            frequencies[:, column] += n[kept % len(n)] / period
            weights = products[kept]
        return frequencies, weights


@lru_cache(maxsize=64)
def _smooth_nodes(kinds: tuple[tuple[str, int], ...], tau: tuple[float, ...], k: int) -> Nodes:
    """Return a lattice where it wins, and a sequence with equal weights elsewhere."""
    mixture, widths = _mixture(kinds), np.array(tau)
    start = _start(kinds, k)
    equal = Nodes(start, np.full(k, 1.0 / k), equal_errors(mixture, start, widths))
    if len(tau) > MOST_LATTICE_INPUTS:
        return equal
    lattice = lattice_nodes(mixture, k, widths)
    return lattice if lattice_wins(lattice.errors, equal.errors) else equal


def _mixture(kinds: tuple[tuple[str, int], ...]) -> Mixture | Product:
    ends = np.cumsum([n for _, n in kinds]).tolist()
    parts = []
    for (kernel, n), end in zip(kinds, ends, strict=True):
        mixture = KERNELS[kernel].mixture
        assert mixture is not None  # of every kernel that a part can have
        parts.append((mixture(), np.arange(end - n, end)))
    return parts[0][0] if len(parts) == 1 else Product(tuple(parts))


def _start(kinds: tuple[tuple[str, int], ...], k: int) -> np.ndarray:
    """Return frequencies of equal weights, radians per length scale.

    Every kernel is a mixture of Gaussian ones: one Gaussian sequence for all columns, times lengths
    of each part from primes of its own.
    """
    if len(kinds) == 1:
        kernel, n = kinds[0]
        return start_frequencies(kernel, resolved_basis(kernel, "auto", n), n, k)
    d = sum(n for _, n in kinds)
    found, first, prime_index = Basis("auto", d, k).frequencies.copy(), 0, d + 2
    for kernel, n in kinds:
        degrees, factor = _COLUMN_LAWS.get(kernel, (KERNELS[kernel].degrees, 1.0))
        for column in range(first, first + n):
            if degrees:
                lengths = factor * mixture_scales(degrees, k, prime_index=prime_index)
                found[:, column] *= lengths
            prime_index += kernel in _COLUMN_LAWS
        first, prime_index = first + n, prime_index + 1
    return found


def _merged(kinds: list[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return one kind in place of several whose product is the same kernel on all columns."""
    names = {kernel for kernel, _ in kinds}
    if len(names) == 1 and names <= {"rbf", *_COLUMN_LAWS}:
        return ((names.pop(), sum(n for _, n in kinds)),)
    return tuple(kinds)


def _part_widths(part: Part, width: tuple[float, ...]) -> tuple[float, ...]:
    columns = list(part.columns)
    own = np.array(width)[columns] if width else None
    gamma = part.gamma if isinstance(part.gamma, float) else np.array(part.gamma)
    return design_widths(part.kernel, gamma, own, len(columns))


def _turns_per_length(part: Part) -> np.ndarray:
    """Return for each column what makes radians per length scale turns per unit of x."""
    kernel, gamma = KERNELS[part.kernel], part.each("gamma")
    # No power of the C library, whose last digits differ.
    return kernel.factor * (np.sqrt(gamma) if kernel.power == 0.5 else gamma) / (2.0 * math.pi)


def _fourier_weights(a: float, least: int = 0) -> np.ndarray:
    """Return exp(-a) I_n(a) for n from 0 to where they vanish, and to `least` at least.

    By I_n / I_(n-1) = 1 / (2 n / a + I_(n+1) / I_n) downwards, and I_0 + 2 (I_1 + ...) = exp(a).
    """
    last = max(least, 24 + math.ceil(12.0 * math.sqrt(a)))
    ratios, ratio = [], 0.0
    for n in range(last, 0, -1):
        ratio = 1.0 / (2.0 * n / a + ratio)
        ratios.append(ratio)
    found = np.cumprod(np.array([1.0, *reversed(ratios)]))
    return found / (2.0 * fold_sum(found) - 1.0)


def _normalized(weights: np.ndarray) -> np.ndarray:
    weights = np.maximum(weights, weights.max() * _LEAST_WEIGHT)
    return weights / fold_sum(weights)
