"""What a plan promises before it has seen a code, and whether a batch of results keeps it.

A status is about one row, and depends on nothing else. Over a batch far less shows: noise that is
half as large again as stated, or one row in a hundred outside of the prior.
"""

import math
from dataclasses import dataclass

import numpy as np

from primal.decoding._bounds import RARELY, chi_squared_limit, log2_ball
from primal.decoding._priors import PriorModel

# Default of the largest probability of another answer than one that is called unique.
DEFAULT_RISK = 2.0**-30
# A sound batch is warned about less than once in a million times, by this or by its residuals.
_LOG_CHANCE = math.log(1e-7)
# Noise that is larger by less than this is not worth a warning, however sure it is.
_NOISE_RATIO = 1.25


@dataclass(frozen=True, eq=False)
class DecodingCertificate:
    """The numbers that justify what a plan says about its results.

    Attributes
    ----------
    success_probability : float
        Chance that the first solution found has every whole turn right, for x drawn from the
        prior and noise as stated: by formula, or measured with the plan's own search where that
        keeps more than one solution and rounding would not be nearly certain.
    log2_spurious : float
        log2 of the expected number of wrong solutions that pass the checks on the residual
        and on the prior; infinite where the phases leave a direction of x open. If the short
        vectors of the lattice could be enumerated, by these; otherwise by volume, or by the
        collisions that were found, whichever is larger. It holds for residuals up to the size
        that one right solution in 100,000 exceeds; each result is judged by its own residual.
    x_std : ndarray of shape (d,)
        Standard deviation of x once the whole turns are right; 0 for whole-number inputs.
    n_phases : int
        Phases that take part in the result, of D / 2.
    n_resolved : int
        Phases in the lattice, the others follow by prediction.
    adop_turns : float
        Geometric mean of the conditional deviations in the lattice.
    freedom : float
        Degrees of freedom of the residual: how many numbers of a code are left to show that the
        noise is as stated, once x is found. With D = 2 d there are none, and `x_std` rests on
        the statement alone.
    risk : float
        Largest probability of another answer than one that is called unique.
    """

    success_probability: float
    log2_spurious: float
    x_std: np.ndarray
    n_phases: int
    n_resolved: int
    adop_turns: float
    freedom: float
    risk: float = DEFAULT_RISK

    def __post_init__(self) -> None:
        self.x_std.flags.writeable = False  # plans judge x by it

    @property
    def recoverable(self) -> bool:
        """Whether nearly every x of the prior comes back, marked unique."""
        return self.log2_spurious < math.log2(self.risk) and self.success_probability > 0.999

    def __str__(self) -> str:
        worst = self.x_std.max(initial=0.0)
        return (
            f"{'recoverable' if self.recoverable else 'not always recoverable'}: success "
            f"{self.success_probability:.6f}, expected spurious solutions "
            f"2**{self.log2_spurious:.0f}, largest deviation of x {worst:.1e}, "
            f"{self.n_phases} phases used"
        )


def residual_freedom(spread: np.ndarray, noise_turns: float) -> float:
    """Return the expected sum of squared residuals, in units of the noise."""
    weights = np.square(np.linalg.svd(spread, compute_uv=False))
    used = float((weights / (weights + noise_turns**2)).sum())
    return max(0.0, len(spread) - used)


def residual_limit(freedom: float) -> float:
    """Return what the sum of squared residuals of a right solution exceeds almost never."""
    return chi_squared_limit(max(1.0, freedom), RARELY)


def log2_spurious(spread: np.ndarray, noise_turns: float, prior: PriorModel) -> float:
    """Return log2 of the expected number of wrong whole-turn vectors that pass the checks.

    Whole-turn vectors have density one, so the number expected is the volume of all phase
    vectors that would be accepted: those of x within the prior, thickened by a ball of
    residuals in the directions that no x reaches. `spread` (h, r) is G of the rows that take part.
    """
    values = np.linalg.svd(spread, compute_uv=False)
    n_rows, r = spread.shape
    # A direction that the prior moves by less than the noise is as thick as the noise.
    along = 0.5 * float(np.log2(np.square(values) + noise_turns**2).sum())
    inside = prior.log2_volume * len(values) / r
    limit = chi_squared_limit(max(1.0, residual_freedom(spread, noise_turns)))
    return inside + along + log2_ball(n_rows - len(values), limit * noise_turns**2)


