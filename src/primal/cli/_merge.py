"""``primal merge``: are the parts of all shards there; and one file of them."""

from __future__ import annotations

import json

import click

from primal.cli._encode import running


@click.command()
@click.argument("folder")
@click.argument("dst", required=False)
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def merge(folder: str, dst: str | None, overwrite: bool, quiet: bool, as_json: bool) -> None:
    """Check that FOLDER holds the parts of all shards, and put them together in DST if given.

    DST ends in .parquet or .npy and has the bytes of an encoding without shards.
    """
    with running(quiet or as_json, "merge") as (pipeline, progress):
        report = pipeline.merge(folder, dst, overwrite=overwrite, progress=progress)
    if as_json:
        fields = ("rows", "rejected", "already_complete")
        values = {name: getattr(report, name) for name in fields}
        click.echo(json.dumps({"path": str(report.path), **values}))
    else:
        verb = "is complete" if dst is None or report.already_complete else "was written"
        click.echo(f"{report.path} {verb}: {report.rows:,} rows")
