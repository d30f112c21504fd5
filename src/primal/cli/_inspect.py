"""``primal inspect``: what an output says about itself, and whether it is true."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from primal.cli._encode import running


@click.command()
@click.argument("path")
@click.option("--verify", "source", help="The input; by default where the manifest says.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(path: str, source: str | None, as_json: bool) -> None:
    """Describe PATH, made by primal encode, and encode a sample of its rows again.

    Exits with status 1 when the map or any bit is not what it should be.
    """
    with running(quiet=True) as (pipeline, _):
        found = pipeline.inspect(path, source=source)
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else _as_text(found))
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
