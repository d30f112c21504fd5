"""What a part and an output say about themselves: in the metadata of Parquet, beside a ``.npy``."""

from __future__ import annotations

import importlib.metadata
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import raised_as, whole_number
from primal._files import npy_header, open_regular, parsed_json, read_json
from primal.decoding import Box
from primal.errors import DataError, SpecError

try:
    _PRIMAL_VERSION = importlib.metadata.version("primal-features")
except importlib.metadata.PackageNotFoundError:  # run from its source folder
    _PRIMAL_VERSION = "not installed"
METADATA_KEY = b"primal"
_VERSION = 1
# A manifest lists every input file, and a record every part.
_LARGEST_JSON = 1 << 26
_FORMAT = "primal pipeline"

# The first rows that are looked at; where phases wrap, these nearly always show it.
_FIRST_ROWS = 16
# Phases looked at together after that: 1 MB, which stays in a processor's cache.
_BLOCK_PHASES = 1 << 18
# The box is this much wider than the range, so that no row lies on its edge.
_WIDER = 2.0**-20


@dataclass(frozen=True)
class Extent:
    """The range of the rows x that were encoded, and whether a phase wrapped: decoding needs both.

    Features alone cannot prove that no phase wrapped, since a wrapped one looks like any other.
    """

    low: tuple[float, ...]  # range of each input; empty where it is not known
    high: tuple[float, ...]
    wraps: bool  # whether the phase of some row reaches half a turn, or may do so

    @classmethod
    def of(cls, x: np.ndarray, frequencies: np.ndarray | None) -> Extent | None:
        """Return the extent of finite rows of shape (n, d); None if there are none.

        Without the frequencies of the phases, in turns per unit of x, nothing is known.
        """
        if not len(x) or frequencies is None:
            return UNKNOWN if len(x) else None
        low, high = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
        largest_x = np.maximum(-low, high)
        largest = float((np.abs(frequencies) @ largest_x).max())
        # In float32, which takes half the time, on inputs scaled to at most 1. Two factors and d
        # terms are rounded, by less than this in all; where that hides a wrap, it is one.
        limit = 0.5 - (frequencies.shape[1] + 4) * 2.0**-23 * largest
        wraps = not largest < 0.5 * (1.0 - 2.0**-40)  # else no x in this range does
        if wraps and limit > 0.0:
            scale = np.where(largest_x > 0.0, largest_x, 1.0)
            turns = (frequencies * scale).T.astype(np.float32)
            step = max(1, _BLOCK_PHASES // len(frequencies))
            for first in (0, *range(_FIRST_ROWS, len(x), step)):
                rows = x[first : first + (step if first else _FIRST_ROWS)]
                scaled = (rows / scale).astype(np.float32)
                # A few rows without BLAS: its threads, once started, would take turns with the
                # engine's.
                phases = scaled @ turns if first else np.einsum("ij,jk->ik", scaled, turns)
                wraps = bool(max(phases.max(), -phases.min()) >= limit)
                if wraps:
                    break
        return cls(tuple(low.tolist()), tuple(high.tolist()), wraps)

    @property
    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest x, infinite where they are not known."""
        if not self.low:
            return np.array(-np.inf), np.array(np.inf)
        return np.array(self.low), np.array(self.high)

    def box(self, scales: np.ndarray | float = 1.0) -> Box:
        """Return a box that holds every row, times the scales of inputs, well inside."""
        low, high = (end * scales for end in self.range)
        center, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
        # A constant column has no width, and a box needs one.
        least = np.maximum(np.abs(center), half.max()) * _WIDER
        return Box(np.maximum(half * (1.0 + _WIDER), np.where(least > 0.0, least, _WIDER)), center)

    @classmethod
    def from_json(cls, values: Any) -> Extent | None:
        if values is None:
            return None
        low, high, wraps = values
        return cls(tuple(map(float, low)), tuple(map(float, high)), bool(wraps))


UNKNOWN = Extent((), (), True)


class Part(NamedTuple):
    """The file and number of a block, and what became of its rows."""

    file: int
    number: int
    rows: int
    ends_file: bool | int
    rejected: int


@dataclass(frozen=True)
class Record:
    """How a part, or an output put together from parts, was made.

    Nothing in it depends on where or when: equal runs on two machines write equal bytes.
    """

    about: dict[str, Any]  # the recipe of an encoding, or what was decoded
    run: str  # digest of that and of the names and sizes of all inputs: parts of other runs differ
    parts: tuple[Part, ...]
    extent: Extent | None = None  # of the rows with features; None without any
    statuses: dict[str, int] = field(default_factory=dict)  # verdicts of a decoding

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @classmethod
    def joined(cls, records: Iterable[Record]) -> Record:
        """Return the record of parts put together, in the order of the rows."""
        ordered = sorted(records, key=lambda record: record.parts)
        extents = [record.extent for record in ordered if record.extent is not None]
        extent = UNKNOWN if extents else None
        if extents and all(one.low for one in extents):
            low = np.min([one.low for one in extents], axis=0).tolist()
            high = np.max([one.high for one in extents], axis=0).tolist()
            extent = Extent(tuple(low), tuple(high), any(one.wraps for one in extents))
        return cls(
            ordered[0].about,
            ordered[0].run,
            tuple(part for record in ordered for part in record.parts),
            extent,
            dict(sum((Counter(record.statuses) for record in ordered), Counter())),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "primal": _PRIMAL_VERSION,
            **self.about,
            "run": self.run,
            "parts": [[int(value) for value in part] for part in self.parts],
            "extent": None if self.extent is None else list(astuple(self.extent)),
            "statuses": self.statuses,
        }

    @classmethod
    def from_json(cls, values: Any) -> Record:
        if not isinstance(values, dict) or values.get("version") != _VERSION:
            raise SpecError(f"this version of primal reads outputs of version {_VERSION} only.")
        own = ("version", "primal", "run", "parts", "extent", "statuses")
        with raised_as(SpecError, "the description of the output is damaged", keep=()):
            numbers = [[whole_number("a part", n, most=2**48) for n in p] for p in values["parts"]]
            return cls(
                {name: value for name, value in values.items() if name not in own},
                str(values["run"]),
                tuple(Part(*some) for some in numbers),
                Extent.from_json(values.get("extent", astuple(UNKNOWN))),
                {str(k): whole_number(k, n) for k, n in values["statuses"].items()},
            )


def read_record(path: Path) -> Record:
    """Return the record of a part or of an output in one file, if it is what it says."""
    if path.suffix == ".npy":
        described = beside(path, "manifest.json")
        if path.exists() and not described.exists():
            raise DataError(
                f"{path} was not made by primal: its manifest, {described}, is missing."
            )
        manifest = read_manifest(described)
        record = Record.from_json(manifest.get("record"))
        try:
            with open_regular(path) as opened:
                head = opened.read(1024)
                size = opened.seek(0, 2)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
        output: Any = manifest.get("output")
        with raised_as(DataError, f"{described} is damaged"):
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
    if groups != [part.rows for part in record.parts if part.rows]:
        raise DataError(f"{path} was written again by something else: its row groups differ.")
    return record


def beside(dst: Path, what: str) -> Path:
    """Return the path of a file that belongs to an output: ``DST.what``."""
    return dst.with_name(f"{dst.name}.{what}")


def manifest_text(request: dict[str, Any], **more: Any) -> bytes:
    """Return a manifest: what was asked for, and by which versions."""
    versions = {"primal": _PRIMAL_VERSION, "numpy": np.__version__, "pyarrow": pa.__version__}
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
