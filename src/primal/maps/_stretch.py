"""Frequencies that are given: as increments, and stretched to longer contexts."""

import numpy as np

from primal._checks import one_of, real_array, real_number, whole_number
from primal.errors import ParameterError

METHODS = ("yarn", "ntk", "linear")
# YaRN keeps what makes more turns than the first in the trained length, and divides what makes
# fewer than the second.
_YARN_TURNS = (32.0, 1.0)


def frequency_increments(frequencies: np.ndarray) -> np.ndarray:
    """Return finite frequencies (k,), turns per position, as the nearest increments, uint64.

    Of two equally near ones it is the even one.
    """
    units = np.rint(np.ldexp(frequencies - np.rint(frequencies), 64))
    return np.array([int(u) % 2**64 for u in units], dtype=np.uint64)


def stretched_frequencies(
    frequencies: object, factor: float, *, trained_length: int, method: str = "yarn"
) -> np.ndarray:
    """Return rotary frequencies for contexts `factor` times as long as the trained length.

    Parameters
    ----------
    frequencies : array_like of shape (k,)
        Turns per position, falling geometrically, as those of rotary embeddings do; zeros may
        follow, and stay.
    factor : float
        At least 1.
    trained_length : int
        Positions of the sequences that the model was trained with.
    method : {"yarn", "ntk", "linear"}, default="yarn"
        ``"linear"`` divides all by the factor (position interpolation). ``"ntk"`` divides
        number j of k by factor**(j / (k - 1)), as if the base were larger. ``"yarn"`` keeps the
        fast ones, divides those slower than one turn in the trained length, with a ramp over j
        between them; models made with it also scale queries and keys by 0.1 ln(factor) + 1.

    Returns
    -------
    frequencies : ndarray of shape (k,), dtype=float64

    Examples
    --------
    >>> import numpy as np
    >>> from primal.maps import stretched_frequencies
    >>> f = 10000.0 ** (-np.arange(4) / 4) / (2 * np.pi)
    >>> (stretched_frequencies(f, 4, trained_length=2048) / f).round(2).tolist()
    [1.0, 1.0, 0.63, 0.25]
    """
    f = np.asarray(real_array("frequencies", frequencies), dtype=np.float64)
    factor = real_number("factor", factor, above=0.0, below=np.inf)
    length = whole_number("trained_length", trained_length, least=1, most=1 << 48)
    method = one_of("method", method, METHODS)
    if factor < 1.0:
        raise ParameterError(f"factor must be at least 1, got {factor}: contexts only grow.")
    shape, turning = f.shape, int(np.count_nonzero(f))
    f, still = f.ravel()[:turning], f.ravel()[turning:]
    falls = len(f) > 1 and not still.any() and (np.diff(f) < 0).all() and f[-1] > 0
    if len(shape) != 1 or not falls:
        raise ParameterError(
            f"frequencies must be two or more that fall and are positive, got shape {shape}: "
            "those of raw square roots, or of positions without rotation, cannot be stretched."
        )
    j, last = np.arange(len(f)), len(f) - 1
    if method == "linear":
        return np.concatenate((f / factor, still))
    if method == "ntk":
        return np.concatenate((f * factor ** (-j / last), still))
    ratio_of_neighbors = np.log(f[0] / f[-1]) / last
    fast, slow = (np.log(f[0] * length / turns) / ratio_of_neighbors for turns in _YARN_TURNS)
    low, high = max(np.floor(fast), 0.0), min(np.ceil(slow), 2.0 * last + 1.0)
    divided = np.clip((j - low) / max(high - low, 0.001), 0.0, 1.0)
    return np.concatenate((f * (1.0 - divided) + f / factor * divided, still))
