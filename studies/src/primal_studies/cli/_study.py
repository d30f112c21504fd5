"""``primal study``: run the measurements behind one page of the documentation."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

import primal_studies
from primal._extras import require
from primal.cli._common import json_option
from primal_studies import training, uses

# Which folder holds which study; networks are trained with PyTorch.
STUDIES = dict.fromkeys(training.STUDIES, "training") | dict.fromkeys(uses.STUDIES, "uses")


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("name", required=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@json_option
@click.pass_context
def study(
    context: click.Context, name: str | None, options: tuple[str, ...], as_json: bool
) -> None:
    """Run a study by name; without one, list them.

    Further options go to the study: ``primal study positions --help`` shows them. A run that was
    interrupted resumes where it stopped.

    \b
    Examples:
      primal study --json
      primal study positions --quick
      primal study pinn --quick --out results --json
    """
    if name is None or name in ("-h", "--help"):
        listed = {known: _about(known) for known in STUDIES}
        if as_json:
            click.echo(json.dumps(listed, indent=2))
            return
        click.echo(f"{context.get_help()}\n\nStudies:")
        for known, about in listed.items():
            click.echo(f"  {known:<18}{about}")
        return
    name = name.replace("-", "_")
    if name not in STUDIES:
        raise click.UsageError(f"there is no study {name!r}: choose from {', '.join(STUDIES)}.")
    if STUDIES[name] == "training":
        require("torch", f"primal study {name}")
    main = importlib.import_module(f"primal_studies.{STUDIES[name]}.{name}").main
    if not as_json:
        main(list(options))
        return
    with redirect_stdout(sys.stderr):  # tables
        found = main(list(options))
    click.echo(json.dumps({"study": name, "results": found}, indent=2))


def _about(name: str) -> str:
    """Return the first line of a study's docstring, without PyTorch, which it imports."""
    folder = Path(primal_studies.__file__).parent / STUDIES[name]
    source = (folder / f"{name}.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
