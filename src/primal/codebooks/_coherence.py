"""How similar the codes of a StaticPrime codebook can be.

Codes at positions i and j have the cosine similarity g(i - j), g(l) = mean_m cos(2 pi l f_m):
it depends on the lag alone, so N codes have N - 1 similarities, not N (N - 1) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from primal._checks import require_work, whole_number
from primal._errors import DataError
from primal.engines import engine
from primal.maps import StaticPrime

__all__ = ["WorstLag", "worst_lag"]


@dataclass(frozen=True)
class WorstLag:
    """Certificate of :func:`worst_lag`: every lag below N was looked at."""

    N: int
    lag: int
    g: float

    @property
    def coherence(self) -> float:
        """Largest |cosine similarity| between two of the N codes."""
        return abs(self.g)


def worst_lag(s: StaticPrime, N: int) -> WorstLag:
    """Return the lag at which two of N consecutive codes are most similar, and how similar.

    Parameters
    ----------
    s : StaticPrime
    N : int
        Number of codes, at least 2. The work is N * D / 2 cosines.

    Returns
    -------
    worst : WorstLag
        With g computed in float64; the smallest lag among equals.

    Examples
    --------
    >>> import primal
    >>> from primal.codebooks import worst_lag
    >>> worst = worst_lag(primal.StaticPrime(64), 1000)
    >>> worst.lag, round(worst.coherence, 4)
    (906, 0.4268)
    """
    if not isinstance(s, StaticPrime):
        raise DataError(f"s must be a StaticPrime, got {s!r}.")
    N = whole_number("N", N, least=2, most=2**63)
    require_work(4 * N * (s.D // 2), f"all lags of {N} codes")
    lag, g = engine().worst_lag(s.increments, 1, N)
    return WorstLag(N, lag, g)
