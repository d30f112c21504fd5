"""``primal decode``: from stored features back to the columns they were made from."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from primal.cli._encode import running
from primal.decoding import Box, Gaussian, Integers
from primal.errors import ParameterError


@click.command()
@click.argument("src")
@click.argument("dst")
@click.option("--box", help="Prior: every |x_j| <= B.", metavar="B")
@click.option("--gaussian", help="Prior: mean and standard deviation.", metavar="MEAN,STD")
@click.option("--integers", help="Prior: multiples of a step.", metavar="STEP,LOW,HIGH")
@click.option("--beam", type=click.IntRange(1), default=1, show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def decode(src: str, dst: str, quiet: bool, as_json: bool, **given: Any) -> None:
    """Decode the features in SRC, made by primal encode, into DST: a folder, .parquet or .npy.

    Where phases wrap, the lattice decoder takes what is known of x: the range recorded when SRC
    was made, or one of --box, --gaussian and --integers. The column status says of every row
    whether its x is unique, ambiguous or failed.

    The exit status is 0 if every row is unique, 1 if some are not (DST is written all the same),
    and 2 for an error.
    """
    prior = _prior({key: given.pop(key) for key in ("box", "gaussian", "integers")})
    with running(quiet or as_json, "decode") as (pipeline, progress):
        report = pipeline.decode(src, dst, prior=prior, progress=progress, **given)
    if as_json:
        names = ("rows", "statuses", "doubtful", "resumed_rows", "already_complete")
        values = {name: getattr(report, name) for name in names}
        click.echo(json.dumps({"path": str(report.path), **values}))
    else:
        verb = "is already complete" if report.already_complete else "was written"
        click.echo(f"{report.path} {verb}: {report.rows:,} rows")
        for status, count in report.statuses.items():
            click.echo(f"  {status:<10}{count:>12,}")
    if report.doubtful:
        sys.exit(1)


def _prior(options: dict[str, str | None]) -> Box | Gaussian | Integers | None:
    given = {option: text for option, text in options.items() if text is not None}
    if len(given) > 1:
        raise ParameterError("give one prior only, of --box, --gaussian and --integers.")
    for option, text in given.items():
        count = {"box": 1, "gaussian": 2, "integers": 3}[option]
        try:
            values: list[Any] = [float(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) != count:
            what = "one number" if count == 1 else f"{count} numbers with commas"
            raise ParameterError(f"--{option} takes {what}, got {text!r}.")
        if option != "gaussian":
            return Box(*values) if option == "box" else Integers(*values)
        mean, std = values
        if not 0.0 < std < 1e150:  # its square is the variance
            raise ParameterError(f"--gaussian takes MEAN,STD with a positive STD, got {text!r}.")
        return Gaussian(mean, std**2)
    return None
