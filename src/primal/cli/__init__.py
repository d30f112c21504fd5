"""The command ``primal``; the files of its commands are loaded when one is called."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import EntryPoint, entry_points

import click

import primal

__all__ = ["main"]

# Commands and the modules that hold them, as click commands of these names.
_COMMANDS = {
    "doctor": "primal.cli._doctor",
    "codebook": "primal.cli._codebook",
    "export": "primal.cli._export",
    "privacy": "primal.cli._privacy",
}
# Other packages add commands under this name; the studies of this repository do.
_ENTRY_POINTS = "primal.commands"
# Where to get commands that a reader of the documentation may miss.
_STUDIES = ("demo", "reproduce", "bench", "hdc", "study")


class _LazyGroup(click.Group):
    """Imports a command's module only when it is asked for: ``primal --help`` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *sorted(_added())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            return getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        if cmd_name in (added := _added()):
            return added[cmd_name].load()
        if cmd_name in _STUDIES:
            ctx.fail(
                f"'{cmd_name}' comes with the package primal-studies: in a checkout of Primal, "
                "pip install ./studies."
            )
        return None


def _added() -> dict[str, EntryPoint]:
    """Return the commands of installed packages; none replaces one of ours."""
    found = entry_points(group=_ENTRY_POINTS)
    return {point.name: point for point in found if point.name not in _COMMANDS}


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(primal.__version__, prog_name="primal")
def cli() -> None:
    """Deterministic features and codes from the square roots of primes.

    \b
    Examples:
      primal doctor
      primal codebook make 1000 64
      primal export c map.json map.h --name map
    """


def main() -> None:
    """Run the command line; an error of ours or of the disk is one line, not a traceback."""
    try:
        cli(prog_name="primal")
    except (primal.PrimalError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
