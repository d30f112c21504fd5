"""Which items are in a bundle."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import one_of, whole_number
from primal.errors import DataError
from primal.hdc._codes import as_bundle, require_sizes, side_by_side, to_numpy, unit_rows

DECODERS = ("matched", "orthogonal", "subspace", "message")
# Below this share of the bundle a residual is rounding: the bundle is explained.
_EXPLAINED = 1e-4
_ROUNDS = 15
# Message passing: undamped, it diverges for codes whose similarity depends on the lag alone.
_MESSAGES = 120
_DAMPING = 0.3


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder found in a bundle, the surest item first; arrays have the shape (K,).

    `indices` (int64) are the places of the items in the list given, and `items` (object) their
    names if a memory was given, else None; `weights` (float64) how much of each, its answer in the
    matched filter and its least-squares weight otherwise; `confidence` (float64) the chance that it
    is in the bundle, from its weight and the noise that is left. `residual` is the length of the
    part that the items do not explain, relative to the bundle.
    """

    indices: np.ndarray
    weights: np.ndarray
    confidence: np.ndarray
    residual: float
    items: np.ndarray | None = None


def decode(bundle: Any, codes: Any, n_items: int, *, decoder: str = "message") -> Decoded:
    """Return the items whose codes were summed up in a bundle.

    Parameters
    ----------
    bundle : complex array of shape (k,)
        A raw sum, with weights of about 1; noise may be on top of it.
    codes : Codes of shape (n, k)
        All items that may be in it.
    n_items : int
        How many of them are in it.
    decoder : {"message", "subspace", "orthogonal", "matched"}, default="message"
        "matched" takes the items most similar to the bundle, "orthogonal" (matching pursuit) one at
        a time and removes what it explains; "subspace" (pursuit) improves a whole set in rounds.
        "message" (passing) weighs all items at once, knowing that weights are 0 or about 1, then
        pursues: it decodes the fullest bundles.

    Returns
    -------
    Decoded
        `indices` of the items, the surest first, with `weights` and `confidence`; and `residual`,
        the length of the part of the bundle that they do not explain, relative to it.

    Examples
    --------
    Which 200 of 1000 words were added up in one vector of 512 numbers?

    >>> import numpy as np
    >>> from primal import hdc
    >>> codes = hdc.Space(512).symbols().encode([f"word {i}" for i in range(1000)])
    >>> items = np.arange(0, 1000, 5)
    >>> found = hdc.decode(hdc.bundle(codes[items]), codes, len(items))
    >>> np.array_equal(np.sort(found.indices), items), found.residual < 1e-4
    (True, True)
    """
    matrix = unit_rows(to_numpy(codes)).astype(np.float32, copy=False)
    if matrix.ndim != 2:
        raise DataError(f"codes must be rows of shape (n, k), got {tuple(codes.shape)}.")
    return decode_rows(bundle, matrix, n_items, decoder)


def decode_rows(bundle: Any, matrix: np.ndarray, n_items: int, decoder: str) -> Decoded:
    """Return what :func:`decode` does, from codes as float32 rows of length 1."""
    searches = (_matched, _orthogonal, _subspace, _message)
    search = searches[DECODERS.index(one_of("decoder", decoder, DECODERS))]
    z, (N, D) = as_bundle(to_numpy(bundle)), matrix.shape
    if z.ndim != 1:
        raise DataError(f"a bundle is one row of shape (k,), got shape {z.shape}.")
    require_sizes("a bundle", z)
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
    order = np.argsort(-weights, kind="stable")
    return Decoded(chosen[order], weights[order], confidence[order], residual)


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

    Approximate message passing (Donoho, Maleki and Montanari): `onsager` is Onsager's term,
    without which the noise would not stay Gaussian.
    """
    rest = s
    for _ in range(_MESSAGES):
        variance = max(float(np.vdot(rest, rest).real) / D, 1e-9)
        following = chance(read(rest) + chances, variance)
        onsager = float((following * (1.0 - following)).sum()) / variance / D
        step = (1.0 - _DAMPING) * (following - chances)
        chances = chances + step
        fresh = s - explain(chances) + onsager * rest
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
