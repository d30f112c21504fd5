"""What a part and an output say about themselves: in the metadata of Parquet, beside a ``.npy``."""

from __future__ import annotations

import importlib.metadata
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import raised_as, whole_number
from primal._files import npy_header, open_regular, parsed_json, read_json
from primal.errors import DataError, SpecError
from primal.pipeline._extent import UNKNOWN, Extent

__all__ = [
    "METADATA_KEY",
    "Key",
    "Record",
    "beside",
    "read_manifest",
    "read_record",
]

METADATA_KEY = b"primal"
_VERSION = 1
# A manifest lists every input file, and a record every part.
_LARGEST_JSON = 1 << 26
_FORMAT = "primal pipeline"

Key = tuple[int, int]  # file and number of a block


@dataclass(frozen=True)
class Record:
    """How a part, or an output put together from parts, was made.

    Nothing in it depends on where or when: equal runs on two machines write equal bytes.
    """

    about: dict[str, Any]  # the recipe of an encoding, or what was decoded
    run: str  # digest of that and of the names and sizes of all inputs: parts of other runs differ
    # File, number, rows, whether it ends its file, and rejected rows of every part.
    parts: tuple[tuple[int, int, int, bool, int], ...]
    extent: Extent | None = None  # of the rows with features; None without any
    statuses: dict[str, int] = field(default_factory=dict)  # verdicts of a decoding

    @property
    def rows(self) -> int:
        return sum(part[2] for part in self.parts)

    @property
    def rejected(self) -> int:
        return sum(part[4] for part in self.parts)

    @classmethod
    def joined(cls, records: Iterable[Record]) -> Record:
        """Return the record of parts put together, in the order of the rows."""
        ordered = sorted(records, key=lambda record: record.parts)
        return cls(
            ordered[0].about,
            ordered[0].run,
            tuple(part for record in ordered for part in record.parts),
            Extent.joined(record.extent for record in ordered),
            dict(sum((Counter(record.statuses) for record in ordered), Counter())),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "primal": _primal_version(),
            **self.about,
            "run": self.run,
            "parts": [[f, n, rows, int(ends), lost] for f, n, rows, ends, lost in self.parts],
            "extent": None if self.extent is None else list(astuple(self.extent)),
            "statuses": self.statuses,
        }

    @classmethod
    def from_json(cls, values: Any) -> Record:
        """Return the record that :meth:`as_json` described."""
        if not isinstance(values, dict) or values.get("version") != _VERSION:
            raise SpecError(f"this version of primal reads outputs of version {_VERSION} only.")
        own = ("version", "primal", "run", "parts", "extent", "statuses")
        with raised_as(SpecError, "the description of the output is damaged", keep=()):
            parts = []
            for *counts, ends, lost in values["parts"]:
                f, n, rows = (whole_number("a part", count, most=2**48) for count in counts)
                parts.append((f, n, rows, bool(ends), whole_number("rejected", lost, most=2**48)))
            statuses = {str(k): whole_number(k, n) for k, n in values["statuses"].items()}
            return cls(
                {name: value for name, value in values.items() if name not in own},
                str(values["run"]),
                tuple(parts),
                Extent.from_json(values.get("extent", astuple(UNKNOWN))),
                statuses,
            )


def read_record(path: Path) -> Record:
    """Return the record of a part or of an output in one file, if it is what it says."""
    if path.suffix == ".npy":
        manifest = read_manifest(beside(path, "manifest.json"))
        record = Record.from_json(manifest.get("record"))
        try:
            with open_regular(path) as opened:
                head = opened.read(1024)
                size = opened.seek(0, 2)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
        output: Any = manifest.get("output")
        with raised_as(DataError, f"{beside(path, 'manifest.json')} is damaged"):
            expected = npy_header(np.dtype(output["dtype"]), (record.rows, output["columns"]))
            if head[: len(expected)] != expected or size != output["bytes"]:
                raise DataError(f"{path} was changed after it was made: its manifest differs.")
        return record
    try:
        with open_regular(path):  # pyarrow would wait for somebody to write to a pipe
            pass
        described = pq.read_metadata(path)
        found = described.metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    if METADATA_KEY not in found:
        raise DataError(f"{path} was not made by primal: its metadata lack the key 'primal'.")
    try:
        text = found[METADATA_KEY]
        record = Record.from_json(parsed_json(text, f"{path}", most_bytes=_LARGEST_JSON))
    except ValueError as error:
        raise SpecError(f"{path}: {error}") from None
    groups = [described.row_group(i).num_rows for i in range(described.num_row_groups)]
    if groups != [part[2] for part in record.parts if part[2]]:
        raise DataError(f"{path} was written again by something else: its row groups differ.")
    return record


@cache
def _primal_version() -> str:
    try:
        return importlib.metadata.version("primal-features")
    except importlib.metadata.PackageNotFoundError:  # run from its source folder
        return "not installed"


def beside(dst: Path, what: str) -> Path:
    """Return the path of a file that belongs to an output: ``DST.what``."""
    return dst.with_name(f"{dst.name}.{what}")


def manifest_text(request: dict[str, Any], **more: Any) -> bytes:
    """Return a manifest: what was asked for, and by which versions."""
    versions = {
        "primal": _primal_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }
    values = {"format": _FORMAT, "version": _VERSION, "request": request, "versions": versions}
    return json.dumps(values | more, indent=1).encode() + b"\n"


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest in a file; DataError if there is none, or a damaged or foreign one."""
    found = read_json(path, most_bytes=_LARGEST_JSON)
    request = found.get("request")
    sound = isinstance(request, dict) and isinstance(request.get("inputs"), list)
    if found.get("format") != _FORMAT or found.get("version") != _VERSION or not sound:
        raise DataError(f"{path} is no manifest of this version of primal, or is damaged.")
    return found
