"""Where an output grows: beside its place, with a journal, and moved there when it is whole.

The folder ``DST.primal-part`` holds the data so far, a journal with a line for each finished
block, the rejected rows and the manifest. After a kill the data are cut back to the last line
of the journal and go on from there, so a kill of the process costs the block that it was at. A
machine that loses its power forgets what was not yet on disk: after another start of the machine
only the blocks up to the last time that everything was forced to disk are believed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from primal._files import written_whole
from primal.errors import DataError, ParameterError, PrimalError
from primal.pipeline._job import EncodedBlock, Progress
from primal.pipeline._journal import Entry, csv_lines, journal_entry, journal_line
from primal.pipeline._manifest import (
    REJECTED_HEADER,
    beside,
    is_rejected_list,
    locked,
    read_manifest,
    refuse_foreign,
    refuse_other,
    remove_workspace,
    write_whole,
)
from primal.pipeline._passing import passing

__all__ = ["Workspace"]

# Everything is forced to disk as often; so the end of the data, of this size, may stay in the
# system's cache, and what came before is on disk.
_CACHED_BYTES = 1 << 29
# Of the journal: what is longer is no line of it.
_LONGEST_LINE = 1 << 24


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
            if not self._overwrite:
                refuse_foreign(self._dst)
            self.folder.mkdir(exist_ok=True)
            if any(self.folder.iterdir()) and not (self.folder / "journal").is_file():
                raise ParameterError(f"{self.folder} is no unfinished output: choose another name.")
            self._journal = self._open("journal")
            try:
                if not locked(self._journal) or not self._is_there(self._journal):
                    raise ParameterError(f"another run is writing {self._dst} now: wait for it.")
                found = read_manifest(self.folder / "manifest.json")
                if found is not None and found.get("request") != self._request:
                    if not self._overwrite:
                        refuse_other(self._dst, found, self._request, "was begun")
                    found = None
                self.manifest = found or {}
                self._data, self._rejected = self._open("data"), self._open("rejected.csv")
                self._recover(0 if found is None else self._n_believed())
                self._sync()
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
            remove_workspace(self.folder)

    def begin(self, manifest: dict[str, Any]) -> None:
        """Note what is being made; without effect on a run that goes on."""
        if not self.manifest:
            self.manifest = {"request": self._request, **manifest}
            with self._disk():
                write_whole(self.folder / "manifest.json", self.manifest)

    @property
    def n_rows(self) -> int:
        """Rows of all blocks that are finished."""
        return sum(entry.rows for entry in self.entries)

    def extend(
        self, blocks: Iterable[EncodedBlock], total: int | None, progress: Progress | None
    ) -> None:
        """Add blocks as they come, and tell how many rows of `total` are done."""
        n_done = self.n_rows
        for block in blocks:
            self.append(block)
            n_done += block.rows
            if progress is not None:
                progress(n_done, total)

    def append(self, block: EncodedBlock) -> None:
        """Add a finished block; it survives a kill from the moment this returns."""
        with self._disk():
            start = self._data.tell()
            for piece in block.pieces:
                self._data.write(piece)
            self._rejected.write(csv_lines(block.rejected))
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
                block.extent,
                block.description,
            )
            self._journal.write(journal_line(entry))
            self._journal.flush()
            self.entries.append(entry)
            if entry.data_end - self._synced_end >= _CACHED_BYTES:
                self._sync()

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
            if any(entry.n_rejected for entry in self.entries):
                with (
                    written_whole(rejected) as copy,
                    (self.folder / "rejected.csv").open("rb") as o,
                ):
                    shutil.copyfileobj(o, copy)
            elif is_rejected_list(rejected):  # of an earlier output
                rejected.unlink()
            # The old output goes when the new manifest is ready and before it has its name: a
            # manifest never stands beside the output of another, and a full disk takes neither.
            write_whole(
                beside(self._dst, "manifest.json"),
                self.manifest,
                before=lambda: self._dst.unlink(missing_ok=True),
            )
            (self.folder / "data").replace(self._dst)
            # Before the lock goes with its file: the folder could be another run's by then.
            remove_workspace(self.folder)
            self._files.close()
            remove_workspace(self.folder)  # where open files cannot be removed
        return self.manifest

    def _sync(self) -> None:
        """Force all that is finished to disk, and note how much that is.

        Should the note itself be lost, fewer blocks are believed than could be.
        """
        if self.entries:
            for opened in (self._data, self._rejected, self._journal):
                opened.flush()
                os.fsync(opened.fileno())
        self._synced_end = self._data.tell()
        write_whole(self.folder / "synced.json", {"boot": _boot(), "blocks": len(self.entries)})

    def _n_believed(self) -> int | None:
        """Return how many lines of the journal are believed; None for all."""
        synced = read_manifest(self.folder / "synced.json") or {}
        blocks = synced.get("blocks")
        if synced.get("boot") == _boot():
            return None
        return blocks if isinstance(blocks, int) else 0

    def _recover(self, most: int | None) -> None:
        """Cut all files back to the last block that the journal and the data agree on.

        At most so many blocks are taken over; None for any number.
        """
        journal_end = 0
        data_size = self._data.seek(0, os.SEEK_END)
        rejected_size = self._rejected.seek(0, os.SEEK_END)
        for line in iter(lambda: self._journal.readline(_LONGEST_LINE), b""):
            if len(self.entries) == most:
                break
            entry = journal_entry(line)
            if entry is None or entry.data_end > data_size or entry.rejected_end > rejected_size:
                break
            self.entries.append(entry)
            journal_end += len(line)
        self._truncate(self._journal, journal_end)
        if self.entries:
            self._truncate(self._data, self.entries[-1].data_end)
            self._truncate(self._rejected, self.entries[-1].rejected_end)
        else:
            for opened, first in ((self._data, self._head), (self._rejected, REJECTED_HEADER)):
                self._truncate(opened, 0)
                opened.write(first)

    def _truncate(self, opened: BinaryIO, size: int) -> None:
        opened.seek(size)
        opened.truncate()

    def _open(self, name: str) -> BinaryIO:
        path = self.folder / name
        path.touch()
        return self._files.enter_context(path.open("r+b"))

    def _is_there(self, opened: BinaryIO) -> bool:
        """Whether an open file still has its name; a run that ends removes it."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(opened.fileno()), Path(opened.name).stat())
        return False

    @contextlib.contextmanager
    def _disk(self) -> Any:
        try:
            yield
        except OSError as error:
            told = f"{self._dst} cannot be written: {error.strerror or error}"
            raise passing(told) from error


def _write_out(opened: BinaryIO, start: int) -> None:
    """Let the system bring to disk what was written from `start` on, and forget what is long there.

    Else the disk would wait for the end, where nothing else is left to do meanwhile; and a large
    output would push everything else out of the system's cache, which costs processor time too.
    """
    end = opened.tell()
    ranges = [(start, end)]
    if start >= _CACHED_BYTES:
        ranges.append((start - _CACHED_BYTES, end - _CACHED_BYTES))
    with contextlib.suppress(OSError, AttributeError):  # it is only advice, and not everywhere
        for first, last in ranges:
            os.posix_fadvise(opened.fileno(), first, last - first, os.POSIX_FADV_DONTNEED)


def _boot() -> str:
    """Return what names this start of this machine; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
