"""What an experiment of the paper is: a function that measures, and one that draws its outcome.

Measuring returns plain values only, so that a result can be written to files, kept, and judged
or drawn later without running anything again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Experiment", "Fact", "Outcome", "Progress", "Row"]

Row = dict[str, float | int | str | bool]
# Called with the fraction of the work that is done, from 0 to 1.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Fact:
    """One measured number.

    ``spread`` is the standard deviation over ``n`` draws of whatever is random in it; 0 and 1
    when nothing is.
    """

    value: float
    spread: float = 0.0
    n: int = 1


@dataclass(frozen=True)
class Outcome:
    """What an experiment measured: tables (written as CSV) and the named facts claims refer to."""

    tables: Mapping[str, Sequence[Row]]
    facts: Mapping[str, Fact]


@dataclass(frozen=True)
class Experiment:
    """One experiment: ``run(quick, progress)`` measures, ``draw(outcome)`` returns named figures.

    ``quick`` runs a reduced grid that gives the same facts, more coarsely. ``about`` is what the
    page says above the figures: what the paper shows, and what is done here.
    """

    name: str
    title: str
    about: str
    run: Callable[[bool, Progress], Outcome]
    draw: Callable[[Outcome], dict[str, Figure]]
