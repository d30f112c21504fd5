"""The result of decoding, of codes and of rows of any matrix alike."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np


class Status(StrEnum):
    """Outcome of one row. Members are strings: ``result.status == "unique"`` compares arrays.

    Examples
    --------
    >>> from primal.decoding import Status
    >>> Status.UNIQUE == "unique"
    True
    """

    UNIQUE = "unique"
    AMBIGUOUS = "ambiguous"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class DecodeResult:
    """Decoded inputs with the status of each row.

    Attributes
    ----------
    x : ndarray of shape (..., d), dtype=float64
        The most probable input (given its integers, the posterior mean); NaN where decoding failed.
    status : ndarray of shape (...), dtype=str
        Values of :class:`Status`. ``"unique"``: x agrees with the noise and the prior, and another
        answer is right with a probability of at most the `risk` of the plan. ``"ambiguous"``: x
        agrees, but others may be right. ``"failed"``: nothing agrees, or the row has NaN or no
        phases.
    probability : ndarray of shape (...), dtype=float64
        Probability that x is right, among the candidates and under the stated noise and prior.
    residual : ndarray of shape (...), dtype=float64
        Root mean square of the differences between the phases and those of x, in turns (rows of a
        matrix: in units of the integers); NaN where there are no phases.
    candidates : ndarray of shape (..., c, d), dtype=float64
        Possible inputs, the most probable first, filled up with NaN. If decoding failed, the first
        is the closest input found.
    distances : ndarray of shape (..., c), dtype=float64
        Squared distance of each candidate from phases and prior, in standard deviations: for the
        right one chi-squared with one degree of freedom per phase. Infinite where there is no
        candidate, so ``distances[..., 1] / distances[..., 0]`` is the ratio of the ratio test.
    whole : ndarray of shape (..., k), dtype=int64
        Integers n of :func:`plan_matrix`, where A x + n is y without its noise; 0 in known rows.
        For codes of a map k is 0.
    candidate_whole : ndarray of shape (..., c, k), dtype=int64
        The same for each candidate, filled up with 0.
    """

    x: np.ndarray
    status: np.ndarray
    probability: np.ndarray
    residual: np.ndarray
    candidates: np.ndarray
    distances: np.ndarray
    whole: np.ndarray
    candidate_whole: np.ndarray

    def reshaped(self, shape: tuple[int, ...]) -> "DecodeResult":
        """Return the same rows in another leading shape."""
        return DecodeResult(*(v.reshape((*shape, *v.shape[1:])) for v in vars(self).values()))


def empty_result(n: int, d: int, c: int, k: int = 0) -> DecodeResult:
    """Return a result of n rows of which all have failed, to be written into."""
    return DecodeResult(
        np.full((n, d), np.nan),
        np.full(n, Status.FAILED.value, dtype="<U9"),
        np.zeros(n),
        np.full(n, np.nan),
        np.full((n, c, d), np.nan),
        np.full((n, c), np.inf),
        np.zeros((n, k), dtype=np.int64),
        np.zeros((n, c, k), dtype=np.int64),
    )


def statuses(agree: np.ndarray, log2_wrong: np.ndarray, log2_risk: float) -> np.ndarray:
    """Return the statuses of rows whose answers agree or not, (n,).

    `log2_wrong` (n,) is log2 of the probability of all other answers, relative to this one.
    """
    certain = np.where(log2_wrong <= log2_risk, Status.UNIQUE.value, Status.AMBIGUOUS.value)
    return np.where(agree, certain, Status.FAILED.value)


def log2_alternatives(
    costs: np.ndarray, flat_costs: np.ndarray, possible: np.ndarray
) -> np.ndarray:
    """Return log2 of the probability of other candidates relative to the first one, (n,).

    Candidates (n, c) have squared distances `costs` from phases and prior and `flat_costs` without
    the part of inputs that are uniform within limits; the smaller difference of the two counts.
    """
    with np.errstate(invalid="ignore"):
        more = np.minimum(costs - costs[:, :1], flat_costs - flat_costs[:, :1])
    more = np.where(possible, more, np.inf)
    more[:, 0] = np.inf
    return np.logaddexp2.reduce(-0.5 * np.log2(np.e) * more, axis=1)
