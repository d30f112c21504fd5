"""The folder that ``primal reproduce`` writes.

run.json                     which versions, when, how long; also the mark that it is ours
ledger.json                  every claim with its verdict, the rule, and the facts behind it
data/<experiment>/           one CSV file per table, and facts.json
figures/                     one SVG file per figure
index.html                   the page; written last, so that it never shows what is not there
"""

from __future__ import annotations

import contextlib
import csv
import io
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from primal._files import read_json
from primal._parallel import n_threads
from primal.errors import DataError, ParameterError
from primal.exact import engine
from primal_studies.paper._experiment import Outcome, Row
from primal_studies.paper._ledger import Entry, Judged, Ledger
from primal_studies.paper._store import Measured, as_json, packages, source_digest, write_whole

__all__ = [
    "Folder",
    "as_csv",
    "columns_of",
    "figure_file",
    "file_name",
    "ledger_json",
    "table_file",
]

_MARK = "run.json"
_PAGE = "index.html"
_MAKER = "primal reproduce"
_NAME = re.compile(r"[A-Za-z0-9][\w .-]*")
# Names of files that a later run may remove.
_OURS = re.compile(r"(data/[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*|figures/[A-Za-z0-9][\w.-]*\.svg)")


class Folder:
    """A folder of ours; every file in it is whole, and belongs to the last run."""

    def __init__(self, path: Path, run: dict[str, Any]) -> None:
        self._path = path
        self._run = run
        self._written: set[str] = set()

    @classmethod
    def claim(cls, path: Path, *, quick: bool, seed: int) -> Folder:
        """Make the folder, or take over one of an earlier run.

        Raises
        ------
        ParameterError
            If there is something else in it, or it cannot be written to.
        """
        earlier = _files_of_earlier_run(path)
        folder = cls(path, {**_run_facts(quick, seed), "files": earlier})
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder._write(_MARK, as_json(folder._run))
            # A page that is there is about the files beside it.
            (path / _PAGE).unlink(missing_ok=True)
        except OSError as error:
            raise ParameterError(
                f"{path} cannot be written to ({error}): choose another."
            ) from None
        return folder

    def write_data(self, experiment: str, outcome: Outcome) -> None:
        """Write the tables and the facts of an experiment."""
        for name, rows in outcome.tables.items():
            self._write_new(table_file(experiment, name), as_csv(rows))
        facts = {name: asdict(fact) for name, fact in outcome.facts.items()}
        self._write(f"data/{experiment}/facts.json", as_json(facts))

    def write_figures(self, experiment: str, figures: Mapping[str, str]) -> None:
        """Write the figures of an experiment, given as SVG documents."""
        for name, svg in figures.items():
            self._write_new(figure_file(experiment, name), svg)

    def write_ledger(self, ledger: Ledger) -> None:
        """Write all claims with what was found."""
        self._write("ledger.json", as_json(ledger_json(ledger, quick=self._run["quick"])))

    def finish(self, measured: Mapping[str, Measured]) -> dict[str, Any]:
        """Note the end of the run, remove what earlier ones left, and return what run.json says."""
        self._run["finished"] = _now()
        self._run["experiments"] = {
            name: {"seconds": round(entry.seconds, 3), "kept_from_earlier_run": entry.kept}
            for name, entry in measured.items()
        }
        earlier, self._run["files"] = self._run["files"], sorted(self._written)
        self._write(_MARK, as_json(self._run))
        self._remove_leftovers(earlier)
        return self._run

    def write_page(self, html: str) -> Path:
        """Write the page and return its path."""
        self._write(_PAGE, html)
        return self._path / _PAGE

    def _write_new(self, name: str, content: str) -> None:
        if name in self._written:
            raise DataError(f"two tables or figures would be the file {name}: rename one.")
        self._write(name, content)

    def _write(self, name: str, content: str) -> None:
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        self._written.add(name)

    def _remove_leftovers(self, earlier: Iterable[str]) -> None:
        """Remove what an earlier run wrote and this one did not."""
        for name in set(earlier) - self._written:
            with contextlib.suppress(OSError):
                (self._path / name).unlink()
        for path in self._path.glob("data/*"):
            with contextlib.suppress(OSError):  # not empty
                path.rmdir()


def file_name(name: str) -> str:
    """Return a name as it stands in names of files: without spaces.

    Raises
    ------
    DataError
        If it has other signs than letters, digits, spaces, "-", "_" and ".".
    """
    if not _NAME.fullmatch(name):
        raise DataError(
            f"names of experiments, tables and figures become names of files, got {name!r}: use "
            "letters, digits, spaces, '-', '_' and '.'."
        )
    return name.replace(" ", "-")


def table_file(experiment: str, table: str) -> str:
    """Return where a table stands in the folder."""
    return f"data/{file_name(experiment)}/{file_name(table)}.csv"


def figure_file(experiment: str, figure: str) -> str:
    """Return where a figure stands in the folder."""
    return f"figures/{file_name(experiment)}-{file_name(figure)}.svg"


def as_csv(rows: Iterable[Row]) -> str:
    """Return rows as CSV; floats with all their digits."""
    rows = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def ledger_json(ledger: Ledger, *, quick: bool) -> dict[str, Any]:
    """Return the ledger as JSON values."""
    return {
        "quick": quick,
        "counts": ledger.counts,
        "claims": [_entry_json(entry) for entry in ledger.entries],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    claim = entry.claim
    plain: dict[str, Any] = {
        "name": claim.name,
        "where": claim.where,
        "quote": claim.quote,
        "says": claim.says,
        "status": entry.status,
        "map_judged": str(claim.map_judged),
        "weight": claim.weight.name.lower(),
        "fragile": claim.fragile,
        "experiment": claim.experiment,
        "figures": list(claim.figures),
        "tables": list(claim.tables),
        "test": claim.test,
        "rule": claim.rule,
    }
    if isinstance(entry, Judged):
        plain["measured"] = entry.judgement.measured
        plain["why"] = entry.judgement.why
        plain["facts"] = {name: asdict(fact) for name, fact in entry.facts.items()}
    return plain


def _files_of_earlier_run(path: Path) -> list[str]:
    """Return the names of the files that the folder has from an earlier run.

    Raises
    ------
    ParameterError
        If there is something else in it.
    """
    if not path.exists():
        return []
    if not path.is_dir():
        raise ParameterError(f"{path} is not a folder: choose another place for the output.")
    if all(entry.name.endswith(".part") for entry in path.iterdir()):
        return []
    with contextlib.suppress(DataError):
        mark = read_json(path / _MARK)
        if mark.get("made_by") == _MAKER:
            named = mark.get("files")
            listed = named if isinstance(named, list) else []
            return [name for name in listed if isinstance(name, str) and _OURS.fullmatch(name)]
    raise ParameterError(
        f"{path} has files in it that `primal reproduce` did not write: choose a new or an "
        "empty folder."
    )


def _run_facts(quick: bool, seed: int) -> dict[str, Any]:
    # No name of a machine or of a person.
    return {
        "made_by": _MAKER,
        "quick": quick,
        "seed": seed,
        "started": _now(),
        "finished": None,
        "python": platform.python_version(),
        "packages": packages(),
        "source_sha256": source_digest(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": n_threads(),
        "engine": engine().name,
        "experiments": {},
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
