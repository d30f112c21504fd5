"""Outputs read back: a folder of parts, or one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from primal._checks import raised_as
from primal.errors import DataError, ParameterError, PrimalError
from primal.pipeline._folder import MANIFEST, part_keys, part_path, part_record
from primal.pipeline._inputs import InputFile, find_inputs
from primal.pipeline._record import Record, beside, check_complete, read_manifest, read_record

__all__ = ["known_inputs", "open_output"]


def open_output(path: Path, dst: Path | None = None) -> tuple[Record, list[Path]]:
    """Return the record of an output that is complete, and the files of its rows.

    `dst` is where something will be made of them, which must not be among them.
    """
    if not path.is_dir():
        return read_record(path), [path]
    if dst is not None and path.resolve() in dst.resolve().parents:
        raise ParameterError(f"{dst} lies inside of {path}: write it to another folder.")
    inputs = read_manifest(path / MANIFEST)["request"]["inputs"]
    keys = part_keys(path)
    records = [part_record(path, keys[0])] if keys else []
    records += [part_record(path, key, records[0].run) for key in keys[1:]]
    last = [record.parts[0][:2] for record in records if record.parts[0][3]]
    check_complete(keys, last, len(inputs), path)
    return Record.joined(records), [part_path(path, key) for key in keys]


def known_inputs(path: Path) -> tuple[list[str], tuple[InputFile, ...]]:
    """Return the names of the inputs of an output, and the files if all are as they were."""
    manifest = path / MANIFEST if path.is_dir() else beside(path, "manifest.json")
    try:
        listed: list[dict[str, Any]] = read_manifest(manifest)["request"]["inputs"]
        with raised_as(DataError, "the manifest is damaged"):
            files = tuple(InputFile(**one) for one in listed)
            names = [Path(file.path).name for file in files]
    except DataError:
        return [], ()
    try:
        return names, files if files == find_inputs([file.path for file in files]) else ()
    except PrimalError:
        return names, ()
