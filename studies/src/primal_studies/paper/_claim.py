"""A claim of the paper as data: where it stands, what it says, and the rule that judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from primal_studies.paper._experiment import Fact

__all__ = ["Claim", "Judgement", "Verdict"]


class Verdict(StrEnum):
    """What measurement says about a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNTESTABLE = "not testable here"


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
    A claim that nothing here can test has no experiment, and says why in ``rule``.
    """

    name: str
    where: str
    says: str
    test: str
    rule: str
    experiment: str | None = None
    judge: Callable[[Mapping[str, Fact]], Judgement] | None = None
