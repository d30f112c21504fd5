"""``primal privacy audit``: attack the codes of an encoder and write what that gives."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from primal._checks import raised_as
from primal._files import read_json
from primal._specs import from_spec
from primal.cli._common import json_option
from primal.errors import DataError, ParameterError
from primal.maps import DynamicPrime, KernelPrime


@click.group()
def privacy() -> None:
    """Measure what stored codes give away.

    \b
    Examples:
      primal privacy audit data.csv --encoder spec.json
    """


@privacy.command()
@click.argument("data")
@click.option("--encoder", required=True, help="JSON file with the spec of a map.")
@click.option("--key-file", help="Secret of a keyed map, 16 to 64 bytes; never printed.")
@click.option("--columns", default="", help="Names, with commas; or one list column.")
@click.option("--attribute", help="Column that codes should not show.")
@click.option("--people", help="Column that says whose row it is.")
@click.option("--rows", "most_rows", type=click.IntRange(40), default=2000, show_default=True)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page.")
@json_option
def audit(
    data: str, encoder: str, key_file: str | None, html: Path | None, as_json: bool, **given: Any
) -> None:
    """Attack the codes that --encoder makes of the rows of DATA, a CSV file.

    Its first line names the columns.

    Prints four numbers (inversion, membership, attribute inference, linkage) of the encoder and of
    baselines, and what follows from them.

    \b
    Examples:
      primal privacy audit data.csv --encoder spec.json --html report.html
      primal privacy audit data.csv --encoder spec.json --people name --json
    """
    from primal import privacy as room  # not loaded for other commands

    if html and html.suffix not in (".html", ".json"):  # before the work
        raise ParameterError(f"--html must end in .html or .json, got {html.name!r}.")
    asked = {name: given.pop(name) for name in ("attribute", "people")}
    asked = {name: column for name, column in asked.items() if column}
    columns = [name.strip() for name in given.pop("columns").split(",") if name.strip()]
    rows, labels = _table(data, columns, list(asked.values()))
    made = _encoder(room, encoder, key_file)
    found: dict[str, Any] = dict(zip(asked, labels, strict=True))
    report = room.audit(made, rows, name=Path(encoder).stem, **found, **given)
    if html:
        report.save(html)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
        return
    for subject in report.subjects:
        numbers = subject.numbers().items()
        text = "  ".join(f"{k} {'-' if v is None else f'{v.value:.3g}'}" for k, v in numbers)
        click.echo(f"{subject.name:28} {text}")
    for sentence in report.sentences():
        click.echo(f"- {sentence}")
    if html:
        click.echo(f"wrote {html}")


def _encoder(room: Any, path: str, key_file: str | None) -> Any:
    spec = read_json(Path(path))
    if spec.get("type") != "KeyedPrime":
        if key_file:
            raise ParameterError("--key-file goes with the spec of a KeyedPrime.")
        made = from_spec(spec)
        if not isinstance(made, (DynamicPrime, KernelPrime)):
            raise ParameterError(
                f"--encoder must be a DynamicPrime, KernelPrime or KeyedPrime, got the spec of a "
                f"{type(made).__name__}."
            )
        return made
    if not key_file:
        raise ParameterError("the map has a key: pass the file of its secret with --key-file.")
    named = {"application": spec.get("application"), "version": spec.get("key_version")}
    return room.KeyedPrime.from_spec(spec, room.Key(Path(key_file).read_bytes(), **named))


def _table(path: str, columns: list[str], labels: list[str]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the rows of a table, and its columns of labels."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as stream:
            names, *rows = csv.reader(stream)
        table = dict(zip(names, zip(*rows, strict=True), strict=True))
    except (csv.Error, ValueError) as error:
        raise DataError(
            f"{path} must be a CSV file with names in the first line and a value for each name in "
            f"every other: {error}."
        ) from error
    missing = [name for name in (*columns, *labels) if name not in table]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}, but {names}.")
    chosen = columns or [name for name in names if name not in labels]
    with raised_as(DataError, f"columns of {path} must hold numbers"):
        numbers = np.array([table[name] for name in chosen], dtype=np.float64).T
    return numbers, [np.array(table[name]) for name in labels]
