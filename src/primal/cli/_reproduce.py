"""``primal reproduce``: the paper's experiments that are here so far, with their numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import click

from primal.paper._experiments import EXPERIMENTS, Row


@click.command()
@click.option("--only", type=click.Choice(list(EXPERIMENTS)), multiple=True, help="Only this one.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("primal-reproduce"),
    show_default=True,
    help="Folder for the CSV files; made if it does not exist.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def reproduce(only: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Run experiments of the paper: reconstruction of its shapes, and the Welch ratios."""
    results = {name: list(EXPERIMENTS[name]()) for name in only or EXPERIMENTS}
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in results.items():
        _write(out / f"{name}.csv", _as_csv(rows))
    if as_json:
        click.echo(json.dumps(results, indent=2))
        return
    for name, rows in results.items():
        click.echo(f"{name}\n{_as_table(rows)}\n")
    click.echo(f"data: {out}")


def _as_csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_table(rows: list[Row]) -> str:
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def _cell(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write(path: Path, text: str) -> None:
    # Beside and then renamed: a file that is there is whole.
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)
