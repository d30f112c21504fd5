"""Outputs: a folder of parts as it is, or one file put together from the parts beside it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import file_path
from primal._files import npy_header, open_regular, written_whole
from primal.errors import DataError, ParameterError
from primal.pipeline._folder import (
    LIST_NAME,
    MANIFEST,
    PART_NAME,
    REJECTED_HEADER,
    WORK_FILES,
    on_disk,
    part_keys,
    part_record,
    reject_other,
)
from primal.pipeline._job import Progress
from primal.pipeline._parquet import stored_groups, write_file
from primal.pipeline._record import (
    METADATA_KEY,
    Record,
    beside,
    manifest_text,
    read_manifest,
    read_record,
)
from primal.pipeline._sources import empty_batch


def places(dst: object) -> tuple[Path, Path]:
    """Return an output, and the folder of its parts, which for one file is there for a while."""
    path = file_path("dst", dst)
    if path.suffix in (".parquet", ".npy"):
        if path.is_dir():
            raise ParameterError(f"{dst} is a folder: choose another name for one file.")
        return path, beside(path, "primal-part")
    if path.suffix and not (str(dst).endswith(os.sep) or path.is_dir()):
        raise ParameterError(
            f"the output must end in .parquet or .npy, or have no suffix to be a folder of parts, "
            f"got {path.name!r}."
        )
    return path, path


def finished(dst: Path, request: dict[str, Any], overwrite: bool) -> Record | None:
    """Return the record of one file that is already there and answers the same request.

    Something else, or somebody else's file under a name that we need, is a ParameterError.
    """
    manifest, rejected = beside(dst, "manifest.json"), beside(dst, "rejected.csv")
    if overwrite:
        return None
    found: dict[str, Any] = {}
    with contextlib.suppress(DataError):
        found = read_manifest(manifest)
    for path, ours in ((rejected, _is_list(rejected)), (manifest, bool(found))):
        if os.path.lexists(path) and not ours:
            raise ParameterError(
                f"{path} is there and was not written for {dst.name}: choose another name, or pass "
                "overwrite (--overwrite)."
            )
    if not dst.exists():
        return None
    if not found:
        raise ParameterError(
            f"{dst} exists and has no manifest beside it: pass overwrite (--overwrite) to replace "
            "it, or choose another name."
        )
    reject_other(dst, found["request"], request)
    output = found.get("output")
    if not isinstance(output, dict) or output.get("bytes") != dst.stat().st_size:
        raise ParameterError(f"{dst} was changed after it was made: pass overwrite (--overwrite).")
    return Record.from_json(found.get("record"))


def write_one_file(
    dst: Path,
    folder: Path,
    record: Record,
    schema: pa.Schema,
    request: dict[str, Any],
    rows_of: Callable[[pa.RecordBatch], np.ndarray],
    progress: Progress | None = None,
) -> None:
    """Put parts together in one file, with its manifest and list of rejected rows.

    All are written in the folder beside `dst` and then renamed. Row groups are copied; `rows_of`
    returns the rows of a ``.npy`` file.
    """
    more: dict[str, Any] = {}
    whole, manifest, rejected = (beside(dst, "primal-part") / name for name in WORK_FILES)

    def paths() -> Iterator[Path]:
        n_done = 0
        for part in record.parts:
            yield folder / PART_NAME.format(*part[:2])
            n_done += part[2]
            if progress is not None:
                progress(n_done, record.rows)

    with on_disk(dst):
        with written_whole(whole) as stream:
            if dst.suffix == ".parquet":
                metadata = {METADATA_KEY: json.dumps(record.as_json()).encode()}
                groups = (group for path in paths() for group in stored_groups(path))
                write_file(stream, schema.with_metadata(metadata), groups)
            else:
                empty = rows_of(empty_batch(schema))
                stream.write(npy_header(empty.dtype, (record.rows, empty.shape[1])))
                for batch in (b for path in paths() for b in pq.ParquetFile(path).iter_batches()):
                    rows = rows_of(batch)
                    stream.write(np.ascontiguousarray(rows, rows.dtype.newbyteorder("<")).data)
                more = {"dtype": empty.dtype.str, "columns": empty.shape[1]}
        output = {"bytes": whole.stat().st_size, **more}
        with written_whole(manifest) as stream:
            stream.write(manifest_text(request, record=record.as_json(), output=output))
        if any(part[4] for part in record.parts):
            with written_whole(rejected) as stream:
                stream.write(REJECTED_HEADER)
                for f, n in (part[:2] for part in record.parts if part[4]):
                    path = folder / LIST_NAME.format(f, n)
                    if not path.exists():
                        raise DataError(f"{path} is missing: remove that part, and run again.")
                    stream.write(path.read_bytes().removeprefix(REJECTED_HEADER))
            rejected.replace(beside(dst, "rejected.csv"))
        elif _is_list(beside(dst, "rejected.csv")):  # of an earlier output
            beside(dst, "rejected.csv").unlink()
        # The old output goes first: a manifest never stands beside the output of another.
        dst.unlink(missing_ok=True)
        manifest.replace(beside(dst, "manifest.json"))
        whole.replace(dst)


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
    last = {record.parts[0][0]: record.parts[0][1] for record in records if record.parts[0][3]}
    expected = {(f, n) for f in range(len(inputs)) for n in range(last.get(f, -1) + 1)}
    missing = sorted(expected - set(keys))
    said = [f"part {n} of input file {f}" for f, n in missing[:5]]
    if n_unfinished := len(set(range(len(inputs))) - set(last)):
        said.insert(0, f"the last parts of {n_unfinished} input files")
    if said:
        more = f", and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise ParameterError(
            f"{path} is not complete, {len(keys)} parts are there and these are missing: "
            f"{', '.join(said)}{more}. Run the same command again, or the shards that are missing."
        )
    if set(keys) != expected:
        raise ParameterError(f"{path} holds more parts than its input has: remove it.")
    return Record.joined(records), [path / PART_NAME.format(*key) for key in keys]


def _is_list(path: Path) -> bool:
    """Whether a file lists rejected rows."""
    try:
        with open_regular(path) as opened:
            return opened.read(len(REJECTED_HEADER)) == REJECTED_HEADER
    except (OSError, DataError):
        return False
