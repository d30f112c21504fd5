"""``primal merge``: the shards of one encoding into one file."""

from __future__ import annotations

import json
from pathlib import Path

import click

from primal.cli._encode import progress_line, resumable, room


@click.command()
@click.argument("parts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("dst", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@click.option("--same-inputs", is_flag=True, help="Shards of copies of one input, all alike.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def merge(
    parts: tuple[Path, ...],
    dst: Path,
    overwrite: bool,
    same_inputs: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check that PARTS are all the shards of one encoding, and put them together in DST.

    The bytes are those of an encoding without shards.
    """
    with resumable(), progress_line("merge", quiet or as_json) as told:
        report = room().merge(
            parts, dst, overwrite=overwrite, same_inputs=same_inputs, progress=told
        )
    if as_json:
        values = {
            "path": str(report.path),
            "rows": report.rows,
            "rejected": report.rejected,
            "already_complete": report.already_complete,
        }
        click.echo(json.dumps(values))
    elif report.already_complete:
        click.echo(f"{report.path} is already complete: {report.rows:,} rows")
    else:
        click.echo(f"wrote {report.path}: {report.rows:,} rows from {len(parts)} parts")
