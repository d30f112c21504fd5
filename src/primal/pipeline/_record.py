"""What an output says about itself: in the metadata of a Parquet file, beside a ``.npy`` file."""

from __future__ import annotations

import base64
import importlib.metadata
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import whole_number
from primal._files import open_regular
from primal.errors import DataError, SpecError
from primal.pipeline._extent import UNKNOWN, Extent
from primal.pipeline._inputs import InputFile
from primal.pipeline._journal import Entry
from primal.pipeline._manifest import beside, read_manifest
from primal.pipeline._recipe import DTYPES, Recipe
from primal.pipeline._row_groups import FEATURES, MAGIC, end_of_file

__all__ = [
    "METADATA_KEY",
    "Record",
    "head_bytes",
    "npy_header",
    "read_record",
    "tail_bytes",
    "versions",
    "written_schema",
]

METADATA_KEY = "primal"
_VERSION = 1


@dataclass(frozen=True)
class Record:
    """How a file was made; nothing in it depends on where or when.

    Attributes
    ----------
    recipe : Recipe
    fingerprint : str
        Of the map.
    inputs : tuple of (str, int)
        Name and number of bytes of every input file, those of other shards too.
    shard : (int, int)
        Which part of how many.
    blocks : tuple of (int, int, int, bool)
        File, number, rows, and whether the block ends its file; in the order of the rows.
    n_rejected : int
        Lines in the file of rejected rows.
    extent : Extent or None
        Of the rows with features; None without any.
    """

    recipe: Recipe
    fingerprint: str
    inputs: tuple[tuple[str, int], ...]
    shard: tuple[int, int]
    blocks: tuple[tuple[int, int, int, bool], ...]
    n_rejected: int
    extent: Extent | None

    @property
    def n_rows(self) -> int:
        return sum(rows for _, _, rows, _ in self.blocks)

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        files: tuple[InputFile, ...],
        shard: tuple[int, int],
        entries: list[Entry],
    ) -> Record:
        return cls(
            recipe,
            recipe.map.fingerprint,
            tuple((file.name, file.n_bytes) for file in files),
            shard,
            tuple((e.file, e.number, e.rows, e.ends_file) for e in entries),
            sum(e.n_rejected for e in entries),
            Extent.joined(e.extent for e in entries),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "primal": versions()["primal"],
            "fingerprint": self.fingerprint,
            "recipe": self.recipe.as_json(),
            "inputs": [list(one) for one in self.inputs],
            "shard": list(self.shard),
            "rows": self.n_rows,
            "rejected": self.n_rejected,
            "extent": None if self.extent is None else self.extent.as_json(),
            "blocks": [[f, b, rows, int(ends)] for f, b, rows, ends in self.blocks],
        }

    @classmethod
    def from_json(cls, values: Any) -> Record:
        """Return the record that :meth:`as_json` described."""
        if not isinstance(values, dict) or values.get("version") != _VERSION:
            raise SpecError(f"this version of primal reads files of version {_VERSION} only.")
        try:
            inputs = tuple((str(name), int(n)) for name, n in values["inputs"])
            shard, n_shards = (whole_number("shard", value) for value in values["shard"])
            return cls(
                Recipe.from_json(values["recipe"]),
                values["fingerprint"],
                inputs,
                (shard, n_shards),
                tuple(_block(one, len(inputs)) for one in values["blocks"]),
                whole_number("rejected", values["rejected"]),
                Extent.from_json(values.get("extent", UNKNOWN.as_json())),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SpecError(f"the description of the file is damaged ({error}).") from None


def _block(values: Any, n_files: int) -> tuple[int, int, int, bool]:
    """Return a block of a record: file, number, rows, and whether it ends its file."""
    file, number, rows, ends = values
    whole_number("the file of a block", file, most=n_files - 1)
    for count in (number, rows):
        whole_number("a block", count, most=2**48)
    return file, number, rows, bool(ends)


def read_record(path: Path) -> Record:
    """Return the record of an output of :func:`primal.pipeline.encode`.

    Raises
    ------
    DataError
        If the file cannot be read or was made by something else.
    """
    if path.suffix == ".npy":
        return _read_npy_record(path)
    try:
        described = pq.read_metadata(path)
        schema = described.schema.to_arrow_schema()
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    found = schema.metadata or {}
    if METADATA_KEY.encode() not in found:
        raise DataError(f"{path} was not made by primal encode: its metadata lacks the map.")
    try:
        record = Record.from_json(json.loads(found[METADATA_KEY.encode()]))
    except ValueError as error:
        raise SpecError(f"{path}: {error}") from None
    groups = [described.row_group(i).num_rows for i in range(described.num_row_groups)]
    kinds = [field.type for field in schema if field.name == FEATURES]
    if groups != [rows for _, _, rows, _ in record.blocks if rows] or kinds != [
        record.recipe.feature_type
    ]:
        raise DataError(f"{path} was written again by something else: its row groups differ.")
    return record


def written_schema(path: Path) -> pa.Schema:
    """Return the schema that an output was written with, field for field.

    Arrow's reader names some inner fields otherwise; the schema itself lies in the metadata.
    """
    stored = pq.read_metadata(path).metadata[b"ARROW:schema"]
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored)))


def _read_npy_record(path: Path) -> Record:
    manifest = read_manifest(beside(path, "manifest.json"))
    if manifest is None or "record" not in manifest or not path.exists():
        raise DataError(f"{path} needs its manifest, {beside(path, 'manifest.json')}.")
    record = Record.from_json(manifest["record"])
    expected = head_bytes(record, record.recipe, "npy")
    try:
        with open_regular(path) as opened:
            head = opened.read(len(expected))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    if head != expected or path.stat().st_size != manifest.get("output", {}).get("bytes"):
        raise DataError(f"{path} was changed after it was made: it is not what its manifest says.")
    return record


def head_bytes(record: Record | None, recipe: Recipe | None, format: str) -> bytes:
    """Return how a file begins; of a fixed length, so that it can be written again at the end."""
    if format == "parquet":
        return MAGIC
    if record is None or recipe is None:
        return bytes(len(npy_header(np.dtype("float32"), (0, 1))))
    return npy_header(np.dtype(DTYPES[recipe.dtype]), (record.n_rows, recipe.width))


def tail_bytes(record: Record, schema: pa.Schema, groups: list[tuple[int, bytes]]) -> bytes:
    """Return how a Parquet file ends."""
    return end_of_file(schema, {METADATA_KEY: json.dumps(record.as_json()).encode()}, groups)


def versions() -> dict[str, str]:
    """Return the versions of what decides an output."""
    names = {"primal": "primal-features", "numpy": "numpy", "pyarrow": "pyarrow"}
    found = {}
    for short, name in names.items():
        try:
            found[short] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # run from its source folder
            found[short] = "not installed"
    return found


def npy_header(dtype: np.dtype, shape: tuple[int, int]) -> bytes:
    sink = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        sink, {"descr": dtype.newbyteorder("<").str, "fortran_order": False, "shape": shape}
    )
    return sink.getvalue()
