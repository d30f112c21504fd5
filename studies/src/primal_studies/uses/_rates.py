"""Rates with their confidence intervals."""

from __future__ import annotations

import math

__all__ = ["wilson"]


def wilson(hits: int, n: int, deviations: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval for a rate seen as `hits` of n; 1.96 deviations are 95 %.

    Examples
    --------
    >>> low, high = wilson(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.037)
    """
    share, z2 = hits / n, deviations**2
    center = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = deviations * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, center - half) if hits else 0.0, min(1.0, center + half) if hits < n else 1.0
