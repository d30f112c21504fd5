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
def decode(
    src: str,
    dst: str,
    box: str | None,
    gaussian: str | None,
    integers: str | None,
    beam: int,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Decode the features in SRC, made by primal encode, into DST: a folder, .parquet or .npy.

    Where phases wrap, the lattice decoder takes what is known of x: the range recorded when SRC
    was made, or one of --box, --gaussian and --integers. The column status says of every row
    whether its x is unique, ambiguous or failed.

    The exit status is 0 if every row is unique, 1 if some are not (DST is written all the same),
    and 2 for an error.
    """
    prior = _prior(box, gaussian, integers)
    options = {"prior": prior, "beam": beam, "overwrite": overwrite}
    with running(quiet or as_json, "decode") as (pipeline, progress):
        report = pipeline.decode(src, dst, progress=progress, **options)
    if as_json:
        values = {
            "path": str(report.path),
            "rows": report.rows,
            "statuses": report.statuses,
            "doubtful": report.doubtful,
            "resumed_rows": report.resumed_rows,
            "already_complete": report.already_complete,
        }
        click.echo(json.dumps(values))
    else:
        verb = "is already complete" if report.already_complete else "was written"
        click.echo(f"{report.path} {verb}: {report.rows:,} rows")
        for status, count in report.statuses.items():
            click.echo(f"  {status:<10}{count:>12,}")
    if report.doubtful:
        sys.exit(1)


def _prior(
    box: str | None, gaussian: str | None, integers: str | None
) -> Box | Gaussian | Integers | None:
    given = [text for text in (box, gaussian, integers) if text is not None]
    if len(given) > 1:
        raise ParameterError("give one prior only, of --box, --gaussian and --integers.")
    if box is not None:
        return Box(*_numbers("--box", box, 1))
    if gaussian is not None:
        mean, std = _numbers("--gaussian", gaussian, 2)
        if not 0.0 < std < 1e150:  # its square is the variance
            raise ParameterError(
                f"--gaussian takes MEAN,STD with a positive STD, got {gaussian!r}."
            )
        return Gaussian(mean, std**2)
    if integers is not None:
        return Integers(*_numbers("--integers", integers, 3))
    return None


def _numbers(option: str, text: str, count: int) -> list[Any]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) != count:
        what = "one number" if count == 1 else f"{count} numbers with commas"
        raise ParameterError(f"{option} takes {what}, got {text!r}.")
    return values
