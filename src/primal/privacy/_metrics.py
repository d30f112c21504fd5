"""Error rates of matching, and how far scores link templates of one person.

The linkability D_sys is that of Gomez-Barrero et al., "General framework to evaluate unlinkability
in biometric template protection systems" (2018): with p_m and p_n the laws of scores of mated and
non-mated pairs, and LR their ratio,

    D(s) = max(0, 2 LR / (1 + LR) - 1),    D_sys = sum over s of p_m(s) D(s),    from 0 to 1.
"""

from __future__ import annotations

import numpy as np

from primal._checks import real_array, require_memory, whole_number
from primal.errors import DataError
from primal.privacy._estimates import Estimate, mean_range


def equal_error_rate(genuine: object, impostor: object) -> float:
    """Return the rate at which as many genuine scores are rejected as impostor ones accepted.

    Parameters
    ----------
    genuine, impostor : array_like
        Scores of pairs of one person and of two, the higher the closer.

    Returns
    -------
    rate : float

    Examples
    --------
    >>> from primal.privacy import equal_error_rate
    >>> equal_error_rate([3.0, 4.0, 5.0, 1.5], [0.0, 1.0, 2.0, 1.2])
    0.25
    """
    own, others = np.sort(_scores("genuine", genuine)), np.sort(_scores("impostor", impostor))
    thresholds = np.concatenate([own, others])
    rejected = np.searchsorted(own, thresholds) / len(own)
    accepted = 1.0 - np.searchsorted(others, thresholds) / len(others)
    at = np.argmin(np.abs(rejected - accepted))
    return float((rejected[at] + accepted[at]) / 2.0)


def linkability(mated: object, non_mated: object) -> float:
    """Return D_sys of scores, from 0 to 1, by bins of equal mass.

    Bins of equal width collapse where there are outliers. Edges are quantiles of all scores and of
    the mated ones, as many as leave about forty mated scores in a bin. Unlinkable scores have a
    value above 0 too, for lack of data: compare with :func:`linkability_floor`.

    Parameters
    ----------
    mated, non_mated : array_like
        Scores across keys of pairs of one person and of two.

    Returns
    -------
    d_sys : float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import linkability
    >>> linkability(np.arange(1000.0), np.arange(5000.0, 9000.0))
    1.0
    """
    m, n = _scores("mated", mated), _scores("non_mated", non_mated)
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


def linkability_floor(n_mated: int, n_non_mated: int, *, draws: int = 40) -> Estimate:
    """Return D_sys of so many scores that have nothing to link: mean, least and largest.

    Parameters
    ----------
    n_mated, n_non_mated : int
        Numbers of scores.
    draws : int, default=40

    Returns
    -------
    floor : Estimate

    Examples
    --------
    >>> from primal.privacy import linkability_floor
    >>> 0.02 < linkability_floor(1900, 19000, draws=5).value < 0.06
    True
    """
    sizes = [
        whole_number(n, v, least=1) for n, v in (("n_mated", n_mated), ("n_non_mated", n_non_mated))
    ]
    require_memory(8 * 8 * sum(sizes), f"{sum(sizes)} scores")
    rng = np.random.default_rng(0)
    found = [
        linkability(*(rng.random(size) for size in sizes))
        for _ in range(whole_number("draws", draws, least=1))
    ]
    return mean_range(found)


def threshold_at(impostor: np.ndarray, false_match_rate: float) -> float:
    """Return the score that at most this share of impostors reaches."""
    return float(
        np.nextafter(np.quantile(impostor, 1.0 - false_match_rate, method="higher"), np.inf)
    )


def _scores(name: str, values: object) -> np.ndarray:
    array = real_array(name, values).astype(np.float64).ravel()
    if not array.size:
        raise DataError(f"{name} holds no scores.")
    return array
