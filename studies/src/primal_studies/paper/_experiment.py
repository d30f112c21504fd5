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

__all__ = ["Experiment", "Fact", "Outcome", "Progress", "Row", "Sizes", "filled", "sizes_of"]

Row = dict[str, float | int | str | bool]
# Every size that a quick run reduces: its value in a quick and in a full run.
Sizes = Mapping[str, tuple[int, int]]
# Called with the fraction of the work that is done, from 0 to 1.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Fact:
    """One measured number.

    ``spread`` is the standard deviation over ``n`` independent draws; 0 and 1 if nothing is
    random, or if it was drawn once. Formatting a fact formats its value. A format that ends in
    "±" adds the spread, unless there is only one draw.

    Examples
    --------
    >>> from primal_studies.paper import Fact
    >>> f"{Fact(0.731, 0.004, 5):.2f±}, {Fact(0.731):.2f±}, {Fact(1000):,}"
    '0.73 ± 0.00, 0.73, 1,000'
    """

    value: float
    spread: float = 0.0
    n: int = 1

    def __format__(self, spec: str) -> str:
        """Return the value in a format, with its spread if the format ends in "±"."""
        plain = spec.removesuffix("±")
        text = format(self.value, plain)
        if plain == spec or self.n < 2:
            return text
        return f"{text} ± {format(self.spread, plain.lstrip('+'))}"


@dataclass(frozen=True)
class Outcome:
    """What an experiment measured: tables (written as CSV) and the named facts claims refer to."""

    tables: Mapping[str, Sequence[Row]]
    facts: Mapping[str, Fact]


@dataclass(frozen=True)
class Experiment:
    """One experiment: ``run(quick, progress)`` measures, ``draw(outcome)`` returns named figures.

    ``quick`` runs a reduced grid that gives the same facts, more coarsely. ``about`` is the text
    above the figures: what the paper shows, and what is done here. It may refer to facts, as
    :func:`filled` does, and so never states a size that the run did not use.
    """

    name: str
    title: str
    about: str
    run: Callable[[bool, Progress], Outcome]
    draw: Callable[[Outcome], dict[str, Figure]]


def sizes_of(sizes: Sizes, quick: bool) -> tuple[dict[str, int], dict[str, Fact]]:
    """Return the sizes of a quick or a full run, as numbers and as facts for the texts."""
    chosen = {name: pair[0 if quick else 1] for name, pair in sizes.items()}
    return chosen, {name: Fact(value) for name, value in chosen.items()}


def filled(text: str, facts: Mapping[str, Fact]) -> str:
    """Return a text with ``{name}`` or ``{name:format}`` replaced by measured facts.

    A fact that was not measured becomes an ellipsis.

    Examples
    --------
    >>> from primal_studies.paper import Fact
    >>> from primal_studies.paper._experiment import filled
    >>> filled("{points:,} points, {seeds} seeds", {"points": Fact(1000)})
    '1,000 points, … seeds'
    """
    return text.format_map(_Measured(facts))


class _Measured(dict[str, Fact]):
    def __missing__(self, name: str) -> _Unknown:
        return _Unknown()


class _Unknown:
    def __format__(self, spec: str) -> str:
        return "…"
