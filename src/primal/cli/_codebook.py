"""``primal codebook``: N codes in D dimensions, with a certificate, as table or file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from primal._files import npy_header, written_whole
from primal._parallel import row_blocks
from primal.cli._common import json_option, progress_bar
from primal.codebooks import KINDS, Codebook, bounds, predict_coherence
from primal.codebooks import codebook as make_codebook
from primal.errors import ParameterError, PrimalError

_ENTRIES_AT_ONCE = 1 << 24
_FIELD = click.option(
    "--field", type=click.Choice(bounds.FIELDS), default="real", show_default=True
)


class _DefaultGroup(click.Group):
    """Takes ``codebook 1000 64`` for ``codebook make 1000 64``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["make", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_DefaultGroup)
def codebook() -> None:
    """N codes in D dimensions with a certificate of their worst similarity.

    ``primal codebook N D`` is short for ``primal codebook make N D``.

    \b
    Examples:
      primal codebook 1000 64
      primal codebook compare 1000 64
    """


@codebook.command()
@click.argument("n", metavar="N", type=int)
@click.argument("d", metavar="D", type=int)
@click.option("--kind", type=click.Choice(["auto", *KINDS]), default="auto", show_default=True)
@_FIELD
@click.option("--max-coherence", type=float, help="Reject codes that are more similar.")
@click.option("--steps", type=click.IntRange(1), help="Budget of a search for a shadow.")
@click.option("--seconds", type=float, help="A second limit of the search.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the codes (.npy) or the spec and certificate (.json).",
)
@json_option
def make(n: int, d: int, out: Path | None, as_json: bool, **options: Any) -> None:
    """Make a codebook and print its certificate.

    \b
    Examples:
      primal codebook make 1000 64
      primal codebook make 4096 64 --kind kerdock --out codes.npy
      primal codebook make 1000 64 --max-coherence 0.2 --json
    """
    if out is not None and out.suffix not in (".npy", ".json"):
        raise ParameterError(f"--out must end in .npy or .json, got {out.name!r}.")
    with progress_bar("search") as progress:
        book = make_codebook(n, d, progress=progress, **options)
    summary = {"certificate": _certificate(book), "reason": book.reason, "spec": book.spec}
    if out is not None:
        write(book, summary, out)
    text = f"{book.certificate}\nchosen        {book.reason}" if book.reason else book.certificate
    click.echo(json.dumps(summary, indent=2) if as_json else text)
    if out is not None and not as_json:
        click.echo(f"wrote {out}")


@codebook.command()
@click.argument("n", metavar="N", type=int)
@click.argument("d", metavar="D", type=int)
@_FIELD
@click.option("--steps", type=click.IntRange(1), help="Budget of the search for a shadow.")
@json_option
def compare(n: int, d: int, field: str, steps: int | None, as_json: bool) -> None:
    """Set all kinds for N codes in D dimensions side by side, with the bounds.

    \b
    Examples:
      primal codebook compare 1000 64
      primal codebook compare 500 32 --field complex --steps 1000 --json
    """
    rows = [_compared(n, d, kind, field, steps) for kind in KINDS]
    rows.sort(key=lambda row: (row["coherence"] is None, row["coherence"]))
    limits = {
        "Welch bound": bounds.welch(n, d),
        "orthoplex bound": bounds.orthoplex(n, d, field),
        "Levenshtein bound": bounds.levenshtein(n, d, field),
    }
    if field == "real" and n > 1 and d % 2 == 0:
        limits["predicted for static (median)"] = predict_coherence(n, d)
        limits["predicted for gaussian (median)"] = predict_coherence(n, d, model="gaussian")
    if as_json:
        click.echo(json.dumps({"N": n, "D": d, "field": field, "bounds": limits, "kinds": rows}))
        return
    click.echo(_comparison(n, d, field, limits, rows))


def _compared(n: int, d: int, kind: str, field: str, steps: int | None) -> dict[str, Any]:
    with progress_bar(kind) as progress:
        try:
            return _certificate(
                make_codebook(n, d, kind=kind, field=field, steps=steps, progress=progress)
            )
        except PrimalError as error:
            return {"kind": kind, "coherence": None, "reason": str(error)}


def _certificate(book: Codebook) -> dict[str, Any]:
    found = book.certificate
    return found.as_json() | {"ratio": found.ratio if np.isfinite(found.ratio) else None}


def _comparison(
    n: int, d: int, field: str, limits: dict[str, float], rows: list[dict[str, Any]]
) -> str:
    lines = [f"{n} codes in {d} dimensions, {field}", ""]
    lines.append(f"{'kind':<19}{'coherence':>9}{'ratio':>8}{'rms':>10}  proof")
    for row in rows:
        if row["coherence"] is None:
            lines.append(f"{row['kind']:<19}{'-':>9}{'-':>8}{'-':>10}  {row['reason']}")
            continue
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
        how = row["proof"].partition(":")[0]
        lines.append(
            f"{row['kind']:<19}{row['coherence']:>9.4f}{ratio:>8}{row['rms']:>10.6f}  {how}"
        )
    lines.append("")
    lines += [f"{name:<33}{value:>9.4f}" for name, value in limits.items()]
    return "\n".join(lines)


def write(book: Codebook, summary: Mapping[str, object], out: Path) -> None:
    """Write the codes in blocks; the file is whole or not there."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(out) as stream:
        if out.suffix == ".json":
            stream.write(json.dumps(summary, indent=2).encode() + b"\n")
            return
        dtype = book.encode([]).dtype
        stream.write(npy_header(dtype, (book.N, book.D)))
        for rows in row_blocks(book.N, book.D, _ENTRIES_AT_ONCE):
            stream.write(np.ascontiguousarray(book[rows], dtype.newbyteorder("<")).data)
