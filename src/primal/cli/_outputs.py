"""``primal decode``, ``inspect`` and ``merge``: all that takes what ``primal encode`` wrote."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from primal.cli._common import json_option
from primal.cli._encode import running
from primal.decoding import Box, Gaussian, Integers
from primal.errors import ParameterError

_OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace what is there.")
_QUIET = click.option("--quiet", is_flag=True, help="No progress.")


@click.command()
@click.argument("src", type=click.Path())
@click.argument("dst", type=click.Path())
@click.option("--box", help="Prior: every |x_j| <= B.", metavar="B")
@click.option("--gaussian", help="Prior: mean and standard deviation.", metavar="MEAN,STD")
@click.option("--integers", help="Prior: multiples of a step.", metavar="STEP,LOW,HIGH")
@click.option(
    "--beam", type=click.IntRange(1), help="Partial solutions kept.  [default: as many as pay]"
)
@_OVERWRITE
@_QUIET
@json_option
def decode(src: str, dst: str, quiet: bool, as_json: bool, **given: Any) -> None:
    """Decode the features in SRC, made by primal encode, into DST: a folder, .parquet or .npy.

    Where phases wrap, the lattice decoder takes what is known of x: the range recorded when SRC
    was made, or one of --box, --gaussian and --integers. The column status says of every row
    whether its x is unique, ambiguous or failed.

    The exit status is 0 if every row is unique, 1 if some are not (DST is written all the same),
    and 2 for an error.

    \b
    Examples:
      primal decode features.npy decoded.npy
      primal decode features decoded --box 14
      primal decode features decoded --integers 1,0,255 --json
    """
    prior = _prior({key: given.pop(key) for key in ("box", "gaussian", "integers")})
    with running(quiet or as_json, "decode") as (pipeline, progress):
        report = pipeline.decode(src, dst, prior=prior, progress=progress, **given)
    if as_json:
        click.echo(json.dumps(asdict(report) | {"doubtful": report.doubtful}, default=str))
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


@click.command()
@click.argument("path", type=click.Path())
@click.option("--verify", "source", help="The input; by default where the manifest says.")
@json_option
def inspect(path: str, source: str | None, as_json: bool) -> None:
    """Describe PATH, made by primal encode, and encode a sample of its rows again.

    The exit status is 0 if all that was checked is right, and 1 if the map or any bit is not.

    \b
    Examples:
      primal inspect features
      primal inspect features.npy --verify points.npy --json
    """
    with running(quiet=True) as (pipeline, _):
        found = pipeline.inspect(path, source=source)
    fields = asdict(found) | {"healthy": found.healthy}
    click.echo(json.dumps(fields, indent=2, default=str) if as_json else _as_text(found))
    if not found.healthy:
        sys.exit(1)


def _as_text(found: Any) -> str:
    shown = {
        name: "one for each" if isinstance(value, list) else value
        for name, value in found.spec.items()
        if name not in ("type", "version") and value is not None
    }
    about = ", ".join(f"{name} = {value}" for name, value in shown.items())
    lines = [
        f"{found.path}: {found.rows:,} rows in {found.parts} parts, {found.n_bytes / 1e6:,.1f} MB",
        f"map          {found.spec['type']}: {about}",
        f"fingerprint  {found.fingerprint} ({'right' if found.fingerprint_ok else 'WRONG'})",
        f"stored       {found.stored}",
        f"columns      {_listed(found.columns)}",
        f"kept         {_listed(found.keep) or '-'}",
        f"inputs       {_listed(found.inputs) or 'not known, there is no manifest'}",
        f"rejected     {found.rejected:,}",
    ]
    if found.regime is not None:
        lines.append(
            f"regime       {found.regime['kind']}: {found.regime['fraction_wrapped']:.1%} of "
            f"phases wrap, largest {found.regime['peak_turns']:.3g} turns (of the rows sampled)"
        )
    if found.sampled_rows:
        verdict = "all bits equal" if not found.wrong_rows else f"{found.wrong_rows:,} rows DIFFER"
        lines.append(f"verified     {found.sampled_rows:,} rows encoded again: {verdict}")
    else:
        lines.append("verified     nothing: the input is not there, name it with --verify")
    return "\n".join(lines)


def _listed(names: Any) -> str:
    shown = ", ".join(list(names)[:8])
    return f"{shown}, ... ({len(names)})" if len(names) > 8 else shown


@click.command()
@click.argument("folder", type=click.Path())
@click.argument("dst", required=False, type=click.Path())
@_OVERWRITE
@_QUIET
@json_option
def merge(folder: str, dst: str | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Check that FOLDER holds the parts of all shards, and put them together in DST if given.

    DST ends in .parquet or .npy and has the bytes of an encoding without shards.

    \b
    Examples:
      primal merge features
      primal merge features features.parquet --json
    """
    with running(quiet or as_json, "merge") as (pipeline, progress):
        report = pipeline.merge(folder, dst, overwrite=overwrite, progress=progress)
    if as_json:
        click.echo(json.dumps(asdict(report), default=str))
    else:
        verb = "is complete" if dst is None or report.already_complete else "was written"
        click.echo(f"{report.path} {verb}: {report.rows:,} rows")
