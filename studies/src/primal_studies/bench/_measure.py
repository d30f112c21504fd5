"""Fair timing: contenders take turns in one process, and ratios are taken round by round.

A machine's speed drifts within seconds; two programs timed one after the other measure the
drift. Here every round runs each contender once, and a ratio compares times of one round.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["GIVEN_MEMORY", "OURS", "Case", "Result", "contest"]

OURS = "primal"
# Into memory that the caller keeps, which peers cannot do; all else is as users call it.
GIVEN_MEMORY = "primal, given memory"


@dataclass(frozen=True)
class Case:
    """One piece of work that several contenders can do."""

    group: str
    label: str
    sizes: dict[str, int]
    contenders: dict[str, Callable[[], object]]
    output_bytes: int = 0


@dataclass(frozen=True)
class Result:
    """Seconds of every contender in every round of a case."""

    group: str
    label: str
    sizes: dict[str, int]
    output_bytes: int
    seconds: dict[str, list[float]] = field(repr=False)

    def median(self, name: str) -> float:
        """Median seconds of one contender."""
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, to: str) -> tuple[float, float, float]:
        """Return how many times longer `name` takes than `to`: lower quartile, median, upper."""
        ratios = sorted(a / b for a, b in zip(self.seconds[name], self.seconds[to], strict=True))
        quarter = (len(ratios) - 1) / 4
        return (
            ratios[round(quarter)],
            statistics.median(ratios),
            ratios[round(3 * quarter)],
        )

    def as_json(self) -> dict:
        """Return plain values for ``--json``."""
        return {
            "group": self.group,
            "label": self.label,
            "sizes": self.sizes,
            "output_bytes": self.output_bytes,
            "median_seconds": {name: self.median(name) for name in self.seconds},
            "seconds": self.seconds,
        }


def contest(case: Case, *, repeats: int, budget_seconds: float) -> Result:
    """Time every contender `repeats` times in turn, after one warm-up each.

    Rounds end early, but not before the third, when the case has used its budget.
    """
    for run in case.contenders.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in case.contenders}
    names = list(case.contenders)
    start = time.perf_counter()
    for round_number in range(repeats):
        if round_number >= 3 and time.perf_counter() - start > budget_seconds:
            break
        # A different one first each time: whoever follows a heavy peer finds cold caches.
        shift = round_number % len(names)
        for name in names[shift:] + names[:shift]:
            before = time.perf_counter()
            case.contenders[name]()
            seconds[name].append(time.perf_counter() - before)
    return Result(case.group, case.label, case.sizes, case.output_bytes, seconds)
