"""The report of an audit: numbers, sentences, JSON, and one page of HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from primal._checks import file_path, one_of
from primal._files import disk_errors, written_whole
from primal.errors import ParameterError
from primal.privacy._estimates import Estimate, Finding

_WORDS = {
    "inversion": "Inversion: error of the best attacker's rows, who has the key of a keyed map; "
    "0 is exact, 1 is knowing nothing",
    "membership": "Membership: chance to tell a row in a sum from one that is not; 0.5 is guessing",
    "attribute": "Attribute inference: share of people whose attribute is guessed from their code",
    "linkage": "Linkage: share of rows found again in a second release",
}
_LIMIT = (
    "An attack that fails shows that this attack failed. It is no proof that another one would, "
    "and no number here certifies anything."
)


@dataclass(frozen=True)
class Subject:
    """An encoder under attack: its name, the width of its codes, and all findings."""

    name: str
    width: int
    findings: tuple[Finding, ...]

    def numbers(self) -> dict[str, Any]:
        """Return four estimates: "inversion", "membership", "attribute" and "linkage".

        Inversion is the least relative error of any attacker; attribute is None if none was given.
        """
        found = {f.attack: f.numbers for f in self.findings}
        errors = [
            numbers["relative error"] for attack, numbers in found.items() if "inversion" in attack
        ]
        return {
            "inversion": min(errors, key=lambda estimate: estimate.value),
            "membership": found["membership in a sum"]["AUC"],
            "attribute": found.get("attribute inference", {}).get("accuracy"),
            "linkage": found["linkage"]["linked"],
        }

    def finding(self, attack: str) -> Finding:
        """Return what an attack found, by its name."""
        found = {f.attack: f for f in self.findings}
        return found[one_of("attack", attack, found)]


@dataclass(frozen=True)
class Report:
    """What :func:`audit` found. The first subject is the encoder in question."""

    subjects: tuple[Subject, ...]
    n_rows: int
    n_inputs: int

    def sentences(self) -> list[str]:
        """Return what follows, in plain words."""
        return [*_conclusions(self.subjects[0]), _LIMIT]

    def as_json(self) -> dict[str, Any]:
        """Return numbers, findings and sentences as JSON values."""
        return {
            "rows": self.n_rows,
            "inputs": self.n_inputs,
            "subjects": [
                asdict(s) | {"numbers": {k: v and asdict(v) for k, v in s.numbers().items()}}
                for s in self.subjects
            ],
            "sentences": self.sentences(),
        }

    def save(self, path: object) -> None:
        """Write the report to a path that ends in .html or .json."""
        target = file_path("path", path)
        if target.suffix not in (".html", ".json"):
            raise ParameterError(f"a report is written as .html or .json, got {target.name!r}.")
        text = self.html() if target.suffix == ".html" else json.dumps(self.as_json(), indent=1)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(target) as file:
                file.write(text.encode())

    def html(self) -> str:
        """Return one page that needs no other file."""
        first = self.subjects[0]
        head = "".join(f"<th>{escape(name)}</th>" for name in _WORDS)
        body = "".join(
            f"<tr><th scope=row>{escape(s.name)}<small>{s.width} numbers</small></th>"
            + "".join(_cell(name, value) for name, value in s.numbers().items())
            + "</tr>"
            for s in self.subjects
        )
        sentences = "".join(f"<li>{escape(text)}</li>" for text in self.sentences())
        legend = "".join(f"<li>{escape(text)}.</li>" for text in _WORDS.values())
        threats = "".join(
            f"<tr><th scope=row>{escape(f.attack)}</th><td>{escape(f.knows)}</td>"
            f"<td>{escape('; '.join(f'{n} {v}' for n, v in f.numbers.items()))}</td></tr>"
            for f in first.findings
        )
        return _PAGE.format(
            name=escape(first.name),
            rows=self.n_rows,
            inputs=self.n_inputs,
            sentences=sentences,
            head=head,
            body=body,
            legend=legend,
            threats=threats,
            style=_STYLE,
        )


def _conclusions(subject: Subject) -> Iterator[str]:
    numbers = subject.numbers()
    error = numbers["inversion"]
    if error.high < 0.1:
        yield (
            f"Rows can be read back from their codes (error {error}): whoever gets the codes has "
            "the data, and they need the protection that the data need."
        )
    elif error.low < 0.9:
        yield f"Codes give away a part of every row (error {error}, 1 is knowing nothing)."
    else:
        yield f"These attackers did not recover rows (error {error}, 1 is knowing nothing)."
    members = numbers["membership"]
    if members.low > 0.55:
        yield (
            f"Who is in a sum of codes can be told (AUC {members}): release sums with noise, "
            "see release_bundles."
        )
    else:
        yield f"Members of a sum were hardly told from others (AUC {members}, 0.5 is guessing)."
    if numbers["attribute"] is None:
        yield "No attribute was given: whether codes show one was not measured."
    else:
        guessed = subject.finding("attribute inference").numbers
        compared = "more" if guessed["accuracy"].low > guessed["guessing"].value else "no more"
        yield (
            f"Codes show the attribute {compared} than guessing does: {guessed['accuracy']}, "
            f"where guessing has {guessed['guessing'].value:.3g} and the rows themselves "
            f"{guessed['from rows'].value:.3g}."
        )
    linked, chance = (subject.finding("linkage").numbers[n] for n in ("linked", "guessing"))
    if linked.low > 10.0 * chance.value:
        yield f"Two releases can be joined row by row ({linked} of the rows found again)."
    else:
        yield f"The nearest code of a second release was hardly ever the same row ({linked})."


def _cell(name: str, value: Estimate | None) -> str:
    if value is None:
        return f'<td data-name="{name}">not measured</td>'
    limits = f"{value.low:.2g} to {value.high:.2g}"
    return f'<td data-name="{name}">{value.value:.3g}<small>{limits}</small></td>'


_STYLE = """
:root{color-scheme:light dark;--line:#ccc;--soft:#666;--first:#eef4ff}
@media (prefers-color-scheme:dark){:root{--line:#444;--soft:#aaa;--first:#1c2638}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;
background:Canvas;color:CanvasText;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.2}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.5rem;border-bottom:1px solid var(--line);vertical-align:top;
font-variant-numeric:tabular-nums}
thead th{color:var(--soft);font-weight:600}
small{display:block;color:var(--soft);font-weight:400}
.subjects tbody tr:first-child{background:var(--first)}
@media (max-width:600px){thead{display:none}tr,th,td{display:block}
tr{border-bottom:1px solid var(--line);padding:.5rem 0}th,td{border:0;padding:.15rem .5rem}
.subjects td::before{content:attr(data-name) ": ";color:var(--soft)}
.subjects td small{display:inline;margin-left:.5rem}}
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What {name} gives away</title><style>{style}</style></head><body>
<h1>What {name} gives away</h1>
<p>{rows} rows of {inputs} numbers; attackers learned from one half and attacked the other.
Small numbers are 95 % intervals.</p>
<h2>What follows</h2><ul>{sentences}</ul>
<h2>Four numbers, beside baselines</h2>
<table class="subjects"><thead><tr><th>encoder</th>{head}</tr></thead><tbody>{body}</tbody></table>
<ul>{legend}</ul>
<h2>What the attackers knew</h2>
<table><thead><tr><th>attack</th><th>knows</th><th>found</th></tr></thead>
<tbody>{threats}</tbody></table>
</body></html>
"""
