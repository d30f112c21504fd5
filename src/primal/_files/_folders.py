"""Folders of a manifest and arrays, replaced as a whole.

Arrays go into files with fresh names; the manifest, which names them, replaces the old one in one
step. At its end, however it ends, a save removes those of its own arrays and of the old manifest's
that the manifest there does not name, and nothing else ever. Names are never used twice, so what a
save removes cannot be in use by a later one, and two saves at a time need no lock to be safe: a
lock on the folder only keeps them from leaving each other's arrays behind. Whoever reads meanwhile
and finds an array gone reads the manifest again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from primal._files._reading import LARGEST_JSON, open_regular, read_json
from primal._files._writing import npy_header, removing, written_whole
from primal.errors import DataError

_ARRAY_NAME = re.compile(r"[a-z]{1,32}-[0-9a-f]{32}\.npy")
_DTYPES = ("|u1", "<u2", "<u4", "<f2", "<f4", "<c8")
_LARGEST_SIZE = 1 << 48
# Entries written at once, so that copies stay small.
_BLOCK_BYTES = 1 << 24
_LOCK_SECONDS = 10.0
# Every further try means that somebody has saved since the one before.
_MOST_TRIES = 1000


@dataclass(frozen=True)
class FolderFormat:
    """What a kind of folder is called."""

    manifest: str  # name of the file that names the others
    format: str  # what it says it is: a file of that name which does not is somebody else's
    version: int

    def save(
        self,
        folder: Path,
        fields: Mapping[str, Any],
        arrays: Mapping[str, Sequence[np.ndarray]],
    ) -> None:
        """Write JSON fields and arrays into a folder, made if need be, in place of what it holds.

        Each array comes in one or more parts of consecutive rows. After an error the folder is as
        it was: a DataError for a manifest that is somebody else's or would be too large to read
        back, an OSError for what the system reports, such as a full disk.
        """
        path, found = folder / self.manifest, None
        with contextlib.suppress(DataError):
            found = read_json(path).get("format")
        if os.path.lexists(path) and found != self.format:
            raise DataError(
                f"{path} is there and is no {self.format}: choose another folder, or remove it."
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise DataError(
                f"{folder} cannot be a folder, a file is there: choose another."
            ) from None
        files = {name: folder / f"{name}-{uuid.uuid4().hex}.npy" for name in arrays}
        own = list(files.values())  # and then those that the save replaces

        def useless() -> list[Path]:
            """Return the arrays that the manifest, whichever it is now, does not name."""
            with contextlib.suppress(DataError):
                found = self._records(read_json(path), path) if os.path.lexists(path) else {}
                named = {record.file for record in found.values()}
                return [one for one in own if one.name not in named]
            return []  # it cannot be read: rather too many files than too few

        with removing(useless):
            document = {
                "format": self.format,
                "version": self.version,
                **fields,
                "arrays": {name: _write(files[name], arrays[name])._asdict() for name in arrays},
            }
            content = json.dumps(document, indent=1).encode()
            if len(content) > LARGEST_JSON:
                raise DataError(
                    f"the description of what is saved takes {len(content)} bytes, and "
                    f"{LARGEST_JSON} can be read back."
                )
            with locked(folder, seconds=_LOCK_SECONDS):  # or without one
                own += self._own_arrays(folder)
                with written_whole(path) as stream:
                    stream.write(content)

    def load(
        self, folder: Path, *, mapped_from: int, verify: bool = False
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the fields and the arrays of a folder.

        Files of at least `mapped_from` bytes are mapped into memory, read-only, and their digest
        is compared with `verify` only; smaller ones are read and always compared.
        """
        path, seen = folder / self.manifest, None
        for _ in range(_MOST_TRIES):
            try:
                document = read_json(path)
            except DataError as error:
                raise DataError(f"{folder} holds no {self.format}: {error}") from None
            records = self._records(document, path)
            try:
                arrays = {
                    name: _read(folder / record.file, record, mapped_from, verify)
                    for name, record in records.items()
                }
            except FileNotFoundError as error:
                if records == seen:
                    raise DataError(
                        f"{path} names {error.filename}, which is not there: save again."
                    ) from None
                seen = records  # somebody may have saved meanwhile
            else:
                return document, arrays
        raise DataError(f"{folder} is being saved to all the time: try again.")

    def _records(self, document: dict[str, Any], path: Path) -> dict[str, _ArrayRecord]:
        """Take out of a document what is no field, checked; return what it says of arrays."""
        found, version = document.pop("format", None), document.pop("version", None)
        if found != self.format or version != self.version or type(version) is not int:
            raise DataError(
                f"{path} must be a {self.format} of version {self.version}, got {found!r} of "
                f"version {version!r}."
            )
        arrays = document.pop("arrays", None)
        if not isinstance(arrays, dict):
            raise DataError(f"{path} does not list its arrays.")
        return {name: _record(value, path) for name, value in arrays.items()}

    def _own_arrays(self, folder: Path) -> list[Path]:
        """Return the arrays that the manifest of a folder names, those that are what it says.

        By size and header; none behind a link.
        """
        found = []
        with contextlib.suppress(DataError):
            for record in self._records(read_json(folder / self.manifest), folder).values():
                path = folder / record.file
                with contextlib.suppress(OSError, DataError), _opened(path, record):
                    if not path.is_symlink():
                        found.append(path)
        return found


