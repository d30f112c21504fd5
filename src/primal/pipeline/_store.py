"""Where an output grows: beside its place, with a journal, and moved there when it is whole.

The folder ``DST.primal-part`` holds the data so far, a journal with a line for each finished
block, the rejected rows and the manifest. After a kill the data are cut back to the last line
of the journal and go on from there. A kill of the process is survived at any moment; after a
power failure remove the folder, since the data are only forced to disk at the end.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import json
import os
import shutil
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from primal._errors import DataError, OptionError, PrimalError
from primal.pipeline._job import EncodedBlock, Rejected

__all__ = ["Entry", "Workspace", "beside", "finished_manifest", "read_manifest"]

# The end of the data stays in the system's cache; what came before is on disk by then.
_CACHED_BYTES = 1 << 29
_REJECTED_HEADER = "file,row,column,value,reason\n"


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
    description: bytes


def beside(dst: Path, what: str) -> Path:
    """Return the path of a file that belongs to an output: ``DST.what``."""
    return dst.with_name(f"{dst.name}.{what}")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest in a file, None where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def finished_manifest(dst: Path, request: dict[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """Return the manifest of an output that is already there and answers the same request.

    Raises
    ------
    OptionError
        If something else is there, unless `overwrite`; or a folder.
    """
    if dst.is_dir():
        raise OptionError(f"{dst} is a folder: choose another name.")
    if overwrite or not dst.exists():
        return None
    manifest = read_manifest(beside(dst, "manifest.json"))
    if manifest is None:
        raise OptionError(
            f"{dst} exists and has no manifest beside it: pass overwrite (--overwrite) to replace "
            "it, or choose another name."
        )
    _refuse_other(dst, manifest, request, "was made")
    if manifest.get("output", {}).get("bytes") != dst.stat().st_size:
        raise OptionError(f"{dst} was changed after it was made: pass overwrite (--overwrite).")
    _remove_leftovers(beside(dst, "primal-part"))
    return manifest


def _remove_leftovers(folder: Path) -> None:
    """Remove the folder of a run that ended after its output was in place, if none is at work."""
    with contextlib.suppress(OSError), (folder / "journal").open("r+b") as journal:
        if _locked(journal):
            shutil.rmtree(folder, ignore_errors=True)


def _locked(journal: BinaryIO) -> bool:
    """Take the lock of a run, which goes with the file; False if another process has it."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return True
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks know no locks
        return True
    return True


