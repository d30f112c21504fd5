"""Outputs: a folder that one run fills with parts, or one file put together from such a folder.

A part is written under a name that nobody reads and renamed when it is on the disk. So a run that
was killed, or a machine that lost its power, leaves whole parts, and the next run makes the others.
``_primal.json`` says what the parts are of. A lock on the folder, held by one run or shared by the
shards of one run, keeps others out; where a disk knows no locks the manifest still does.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import file_path
from primal._files import locked, npy_header, open_regular, written_whole
from primal.errors import DataError, ParameterError, PrimalError
from primal.pipeline._blocks import Key
from primal.pipeline._inputs import resumable
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

# Called with rows done and rows in all, None while that is unknown.
Progress = Callable[[int, int | None], None]
MANIFEST = "_primal.json"
REJECTED_HEADER = b"file,row,column,value,reason\n"
# Files of a part, and of its rejected rows, by file and number of its block.
PART_NAME = "part-{:05}-{:06}.parquet"
LIST_NAME = "_rejected/part-{:05}-{:06}.csv"
_PART = re.compile(r"part-(\d{5,9})-(\d{6,15})\.parquet")
_LIST = re.compile(r"part-\d{5,9}-\d{6,15}\.csv")
# What a run that was killed left of a file.
_DRAFT = re.compile(r"\.primal-[0-9a-f]{32}\.part")
# One file that is put together from parts, with its manifest and list of rejected rows.
_WORK_FILES = ("_whole", "_manifest.json", "_rejected.csv")
# That a shard waits for the lock: another one may be starting.
_LOCK_SECONDS = 10.0


def places(dst: object) -> tuple[Path, Path]:
    """Return an output, and the folder of its parts, which for one file is there for a while."""
    path, mode = file_path("dst", dst), None
    try:
        str(path).encode()  # Arrow takes no other names
        mode = path.stat().st_mode
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(
            f"{str(dst)!r:.200} cannot be written: {reason}. Choose another name."
        ) from None
    is_folder = mode is not None and stat.S_ISDIR(mode)
    if path.suffix in (".parquet", ".npy"):
        if mode is not None and not stat.S_ISREG(mode):
            kind = "a folder" if is_folder else "no regular file"
            raise ParameterError(f"{dst} is {kind}: choose another name for one file.")
        return path, beside(path, "primal-part")
    if path.suffix and not (is_folder or str(dst).endswith(os.sep)):
        raise ParameterError(
            f"the output must end in .parquet or .npy, or have no suffix to be a folder of parts, "
            f"got {path.name!r}."
        )
    if mode is not None and not is_folder:
        raise ParameterError(
            f"{dst} is a file, and a name without suffix is that of a folder of parts: choose "
            "another name, or end it in .parquet or .npy."
        )
    return path, path


def part_keys(folder: Path) -> list[Key]:
    """Return the file and number of every part in a folder, in order."""
    found = (_PART.fullmatch(path.name) for path in folder.iterdir())
    return sorted((int(one[1]), int(one[2])) for one in found if one)


def part_record(folder: Path, key: Key, run: str | None = None) -> Record:
    """Return the record of a part, which must be one of this run."""
    path = folder / PART_NAME.format(*key)
    record = read_record(path)
    if (run or record.run) != record.run or [part[:2] for part in record.parts] != [key]:
        raise DataError(f"{path} is a part of another run: remove it, and run again.")
    return record


@contextlib.contextmanager
def on_disk(dst: Path | str) -> Iterator[None]:
    """Turn a failure of the disk into a PrimalError that says how to resume."""
    try:
        yield
    except OSError as error:
        raise resumable(f"{dst} cannot be written: {error.strerror or error}") from error


@dataclass
class PartFolder:
    """The parts of one request, while its lock is held; see :func:`part_folder`."""

    path: Path
    # Whether an error is one of the rows that are being read, not of the parts that are there.
    working: bool = False

    def remove(self, keys: Iterable[Key] | None = None) -> None:
        """Remove some parts; without any named all of them, and the folder if it is then empty."""
        for key in keys or ():
            (self.path / PART_NAME.format(*key)).unlink(missing_ok=True)
            (self.path / LIST_NAME.format(*key)).unlink(missing_ok=True)
        if keys is None:
            self.clear()
            for name in (*_WORK_FILES, MANIFEST):
                (self.path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.path.rmdir()

    def clear(self) -> None:
        """Remove parts, lists and what was left of them, and no other file."""
        lists = self.path / "_rejected"
        for folder, kind in ((self.path, _PART), (lists, _LIST)):
            for path in list(folder.glob("*")):
                if kind.fullmatch(path.name) or _DRAFT.fullmatch(path.name):
                    path.unlink()
        with contextlib.suppress(OSError):
            lists.rmdir()


@contextlib.contextmanager
def part_folder(
    path: Path, request: dict[str, Any], shared: bool = False, overwrite: bool = False
) -> Iterator[PartFolder]:
    """Lock a folder with the manifest of this request, made if need be, or reject it as it is.

    Left by an error in the data, or by another before any part was made, the folder loses its
    parts; left by a full disk, an interrupt or a kill, it stays for the next run to resume. Shards
    of one request share it; `overwrite` replaces the parts of another request.
    """
    parts = PartFolder(path)
    with contextlib.ExitStack() as held:
        with on_disk(path):
            path.mkdir(parents=True, exist_ok=True)
            seconds = _LOCK_SECONDS if shared else 0.0
            lock = held.enter_context(locked(path, shared=shared, seconds=seconds))
            if not lock.held:
                raise ParameterError(f"another run is writing {path} now: wait for it.")
            manifest, there = path / MANIFEST, [one.name for one in path.iterdir()]
            found = read_manifest(manifest)["request"] if MANIFEST in there else None
            foreign = [name for name in there if not _DRAFT.fullmatch(name)]
            if found is None and foreign:
                raise ParameterError(
                    f"{path} is there, holds {foreign[0]!r} and has no {MANIFEST}: it is no output "
                    "of primal. Choose another name."
                )
            if found is not None and found != request:
                if not overwrite:
                    reject_other(path, found, request)
                if not lock.alone:
                    raise ParameterError(f"another run is writing {path} now: wait for it.")
                parts.clear()  # no part stands beside another's manifest
            if not shared:  # other shards may be writing
                for one in list(path.glob("**/.primal-*")):
                    if _DRAFT.fullmatch(one.name):
                        one.unlink()
            if found != request:
                with written_whole(manifest) as stream:
                    stream.write(manifest_text(request))
            if shared and lock.alone:
                lock.share()
        try:
            yield parts
        except PrimalError as error:
            gives_up = parts.working and not shared and not isinstance(error.__cause__, OSError)
            if gives_up and (isinstance(error, DataError) or not part_keys(path)):
                parts.remove()
            raise


def reject_other(dst: Path, there: dict[str, Any], request: dict[str, Any]) -> None:
    """Raise ParameterError if an output was made by another request, and say what differs."""
    # Fields of the map stand beside the others; its fingerprint follows from them.
    old, new = (
        one | spec if isinstance(spec := one.get("spec"), dict) else one for one in (there, request)
    )
    names = [name for name in sorted({*old, *new} - {"spec"}) if old.get(name) != new.get(name)]
    differing = [
        "the input files changed"
        if name == "inputs"
        else f"{name} = {old.get(name)!r:.60} there, {new.get(name)!r:.60} asked"
        for name in names
        if name != "fingerprint" or len(names) == 1
    ]
    if differing:
        raise ParameterError(
            f"{dst} was made with other settings ({'; '.join(differing)}): choose another name, or "
            "pass overwrite (--overwrite)."
        )


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
    whole, manifest, rejected = (beside(dst, "primal-part") / name for name in _WORK_FILES)

    def paths() -> Iterator[Path]:
        n_done = 0
        for part in record.parts:
            yield folder / PART_NAME.format(*part[:2])
            n_done += part.rows
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
        if lists := [part for part in record.parts if part.rejected]:
            with written_whole(rejected) as stream:
                stream.write(REJECTED_HEADER)
                for part in lists:
                    path = folder / LIST_NAME.format(*part[:2])
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
    parts = [record.parts[0] for record in records]
    last = {part.file: part.number for part in parts if part.ends_file}
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
