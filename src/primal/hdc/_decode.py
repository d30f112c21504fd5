"""Which items are in a bundle, and which factors in a product."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from primal._checks import one_of, whole_number
from primal.errors import DataError
from primal.hdc._algebra import bind, float32_rows, normalize, similarity, to_numpy
from primal.hdc._arrays import side_by_side
from primal.hdc._capacity import DECODERS, capacity, log_search_space
from primal.hdc._codes import Codes, phasors

# Below this share of the bundle a residual is rounding: the bundle is explained.
_EXPLAINED = 1e-4
_ROUNDS = 15
# Message passing: undamped, it diverges for codes whose similarity depends on the lag alone.
_MESSAGES = 120
_DAMPING = 0.3
# A network that finds the factors does so within a few tens of rounds.
_LONGEST_RUN = 40


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder found in a bundle, the surest item first; arrays have the shape (K,).

    `indices` (int64) are the places of the items in the list given; `weights` (float64) how much of
    each, its answer in the matched filter and its least-squares weight otherwise; `confidence`
    (float64) the chance that it is in the bundle, from its weight and the noise that is left.
    `residual` is the length of what the items do not explain, relative to the bundle, `capacity`
    what :func:`primal.hdc.capacity` says of such bundles, `beyond_capacity` whether more was asked
    for.
    """

    indices: np.ndarray
    weights: np.ndarray
    confidence: np.ndarray
    residual: float
    capacity: int
    beyond_capacity: bool


def decode(bundle: Any, codes: Any, n_items: int, *, decoder: str = "message") -> Decoded:
    """Return the items whose codes were summed up in a bundle.

    Parameters
    ----------
    bundle : complex array of shape (k,)
        A raw sum, with weights of about 1; noise may be on top of it.
    codes : Codes of shape (N, k)
        All items that may be in it, of which `n_items` are looked for.
    decoder : {"message", "subspace", "orthogonal", "matched"}, default="message"
        "matched" takes the items most similar to the bundle, "orthogonal" (matching pursuit) one at
        a time and removes what it explains; "subspace" (pursuit) improves a whole set in rounds.
        "message" (passing) weighs all items at once, knowing that weights are 0 or about 1, then
        pursues: it decodes the fullest bundles.

    Examples
    --------
    Which 200 of 1000 words were added up in one vector of 512 numbers?

    >>> import numpy as np
    >>> from primal import hdc
    >>> codes = hdc.Space(512).symbols().encode([f"word {i}" for i in range(1000)])
    >>> items = np.arange(0, 1000, 5)
    >>> found = hdc.decode(hdc.bundle(codes[items]), codes, len(items))
    >>> np.array_equal(np.sort(found.indices), items), found.beyond_capacity
    (True, False)
    """
    return decode_rows(bundle, float32_rows(codes), n_items, decoder)


def decode_rows(bundle: Any, matrix: np.ndarray, n_items: int, decoder: str) -> Decoded:
    """Return what :func:`decode` does, from codes as float32 rows of length 1."""
    searches = (_matched, _orthogonal, _subspace, _message)
    search = searches[DECODERS.index(one_of("decoder", decoder, DECODERS))]
    z, (N, D) = phasors(to_numpy(bundle)), matrix.shape
    if z.ndim != 1 or not np.isfinite(z).all():
        raise DataError(f"a bundle is one row of finite complex numbers, got shape {z.shape}.")
    if 2 * len(z) != D:
        raise DataError(
            f"the bundle has {len(z)} phases and the codes have {D // 2}: both must come "
            "from one space."
        )
    # On the scale on which a code has length 1.
    s = side_by_side(z, z.dtype).astype(np.float64) / math.sqrt(len(z))
    K = whole_number("n_items", n_items, least=1)
    if N < K:
        raise DataError(f"cannot find {K} items among {N}: pass all codes.")
    chosen, weights = search(matrix, s, K)
    rest, length = s - _mix(matrix[chosen], weights), float(np.linalg.norm(s))
    if decoder == "matched":
        variance: Any = length**2 / D
    else:
        variance = _weight_variance(matrix[chosen], float(rest @ rest))
    confidence = _posterior(weights, np.maximum(variance, 1e-12), K / N)
    residual = float(np.linalg.norm(rest)) / length if length else 0.0
    most = capacity(D, N, decoder) if N > 1 else 1
    order = np.argsort(-weights, kind="stable")
    return Decoded(
        chosen[order], weights[order], confidence[order], residual, most, beyond_capacity=most < K
    )


