"""How good a set of codes is: Gram statistics in blocks, or from the lags.

Nothing here holds an N x N matrix: blocks of the Gram matrix are made, read and dropped.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import (
    one_of,
    raised_as,
    reject_lost_values,
    require_memory,
    require_work,
    whole_number,
)
from primal.codebooks._toeplitz import checked_increments, lag_products, real_energy
from primal.errors import DataError

_BLOCK_ROWS = 1024
# Cosines closer than this are equal up to rounding; the first pair of them is reported.
_SAME = 1e-12


@dataclass(frozen=True)
class GramStatistics:
    """Statistics of the N (N - 1) / 2 cosines between different codes of D entries.

    Attributes
    ----------
    rms, coherence : float
        Root mean square (E_RMS of the paper) and largest |cosine|.
    pair : tuple of int
        Indices i < j of two codes that attain the coherence.
    counts, edges : ndarray of shape (bins,), dtype=int64, and (bins + 1,), dtype=float64
        Histogram of the cosines (of their absolute values for complex codes).
    """

    N: int
    D: int
    rms: float
    coherence: float
    pair: tuple[int, int]
    counts: np.ndarray
    edges: np.ndarray

    @property
    def density(self) -> np.ndarray:
        """Histogram as a density: its integral over the edges is 1."""
        return self.counts / (self.counts.sum() * np.diff(self.edges))


def gram_statistics(codes: Any, *, bins: int = 200, dtype: str = "float64") -> GramStatistics:
    """Return the statistics of all pairs of codes, by brute force in blocks.

    Parameters
    ----------
    codes : ndarray of shape (N, D), or Codebook
        Real or complex rows; they are scaled to length 1. The work is N**2 D multiply-adds.
    bins : int, default=200
        Bins of the histogram over [-1, 1], or over [0, 1] for complex codes.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the cosines; float32 takes half the time and is off by about 1e-7.

    Returns
    -------
    GramStatistics

    Examples
    --------
    >>> import primal
    >>> from primal.codebooks import gram_statistics
    >>> statistics = gram_statistics(primal.StaticPrime(16).waves(100, dtype="float64"))
    >>> round(statistics.rms, 5), round(statistics.coherence, 4), statistics.pair
    (0.24655, 0.5504, (0, 52))
    """
    bins = whole_number("bins", bins, least=1)
    require_memory(32 * bins, f"a histogram of bins = {bins}")
    narrow = one_of("dtype", dtype, ("float64", "float32")) == "float32"
    fetch, N, D, is_complex = _row_source(codes)
    require_work(N * N * D, f"all pairs of {N} codes")
    low = 0.0 if is_complex else -1.0
    counts = np.zeros(bins, dtype=np.int64)
    squares, largest, pair = 0.0, -1.0, (0, 1)

    def unit_rows(first: int) -> np.ndarray:
        rows = fetch(np.arange(first, min(first + _BLOCK_ROWS, N)))
        rows = np.array(rows, dtype=np.complex128 if is_complex else np.float64, order="C")
        # By a power of two, which rounds nothing: squares neither overflow nor vanish.
        parts = rows.view(np.float64)
        with np.errstate(invalid="ignore"):
            exponents = np.frexp(np.abs(parts).max(axis=1, initial=0.0))[1]
        np.ldexp(parts, -exponents[:, None], out=parts)
        lengths = np.linalg.norm(rows, axis=1)
        ok = np.isfinite(lengths) & (lengths > 0)
        if not ok.all():
            raise DataError(
                f"row {first + int(np.argmin(ok))} of the codes is all zeros or not finite: it has "
                "no direction."
            )
        rows /= lengths[:, None]
        return rows.astype(np.complex64 if is_complex else np.float32) if narrow else rows

    for top in range(0, N, _BLOCK_ROWS):
        upper = unit_rows(top)
        for left in range(top, N, _BLOCK_ROWS):
            lower = upper if left == top else unit_rows(left)
            gram = upper.conj() @ lower.T
            values = (np.abs(gram) if is_complex else gram).reshape(-1)
            places = None
            if left == top:  # each pair once, no code with itself
                places = np.flatnonzero(np.triu(np.ones(gram.shape, dtype=bool), 1))
                values = values[places]
            if not len(values):
                continue
            squares += float(np.dot(values, values))
            counts += _bin_counts(values, low, bins)
            sizes = np.abs(values)
            peak = float(sizes.max())
            if peak > largest + _SAME:
                at = int(np.argmax(sizes >= peak - _SAME))
                at = at if places is None else int(places[at])
                largest, pair = peak, (top + at // gram.shape[1], left + at % gram.shape[1])
    edges = np.linspace(low, 1.0, bins + 1)
    rms = math.sqrt(2.0 * squares / (N * (N - 1)))
    return GramStatistics(N, D, rms, largest, pair, counts, edges)


def toeplitz_statistics(increments: np.ndarray, N: int, *, bins: int = 200) -> GramStatistics:
    """Return what :func:`gram_statistics` would, from the N - 1 lags and the Fejer identity.

    Parameters
    ----------
    increments : ndarray of shape (k,), dtype=uint64
        Phase of each frequency in one step, units of 2**-64 turn.
    N : int
        Number of codes, at least 2.
    bins : int, default=200
        As in :func:`gram_statistics`.

    Returns
    -------
    GramStatistics

    Examples
    --------
    >>> import primal
    >>> from primal.codebooks import toeplitz_statistics
    >>> statistics = toeplitz_statistics(primal.StaticPrime(64).increments, 10_000)
    >>> round(statistics.rms, 10), round(statistics.coherence, 4), statistics.pair
    (0.124612399, 0.4669, (0, 4950))
    """
    increments = checked_increments(increments)
    N = whole_number("N", N, least=2)
    bins = whole_number("bins", bins, least=1)
    require_memory(32 * bins, f"a histogram of bins = {bins}")
    counts = np.zeros(bins, dtype=np.int64)
    largest, lag = -1.0, 0
    for first, products in lag_products(increments, N):
        skip = 1 if first == 0 else 0
        g = products.real[skip:]
        lags = np.arange(first + skip, first + skip + len(g))
        counts += _bin_counts(g, -1.0, bins, N - lags)
        at = int(np.abs(g).argmax()) if len(g) else -1
        if at >= 0 and abs(g[at]) > largest:
            largest, lag = float(abs(g[at])), int(lags[at])
    rms = rms_from_energy(real_energy(increments, N), N)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    return GramStatistics(N, 2 * len(increments), rms, largest, (0, lag), counts, edges)


def rms_from_energy(energy: float, N: int) -> float:
    """Return the RMS of the off-diagonal cosines, from the sum of squares with the diagonal."""
    return math.sqrt(max(0.0, energy - N) / (N * (N - 1))) if N > 1 else 0.0


def bases_energy(N: int, size: int) -> float:
    """Return the sum of squared cosines of N codes that fill one basis of `size` after another."""
    bases, rest = divmod(N, size)
    # The frame operator is `bases` times the identity and a projection of rank `rest`.
    return float(bases * bases * size + 2 * bases * rest + rest)


def _row_source(codes: Any) -> tuple[Callable[[np.ndarray], np.ndarray], int, int, bool]:
    """Return a function that fetches rows by their numbers, and N, D, whether they are complex."""
    if hasattr(codes, "_wide"):  # a Codebook makes its rows when asked
        fetch, N, D, is_complex = codes._wide, codes.N, codes.D, codes.field == "complex"
    else:
        with raised_as(DataError, "codes must be a matrix of numbers"):
            array = np.asarray(codes)
        reject_lost_values("codes", codes, as_floats=False)
        if array.ndim != 2 or array.dtype.kind not in "fciu":
            raise DataError(
                f"codes must be a matrix of numbers with one code in each row, got shape "
                f"{array.shape} of {array.dtype}."
            )
        fetch, (N, D), is_complex = array.__getitem__, array.shape, array.dtype.kind == "c"
    if N < 2:
        raise DataError(f"a Gram statistic needs two codes or more, got {N}.")
    return fetch, N, D, is_complex


def _bin_counts(
    values: np.ndarray, low: float, bins: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the histogram over `bins` equal bins of [low, 1], as whole numbers."""
    # One product and one count: several times faster than a search among the edges.
    numbers = np.clip(((values - low) * (bins / (1.0 - low))).astype(np.int64), 0, bins - 1)
    counts = np.bincount(numbers, weights=weights, minlength=bins)
    return np.rint(counts).astype(np.int64)
