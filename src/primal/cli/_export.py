"""``primal export``: maps and models as source code for other machines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from primal._checks import raised_as
from primal._files import read_json
from primal._specs import from_spec
from primal.cli._common import json_option
from primal.edge import INPUTS, KINDS, export_c
from primal.errors import ParameterError

_NUMBERS = "one number, or one for each input with commas between them"


class _Numbers(click.ParamType):
    """One number or several."""

    name = "NUMBERS"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | list[float]:
        if not isinstance(value, str):
            return value
        try:
            numbers = [float(part) for part in value.split(",")]
        except ValueError:
            self.fail(f"expected {_NUMBERS}, got {value!r}.", param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers


@click.group()
def export() -> None:
    """Write maps and models as source code for other machines.

    \b
    Examples:
      primal export c digits.json digits.h --name digits
    """


@export.command()
@click.argument("spec", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("header", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", default="primal", show_default=True, help="What names begin with.")
@click.option("--scale", type=_Numbers(), help=f"Units of x for one of n: {_NUMBERS}.")
@click.option("--zero", type=_Numbers(), help=f"The n of x = 0: {_NUMBERS}.")
@click.option("--kind", type=click.Choice(KINDS), help="How phases are computed.")
@click.option("--inputs", type=click.Choice(INPUTS), help="Type of n on the chip.")
@click.option("--learn", type=click.IntRange(0), default=0, help="Classes to learn on the chip.")
@click.option(
    "--compiler",
    default="cc",
    show_default=True,
    help="With options if need be: measures the size of the code.",
)
@json_option
def c(
    spec: Path, header: Path, name: str, learn: int, compiler: str, as_json: bool, **options: Any
) -> None:
    """Write a C99 header from a JSON file with the spec of a map or model.

    SPEC is a StaticPrime, DynamicPrime, KernelPrime, PrimeFeatures, SensorMap or SensorModel;
    ``SensorModel.spec`` holds a fitted classifier.

    \b
    Examples:
      primal export c digits.json digits.h --name digits
      primal export c map.json map.h --scale 0.01 --inputs int16 --json
    """
    given = {key: value for key, value in options.items() if value is not None}
    with raised_as(ParameterError, f"--compiler {compiler!r} is no command"):
        command = shlex.split(compiler)
    report = export_c(from_spec(read_json(spec)), header, name=name, learn=learn, **given)
    code = report.code_bytes(*command) if command else None
    if as_json:
        sizes = {"table_bytes": report.table_bytes, "ram_bytes": report.ram_bytes}
        click.echo(json.dumps({"header": str(header), **sizes, "code_bytes": code}, indent=2))
        return
    click.echo(report if code is None else f"{report}, {code:,} B of code ({compiler} -Os)")
