"""``primal inspect``: what a file of features says about itself, and whether it is true."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from primal.cli._encode import room


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--verify", "source", help="The input; by default where the manifest says.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(file: Path, source: str | None, as_json: bool) -> None:
    """Describe FILE, made by primal encode, and encode a sample of its rows again.

    Exits with status 1 when the map or any bit is not what it should be.
    """
    found = room().inspect(file, source=source)
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else _as_text(found))
    if not found.healthy:
        sys.exit(1)


def _as_text(found: Any) -> str:
    spec = found.spec
    sigma = spec["sigma"] if isinstance(spec["sigma"], float) else "one for each frequency"
    kernel = "" if found.kernel is None else f", kernel {found.kernel}, gamma {found.gamma!r}"
    lines = [
        f"{found.path}: {found.rows:,} rows in {found.row_groups} row groups, "
        f"{found.n_bytes / 1e6:,.1f} MB",
        f"stored       {found.dtype}, amplitude {found.amplitude:.6g}",
        f"map          d = {spec['d']}, D = {spec['D']}, sigma = {sigma}, basis "
        f"{spec['basis']}, {spec['layout']}, {spec['precision']}{kernel}",
        f"fingerprint  {found.fingerprint} ({'right' if found.fingerprint_ok else 'WRONG'})",
        f"columns      {_listed(found.columns)}",
        f"kept         {_listed(found.keep) or '-'}",
        f"inputs       {_listed([name for name, _ in found.inputs])}",
        f"shard        {found.shard[0]} of {found.shard[1]}",
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