class Workspace:
    """The growing output of one request; a context manager.

    Left by an error in the data, or by another before anything was finished, it removes what it
    has; left by a full disk, an interrupt or a kill, it stays for the next run to go on with.
    """

    def __init__(self, dst: Path, request: dict[str, Any], head: bytes, overwrite: bool) -> None:
        self._dst, self._request, self._head, self._overwrite = dst, request, head, overwrite
        self.folder = beside(dst, "primal-part")
        self.entries: list[Entry] = []
        self.manifest: dict[str, Any] = {}
        self._files = contextlib.ExitStack()

    def __enter__(self) -> Workspace:
        with self._disk():
            self._dst.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(exist_ok=True)
            self._journal = self._open("journal")
            try:
                if not _locked(self._journal):
                    raise OptionError(f"another run is writing {self._dst} now: wait for it.")
                found = read_manifest(self.folder / "manifest.json")
                if found is not None and found.get("request") != self._request:
                    if not self._overwrite:
                        _refuse_other(self._dst, found, self._request, "was begun")
                    found = None
                self.manifest = found or {}
                self._data, self._rejected = self._open("data"), self._open("rejected.csv")
                self._recover(fresh=found is None)
            except BaseException:
                self._files.close()
                raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        try:
            self._files.close()
        except OSError:  # what a full disk did not take is tried once more
            if error is None:
                raise
        ours = isinstance(error, PrimalError) and not isinstance(error.__cause__, OSError)
        if ours and (isinstance(error, DataError) or not self.entries):
            shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, manifest: dict[str, Any]) -> None:
        """Note what is being made; without effect on a run that goes on."""
        if not self.manifest:
            self.manifest = {"request": self._request, **manifest}
            with self._disk():
                _write_whole(self.folder / "manifest.json", self.manifest)

    def append(self, block: EncodedBlock) -> None:
        """Add a finished block; it survives a kill from the moment this returns."""
        with self._disk():
            start = self._data.tell()
            for piece in block.pieces:
                self._data.write(piece)
            self._rejected.write(_csv_lines(block.rejected))
            self._data.flush()
            self._rejected.flush()
            _write_out(self._data, start)
            entry = Entry(
                block.file,
                block.number,
                block.ends_file,
                block.rows,
                len(block.rejected),
                self._data.tell(),
                self._rejected.tell(),
                block.counts,
                block.description,
            )
            self._journal.write(_journal_line(entry))
            self._journal.flush()
        self.entries.append(entry)

    def row_groups(self) -> list[tuple[int, bytes]]:
        """Return the offset and the description of every Parquet row group."""
        starts = [len(self._head), *(entry.data_end for entry in self.entries)]
        pairs = zip(starts, self.entries, strict=False)
        return [(start, entry.description) for start, entry in pairs if entry.description]

    def finish(self, head: bytes, tail: bytes, manifest: dict[str, Any]) -> dict[str, Any]:
        """Complete the data and move everything to its place; the output itself comes last."""
        with self._disk():
            self._data.write(tail)
            self._data.seek(0)
            self._data.write(head)
            self._data.flush()
            os.fsync(self._data.fileno())
            n_bytes = (self.folder / "data").stat().st_size
            self.manifest |= manifest | {"output": {"bytes": n_bytes}}
            rejected = beside(self._dst, "rejected.csv")
            rejected.unlink(missing_ok=True)
            if any(entry.n_rejected for entry in self.entries):
                shutil.copyfile(self.folder / "rejected.csv", rejected)
            self._dst.unlink(missing_ok=True)  # never an old output beside a new manifest
            _write_whole(beside(self._dst, "manifest.json"), self.manifest)
            (self.folder / "data").replace(self._dst)
            # Before the lock goes with its file: the folder could be another run's by then.
            shutil.rmtree(self.folder, ignore_errors=True)
            self._files.close()
            shutil.rmtree(self.folder, ignore_errors=True)  # where open files cannot be removed
        return self.manifest

    def _recover(self, *, fresh: bool) -> None:
        """Cut all files back to the last block that the journal and the data agree on."""
        journal_end = 0
        data_size = self._data.seek(0, os.SEEK_END)
        rejected_size = self._rejected.seek(0, os.SEEK_END)
        for line in () if fresh else self._journal:
            entry = _journal_entry(line)
            if entry is None or entry.data_end > data_size or entry.rejected_end > rejected_size:
                break
            self.entries.append(entry)
            journal_end += len(line)
        self._truncate(self._journal, journal_end)
        if self.entries:
            self._truncate(self._data, self.entries[-1].data_end)
            self._truncate(self._rejected, self.entries[-1].rejected_end)
        else:
            for opened, first in ((self._data, self._head), (self._rejected, _REJECTED_HEADER)):
                self._truncate(opened, 0)
                opened.write(first if isinstance(first, bytes) else first.encode())

    def _truncate(self, opened: BinaryIO, size: int) -> None:
        opened.seek(size)
        opened.truncate()

    def _open(self, name: str) -> BinaryIO:
        path = self.folder / name
        path.touch()
        return self._files.enter_context(path.open("r+b"))

    @contextlib.contextmanager
    def _disk(self) -> Any:
        try:
            yield
        except OSError as error:
            raise PrimalError(
                f"{self._dst} cannot be written: {error.strerror or error}. When that is mended, "
                "run the same command again: it goes on where it stopped."
            ) from error


def _write_out(opened: BinaryIO, start: int) -> None:
    """Let the system bring to disk what was written from `start` on, and forget what is long there.

    Else the disk would wait for the end, where nothing else is left to do meanwhile; and a large
    output would push everything else out of the system's cache, which costs more than encoding.
    """
    end = opened.tell()
    ranges = [(start, end)]
    if start >= _CACHED_BYTES:
        ranges.append((start - _CACHED_BYTES, end - _CACHED_BYTES))
    with contextlib.suppress(OSError, AttributeError):  # it is only advice, and not everywhere
        for first, last in ranges:
            os.posix_fadvise(opened.fileno(), first, last - first, os.POSIX_FADV_DONTNEED)


def _refuse_other(dst: Path, manifest: dict[str, Any], request: dict[str, Any], verb: str) -> None:
    there = manifest.get("request")
    if there == request:
        return
    old = there if isinstance(there, dict) else {}
    differing = [name for name in request if old.get(name) != request[name]]
    told = "; ".join(
        "the input files changed"
        if name == "inputs"
        else f"{name} = {old.get(name)!r} there, {request[name]!r} asked"
        for name in differing
    )
    raise OptionError(
        f"{dst} {verb} with other settings ({told}): choose another name, or pass overwrite "
        "(--overwrite)."
    )


def _write_whole(path: Path, values: dict[str, Any]) -> None:
    partial = beside(path, "partial")
    partial.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def _csv_lines(rejected: tuple[Rejected, ...]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(astuple(one) for one in rejected)
    return text.getvalue().encode("utf-8", errors="replace")


def _journal_line(entry: Entry) -> bytes:
    values = [*astuple(entry)[:-1], base64.b64encode(entry.description).decode()]
    return json.dumps(values).encode() + b"\n"


def _journal_entry(line: bytes) -> Entry | None:
    """Return the entry of a line, None for one that a kill cut short."""
    if not line.endswith(b"\n"):
        return None
    try:
        values = json.loads(line)
        return Entry(*values[:-1], description=base64.b64decode(values[-1]))
    except (ValueError, TypeError):
        return None
