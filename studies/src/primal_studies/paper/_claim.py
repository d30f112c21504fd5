"""A claim of the paper as data: its words, where they stand, and the rule that judges them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from primal.errors import DataError
from primal_studies.paper._experiment import Fact

__all__ = ["Claim", "Judgement", "MapJudged", "Verdict", "Weight"]


class Verdict(StrEnum):
    """What measurement says about a claim.

    An erratum is a slip of print or of the author's code: it is neither held against the method
    nor counted for it.
    """

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    ERRATUM = "erratum"
    UNTESTABLE = "not testable here"


class MapJudged(StrEnum):
    """Whose map the numbers of a verdict come from.

    A repaired map has the same primes and another arrangement of them. Where both were measured
    the verdict is that of the paper's, unless the rule says otherwise, and both are shown.
    """

    PAPER = "the paper's"
    BOTH = "the paper's and a repaired one"


class Weight(IntEnum):
    """How much of the paper rests on a claim."""

    DETAIL = 1
    RESULT = 2
    CENTRAL = 3


@dataclass(frozen=True)
class Judgement:
    """A verdict, the number it rests on (``measured``, ready to print) and one sentence why."""

    verdict: Verdict
    measured: str
    why: str


@dataclass(frozen=True)
class Claim:
    """One claim.

    ``where`` is its place in the paper ("Abstract", "Section 2.3, inverse pass", "Figure 1");
    ``says`` puts it in our words; ``test`` says how it is tested; ``rule`` states in words what
    ``judge`` computes: when it holds, holds in part, and does not. ``judge`` gets the facts of
    ``experiment`` by name and nothing else, so a verdict cannot be written in advance.
    A claim that nothing here can test has no experiment, and says why in ``rule``. Sizes that
    depend on the run are facts, named in braces in ``test`` and ``rule``: "{points:,} points".

    ``quote`` has the paper's own words. ``figures`` and ``tables`` name what decides the claim,
    among those of its experiment. ``fragile`` says which draws change the verdict, if some do.

    Raises
    ------
    DataError
        If it has no quote, or a judge without evidence.
    """

    name: str
    where: str
    says: str
    test: str
    rule: str
    experiment: str | None = None
    judge: Callable[[Mapping[str, Fact]], Judgement] | None = None
    quote: str = ""
    map_judged: MapJudged = MapJudged.PAPER
    weight: Weight = Weight.RESULT
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    fragile: str = ""

    def __post_init__(self) -> None:
        if not self.quote:
            raise DataError(f"claim {self.name!r} has no quote: give the words of the paper.")
        if self.judge is not None and not (self.figures or self.tables):
            raise DataError(
                f"claim {self.name!r} has a judge and no evidence: name the figures or tables of "
                "its experiment that decide it."
            )
