"""Run experiments of the paper, keep what they measured, and write the folder with the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from primal._checks import one_of
from primal.errors import ParameterError
from primal_studies.paper import _store, experiments
from primal_studies.paper._claim import Claim
from primal_studies.paper._draws import SEED, seeded
from primal_studies.paper._experiment import Outcome, Progress
from primal_studies.paper._folder import Folder
from primal_studies.paper._ledger import Ledger, claims, judge
from primal_studies.paper._store import Measured

__all__ = ["PAGE", "Reproduction", "Watch", "measure", "reproduce", "run"]

# Called with the name of an experiment and the share of it that is done: 0.0 first, 1.0 last.
Watch = Callable[[str, float], None]
# The name under which a Watch hears of the figures and the page.
PAGE = "page"


@dataclass(frozen=True)
class Reproduction:
    """What :func:`reproduce` measured, and the page that shows it."""

    page: Path
    ledger: Ledger
    measured: Mapping[str, Measured]


def run(
    name: str,
    *,
    quick: bool = False,
    fresh: bool = False,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Outcome:
    """Return the outcome of one experiment, from the cache if it is there.

    Parameters
    ----------
    name : str
        One of ``primal reproduce --list``.
    quick : bool, default=False
        A reduced grid: the same facts, more coarsely.
    fresh : bool, default=False
        Measure again although the cache has it.
    seed : int, default=42
        What random draws start from.
    progress : callable, optional
        Called with the share of the work that is done, from 0.0 to 1.0.
    """
    return measure(name, quick=quick, fresh=fresh, seed=seed, progress=progress).outcome


def reproduce(
    out: str | Path,
    *,
    only: Iterable[str] | None = None,
    quick: bool = False,
    fresh: bool = False,
    seed: int = SEED,
    watch: Watch | None = None,
) -> Reproduction:
    """Run experiments, judge the claims, and write data, figures and a page to a folder.

    Every finished experiment is kept in the cache, so a run that was interrupted resumes where
    it stopped. The page, ``index.html``, is written last and works on its own.

    Parameters
    ----------
    out : str or Path
        Folder to write; made if need be. One with other things in it is rejected.
    only : iterable of str, optional
        Names of experiments; all of them if left out.
    quick, fresh : bool, default=False
        As for :func:`run`.
    seed : int, default=42
        What random draws start from; verdicts should not depend on it.
    watch : callable, optional
        Called with the name of the experiment and the share of it that is done.

    Raises
    ------
    ParameterError
        If an experiment does not exist, or `out` is not a folder to write to.
    """
    names = _chosen(only)
    judged = claims()  # anything wrong with them shows now, not after minutes of measuring
    folder = Folder.claim(Path(out), quick=quick, seed=seed)
    watch = watch or (lambda name, share: None)
    measured = {}
    for name in names:
        measured[name] = measure(
            name,
            quick=quick,
            fresh=fresh,
            seed=seed,
            progress=lambda share, name=name: watch(name, share),
        )
        folder.write_data(name, measured[name].outcome)
    return _write_page(folder, measured, judged, watch)


def measure(
    name: str,
    *,
    quick: bool,
    fresh: bool = False,
    seed: int = SEED,
    progress: Progress | None = None,
) -> Measured:
    """Return the outcome of one experiment with the time it took, from the cache if it is there."""
    experiment = experiments.load(name).experiment
    tell = _rising(progress or (lambda share: None))
    tell(0.0)
    measured = None if fresh else _store.load(name, quick, seed)
    if measured is None:
        start = time.perf_counter()
        with seeded(seed):
            outcome = _store.plain_outcome(experiment.run(quick, tell))
        measured = Measured(outcome, time.perf_counter() - start)
        _store.store(name, quick, measured, seed)
    if progress:
        progress(1.0)
    return measured


def _chosen(only: Iterable[str] | None) -> list[str]:
    """Return names of experiments in the order of the registry, each once."""
    if isinstance(only, str):
        raise ParameterError(f"only is a list of names, got the string {only!r}: pass [{only!r}].")
    asked = {one_of("experiment", name, experiments.MODULES) for name in only or ()}
    return [name for name in experiments.MODULES if not asked or name in asked]


def _rising(progress: Progress) -> Progress:
    """Return a callback that never goes back, and leaves 1.0 to the one who finishes."""
    highest = -1.0

    def tell(share: float) -> None:
        nonlocal highest
        if highest < share < 1.0:
            highest = float(share)
            progress(highest)

    return tell


def _write_page(
    folder: Folder, measured: Mapping[str, Measured], judged: tuple[Claim, ...], watch: Watch
) -> Reproduction:
    from primal_studies.paper._figures import drawn
    from primal_studies.paper._report import Section, page

    watch(PAGE, 0.0)
    ledger = judge({name: entry.outcome for name, entry in measured.items()}, of=judged)
    sections = []
    for n, (name, entry) in enumerate(measured.items(), start=1):
        experiment = experiments.load(name).experiment
        figures = drawn(experiment, entry.outcome)
        folder.write_figures(name, figures)
        sections.append(Section(experiment, entry, figures))
        watch(PAGE, n / (len(measured) + 1))
    folder.write_ledger(ledger)
    facts = folder.finish(measured)
    path = folder.write_page(page(ledger, sections, facts))
    watch(PAGE, 1.0)
    return Reproduction(path, ledger, measured)