class WholeNumberCount:
    """How many whole-number inputs are at least as probable as a given one: an upper bound.

    For t with cost c = sum_j ((t_j - mean_j) / std_j)**2 and any s >= 0, the number of t' within
    the limits and of cost at most c is at most exp(s c) prod_j sum_t' exp(-s (cost of t'_j)):
    every such t' adds at least 1 to the right side. The least over a few s is taken.
    """

    def __init__(self, prior: PriorModel) -> None:
        self._slopes = np.concatenate([[0.0], np.geomspace(1e-3, 8.0, 40)])
        low, high = (np.rint((v - prior.mean) / prior.step) for v in (prior.low, prior.high))
        std = np.diag(prior.factor) / prior.step
        sums = [_log_sum(self._slopes, *limits) for limits in zip(low, high, std, strict=True)]
        self._log_sums = np.sum(sums, axis=0)

    def log2_at_most(self, cost: np.ndarray) -> np.ndarray:
        """Return log2 of the bound for each cost."""
        bounds = np.asarray(cost)[..., None] * self._slopes + self._log_sums
        return bounds.min(axis=-1) / math.log(2.0)


def log2_fit(n_rows: int, noise_turns: float) -> float:
    """Return log2 of the chance that unrelated phases pass the check on the residual."""
    return min(0.0, log2_ball(n_rows, chi_squared_limit(n_rows) * noise_turns**2))


def _log_sum(slopes: np.ndarray, low: float, high: float, std: float) -> np.ndarray:
    """Return log sum_t exp(-slope (t / std)**2) over whole t from low to high."""
    if high - low < 4096:
        t = np.arange(low, high + 1.0)
        return np.log(np.exp(-slopes[:, None] * np.square(t / std)).sum(axis=1))
    # The sum of a falling function is at most its first term and its integral, on both sides.
    integral = std * np.sqrt(math.pi / np.maximum(slopes, 1e-300)) + 2.0
    return np.log(np.minimum(high - low + 1.0, integral))


def describe_misfit(
    certificate: DecodingCertificate,
    squares: np.ndarray,
    freedom: float,
    failed: np.ndarray,
    *,
    noise: str,
    unit: tuple[float, str],
    remedy: str,
    advice: str,
) -> str | None:
    """Return a message if a batch contradicts the noise or the prior, or None.

    `squares` (n,) are sums of squared residuals in units of the noise, with `freedom` degrees each,
    and NaN where a code had no phases. `noise` is the stated noise in words, `unit` a factor from
    it and its name, for the noise that was measured; `remedy` may contain that as {}.
    """
    n, n_failed = len(failed), int(failed.sum())
    n_free, chi = float(n - n_failed) * freedom, float(squares[~failed].sum())
    too_large = chi > max(chi_squared_limit(n_free, RARELY), _NOISE_RATIO**2 * n_free)
    if n_free >= 1.0 and too_large and 2 * n_failed <= n:
        measured = f"{unit[0] * math.sqrt(chi / n_free):.2g}"
        return (
            f"the residuals of {n - n_failed} rows show a noise of {measured} {unit[1]}, above "
            f"{_NOISE_RATIO} times the stated one: x is less sure than x_std says. "
            + remedy.format(measured)
        )
    # A distribution other than the stated one may fail a little more often than predicted.
    expected = 1.0 - min(certificate.success_probability, 1.0 - 1e-6) ** 2
    if n_failed and _log_binomial_tail(n_failed, n, expected) < _LOG_CHANCE:
        unread = ""
        if n_unread := int(np.isnan(squares).sum()):
            unread = (
                f" ({n_unread} have (cos, sin) pairs that are erased, or differ in length by more "
                "than the noise explains)"
            )
        return (
            f"{n_failed} of {n} rows fit no x within the prior at {noise}, where a fraction of "
            f"{expected:.2g} may fail{unread}: {advice}, or state a wider prior or a larger noise."
        )
    return None


def _log_binomial_tail(hits: int, n: int, chance: float) -> float:
    """Return the log of a bound on the chance of so many hits in n tries (Chernoff)."""
    share = hits / n
    if share <= chance:
        return 0.0
    missed = (1.0 - share) * math.log((1.0 - share) / (1.0 - chance)) if share < 1.0 else 0.0
    return -n * (share * math.log(share / chance) + missed)