def _matched(matrix: np.ndarray, s: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    answers = _answers(matrix, s)
    chosen = _largest(answers, K)
    return chosen, answers[chosen]


def _orthogonal(matrix: np.ndarray, s: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthogonal matching pursuit, by an orthonormal basis of the rows chosen so far."""
    D = matrix.shape[1]
    K_used = min(K, D)
    basis = np.empty((K_used, D))
    rest, chosen = s.copy(), np.empty(K_used, dtype=np.int64)
    free = np.ones(len(matrix), dtype=bool)
    for step in range(K_used):
        best = int(np.argmax(np.where(free, _answers(matrix, rest), -np.inf)))
        row = matrix[best].astype(np.float64)
        for _ in range(2):  # once more, for what rounding left
            row -= (basis[:step] @ row) @ basis[:step]
        basis[step] = row / max(float(np.linalg.norm(row)), 1e-300)
        rest -= (basis[step] @ rest) * basis[step]
        chosen[step], free[best] = best, False
    if K > D:  # nothing is left to choose by: take the next largest answers
        others = np.where(free, _answers(matrix, s), -np.inf)
        chosen = np.concatenate([chosen, _largest(others, K - D)])
    return chosen, _weights(matrix[chosen], s)


def _subspace(matrix: np.ndarray, s: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    return _pursue(matrix, s, _matched(matrix, s, K)[0])


def _pursue(matrix: np.ndarray, s: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Subspace pursuit (Dai and Milenkovic) for weights that are not negative, from a start."""
    K, goal = len(chosen), _EXPLAINED * float(np.linalg.norm(s))
    best, least = (chosen, np.zeros(K)), math.inf
    for _ in range(_ROUNDS):
        weights = _weights(matrix[chosen], s)
        rest = s - _mix(matrix[chosen], weights)
        size = float(np.linalg.norm(rest))
        if size >= least - 1e-6:
            break
        best, least = (chosen, weights), size
        if size < goal:
            break
        near = _largest(np.abs(_answers(matrix, rest)), K)
        candidates = np.union1d(chosen, near)
        chosen = candidates[_largest(_weights(matrix[candidates], s), K)]
    return best


def _message(matrix: np.ndarray, s: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Message passing for weights 0 and 1, then pursuit: there weights need not be quite 1."""
    N, D = matrix.shape
    chances = message_passing(
        s,
        D,
        np.zeros(N),
        read=lambda rest: _answers(matrix, rest),
        chance=lambda answers, variance: _posterior(answers, variance, K / N),
        explain=lambda chances: _mix(matrix, chances),
        tolerance=1e-4,
    )
    return _pursue(matrix, s, _largest(chances, K))


def message_passing(
    s: np.ndarray,
    D: int,
    chances: np.ndarray,
    *,
    read: Callable[[np.ndarray], np.ndarray],
    chance: Callable[[np.ndarray, float], np.ndarray],
    explain: Callable[[np.ndarray], np.ndarray],
    tolerance: float,
) -> np.ndarray:
    """Return the chance of every item to be in a sum s of D numbers.

    Approximate message passing (Donoho, Maleki and Montanari): what is `owed` is Onsager's term,
    without which the noise would not stay Gaussian.
    """
    rest = s
    for _ in range(_MESSAGES):
        variance = max(float(np.vdot(rest, rest).real) / D, 1e-9)
        following = chance(read(rest) + chances, variance)
        owed = float((following * (1.0 - following)).sum()) / variance / D
        step = (1.0 - _DAMPING) * (following - chances)
        chances = chances + step
        fresh = s - explain(chances) + owed * rest
        rest = (1.0 - _DAMPING) * fresh + _DAMPING * rest
        if np.abs(step).max() < tolerance:
            break
    return chances


def _mix(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of float32 rows as float64, without widening the matrix."""
    return (weights.astype(np.float32) @ matrix).astype(np.float64)


def _answers(matrix: np.ndarray, s: np.ndarray) -> np.ndarray:
    return (matrix @ s.astype(np.float32)).astype(np.float64)


def _largest(values: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the n largest values, the first one among equals."""
    return np.argsort(-values, kind="stable")[:n]


def _weights(rows: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return least-squares weights of rows that should add up to s, the shortest if many fit."""
    rows = rows.astype(np.float64)
    n, D = rows.shape
    if n <= 0.9 * D:  # well conditioned: the normal equations are several times faster
        try:
            return np.linalg.solve(rows @ rows.T, rows @ s)
        except np.linalg.LinAlgError:  # two equal rows
            pass
    return np.linalg.lstsq(rows.T, s, rcond=None)[0]


def _weight_variance(rows: np.ndarray, rest: float) -> np.ndarray:
    """Return the variance of least-squares weights, given the squared length of the residual."""
    n, D = rows.shape
    if n >= D:
        return np.ones(n)
    rows = rows.astype(np.float64)
    try:
        inverse = np.linalg.inv(rows @ rows.T)
    except np.linalg.LinAlgError:  # equal rows: their weights can be anything
        return np.ones(n)
    return np.diag(inverse) * rest / (D - n)


def _posterior(weights: np.ndarray, variance: Any, prior: float) -> np.ndarray:
    """Return the chance of weight 1 rather than 0, both with Gaussian noise of this variance."""
    odds = math.log(prior / (1.0 - prior)) if prior < 1.0 else math.inf
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-(odds + (weights - 0.5) / variance)))


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors found by a resonator network.

    `indices` are the places of the factors in their lists; `confidence` the similarity of their
    product with the input, 1 for a clean product; `found` whether that is clearly above what the
    best wrong combination has by chance; `steps` the rounds taken, over all starts;
    `beyond_capacity` whether there are more combinations than can be searched, about k**2 / 2.
    """

    indices: tuple[int, ...]
    confidence: float
    found: bool
    steps: int
    beyond_capacity: bool


def factorize(product: Any, domains: Sequence[Any], *, steps: int = 500) -> Factors:
    """Return which codes, one from each list, were bound to a product, by a resonator network.

    The product, of shape (k,), may carry noise, or other products bundled with it. `domains` are
    Codes of shape (n_f, k), candidates for each of two factors or more, of different roles. Each of
    at most `steps` rounds divides the product by the mixtures of all other factors, weighs the
    candidates by how similar they are to the quotient, and normalizes the new mixture (Frady, Kent,
    Olshausen and Sommer 2020).

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
