"""Whether a batch of results is what the stated noise and prior lead to.

A status is about one row, and depends on nothing else. Over a batch far less shows: noise that is
half as large again as stated, or one row in a hundred outside of the prior.
"""

from __future__ import annotations

import math

import numpy as np

from primal.decoding._bounds import RARELY, chi_squared_limit
from primal.decoding._certificate import DecodingCertificate

__all__ = ["describe_misfit"]

# A sound batch is warned about less than once in a million times, by this or by its residuals.
_LOG_CHANCE = math.log(1e-7)
# Noise that is larger by less than this is not worth a warning, however sure it is.
_NOISE_RATIO = 1.25


def describe_misfit(
    certificate: DecodingCertificate, noise_turns: float, status: np.ndarray, residual: np.ndarray
) -> str | None:
    """Return what a batch shows against the noise and the prior, or None.

    `residual` (n,) is in turns, and NaN where a code had no phases.
    """
    failed = status == "failed"
    n, n_failed = len(status), int(failed.sum())
    n_free = float((n - n_failed) * certificate.freedom)
    chi = float(np.square(residual[~failed] / noise_turns).sum()) * certificate.rows
    too_large = chi > max(chi_squared_limit(n_free, RARELY), _NOISE_RATIO**2 * n_free)
    if n_free >= 1.0 and too_large and 2 * n_failed <= n:
        measured = noise_turns * math.sqrt(chi / n_free)
        return (
            f"the residuals of {n - n_failed} codes show a noise of {measured:.2g} turns, above "
            f"{_NOISE_RATIO} times the stated {noise_turns:.2g}: x is less sure than x_std says. "
            f"Make the plan with noise={measured:.2g}."
        )
    # A law other than the stated one may fail a little more often than predicted: twice as much.
    expected = 1.0 - min(certificate.success_probability, 1.0 - 1e-6) ** 2
    if n_failed and _log_binomial_tail(n_failed, n, expected) < _LOG_CHANCE:
        n_unread = int(np.isnan(residual).sum())
        return (
            f"{n_failed} of {n} codes fit no x within the prior at a noise of {noise_turns:.2g} "
            f"turns, where a share of {expected:.2g} may fail{_unread(n_unread)}: check that this "
            "map made them, state a wider prior or a larger noise, or try a beam."
        )
    return None


def _unread(n_unread: int) -> str:
    if n_unread == 0:
        return ""
    return (
        f" ({n_unread} have (cos, sin) pairs that are erased, or differ in length by more than "
        "the noise explains)"
    )


def _log_binomial_tail(hits: int, n: int, chance: float) -> float:
    """Return the log of a bound on the chance of so many hits in n tries (Chernoff)."""
    share = hits / n
    if share <= chance:
        return 0.0
    missed = (1.0 - share) * math.log((1.0 - share) / (1.0 - chance)) if share < 1.0 else 0.0
    return -n * (share * math.log(share / chance) + missed)
