"""The report: one HTML page that holds all it shows and asks for nothing else."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from primal.edge import JS_MODULE
from primal.errors import DataError
from primal.exact import Basis
from primal_studies.paper._claim import Claim
from primal_studies.paper._experiment import Experiment, Fact, Row, filled
from primal_studies.paper._figures import inline
from primal_studies.paper._findings import CENTRAL, FINDINGS, PAPER, paper_tables
from primal_studies.paper._folder import as_csv, columns_of, file_name
from primal_studies.paper._ledger import NOT_RUN, STATUSES, Entry, Judged, Ledger, place
from primal_studies.paper._shapes import circles, spiral
from primal_studies.paper._store import Measured, as_json
from primal_studies.paper.experiments._captions import CAPTIONS, Caption

__all__ = ["Section", "page"]

_PARTS = Path(__file__).with_name("page")
# Larger tables are compressed.
_LARGEST_PLAIN_BYTES = 100_000
_SHOWN_ROWS = 12
_EXPLORER_POINTS = 400
_EXPLORER_FREQUENCIES = 64
# Where groups of claims begin in the paper, and what they are called.
_GROUPS = (
    ((0,), "Abstract and introduction"),
    ((2,), "The method (Section 2)"),
    ((2, 5), "Cost (Section 2.5, Table 2)"),
    ((3,), "Codes and the Welch bound (Sections 3.1 to 3.4, Figures 1 and 2)"),
    ((3, 5), "From manifolds to hashing (Section 3.5, Figure 3)"),
    ((3, 6), "Similarity of reconstructions (Sections 3.6 and 3.7, Figures 4 and 5)"),
    ((4,), "Uses: computing, science, privacy, radio (Section 4.1)"),
    ((4, 2), "Uses in machine learning (Section 4.2)"),
    ((4, 3), "Limitations, outlook and conclusion"),
)
# Short names of verdicts, for styles and for the filter.
_KINDS = dict(
    zip(STATUSES, ("holds", "part", "fails", "erratum", "untestable", "notrun"), strict=True)
)


class Section(NamedTuple):
    """One experiment of the page: what it is, what it measured, and its figures as SVG."""

    experiment: Experiment
    measured: Measured
    figures: Mapping[str, str]


def page(ledger: Ledger, sections: Sequence[Section], run: Mapping[str, Any]) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    ledger : Ledger
    sections : sequence of Section
        In the order in which they are shown.
    run : mapping
        The facts of ``run.json``.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PARTS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shown = [_section(section) for section in sections]
    by_name = {section["name"]: section for section in shown}
    entries = {entry.claim.name: _entry(entry, by_name) for entry in ledger.entries}
    outcomes = {section.experiment.name: section.measured.outcome for section in sections}
    for section in shown:
        section["claims"] = [
            entry for entry in entries.values() if entry["claim"].experiment == section["name"]
        ]
    return environment.get_template("report.html").render(
        run=run,
        run_json=json.dumps(run, indent=1),
        paper=PAPER,
        findings=[
            {"finding": finding, "entries": [entries[n] for n in finding.claims if n in entries]}
            for finding in FINDINGS
        ],
        central=entries.get(CENTRAL),
        statuses=[
            {"kind": _KINDS[status], "name": status, "count": count}
            for status, count in ledger.counts.items()
            if count or status != NOT_RUN
        ],
        n_claims=len(ledger.entries),
        groups=_groups(ledger, entries),
        sections=shown,
        paper_tables=paper_tables(outcomes),
        total_seconds=sum(section.measured.seconds for section in sections),
        shapes=json.dumps(
            {
                "spiral": spiral(_EXPLORER_POINTS).tolist(),
                "circles": circles(_EXPLORER_POINTS).tolist(),
                # A smaller map is a prefix of a larger one: these serve every D of the explorer.
                "kronecker": Basis("kronecker", 2, _EXPLORER_FREQUENCIES).frequencies.tolist(),
            }
        ),
        styles=_part("report.css"),
        scripts=[
            _library(),
            *(_part(name) for name in ("plane.js", "lattice.js", "explorer.js", "report.js")),
        ],
    )


def _groups(ledger: Ledger, entries: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the claims by part of the paper, with the count of every verdict."""
    groups: list[dict[str, Any]] = [{"title": title, "entries": []} for _, title in _GROUPS]
    for entry in ledger.entries:
        at = place(entry.claim.where)
        number = max(i for i, (start, _) in enumerate(_GROUPS) if at >= start)
        groups[number]["entries"].append(entries[entry.claim.name])
    for group in groups:
        kinds = [entry["kind"] for entry in group["entries"]]
        names = {entry["kind"]: entry["status"] for entry in group["entries"]}
        group["counts"] = [
            {"kind": kind, "name": names[kind], "count": kinds.count(kind)}
            for kind in _KINDS.values()
            if kind in names
        ]
    return [group for group in groups if group["entries"]]


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _library() -> str:
    """Return the library's ES module as a script: a page on its own can import nothing."""
    text = JS_MODULE.read_text(encoding="utf-8")
    names = re.findall(r"^export class (\w+)", text, re.MULTILINE)
    body = text.replace("export class", "class")
    return (
        f'"use strict";\nconst primal = (() => {{\n{body}return {{ {", ".join(names)} }};\n}})();\n'
    )


