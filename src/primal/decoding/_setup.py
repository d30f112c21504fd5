"""Set-up of a plan: how many rows go into the lattice."""

import math
from collections.abc import Callable

from primal.decoding._certificate import DEFAULT_RISK
from primal.decoding._lattice import reduce_lattice
from primal.decoding._model import PhaseModel, row_counts
from primal.decoding._solve import Solver

_ENOUGH = 0.9999


def set_up(model: PhaseModel, progress: Callable[[int, int], None] | None = None) -> Solver:
    """Reduce more and more rows until success is near certain and all phases take part."""
    found = []
    counts = list(row_counts(model))
    for number, n_rows in enumerate(counts):

        def part(share: float, number: int = number) -> None:
            if progress is not None:
                progress(int(100 * (number + share) / len(counts)), 100)

        found.append(Solver(model, reduce_lattice(model.lattice(n_rows), report=part)))
        if _merit(found[-1]) >= (_ENOUGH, len(model.order)):
            break
    if progress is not None:
        progress(100, 100)
    return max(found, key=_merit)


def _merit(result: Solver) -> tuple[float, int, float]:
    chance = result.certificate.success_probability
    # Answers that are right as often and cannot be called unique are worth half.
    worth = 1.0 if result.certificate.log2_spurious < math.log2(DEFAULT_RISK) else 0.5
    return worth * min(chance, _ENOUGH), result.certificate.n_phases, chance
