"""Frequencies and weights made for a kernel, a size and the width of the data.

Two ways, and the rule that chooses between the first and none by the error which the closed form
predicts:

``lattice``   quadrature: the shortest points of a lattice, with weights. Its error falls
              exponentially where a few hundred points fill the space: d up to about 6.
``spectral``  a lattice with the weights of the kernel's own density, and copies of the kernel at a
              fixed distance: what a posterior needs, which forgives copies beyond its rows, and
              neither frequencies left out nor weights that make up for them.

None grows: every frequency depends on how many there are.

An error is predicted for data whose columns are independent, whose two widest columns move
together, and whose columns all do: a lattice repeats the kernel, and correlated data may lie
towards its copies. The largest error is the prediction, and a lattice has to win under every law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from primal._arithmetic import fold_sum
from primal.maps._closed_form import Mixture, Product, best_weights, gram, relative_error
from primal.maps._lattice_points import lattice_points

# Of the predictions for the growable map: a smaller gain is not worth what no longer grows, and on
# data far from Gaussian ones might be none (``tools/kernel_bars.py``).
_LARGEST_SHARE = 0.4
_TWO_PI = 2.0 * math.pi
_SWEEPS = 40
# Frequencies of which all pairs are looked at: equal weights are judged by the first ones, larger
# lattices keep the weights of the kernel's own density.
_MOST_EQUAL, _MOST_WEIGHTED = 512, 2048
# Below this the closed form is a difference of nearly equal numbers; sums of the two causes of an
# error of a lattice, copies of the kernel and frequencies left out, are not.
_LEAST_CLOSED_ERROR = 1e-5
_ROUNDING = 1e-7  # of that difference: what is less is nothing
# Distances between copies that are tried, in standard deviations of what lies between them.
_DISTANCES = np.arange(4, 29) * 0.25
_SPECTRAL_DISTANCE = 4.0 * math.sqrt(2.0)  # in standard deviations of differences: 8 of the data


@dataclass(frozen=True, eq=False)
class Nodes:
    """Frequencies (k, d) in radians per length scale, weights (k,) of sum 1, an error for each law.

    The first is that of independent columns.
    """

    frequencies: np.ndarray
    weights: np.ndarray
    errors: tuple[float, ...]

    @property
    def predicted_error(self) -> float:
        return max(self.errors)


def equal_errors(
    mixture: Mixture | Product, frequencies: np.ndarray, tau: np.ndarray
) -> tuple[float, ...]:
    """Return the predicted errors of equal weights."""
    k, n = len(frequencies), min(len(frequencies), _MOST_EQUAL)
    first, weights = frequencies[:n], np.full(n, 1.0 / n)
    alone = _closed_error(mixture, first, weights, tau)
    found = (alone, *_correlated_errors(mixture, first, weights, tau))
    return tuple(error * math.sqrt(n / k) for error in found)


def lattice_wins(lattice: tuple[float, ...], equal: tuple[float, ...]) -> bool:
    """Return whether the errors of a lattice are small enough under every law."""
    return all(a < _LARGEST_SHARE * b for a, b in zip(lattice, equal, strict=True))


def lattice_nodes(mixture: Mixture | Product, k: int, tau: np.ndarray) -> Nodes:
    """Return k nodes of a lattice whose copies of the kernel lie as far apart as k allows."""
    reach = np.sqrt(1.0 + 2.0 * tau * tau)
    tried = [_plain_lattice(mixture, k, tau, distance * reach) for distance in _DISTANCES.tolist()]
    best = int(np.argmin(np.array([nodes.predicted_error for nodes in tried])))
    found = tried[best]
    if k > _MOST_WEIGHTED:
        # With more nodes copies lie further away.
        judged = lattice_nodes(mixture, _MOST_WEIGHTED, tau)
        return replace(found, errors=(found.errors[0], *judged.errors[1:]))
    if found.predicted_error < _LEAST_CLOSED_ERROR:
        return _judged(mixture, found, tau)
    # Weights make up for frequencies that were left out, not for copies: from one step further away
    # towards nearer ones, for as long as the worst law gains. Not where independent columns are the
    # only law: correlated ones may lie towards the copies.
    best = min(best + 1, len(tried) - 1)
    found = _judged(mixture, _weighted(mixture, tried[best], tau), tau)
    known = len(tau) == 1 or len(found.errors) > 1
    for nodes in reversed(tried[:best] if known else []):
        nearer = _judged(mixture, _weighted(mixture, nodes, tau), tau)
        if nearer.predicted_error >= found.predicted_error:
            break
        found = nearer
    return found


def spectral_nodes(mixture: Mixture, k: int, tau: np.ndarray) -> Nodes:
    """Return k nodes of a lattice with the weights of the kernel's own density."""
    return _plain_lattice(mixture, k, tau, _SPECTRAL_DISTANCE * tau)


