"""``primal export``: maps and models as source code for other machines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from primal._checks import raised_as
from primal._files import object_type, read_json
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


def _loaded(path: Path) -> Any:
    """Return the map or the estimator in a file."""
    kind = object_type(path)
    if kind is None:
        return from_spec(read_json(path))
    from primal import sklearn as estimators  # an extra, which specs do not need

    found = getattr(estimators, kind) if kind in estimators.__all__ else None
    if not hasattr(found, "load"):
        raise ParameterError(
            f"{path} contains a {kind}: pass a file of a fitted PrimeRidgeClassifier, "
            "PrimeRidgeRegressor or PrimeCentroidClassifier, or the spec of a map as JSON."
        )
    return found.load(path)


@click.group()
def export() -> None:
    """Write maps and models as source code for other machines.

    \b
    Examples:
      primal export c digits.safetensors digits.h --name digits
    """


@export.command()
@click.argument("model", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("header", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", default="primal", show_default=True, help="What names begin with.")
@click.option("--scale", type=_Numbers(), help=f"Units of x for one of n: {_NUMBERS}.")
@click.option("--zero", type=_Numbers(), help=f"The n of x = 0: {_NUMBERS}.")
@click.option("--kind", type=click.Choice(KINDS), help="How phases are computed.")
@click.option("--inputs", type=click.Choice(INPUTS), help="Type of n on the chip.")
@click.option(
    "--compiler",
    default="cc",
    show_default=True,
    help="With options if need be: measures the size of the code.",
)
@json_option
def c(model: Path, header: Path, name: str, compiler: str, as_json: bool, **options: Any) -> None:
    """Write a C99 header of the map or model in a file; its folder must exist.

    MODEL is a file that `save` of a fitted PrimeRidgeClassifier, PrimeRidgeRegressor or
    PrimeCentroidClassifier wrote, or a JSON file with the spec of a StaticPrime, DynamicPrime,
    KernelPrime, PrimeFeatures, SensorMap or SensorModel.

    \b
    Examples:
      primal export c digits.safetensors digits.h --name digits --inputs uint8
      primal export c map.json map.h --scale 0.01 --inputs int16 --json
    """
    given = {key: value for key, value in options.items() if value is not None}
    with raised_as(ParameterError, f"--compiler {compiler!r} is no command"):
        command = shlex.split(compiler)
    report = export_c(_loaded(model), header, name=name, **given)
    code = report.code_bytes(*command) if command else None
    if as_json:
        sizes = {"table_bytes": report.table_bytes, "ram_bytes": report.ram_bytes}
        click.echo(json.dumps({"header": str(header), **sizes, "code_bytes": code}, indent=2))
        return
    click.echo(report if code is None else f"{report}, {code:,} B of code ({compiler} -Os)")
