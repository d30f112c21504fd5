"""The journal of a growing output: a line for each finished block, written after its data."""

from __future__ import annotations

import base64
import csv
import io
import json
from dataclasses import astuple, dataclass

from primal.pipeline._extent import Extent
from primal.pipeline._job import Rejected

__all__ = ["Entry", "csv_lines", "journal_entry", "journal_line"]


@dataclass(frozen=True)
class Entry:
    """One line of the journal: a finished block and where the files ended after it."""

    file: int
    number: int
    ends_file: bool
    rows: int
    n_rejected: int
    data_end: int
    rejected_end: int
    counts: dict[str, int]
    extent: Extent | None
    description: bytes


def csv_lines(rejected: tuple[Rejected, ...]) -> bytes:
    """Return rejected rows as they are listed beside an output."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(astuple(one) for one in rejected)
    return text.getvalue().encode("utf-8", errors="replace")


def journal_line(entry: Entry) -> bytes:
    """Return the line of an entry."""
    values = [*astuple(entry)[:-1], base64.b64encode(entry.description).decode()]
    return json.dumps(values).encode() + b"\n"


def journal_entry(line: bytes) -> Entry | None:
    """Return the entry of a line, None for one that a kill cut short."""
    if not line.endswith(b"\n"):
        return None
    try:
        values = json.loads(line)
        *plain, extent, description = values
        made = {"extent": Extent.from_json(extent), "description": base64.b64decode(description)}
        entry = Entry(*plain, **made)
        if all(isinstance(n, int) and 0 <= n < 2**62 for n in plain[:-1]) and _are_counts(
            entry.counts
        ):
            return entry
    except (ValueError, TypeError, RecursionError):
        pass
    return None


def _are_counts(counts: object) -> bool:
    return isinstance(counts, dict) and all(isinstance(n, int) for n in counts.values())