def _judged(mixture: Mixture | Product, nodes: Nodes, tau: np.ndarray) -> Nodes:
    """Return the same with the errors of all laws."""
    others = _correlated_errors(mixture, nodes.frequencies, nodes.weights, tau)
    return replace(nodes, errors=(nodes.errors[0], *others))


def _plain_lattice(
    mixture: Mixture | Product, k: int, tau: np.ndarray, copies_at: np.ndarray
) -> Nodes:
    """Return nodes with the weights of the kernel's own density, for distances of copies (d,)."""
    d, square = len(tau), mixture.square(tau)
    steps = _TWO_PI / copies_at
    points = lattice_points(steps, 2 * k)
    masses = mixture.densities(points) * math.prod((steps / math.sqrt(_TWO_PI)).tolist())
    # Copies lie at (+-1, +-1, 0, ...) and (+-2, 0, ...), in steps of 2 pi / step: of each kind the
    # nearest stands for all.
    widest = np.argsort(-tau, kind="stable")[:2]
    near, far = np.zeros(d), np.zeros(d)
    near[widest], far[widest[0]] = copies_at[widest], 2.0 * copies_at[widest[0]]
    copies = 2.0 * d * mixture.square(tau, far)
    if d > 1:
        copies += 2.0 * d * (d - 1.0) * mixture.square(tau, near)
    # Neighbors among those left out add up where differences do not tell them apart.
    shared = math.prod(np.maximum(1.0, math.sqrt(_TWO_PI) / (tau * steps)).tolist())
    lost = 0.5 * shared * float(fold_sum(masses[k:] * masses[k:]))
    # No feature is lost altogether, and no sum changes.
    weights = np.maximum(masses[:k], masses[0] * 2.0**-60)
    weights = weights / fold_sum(weights)
    error = math.sqrt((copies + lost) / square)
    # Sums over neighbors say nothing where most of the law lies beyond them: that of data so wide
    # that the kernel is nearly an identity. There the closed form decides.
    if float(fold_sum(masses[:k])) < 0.5 and (error < _LEAST_CLOSED_ERROR or k > _MOST_WEIGHTED):
        error = math.inf
    return Nodes(points[:k], weights, (error,))


def _weighted(mixture: Mixture | Product, start: Nodes, tau: np.ndarray) -> Nodes:
    """Return the same frequencies with better weights."""
    frequencies = start.frequencies
    Q, b, c = gram(frequencies, tau), mixture.overlaps(frequencies, tau), mixture.square(tau)
    weights = best_weights(Q, b, start.weights, _SWEEPS)
    return Nodes(frequencies, weights, (relative_error(Q, b, c, weights),))


def _closed_error(
    mixture: Mixture | Product, frequencies: np.ndarray, weights: np.ndarray, tau: np.ndarray
) -> float:
    b, c = mixture.overlaps(frequencies, tau), mixture.square(tau)
    return relative_error(gram(frequencies, tau), b, c, weights)


def _correlated_errors(
    mixture: Mixture | Product, frequencies: np.ndarray, weights: np.ndarray, tau: np.ndarray
) -> Iterator[float]:
    """Yield the error where the two widest columns move together, and where all do.

    To a kernel of |t| columns t_j = tau_j g are one column of the width |tau|. Product kernels have
    no such form: they are judged by independent columns alone.
    """
    d = len(tau)
    widest = np.argsort(-tau, kind="stable")
    for n in () if mixture.each or d == 1 else sorted({2, d}):
        moving, others = widest[:n], widest[n:]
        width = np.sqrt(fold_sum(tau[moving] * tau[moving]))
        column = fold_sum(frequencies[:, moving] * (tau[moving] / width))
        reduced = np.column_stack([column, frequencies[:, others]])
        error = _closed_error(mixture, reduced, weights, np.append(width, tau[others]))
        yield error if error > _ROUNDING else 0.0
