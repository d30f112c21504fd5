"""``primal study``: run the measurements behind one page of the documentation."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import click

import primal_studies
from primal._extras import require
from primal_studies import training, uses

# Which folder holds which study; networks are trained with PyTorch.
STUDIES = dict.fromkeys(training.STUDIES, "training") | dict.fromkeys(uses.STUDIES, "uses")


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("name", required=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def study(name: str | None, options: tuple[str, ...]) -> None:
    """Run a study by name; without one, list them.

    Further options go to the study: ``primal study positions --help`` shows them.
    """
    if name is None or name in ("-h", "--help"):
        click.echo("Usage: primal study NAME [OPTIONS]\n")
        for known in STUDIES:
            click.echo(f"  {known:<18}{_about(known)}")
        return
    if name not in STUDIES:
        raise click.UsageError(f"there is no study {name!r}: choose from {', '.join(STUDIES)}.")
    if STUDIES[name] == "training":
        require("torch", f"primal study {name}")
    importlib.import_module(f"primal_studies.{STUDIES[name]}.{name}").main(list(options))


def _about(name: str) -> str:
    """Return the first line of a study's docstring, without PyTorch, which it imports."""
    folder = Path(primal_studies.__file__).parent / STUDIES[name]
    source = (folder / f"{name}.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
