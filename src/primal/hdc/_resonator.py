"""``factorize``: the factors of a product of codes, by a resonator network.

Each factor is held as a mixture of its candidates. A round divides the product by the mixtures of
all other factors, weighs the candidates by how similar they are to the quotient, and normalizes
the new mixture (Frady, Kent, Olshausen and Sommer 2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from primal._checks import whole_number
from primal.errors import DataError
from primal.hdc._algebra import bind, normalize, similarity
from primal.hdc._capacity import log_search_space
from primal.hdc._codes import Codes, phasors
from primal.hdc._convert import to_numpy

# A network that finds the factors does so within a few tens of rounds.
_LONGEST_RUN = 40


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors found by a resonator network.

    Attributes
    ----------
    indices : tuple of int
        Place of each factor in its list.
    confidence : float
        Similarity of the product of these factors with the input: 1 for a clean product.
    found : bool
        Whether that is clearly above what the best wrong combination has by chance.
    steps : int
        Rounds taken, over all starts.
    beyond_capacity : bool
        Whether there are more combinations than can be searched: about k**2 / 2.
    """

    indices: tuple[int, ...]
    confidence: float
    found: bool
    steps: int
    beyond_capacity: bool


def factorize(product: Any, domains: Sequence[Any], *, steps: int = 500) -> Factors:
    """Return which codes, one from each list, were bound to a product.

    Parameters
    ----------
    product : Codes or bundle of shape (k,)
        May carry noise, or other products bundled with it.
    domains : sequence of Codes of shape (n_f, k)
        Candidates for each factor, two lists or more, of different roles.
    steps : int, default=500
        Rounds at most.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("colour", "shape", "place"))
    >>> names = [f"{number}" for number in range(40)]
    >>> domains = [space.symbols(role).encode(names) for role in space.roles]
    >>> scene = domains[0][3] * domains[1][30] * domains[2][17]
    >>> found = hdc.factorize(scene, domains)  # one of 64,000 combinations
    >>> found.indices, round(found.confidence, 3)
    ((3, 30, 17), 1.0)
    """
    z = phasors(to_numpy(product))
    if z.ndim != 1:
        raise DataError(f"product must be one code or bundle of shape (k,), got {z.shape}.")
    lists = _domains(domains, len(z))
    matrices = [phasors(c).astype(np.complex64) for c in lists]
    log_combinations = sum(math.log(len(c)) for c in lists)
    # The best of all wrong combinations is about this similar by chance, with room to spare.
    clear = 1.5 * math.sqrt(2.0 * log_combinations / (2 * len(z)))
    budget = whole_number("steps", steps, least=1)
    best, best_match, step, n_starts = (), -2.0, 0, 0
    while step < budget and best_match <= clear:
        estimates = _start(matrices, n_starts)
        n_starts += 1
        for _ in range(min(_LONGEST_RUN, budget - step)):
            step += 1
            chosen = tuple(_update(f, z, matrices, estimates) for f in range(len(matrices)))
            codes = [c[i] for c, i in zip(lists, chosen, strict=True)]
            match = float(similarity(z, bind(codes)))
            if match > best_match:
                best, best_match = chosen, match
            # Every mixture has become one candidate: the network is at rest.
            rest = min(similarity(e, c) for e, c in zip(estimates, codes, strict=True)) > 0.99
            if match > clear or rest:
                break
    beyond = log_combinations > log_search_space(2 * len(z))
    return Factors(best, best_match, best_match > clear, step, beyond)


def _domains(domains: Any, k: int) -> list[Codes]:
    """Return the candidates of each factor, as NumPy codes of shape (n, k)."""
    listed = isinstance(domains, Sequence) and all(isinstance(c, Codes) for c in domains)
    if not listed or len(domains) < 2:
        raise DataError(f"domains must be two or more Codes of {k} phases, got {domains!r}.")
    if any(c.ndim != 2 or c.k != k or not len(c) for c in domains):
        shapes = [c.shape for c in domains]
        raise DataError(
            f"domains must have the shape (n, {k}), n at least 1, for a product of {k} phases, got "
            f"{shapes}."
        )
    return [to_numpy(candidates) for candidates in domains]


def _start(matrices: list[np.ndarray], number: int) -> list[np.ndarray]:
    """Return a mixture of all candidates of each factor: equal parts first, then others."""
    mixtures = []
    for f, matrix in enumerate(matrices):
        # Fractions of multiples of a root: even, and different in every start.
        parts = (np.arange(1, len(matrix) + 1) * math.sqrt(2.0 + f) * number) % 1.0
        weights = parts if number else np.ones(len(matrix))
        mixtures.append(normalize(weights.astype(np.float32) @ matrix))
    return mixtures


def _update(f: int, z: np.ndarray, matrices: list[np.ndarray], estimates: list[np.ndarray]) -> int:
    """Make the mixture of factor f anew, in place, and return its best candidate."""
    others = reduce(np.multiply, (e for g, e in enumerate(estimates) if g != f))
    answers = (matrices[f].conj() @ (z * others.conj())).real
    estimates[f] = normalize(np.maximum(answers, 0.0).astype(np.float32) @ matrices[f])
    return int(answers.argmax())
