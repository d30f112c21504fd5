"""Set-up of a plan: reduce more and more rows, or read the reduction from the cache."""

import math
import time
from collections.abc import Callable

import numpy as np

from primal.decoding import _cache
from primal.decoding._certificate import DEFAULT_RISK
from primal.decoding._lattice import Reduced, reduce_best, triangular_factor
from primal.decoding._model import PhaseModel, row_counts
from primal.decoding._solve import Solver

_ENOUGH = 0.9999
# A reduction that is quicker than this is not worth a file.
_LEAST_STORED_SECONDS = 0.5


def set_up(
    model: PhaseModel, key: str | None, progress: Callable[[int, int], None] | None = None
) -> Solver:
    """Return the solver of a model, from the cache when there is an entry under `key`."""

    def report(share: float) -> None:
        if progress is not None:
            progress(int(100 * share), 100)

    report(0.0)
    reduced = _stored(model, key) if key is not None else None
    if reduced is not None:
        result = Solver(model, reduced)
    else:
        start = time.perf_counter()
        result = _best_of_rows(model, report)
        if key is not None and time.perf_counter() - start >= _LEAST_STORED_SECONDS:
            _cache.store(key, result.reduced.u, result.reduced.v)
    report(1.0)
    return result


def _stored(model: PhaseModel, key: str) -> Reduced | None:
    """Return the reduction that the cache has under a key, if it is one."""
    least = 1 if model.n_whole else min(len(model.order), model.factor.shape[1])
    found = _cache.load(key, model.n_whole + least, model.n_whole + len(model.order))
    if found is None:
        return None
    u, v = found
    factor = triangular_factor(model.lattice(len(u) - model.n_whole).rows(u))
    return Reduced(u, v, factor) if _is_reduced(factor) else None


def _is_reduced(factor: np.ndarray) -> bool:
    """Whether rows are as short as every reduction leaves them; rounding is allowed for."""
    diagonal = np.diag(factor)
    if not (np.isfinite(factor).all() and (diagonal > 0).all()):
        return False
    ratios = np.abs(np.tril(factor, -1) / diagonal)
    lengths = np.square(diagonal[1:]) + np.square(np.diag(factor, -1))
    return bool((ratios < 0.6).all() and (lengths > 0.9 * np.square(diagonal[:-1])).all())


def _best_of_rows(model: PhaseModel, report: Callable[[float], None]) -> Solver:
    """Reduce more and more rows until success is near certain and all phases take part."""
    found = []
    counts = list(row_counts(model))
    for number, n_rows in enumerate(counts):

        def part(share: float, number: int = number) -> None:
            report((number + share) / len(counts))

        found.append(Solver(model, reduce_best(model.lattice(n_rows), report=part)))
        if _merit(found[-1]) >= (_ENOUGH, len(model.order)):
            break
    return max(found, key=_merit)


def _merit(result: Solver) -> tuple[float, int, float]:
    chance = result.certificate.success_probability
    # Answers that are right as often and cannot be called unique are worth half.
    worth = 1.0 if result.certificate.log2_spurious < math.log2(DEFAULT_RISK) else 0.5
    return worth * min(chance, _ENOUGH), result.certificate.n_phases, chance
