"""``Circular``: angles, hours and other numbers that come round again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import positive_scale, real_array, require_memory, whole_number
from primal._lazy import cached_property
from primal.errors import DataError
from primal.hdc._certificate import LawCertificate, certify_law
from primal.hdc._codes import Codes
from primal.hdc._levels import base_turns, even_fractions
from primal.hdc._vocabulary import Vocabulary

__all__ = ["Circular", "circular_frequencies"]

# So many periods on, float64 just holds 2**-32 of one.
_LARGEST_PERIODS = 2.0**20


@dataclass(frozen=True)
class Circular(Vocabulary):
    """Numbers on a circle: similarity falls linearly to 0 on the opposite side.

    Parameters
    ----------
    space : Space
    role : str
    period : float
        Length of the circle: 360 for degrees, 24 for hours.

    Notes
    -----
    Phase j of the angle x is m_j x / period turns, on top of the phases of a name, with whole
    numbers m_j: x and x + period have one code. Similarity is then the mean of cos(2 pi m_j
    (x - y) / period); with the m_j distributed as in the Fourier series
    1/2 + 4 / pi**2 (cos t + cos(3 t) / 9 + cos(5 t) / 25 + ...) it is 1 - 2 |x - y| / period.

    encode(y) / encode(x) depends on y - x alone, and turns any other code by as much.

    Examples
    --------
    >>> from primal import hdc
    >>> hour = hdc.Space(1024).circular(period=24)
    >>> hdc.similarity(hour.encode(23), hour.encode([23, 1, 5, 11])).round(1).tolist()
    [1.0, 0.8, 0.5, 0.0]
    >>> three_later = hour.encode(3) / hour.encode(0)
    >>> hour.encode(22.5) * three_later == hour.encode(1.5)
    True
    """

    period: float

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).update(period=positive_scale("period", self.period))

    def encode(self, x: Any) -> Codes:
        """Return the codes of numbers of any shape: (*x.shape, k), uint32.

        Numbers a million periods away are refused: float64 keeps too little of their place.
        """
        array = real_array("x", x).astype(np.float64)
        if array.size and np.abs(array).max() > self.farthest:
            raise DataError(
                f"numbers must lie within {_LARGEST_PERIODS:.0f} periods of {self.period}, got "
                f"{array.flat[np.abs(array).argmax()]}: take the remainder first."
            )
        periods = array / self.period
        require_memory(4 * array.size * self.space.k, f"{array.size} codes")
        # Rounded to the unit of a phase: everything after is exact.
        places = np.rint((periods - np.floor(periods)) * 2.0**32).astype(np.uint64)
        frequencies, base = self.frequencies
        return Codes(places.astype(np.uint32)[..., None] * frequencies + base)

    def certificate(self, n: int) -> LawCertificate:
        """Return how far the similarity of n evenly spaced points is from its law at worst."""
        n = whole_number("n", n, least=1)
        require_memory(16 * n**2, f"all pairs of {n} points")
        gaps = np.abs(np.arange(n)[:, None] - np.arange(n)) / n
        return certify_law(
            self.encode(np.arange(n) * (self.period / n)), 1.0 - 2.0 * np.minimum(gaps, 1.0 - gaps)
        )

    @property
    def farthest(self) -> float:
        """The largest number that has a code."""
        return self.period * _LARGEST_PERIODS

    @cached_property
    def frequencies(self) -> tuple[np.ndarray, np.ndarray]:
        """The m_j as uint32, negative ones in two's complement, and the phases of the name."""
        whole = circular_frequencies(self.space.k)
        return whole.astype(np.uint32), base_turns(self)


def circular_frequencies(k: int) -> np.ndarray:
    """Return k whole numbers: 0 half of the time, else odd, +-m with a share of 4 / (pi m)**2.

    Examples
    --------
    >>> circular_frequencies(12).tolist()
    [0, -1, 0, -1, 0, 0, 1, 0, 1, 0, 1, -7]
    """
    fractions = even_fractions(k) / 2.0**64
    # sqrt(2) keeps fractions below 1 - 0.35 / k, so the table is long enough.
    odd = np.arange(1, 2 * k + 16, 2)
    share = np.cumsum(4.0 / (math.pi * odd) ** 2)  # of 1, 3, 5, ..., with either sign
    found = odd[np.minimum(np.searchsorted(share, fractions - 0.5, side="right"), len(odd) - 1)]
    signs = np.where(np.arange(k) % 2, -1, 1)
    return np.where(fractions < 0.5, 0, signs * found)
