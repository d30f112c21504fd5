"""A folder that one run fills with part files: whole or not there, never those of two runs.

A part is written under a name that nobody reads and renamed when it is on the disk. So a run that
was killed, or a machine that lost its power, leaves whole parts, and the next run makes the others.
``_primal.json`` says what the parts are of. A lock on the folder, held by one run or shared by the
shards of one run, keeps others out; where a disk knows no locks the manifest still does.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primal._files import locked, written_whole
from primal.errors import DataError, ParameterError, PrimalError
from primal.pipeline._blocks import Key
from primal.pipeline._inputs import resumable
from primal.pipeline._record import Record, manifest_text, read_manifest, read_record

MANIFEST = "_primal.json"
# One file that is put together from parts, with its manifest and list of rejected rows.
WORK_FILES = ("_whole", "_manifest.json", "_rejected.csv")
REJECTED_HEADER = b"file,row,column,value,reason\n"
# Files of a part, and of its rejected rows, by file and number of its block.
PART_NAME = "part-{:05}-{:06}.parquet"
LIST_NAME = "_rejected/part-{:05}-{:06}.csv"
_PART = re.compile(r"part-(\d{5,9})-(\d{6,15})\.parquet")
_LIST = re.compile(r"part-\d{5,9}-\d{6,15}\.csv")
# What a run that was killed left of a file.
_DRAFT = re.compile(r"\.primal-[0-9a-f]{32}\.part")
# That a shard waits for the lock: another one may be starting.
_LOCK_SECONDS = 10.0


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
    """The parts of one request, as a context manager that holds the lock.

    Left by an error in the data, or by another before any part was made, it removes its parts;
    left by a full disk, an interrupt or a kill, it stays for the next run to resume. Shards of
    one request share it; `overwrite` replaces the parts of another request.
    """

    path: Path
    request: dict[str, Any]
    shared: bool = False
    overwrite: bool = False
    # Whether an error is one of the rows that are being read, not of the parts that are there.
    working: bool = False

    def __enter__(self) -> PartFolder:
        """Leave the folder with the manifest of this request, or reject it as it is."""
        with on_disk(self.path), contextlib.ExitStack() as undo:
            self.path.mkdir(parents=True, exist_ok=True)
            seconds = _LOCK_SECONDS if self.shared else 0.0
            lock = undo.enter_context(locked(self.path, shared=self.shared, seconds=seconds))
            if not lock.held:
                raise ParameterError(f"another run is writing {self.path} now: wait for it.")
            manifest, there = self.path / MANIFEST, [path.name for path in self.path.iterdir()]
            found = read_manifest(manifest)["request"] if MANIFEST in there else None
            foreign = [name for name in there if not _DRAFT.fullmatch(name)]
            if found is None and foreign:
                raise ParameterError(
                    f"{self.path} is there, holds {foreign[0]!r} and has no {MANIFEST}: it is no "
                    "output of primal. Choose another name."
                )
            if found is not None and found != self.request:
                if not self.overwrite:
                    reject_other(self.path, found, self.request)
                if not lock.alone:
                    raise ParameterError(f"another run is writing {self.path} now: wait for it.")
                self._clear()  # no part stands beside another's manifest
            if not self.shared:  # other shards may be writing
                for path in list(self.path.glob("**/.primal-*")):
                    if _DRAFT.fullmatch(path.name):
                        path.unlink()
            if found != self.request:
                with written_whole(manifest) as stream:
                    stream.write(manifest_text(self.request))
            if self.shared and lock.alone:
                lock.share()
            self._held = undo.pop_all()
        return self

    def remove(self, keys: Iterable[Key] | None = None) -> None:
        """Remove some parts; without any named all of them, and the folder if it is then empty."""
        for key in keys or ():
            (self.path / PART_NAME.format(*key)).unlink(missing_ok=True)
            (self.path / LIST_NAME.format(*key)).unlink(missing_ok=True)
        if keys is None:
            self._clear()
            for name in (*WORK_FILES, MANIFEST):
                (self.path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.path.rmdir()

    def _clear(self) -> None:
        """Remove parts, lists and what was left of them, and no other file."""
        lists = self.path / "_rejected"
        for folder, kind in ((self.path, _PART), (lists, _LIST)):
            for path in list(folder.glob("*")):
                if kind.fullmatch(path.name) or _DRAFT.fullmatch(path.name):
                    path.unlink()
        with contextlib.suppress(OSError):
            lists.rmdir()

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        ours = isinstance(error, PrimalError) and not isinstance(error.__cause__, OSError)
        gives_up = ours and self.working and not self.shared
        with self._held:
            if gives_up and (isinstance(error, DataError) or not part_keys(self.path)):
                self.remove()


def reject_other(dst: Path, there: dict[str, Any], request: dict[str, Any]) -> None:
    """Raise ParameterError if an output was made by another request, and say what differs."""
    differing = []
    for name in sorted(request):
        old, new = there.get(name), request[name]
        if old == new or name == "fingerprint":
            continue
        if name == "inputs":
            differing.append("the input files changed")
            continue
        nested = isinstance(old, dict) and isinstance(new, dict)
        pairs = [(k, old.get(k), new.get(k)) for k in new] if nested else [(name, old, new)]  # type: ignore[union-attr]
        differing += [f"{k} = {a!r:.60} there, {b!r:.60} asked" for k, a, b in pairs if a != b]
    if differing:
        raise ParameterError(
            f"{dst} was made with other settings ({'; '.join(differing)}): choose another name, or "
            "pass overwrite (--overwrite)."
        )
