"""Error rates of matching, and how far scores link templates of one person.

The linkability D_sys is that of Gomez-Barrero et al., "General framework to evaluate unlinkability
in biometric template protection systems" (2018): with p_m and p_n the laws of scores of mated and
non-mated pairs, and LR their ratio,

    D(s) = max(0, 2 LR / (1 + LR) - 1),    D_sys = sum over s of p_m(s) D(s),    from 0 to 1.
"""

from __future__ import annotations

import numpy as np

from primal.privacy._estimates import Estimate, mean_range
from primal.privacy._keys import uniform

_DRAWS = 40


def equal_error_rate(genuine: np.ndarray, impostor: np.ndarray) -> float:
    """Return the rate at which as many genuine scores are rejected as impostor ones accepted.

    Scores are those of pairs of one person and of two, the higher the closer.

    >>> equal_error_rate([3.0, 4.0, 5.0, 1.5], [0.0, 1.0, 2.0, 1.2])
    0.25
    """
    own, others = np.sort(genuine), np.sort(impostor)
    thresholds = np.concatenate([own, others])
    rejected = np.searchsorted(own, thresholds) / len(own)
    accepted = 1.0 - np.searchsorted(others, thresholds) / len(others)
    at = np.argmin(np.abs(rejected - accepted))
    return float((rejected[at] + accepted[at]) / 2.0)


def linkability(mated: np.ndarray, non_mated: np.ndarray) -> float:
    """Return D_sys of scores across keys, of pairs of one person and of two, from 0 to 1.

    By bins of equal mass: bins of equal width collapse where there are outliers. Edges are
    quantiles of all scores and of the mated ones, as many as leave about forty mated scores in a
    bin. Unlinkable scores have a value above 0 too, for lack of data: see `linkability_floor`.

    >>> linkability(np.arange(1000.0), np.arange(5000.0, 9000.0))
    1.0
    """
    m, n = mated, non_mated
    n_bins = min(40, max(8, len(m) // 40))
    inner = np.arange(1, n_bins) / n_bins
    edges = np.unique([np.quantile(scores, inner) for scores in (np.concatenate([m, n]), m)])
    p, q = (
        np.bincount(np.searchsorted(edges, s, side="right"), minlength=len(edges) + 1) / len(s)
        for s in (m, n)
    )
    # 2 LR / (1 + LR) - 1 without the ratio, which may be infinite.
    excess = np.divide(p - q, p + q, out=np.zeros_like(p), where=p + q > 0.0)
    return float((p * np.maximum(0.0, excess)).sum())


def linkability_floor(n_mated: int, n_non_mated: int) -> Estimate:
    """Return D_sys of so many independent scores: mean, least and largest.

    Scores come from a hash, so that the floor is the same on every machine.
    """
    return mean_range(
        [
            linkability(
                uniform(f"floor/{draw}/0", n_mated), uniform(f"floor/{draw}/1", n_non_mated)
            )
            for draw in range(_DRAWS)
        ]
    )


def threshold_at(impostor: np.ndarray, false_match_rate: float) -> float:
    """Return the score that at most this share of impostors reaches."""
    return float(
        np.nextafter(np.quantile(impostor, 1.0 - false_match_rate, method="higher"), np.inf)
    )