class _ArrayRecord(NamedTuple):
    """What a manifest says of an array: name of its file, type, shape, digest of its data."""

    file: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str


def _record(value: Any, path: Path) -> _ArrayRecord:
    """Return a record whose every field has been checked: nothing else of a file is trusted."""
    fields = value if isinstance(value, dict) else {}
    file, dtype, shape, digest = (fields.get(k) for k in ("file", "dtype", "shape", "sha256"))
    if (
        isinstance(file, str)
        and _ARRAY_NAME.fullmatch(file)
        and dtype in _DTYPES
        and isinstance(shape, list)
        and 0 < len(shape) <= 3
        and all(type(size) is int and 0 <= size < _LARGEST_SIZE for size in shape)
        and isinstance(digest, str)
    ):
        return _ArrayRecord(file, dtype, tuple(shape), digest)
    raise DataError(f"{path} describes an array as {str(value)[:200]}, which none is.")


def _write(path: Path, parts: Sequence[np.ndarray]) -> _ArrayRecord:
    shape = (sum(len(part) for part in parts), *parts[0].shape[1:])
    dtype, digest = parts[0].dtype.newbyteorder("<"), hashlib.sha256()
    with path.open("xb") as stream:
        stream.write(npy_header(dtype, shape))
        for part in parts:
            step = max(1, _BLOCK_BYTES // max(1, part[:1].nbytes))
            for start in range(0, len(part), step):
                block = np.ascontiguousarray(part[start : start + step], dtype=dtype).data
                digest.update(block)
                stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
    return _ArrayRecord(path.name, dtype.str, shape, digest.hexdigest())


def _read(path: Path, record: _ArrayRecord, mapped_from: int, verify: bool) -> np.ndarray:
    try:
        with _opened(path, record) as stream:
            start, n = stream.tell(), math.prod(record.shape)
            mapped = n > 0 and os.fstat(stream.fileno()).st_size >= mapped_from
            if mapped:
                array = np.memmap(stream, record.dtype, "r", start, record.shape)
            else:
                array = np.fromfile(stream, record.dtype, n).reshape(record.shape)
    except (FileNotFoundError, DataError):
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    if mapped and not verify:
        return array
    if hashlib.sha256(np.ascontiguousarray(array).data).hexdigest() != record.sha256:
        raise DataError(f"{path} is damaged, its digest has changed: save again.")
    return array


@contextmanager
def _opened(path: Path, record: _ArrayRecord) -> Iterator[BinaryIO]:
    """Open the file of a record behind its header, if its size and header are as recorded."""
    dtype = np.dtype(record.dtype)
    header = npy_header(dtype, record.shape)
    n_bytes = len(header) + math.prod(record.shape) * dtype.itemsize
    with open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_size != n_bytes or stream.read(len(header)) != header:
            raise DataError(
                f"{path} is not the {dtype} {record.shape} that was saved: the file was changed "
                "or cut short; save again."
            )
        yield stream


class FolderLock(NamedTuple):
    """What became of a lock: whether it is held, and by nobody else; `share` lets others in."""

    held: bool = True
    alone: bool = True
    share: Callable[[], None] = lambda: None


@contextmanager
def locked(folder: Path, *, shared: bool = False, seconds: float = 0.0) -> Iterator[FolderLock]:
    """Lock a folder, for which it may take some seconds, as long as the context lasts.

    One that others share will do if `shared`. Where a system or a disk knows no locks it counts as
    held, alone.
    """
    try:
        import fcntl
    except ImportError:  # not on this system
        yield FolderLock()
        return
    opened = os.open(folder, os.O_RDONLY)

    def got(mode: int) -> bool:
        try:
            fcntl.flock(opened, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # some network disks know no locks
            return True
        # Who held it before may have removed the folder meanwhile.
        return folder.exists() and os.path.samestat(os.fstat(opened), folder.stat())

    def share() -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_SH)

    try:
        end = time.monotonic() + seconds
        while True:
            alone = got(fcntl.LOCK_EX)
            held = alone or (shared and got(fcntl.LOCK_SH))
            if held or time.monotonic() >= end:
                break
            time.sleep(0.005)
        yield FolderLock(held, alone, share)
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_UN)  # also for copies that a forked child has
        os.close(opened)
