"""``primal reproduce``: the paper's experiments, its claims with a verdict each, and a page."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import click

from primal.cli._common import json_option, progress_bar
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
@json_option
@click.option("--fresh", is_flag=True, help="Measure again what earlier runs have measured.")
@click.option(
    "--seed", type=click.IntRange(0), default=42, show_default=True, help="What draws start from."
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

    \b
    Examples:
      primal reproduce --list
      primal reproduce --quick --out page --open
      primal reproduce --only geometry --json
    """
    if only_list:
        _list(as_json)
        return
    try:
        with progress_bar("") as progress:
            result = paper.reproduce(
                out,
                only=only,
                quick=quick,
                fresh=fresh,
                seed=seed,
                watch=lambda name, share: progress(round(100 * share), 100, name),
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


def _list(as_json: bool) -> None:
    listed = {name: experiments.load(name) for name in experiments.MODULES}
    if as_json:
        rows = {
            name: {"title": found.experiment.title, "claims": len(found.claims)}
            for name, found in listed.items()
        }
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(map(len, listed))
    for name, found in listed.items():
        n = len(found.claims)
        click.echo(f"{name:<{width}}  {found.experiment.title} ({n} claim{'' if n == 1 else 's'})")


def _summary(result: paper.Reproduction) -> str:
    counts = result.ledger.counts
    lines = ["", f"{len(result.ledger.entries):>4} claims"]
    lines += [f"{count:>4} {status}" for status, count in counts.items() if count]
    return "\n".join([*lines, "", f"page: {result.page}"])
