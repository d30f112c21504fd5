"""The ledger: every claim of the paper beside what was measured.

A claim is judged from facts and nothing else, at the time of the call. One whose experiment was
not run has no verdict at all, so there is no way to write one down.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from primal.errors import DataError
from primal_studies.paper import experiments
from primal_studies.paper._claim import Claim, Judgement, Verdict
from primal_studies.paper._experiment import Fact, Outcome, filled

__all__ = ["NOT_RUN", "STATUSES", "Entry", "Judged", "Ledger", "NotRun", "claims", "judge"]

NOT_RUN = "not run"
# In the order in which they are counted and shown.
STATUSES: tuple[str, ...] = (*(str(verdict) for verdict in Verdict), NOT_RUN)


@dataclass(frozen=True)
class Judged:
    """A claim with its judgement, and the facts that the judgement looked at."""

    claim: Claim
    judgement: Judgement
    facts: Mapping[str, Fact]

    @property
    def status(self) -> str:
        """The verdict in words."""
        return str(self.judgement.verdict)


@dataclass(frozen=True)
class NotRun:
    """A claim whose experiment was not run."""

    claim: Claim
    status = NOT_RUN


Entry = Judged | NotRun


@dataclass(frozen=True)
class Ledger:
    """All entries, in the order of the paper."""

    entries: tuple[Entry, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many entries have each status; every status is there."""
        found = Counter(entry.status for entry in self.entries)
        return {status: found[status] for status in STATUSES}


def claims() -> tuple[Claim, ...]:
    """Return every claim of every experiment, in the order of the paper.

    Raises
    ------
    DataError
        If two claims have one name, or one cannot be judged or placed.
    """
    collected = [claim for name in experiments.MODULES for claim in experiments.load(name).claims]
    return _in_order(collected, experiments.MODULES)


def judge(outcomes: Mapping[str, Outcome], *, of: Iterable[Claim] | None = None) -> Ledger:
    """Return the ledger that outcomes give.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        By name of experiment; claims of other experiments become entries that were not run.
    of : iterable of Claim, optional
        The claims to judge; all of them if left out.

    Raises
    ------
    DataError
        If a claim looks for a fact that its experiment did not measure.
    """
    chosen = claims() if of is None else tuple(of)
    return Ledger(tuple(_entry(claim, outcomes) for claim in chosen))


def place(where: str) -> tuple[int, ...]:
    """Return the first place of the paper that a text names, as numbers that can be sorted.

    They are section numbers. Figures, tables and algorithms come behind the text of the section
    that holds them.
    """
    for match in _PLACE.finditer(where):
        title, section, holder, number = match.groups()
        if title:
            return _TITLES[title.lower()]
        if section:
            return tuple(int(part) for part in section.split("."))
        if int(number) in _HOLDERS[holder.lower()]:
            return (*_HOLDERS[holder.lower()][int(number)], 9, int(number))
    raise DataError(
        f"no place of the paper in {where!r}: begin with 'Abstract', 'Section 2.3', 'Figure 1', "
        "'Table 2', 'Algorithm 1' or the title of a section."
    )


_TITLES = {
    "abstract": (0,),
    "introduction": (1,),
    "methodology": (2,),
    "irrational prime basis": (2, 2),
    "spectral bias": (2, 2, 1),
    "static prime": (2, 4),
    "complexity": (2, 5),
    "experiments": (3,),
    "baseline configuration": (3, 1, 1),
    "encoding geometry": (3, 3, 1),
    "distributional tightness": (3, 3, 1),
    "rms error landscape": (3, 3, 2),
    "welch bound optimality": (3, 4),
    "geometric interpretation": (3, 5, 3),
    "discussion": (4,),
    "limitations": (4, 3),
    "conclusion": (5,),
}
_HOLDERS = {
    "table": {1: (2, 1), 2: (2, 5), 3: (3, 7)},
    "algorithm": {1: (2, 3), 2: (2, 4)},
    "figure": {1: (3, 3), 2: (3, 4), 3: (3, 5), 4: (3, 6), 5: (3, 6)},
    "equation": {1: (2, 2), 2: (2, 3), 3: (2, 3)},
}
_PLACE = re.compile(
    rf"\b({'|'.join(_TITLES)})\b"
    r"|\bsections?\s+(\d+(?:\.\d+)*)"
    rf"|\b({'|'.join(_HOLDERS)})s?\s+(\d+)",
    re.IGNORECASE,
)


def _in_order(collected: Iterable[Claim], names: Iterable[str]) -> tuple[Claim, ...]:
    chosen = list(collected)
    repeated = [name for name, n in Counter(claim.name for claim in chosen).items() if n > 1]
    if repeated:
        raise DataError(f"claims need names of their own, got twice: {', '.join(repeated)}.")
    known = set(names)
    for claim in chosen:
        if (claim.experiment is None) != (claim.judge is None):
            raise DataError(
                f"claim {claim.name!r} needs both an experiment and a judge, or neither of them."
            )
        if claim.experiment is not None and claim.experiment not in known:
            raise DataError(
                f"claim {claim.name!r} rests on experiment {claim.experiment!r}, which is not "
                f"among {', '.join(sorted(known))}."
            )
    return tuple(sorted(chosen, key=lambda claim: place(claim.where)))  # stable


def _entry(claim: Claim, outcomes: Mapping[str, Outcome]) -> Entry:
    if claim.experiment is None or claim.judge is None:
        return Judged(claim, Judgement(Verdict.UNTESTABLE, "", claim.rule), {})
    if claim.experiment not in outcomes:
        return NotRun(_with_sizes(claim, {}))
    facts = _Looked(outcomes[claim.experiment].facts)
    try:
        judgement = claim.judge(facts)
    except KeyError as error:
        raise DataError(
            f"claim {claim.name!r} looks for the fact {error.args[0]!r}, which experiment "
            f"{claim.experiment!r} did not measure."
        ) from error
    sized = _with_sizes(claim, outcomes[claim.experiment].facts)
    return Judged(sized, judgement, facts.looked_at)


def _with_sizes(claim: Claim, facts: Mapping[str, Fact]) -> Claim:
    """Return the claim with the sizes of a run in its texts."""
    return replace(claim, test=filled(claim.test, facts), rule=filled(claim.rule, facts))


class _Looked(Mapping[str, Fact]):
    """Facts that remember which of them were looked at."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = facts
        self.looked_at: dict[str, Fact] = {}

    def __getitem__(self, name: str) -> Fact:
        fact = self._facts[name]
        self.looked_at[name] = fact
        return fact

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)
