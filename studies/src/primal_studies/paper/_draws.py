"""The seed that every random draw of the experiments starts from.

Experiments measure; which draws they see is decided once, outside: a ledger must give the same
verdicts from other draws, and a cache keeps outcomes under the seed they were measured with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

__all__ = ["SEED", "base_seed", "generator", "seeded"]

# The paper's global seed. PyTorch's generator made its draws: ours differ, their law does not.
SEED = 42
_BASE: ContextVar[int] = ContextVar("base seed of the experiments", default=SEED)


def base_seed() -> int:
    """Return the seed that draws start from; a repetition adds its number."""
    return _BASE.get()


def generator(repetition: int = 0) -> np.random.Generator:
    """Return NumPy's default generator (PCG64) for one repetition.

    Examples
    --------
    >>> from primal_studies.paper._draws import generator, seeded
    >>> first = generator().random()
    >>> with seeded(7):
    ...     other = generator().random()
    >>> first == generator().random(), first == other
    (True, False)
    """
    return np.random.default_rng(base_seed() + repetition)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let draws start from another seed inside the block."""
    token = _BASE.set(seed)
    try:
        yield
    finally:
        _BASE.reset(token)