def _entry(entry: Entry, sections: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    judged = isinstance(entry, Judged)
    return {
        "claim": entry.claim,
        "weight": entry.claim.weight.name.lower(),
        "kind": _KINDS[entry.status],
        "status": entry.status,
        "measured": entry.judgement.measured if judged else "",
        "why": entry.judgement.why if judged else "",
        "facts": _facts(entry.facts) if judged else [],
        "evidence": _evidence(entry.claim, sections.get(entry.claim.experiment or "")),
    }


def _evidence(claim: Claim, section: dict[str, Any] | None) -> list[dict[str, str]]:
    """Return links to the figures and tables that decide a claim.

    Raises
    ------
    DataError
        If its experiment has no such figure or table.
    """
    if section is None:
        return []
    links = []
    for kind, names in (("figures", claim.figures), ("tables", claim.tables)):
        by_name = {one["name"]: one for one in section[kind]}
        for name in names:
            if name not in by_name:
                raise DataError(
                    f"claim {claim.name!r} rests on {name!r}, which is not among the {kind} of "
                    f"{claim.experiment!r}: {', '.join(by_name)}."
                )
            links.append({"href": f"#{by_name[name]['id']}", "label": by_name[name]["label"]})
    return links


def _section(section: Section) -> dict[str, Any]:
    experiment, measured, figures = section
    name = experiment.name
    outcome = measured.outcome
    facts_json = as_json({key: asdict(fact) for key, fact in outcome.facts.items()})
    return {
        "name": name,
        "title": experiment.title,
        "paragraphs": [
            " ".join(paragraph.split())
            for paragraph in filled(experiment.about, outcome.facts).split("\n\n")
            if paragraph.strip()
        ],
        "seconds": measured.seconds,
        "figures": [_figure(name, figure, svg, outcome.facts) for figure, svg in figures.items()],
        "tables": [_table(name, table, rows) for table, rows in outcome.tables.items()],
        "facts": _facts(outcome.facts),
        "facts_href": _data_link(facts_json, "application/json"),
    }


def _figure(experiment: str, name: str, svg: str, facts: Mapping[str, Fact]) -> dict[str, Any]:
    ident = f"figure-{experiment}-{file_name(name)}"
    caption = CAPTIONS.get(experiment, {}).get(name, Caption(_words(name), ""))
    see = filled(caption.see, facts)
    return {
        "name": name,
        "id": ident,
        "label": caption.title,
        "see": see,
        "file_name": f"{experiment}-{file_name(name)}.svg",
        **inline(svg, ident, f"{caption.title}. {see}".strip())._asdict(),
    }


def _table(experiment: str, name: str, rows: Sequence[Row]) -> dict[str, Any]:
    text = as_csv(rows)
    columns = columns_of(rows)
    large = len(text) > _LARGEST_PLAIN_BYTES
    file = f"{experiment}-{file_name(name)}.csv"
    return {
        "name": name,
        "id": f"table-{experiment}-{file_name(name)}",
        "label": f"Table: {_words(name).lower()}",
        "columns": [
            {"name": column.replace("_", " "), "numeric": _is_numeric(rows, column)}
            for column in columns
        ],
        "rows": [[_cell(row.get(column)) for column in columns] for row in rows[:_SHOWN_ROWS]],
        "n_rows": len(rows),
        "file_name": f"{file}.gz" if large else file,
        "href": _compressed_link(text) if large else _data_link(text, "text/csv"),
    }


def _words(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


def _is_numeric(rows: Sequence[Row], column: str) -> bool:
    values = (row[column] for row in rows if column in row)
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _facts(facts: Mapping[str, Fact]) -> list[dict[str, Any]]:
    return [
        {
            "name": name.replace("_", " "),
            "value": _cell(fact.value),
            "spread": f"± {fact.spread:.2g}, {fact.n} draws" if fact.n > 1 else "",
        }
        for name, fact in facts.items()
    ]


def _cell(value: object) -> str:
    """Return a value to read; the files have all digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e9 else f"{value:.5g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _data_link(text: str, kind: str) -> str:
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def _compressed_link(text: str) -> str:
    packed = gzip.compress(text.encode(), mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"
