"""The command ``primal``; one file for each of its commands, loaded when it is called."""

from __future__ import annotations

import importlib
import sys

import click

import primal

__all__ = ["main"]

# Commands and the modules that hold them; each module has one click command of that name.
_COMMANDS = {
    "demo": "primal.cli._demo",
    "doctor": "primal.cli._doctor",
    "codebook": "primal.cli._codebook",
    "encode": "primal.cli._encode",
    "decode": "primal.cli._decode",
    "inspect": "primal.cli._inspect",
    "merge": "primal.cli._merge",
    "hdc": "primal.cli._hdc",
    "bench": "primal.cli._bench",
    "reproduce": "primal.cli._reproduce",
}


class _LazyGroup(click.Group):
    """Imports a command's module only when it is asked for: ``primal --help`` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        return getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(primal.__version__, prog_name="primal")
def cli() -> None:
    """Deterministic features and codes from the square roots of primes."""


def main() -> None:
    """Run the command line; an error of ours or of the disk is one line, not a traceback."""
    try:
        cli()
    except (primal.PrimalError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
