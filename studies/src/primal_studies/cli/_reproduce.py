"""``primal reproduce``: the paper's experiments, its claims with a verdict each, and a page."""

from __future__ import annotations

import json
import sys
import time
import webbrowser
from pathlib import Path

import click

from primal_studies import paper
from primal_studies.paper import experiments
from primal_studies.paper._folder import ledger_json


@click.command()
@click.option(
    "--only", type=click.Choice(list(experiments.MODULES)), multiple=True, help="Only this one."
)
@click.option("--quick", is_flag=True, help="Reduced grids: the same facts, more coarsely.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("primal-reproduce"),
    show_default=True,
    help="Folder for the page, the data and the figures; made if it does not exist.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the ledger as one JSON object.")
@click.option("--fresh", is_flag=True, help="Measure again what earlier runs have measured.")
@click.option(
    "--seed", type=int, default=42, show_default=True, help="What random draws start from."
)
@click.option("--list", "only_list", is_flag=True, help="List the experiments and stop.")
@click.option("--open", "then_open", is_flag=True, help="Open the page in a browser at the end.")
def reproduce(
    only: tuple[str, ...],
    quick: bool,
    out: Path,
    as_json: bool,
    fresh: bool,
    seed: int,
    only_list: bool,
    then_open: bool,
) -> None:
    """Run the paper's experiments and judge its claims.

    Writes a page, index.html, with the ledger of claims, figures and data. What an experiment
    measured is kept, so a run that was interrupted resumes where it stopped. The exit status is 0
    also when claims do not hold: they are results.
    """
    if only_list:
        _list()
        return
    try:
        result = paper.reproduce(
            out, only=only, quick=quick, fresh=fresh, seed=seed, watch=_Watch()
        )
    except KeyboardInterrupt:
        click.echo("\nWhat is finished is kept: the same command resumes here.", err=True)
        raise
    if as_json:
        report = {"page": str(result.page), **ledger_json(result.ledger, quick=quick)}
        click.echo(json.dumps(report, indent=2))
    else:
        click.echo(_summary(result))
    if then_open:
        webbrowser.open(result.page.resolve().as_uri())


def _list() -> None:
    width = max(len(name) for name in experiments.MODULES)
    for name in experiments.MODULES:
        loaded = experiments.load(name)
        n = len(loaded.claims)
        click.echo(f"{name:<{width}}  {loaded.experiment.title} ({n} claim{'' if n == 1 else 's'})")


def _summary(result: paper.Reproduction) -> str:
    counts = result.ledger.counts
    lines = ["", f"{len(result.ledger.entries):>4} claims"]
    lines += [f"{count:>4} {status}" for status, count in counts.items() if count]
    return "\n".join([*lines, "", f"page: {result.page}"])


class _Watch:
    """Tells standard error how far it is: a line for each experiment, live on a terminal."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._start = 0.0

    def __call__(self, name: str, share: float) -> None:
        if share == 0.0:
            self._start = time.perf_counter()
        seconds = time.perf_counter() - self._start
        if share == 1.0:
            self._line(f"{name:<16} done {seconds:6.1f} s", end=True)
        elif self._live:
            filled = round(20 * share)
            bar = "#" * filled + "." * (20 - filled)
            self._line(f"{name:<16} {share:4.0%} {bar}", end=False)

    def _line(self, text: str, *, end: bool) -> None:
        # Over what stands there, which may be longer.
        back = "\r\x1b[K" if self._live else ""
        click.echo(f"{back}{text}", nl=end, err=True)
