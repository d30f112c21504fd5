"""How similar codes are at worst, and how many items a bundle can hold.

Capacities take codes as unit vectors in R**D that look independent: the inner product of two has
mean 0 and variance 1 / D. :func:`primal.codebooks.capacity` asks how many codes there can be.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np

from primal._checks import even_dimension, one_of, real_number, require_memory, whole_number
from primal.codebooks import GramStatistics, bounds, gram_statistics
from primal.errors import DataError
from primal.hdc._arrays import side_by_side
from primal.hdc._codes import Codes, operand, phasors
from primal.hdc._forms import float32_rows, to_numpy

DECODERS = ("matched", "orthogonal", "subspace", "message")
_GRID = np.linspace(-9.0, 9.0, 1201)
# Subspace pursuit solves for twice as many items as it looks for, with D equations.
_LARGEST_SHARE = 0.45
# Rounds of state evolution; it is over long before, except at the very threshold.
_EVOLUTION = 1000
# Beyond these the chances of dimensions and of items are no floats.
_LARGEST_D, _LARGEST_N = 2**53, 10**300


@dataclass(frozen=True)
class SimilarityCertificate:
    """How similar the codes of n items are at worst: every pair is accounted for.

    `coherence` is the largest |cosine similarity| of two of them, 0 for fewer than two, and `pair`
    their places; `rms` the root mean square of all, sqrt(1 / D) for independent codes. No n codes
    of this length have a coherence below `welch`.
    """

    n: int
    coherence: float = 0.0
    pair: tuple[int, int] | None = None
    rms: float = 0.0
    welch: float = 0.0

    @classmethod
    def of(cls, found: GramStatistics) -> Self:
        return cls(found.N, found.coherence, found.pair, found.rms, bounds.welch(found.N, found.D))


@dataclass(frozen=True)
class LawCertificate:
    """How far the similarities of n codes are from the law they are made for, over all pairs.

    `worst` is the largest |similarity - law| of two of them, 0 for fewer than two, and `pair` their
    places; `rms` the root mean square, about sqrt(1 / D) for phases drawn at random.
    """

    n: int
    worst: float
    pair: tuple[int, int] | None
    rms: float


def certify(codes: Any) -> SimilarityCertificate:
    """Return how similar codes or bundles are; compares all pairs, in blocks.

    Parameters
    ----------
    codes : Codes or complex array of shape (n, k)

    Returns
    -------
    SimilarityCertificate

    Examples
    --------
    >>> from primal import hdc
    >>> certificate = hdc.certify(hdc.Space(1024).symbols().encode(range(100)))
    >>> certificate.n, round(certificate.coherence, 2)
    (100, 0.12)
    """
    if operand(codes).ndim != 2:
        raise DataError(f"certify takes rows of shape (n, k), got {tuple(codes.shape)}.")
    if len(codes) < 2:
        return SimilarityCertificate(len(codes))
    z = phasors(to_numpy(codes))
    return SimilarityCertificate.of(gram_statistics(side_by_side(z, z.dtype), bins=1))


def certify_law(codes: Codes, law: np.ndarray) -> LawCertificate:
    """Return how far the similarities of codes (n, k) are from a matrix (n, n)."""
    n = len(codes)
    if n < 2:
        return LawCertificate(n, 0.0, None, 0.0)
    rows = float32_rows(codes)
    gaps = np.abs(rows @ rows.T - law)
    np.fill_diagonal(gaps, 0.0)
    i, j = np.unravel_index(gaps.argmax(), gaps.shape)
    rms = float(np.sqrt(np.square(gaps).sum() / (n * (n - 1))))
    return LawCertificate(n, float(gaps[i, j]), (int(i), int(j)), rms)


def capacity(D: int, N: int, decoder: str = "message", *, accuracy: float = 0.99) -> int:
    """Return the largest number of items that a decoder finds again in one bundle.

    Parameters
    ----------
    D, N : int
        Number of real dimensions, and of items to choose from.
    decoder : {"message", "subspace", "orthogonal", "matched", "resonator"}, default="message"
        As in :func:`primal.hdc.decode`; "resonator" counts the factors of a product of codes, each
        from N candidates, that :func:`primal.hdc.factorize` finds.
    accuracy : float, default=0.99
        Share of the items that the matched filter is to find, strictly between 0 and 1; pursuits
        break down within a few items.

    Returns
    -------
    int

    Examples
    --------
    >>> from primal import hdc
    >>> {d: hdc.capacity(512, 1000, d) for d in ("matched", "orthogonal", "subspace", "message")}
    {'matched': 16, 'orthogonal': 67, 'subspace': 191, 'message': 444}
    """
    D, N = _sizes(D, N)
    accuracy = real_number("accuracy", accuracy, above=0.0, below=1.0)
    return _capacity(D, N, one_of("decoder", decoder, (*DECODERS, "resonator")), accuracy)


@lru_cache(maxsize=256)
def _capacity(D: int, N: int, decoder: str, accuracy: float) -> int:
    if decoder == "resonator":  # as measured by tools/hdc_capacity.py resonator
        return max(1, int(log_search_space(D) / math.log(N)))
    if decoder == "matched":
        return _largest(lambda K: matched_accuracy(D, N, K) >= accuracy, min(N, D))
    if N <= D:  # as many equations as unknowns
        return N
    # Pursuits fall short of their limits by a few times 1 / sqrt(D).
    if decoder == "orthogonal":
        # Twice what Fletcher and Rangan need to find every item: here one in 100 may be wrong.
        return max(1, int(D / math.log(N) * (1.0 - 2.0 / math.sqrt(D))))
    if decoder == "message":
        most = _largest(lambda K: _silent(D, N, K), min(N - 1, D))
        return max(1, int(most * (1.0 - 3.0 / math.sqrt(D))))
    share = min(_donoho_tanner(D / N), _LARGEST_SHARE)
    return max(1, int(share * D * (1.0 - 1.0 / math.sqrt(D))))


def matched_accuracy(D: int, N: int, K: int) -> float:
    """Return the share of K bundled items of N that the matched filter is expected to find.

    Parameters
    ----------
    D, N, K : int
        Number of real dimensions, of items to choose from and of items in the bundle.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from primal import hdc
    >>> round(hdc.matched_accuracy(512, 1000, 20), 3), round(hdc.matched_accuracy(512, 1000, 40), 3)
    (0.973, 0.859)
    """
    D, N = _sizes(D, N)
    K = whole_number("K", K, least=1, most=_LARGEST_N)
    if N <= K:
        return 1.0
    # K answers of mean 1 and variance (K - 1) / D compete with N - K of mean 0, variance K / D.
    scale = max(math.sqrt(K / D), 1e-12)
    t = np.linspace(-8.0 * scale, 1.0 + 8.0 * scale, 1601)
    most = min(K, N - K)
    p_hit_below = 1.0 - _upper((t - 1.0) / max(math.sqrt((K - 1) / D), 1e-12))
    below = _binomial_tails(K, p_hit_below, most)
    above = _binomial_tails(N - K, _upper(t / scale), most)
    # The j-th hit is lost when the j-th highest other is above the j-th lowest hit: sum over j.
    lost = float((np.diff(below, axis=1) * 0.5 * (above[:, 1:] + above[:, :-1])).sum())
    return min(1.0, max(0.0, 1.0 - lost / K))


def recall_accuracy(D: int, N: int, n_pairs: int, form: str = "vector") -> float:
    """Return how often the right one of N values is the best match after a recall of a pair.

    Parameters
    ----------
    D, N, n_pairs : int
        Number of real dimensions, of values to choose from and of pairs in the memory.
    form : {"vector", "matrix"}, default="vector"
        As in :class:`primal.hdc.KeyValueMemory`.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from primal import hdc
    >>> round(hdc.recall_accuracy(512, 1000, 20), 2), round(hdc.recall_accuracy(512, 1000, 40), 2)
    (0.96, 0.63)
    """
    D, N = _sizes(D, N)
    pairs = whole_number("n_pairs", n_pairs, least=1, most=_LARGEST_N)
    # Crosstalk has the power n_pairs - 1 relative to the value, 1 / D of that in a matrix, and a
    # D-th of it along every value; so has the value itself along the others.
    shrink = D if one_of("form", form, ("vector", "matrix")) == "matrix" else 1
    noise = (pairs - 1) / D / shrink
    hit, other = math.sqrt(noise), math.sqrt(1.0 / D + noise)
    # The right answer is 1 + hit * g; N - 1 others have to stay below it.
    density = np.exp(-0.5 * _GRID**2)
    with np.errstate(divide="ignore"):  # where all others are above
        below = np.exp((N - 1) * np.log1p(-_upper((1.0 + hit * _GRID) / other)))
    return float((below * density).sum() / density.sum())


def _sizes(D: int, N: int) -> tuple[int, int]:
    whole_number("D", D, least=1, most=_LARGEST_D)
    return even_dimension(D), whole_number("N", N, least=2, most=_LARGEST_N)


def log_search_space(D: int) -> float:
    """Return the logarithm of how many combinations of factors a resonator network can search."""
    return math.log((D / 2) ** 2 / 2.0)


def _largest(holds: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to `most` for which a falling property holds, at least 1."""
    return max(1, bisect_right(range(1, most + 1), False, key=lambda K: not holds(K)))


