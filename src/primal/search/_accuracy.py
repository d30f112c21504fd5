"""What compact codes lose: the mean and the variance of their similarity, in closed form.

Rounding phases to a grid of c points on the turn makes the difference of two codes one of the two
multiples of 1/c next to the true difference, for a first phase uniform over its cell with the
probabilities of linear interpolation: so the expected cosine is interpolated between c points. Sign
bits are the case c = 4: crossing into the next quadrant flips one bit.
"""

from __future__ import annotations

import math

import numpy as np

from primal._checks import one_of, real_array
from primal.errors import DataError

# Points on the turn that a code can name.
_GRID_POINTS = {"uint8-phase": 1 << 8, "uint16-phase": 1 << 16, "bits": 4}
# Below this spread (in turns) a normal phase difference never reaches half a turn: six sigma.
_NARROW_TURNS = 0.08
# Odd harmonics of the triangle wave: at the narrow spread the last is exp(-45).
_HARMONICS = np.arange(1, 40, 2, dtype=np.float64)
_BISECTIONS = 60


def expected_similarity(difference_turns: object, stored: str) -> np.ndarray:
    """Return the mean similarity of the codes of two phases a given difference apart.

    The cosine interpolated linearly between the points of the grid, for a first phase that is
    uniform over its cell. For sign bits this is the triangle wave 1 - 4 |difference|, the Hamming
    similarity. Averaged over differences, the cosine shrinks by (sin(pi h) / (pi h))**2 with h the
    step of the grid: by 5.0e-5 for uint8, to 8 / pi**2 of itself for bits.

    Parameters
    ----------
    difference_turns : array_like
        In turns.
    stored : {"uint8-phase", "uint16-phase", "bits"}
        How the phases are rounded.

    Returns
    -------
    ndarray of the same shape, dtype=float64

    Examples
    --------
    >>> from primal.search import expected_similarity
    >>> expected_similarity([0.0, 0.125, 0.25, 0.5], "bits")
    array([ 1. ,  0.5,  0. , -1. ])
    """
    low, high, share = _interpolation(difference_turns, stored)
    return low + share * (high - low)


def similarity_variance(difference_turns: object, stored: str) -> np.ndarray:
    """Return the variance of the similarity of the codes of two phases.

    The variance of the mean over k independent frequencies is the mean of these over k, divided by
    k. At most 1/4 for bits and 1.5e-4 for uint8: standard deviations of a similarity of at most
    0.5 / sqrt(k) and 0.0123 / sqrt(k).

    Parameters
    ----------
    difference_turns, stored
        As in :func:`expected_similarity`.

    Returns
    -------
    ndarray of the shape of `difference_turns`, dtype=float64

    Examples
    --------
    >>> from primal.search import similarity_variance
    >>> similarity_variance([0.0, 0.125, 0.25], "bits")
    array([0.  , 0.25, 0.  ])
    """
    low, high, share = _interpolation(difference_turns, stored)
    return share * (1.0 - share) * np.square(high - low)


def hamming_from_kernel(kernel: object) -> np.ndarray:
    """Return the expected Hamming similarity of sign bits where the waves' similarity is `kernel`.

    It is (8 / pi**2) sum over odd n of kernel**(n**2) / n**2, an odd function: the triangle wave
    averaged over normally distributed differences of phase, as the Gaussian kernel has them (and,
    by the central limit theorem, most others nearly).

    Parameters
    ----------
    kernel : array_like
        In [-1, 1].

    Returns
    -------
    ndarray of the same shape, dtype=float64
        In [-1, 1].

    Examples
    --------
    >>> from primal.search import hamming_from_kernel
    >>> hamming_from_kernel([0.0, 0.5, 0.9, 1.0]).round(4)
    array([0.    , 0.4055, 0.7668, 1.    ])
    """
    value = _in_unit_range("kernel", kernel)
    with np.errstate(divide="ignore"):
        spread = np.sqrt(-np.log(np.abs(value)) / (2.0 * math.pi**2))
    return np.sign(value) * _hamming_of_spread(spread)


def kernel_from_hamming(hamming: object) -> np.ndarray:
    """Return the similarity of waves that a Hamming similarity of sign bits stands for.

    The inverse of :func:`hamming_from_kernel`; increasing, so it changes no ranking.

    Parameters
    ----------
    hamming : array_like
        In [-1, 1].

    Returns
    -------
    ndarray of the same shape, dtype=float64
        In [-1, 1].

    Examples
    --------
    >>> from primal.search import hamming_from_kernel, kernel_from_hamming
    >>> kernel_from_hamming(hamming_from_kernel([-0.5, 0.0, 0.9, 1.0])).round(9)
    array([-0.5,  0. ,  0.9,  1. ])
    """
    value = _in_unit_range("hamming", hamming)
    # A spread of one turn leaves 2e-9 of the similarity.
    low, high = np.zeros(value.shape), np.ones(value.shape)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        narrower = _hamming_of_spread(middle) > np.abs(value)
        low, high = np.where(narrower, middle, low), np.where(narrower, high, middle)
    kernel = np.exp(-2.0 * math.pi**2 * np.square(low))
    return np.where(value == 0.0, 0.0, np.sign(value) * kernel)


def _hamming_of_spread(spread_turns: np.ndarray) -> np.ndarray:
    """Return the triangle wave averaged over normal differences of this standard deviation."""
    narrow = 1.0 - 4.0 * math.sqrt(2.0 / math.pi) * spread_turns
    log_kernel = -2.0 * math.pi**2 * np.square(np.maximum(spread_turns, _NARROW_TURNS))
    odd_squares = np.square(_HARMONICS)
    series = (np.exp(log_kernel[..., None] * odd_squares) / odd_squares).sum(axis=-1)
    wide = (8.0 / math.pi**2) * series
    return np.where(spread_turns < _NARROW_TURNS, narrow, wide)


def _interpolation(
    difference_turns: object, stored: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cosines at the two grid points around each difference, and the second's share."""
    points = _GRID_POINTS[one_of("stored", stored, _GRID_POINTS)]
    turns = real_array("difference_turns", difference_turns).astype(np.float64)
    steps = np.abs(turns - np.rint(turns)) * points
    below = np.floor(steps)
    angle = 2.0 * math.pi / points
    # The cosine of a quarter turn is 0, not 6e-17.
    low, high = (np.sin(math.pi / 2.0 - angle * n) for n in (below, below + 1.0))
    return low, high, steps - below


def _in_unit_range(name: str, value: object) -> np.ndarray:
    array = real_array(name, value).astype(np.float64)
    if array.size and np.abs(array).max() > 1.0:
        worst = array.ravel()[np.abs(array).argmax()]
        raise DataError(f"{name} must lie in [-1, 1], got {worst}.")
    return array
