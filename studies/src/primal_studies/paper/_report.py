"""The report: one HTML page that holds all it shows and asks for nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from primal_studies.paper._experiment import Experiment, Fact, Row
from primal_studies.paper._figures import inline
from primal_studies.paper._folder import as_csv, columns_of, figure_file, file_name, table_file
from primal_studies.paper._ledger import NOT_RUN, STATUSES, Entry, Judged, Ledger
from primal_studies.paper._shapes import spiral
from primal_studies.paper._store import Measured, as_json

__all__ = ["Section", "page"]

_PARTS = Path(__file__).with_name("page")
# Larger tables are linked to their files instead of being held by the page.
_LARGEST_EMBEDDED_BYTES = 400_000
_SHOWN_ROWS = 12
_SPIRAL_POINTS = 400
# Short names of verdicts, for styles and for the filter.
_KINDS = dict(zip(STATUSES, ("holds", "part", "fails", "untestable", "notrun"), strict=True))


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
    return environment.get_template("report.html").render(
        run=run,
        run_json=json.dumps(run, indent=1),
        statuses=[
            {"kind": _KINDS[status], "name": status, "count": count}
            for status, count in ledger.counts.items()
            if count or status != NOT_RUN
        ],
        n_claims=len(ledger.entries),
        entries=[_entry(entry, by_name) for entry in ledger.entries],
        sections=shown,
        total_seconds=sum(section.measured.seconds for section in sections),
        spiral=json.dumps(spiral(_SPIRAL_POINTS).tolist()),
        styles=_part("report.css"),
        scripts=[_part(name) for name in ("turns.js", "spiral.js", "report.js")],
    )


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _entry(entry: Entry, sections: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    judged = isinstance(entry, Judged)
    return {
        "claim": entry.claim,
        "kind": _KINDS[entry.status],
        "status": entry.status,
        "measured": entry.judgement.measured if judged else "",
        "why": entry.judgement.why if judged else "",
        "facts": _facts(entry.facts) if judged else [],
        "section": sections.get(entry.claim.experiment or ""),
    }


def _section(section: Section) -> dict[str, Any]:
    experiment, measured, figures = section
    name = experiment.name
    outcome = measured.outcome
    facts_json = as_json({key: asdict(fact) for key, fact in outcome.facts.items()})
    return {
        "name": name,
        "title": experiment.title,
        "paragraphs": [" ".join(p.split()) for p in experiment.about.split("\n\n") if p.strip()],
        "seconds": measured.seconds,
        "figures": [_figure(name, figure, svg) for figure, svg in figures.items()],
        "tables": [_table(name, table, rows) for table, rows in outcome.tables.items()],
        "facts": _facts(outcome.facts),
        "facts_href": _data_link(facts_json, "application/json"),
    }


def _figure(experiment: str, name: str, svg: str) -> dict[str, Any]:
    words = name.replace("_", " ").replace("-", " ")
    ident = f"figure-{experiment}-{file_name(name)}"
    return {
        "id": ident,
        "label": words[:1].upper() + words[1:],
        "file": figure_file(experiment, name),
        "file_name": f"{experiment}-{file_name(name)}.svg",
        **inline(svg, ident, f"Figure of {experiment}: {words}")._asdict(),
    }


def _table(experiment: str, name: str, rows: Sequence[Row]) -> dict[str, Any]:
    text = as_csv(rows)
    file = table_file(experiment, name)
    embedded = len(text) <= _LARGEST_EMBEDDED_BYTES
    columns = columns_of(rows)
    return {
        "name": name,
        "columns": [{"name": column, "numeric": _is_numeric(rows, column)} for column in columns],
        "rows": [[_cell(row.get(column)) for column in columns] for row in rows[:_SHOWN_ROWS]],
        "n_rows": len(rows),
        "file_name": f"{experiment}-{file_name(name)}.csv",
        "href": _data_link(text, "text/csv") if embedded else file,
        "embedded": embedded,
    }


def _is_numeric(rows: Sequence[Row], column: str) -> bool:
    values = (row[column] for row in rows if column in row)
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _facts(facts: Mapping[str, Fact]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
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