def _silent(D: int, N: int, K: int) -> bool:
    """Whether state evolution of message passing ends without noise, for weights 0 and 1."""
    density = np.exp(-0.5 * _GRID**2)
    density /= density.sum()
    log_odds, variance = math.log(K / (N - K)), K / D
    for _ in range(_EVOLUTION):
        deviation = math.sqrt(variance)
        error = 0.0
        for weight, share in ((1.0, K / D), (0.0, (N - K) / D)):
            exponent = log_odds + (weight + deviation * _GRID - 0.5) / variance
            chance = 1.0 / (1.0 + np.exp(np.clip(-exponent, -700.0, 700.0)))
            error += share * float((density * (weight - chance) ** 2).sum())
        if error < 1e-5 * K / D:
            return True
        if error > variance * (1.0 - 1e-4):
            return False
        variance = error
    return False


def _donoho_tanner(delta: float) -> float:
    """Return the weak threshold K / D for D / N = delta, signs unknown."""
    # Donoho, Maleki and Montanari's form, with m = (1 + t**2) P(g > t) - t p(t), g normal.
    t = np.linspace(0.01, 6.0, 2000)
    m = (1.0 + t**2) * _upper(t) - t * np.exp(-0.5 * t**2) / math.sqrt(2.0 * math.pi)
    return float(((1.0 - 2.0 / delta * m) / (1.0 + t**2 - 2.0 * m)).max())


def _binomial_tails(n: int, p: np.ndarray, most: int) -> np.ndarray:
    """Return P(Bin(n, p) >= j) for j = 1, ..., most, shape (most, len(p))."""
    require_memory(32 * most * len(p), f"the chances of {most} items")
    p = np.clip(p, 1e-300, 1.0 - 1e-16)
    j = np.arange(most, dtype=np.float64)[:, None]
    # One factor after the other: differences of log-factorials would cancel for large n.
    steps = np.log(float(n) - j[:-1]) - np.log(j[1:])
    log_choose = np.concatenate([np.zeros((1, 1)), np.cumsum(steps, axis=0)])
    mass = np.exp(log_choose + j * np.log(p) + (n - j) * np.log1p(-p))
    return np.clip(1.0 - np.cumsum(mass, axis=0), 0.0, 1.0)


def _upper(x: np.ndarray) -> np.ndarray:
    """Return the normal tail P(g > x) of every entry."""
    return 0.5 * np.vectorize(math.erfc)(np.asarray(x) / math.sqrt(2.0))
