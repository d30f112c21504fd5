"""Files that are whole or not there.

A file is written under a temporary name in its own folder, flushed to the disk and renamed in one
step: a reader finds the old file or the new one, and after an error nothing is left. A process that
is killed leaves its part behind. The next save of the same file removes it, because no process has
it locked; on a disk without locks it stays until a user deletes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from primal._files._reading import open_regular
from primal.errors import DataError, ParameterError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl: Any = None


@contextmanager
def written_whole(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when it has been written to the end.

    Its folder must exist; a link stays, and the file behind it is replaced. With `durable` the
    data are on the disk before the name changes; a cache need not wait for that.
    """
    place = Path(os.path.realpath(path))
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = place.lstat().st_mode
    if mode is not None and not stat.S_ISREG(mode):
        raise ParameterError(f"{place} is not a regular file: choose another name.")
    prefix = f".primal-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}-"
    for abandoned in place.parent.glob(f"{prefix}*.part"):
        _remove_abandoned(abandoned)
    part = place.with_name(f"{prefix}{uuid.uuid4().hex}.part")
    try:
        with _new_part(part) as stream:
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
            if fcntl is None:
                stream.close()  # Windows renames closed files only
            part.replace(place)  # while it is locked
        if durable:
            _flush_folder(place.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()  # once it has its own name, there is none


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise an OSError of writing a file as a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}): choose a folder that exists, "
            "may be written to and has room."
        ) from error


def npy_header(dtype: np.dtype, shape: Sequence[int]) -> bytes:
    """Return the first bytes of a ``.npy`` file, version 1.0, in C order and little-endian.

    NumPy pads its own header differently from version to version; this one depends on its
    arguments alone, so that a reader can compare it instead of parsing it.
    """
    sizes = f"({', '.join(str(int(size)) for size in shape)}{',' if len(shape) == 1 else ''})"
    descr = dtype.newbyteorder("<").str
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {sizes}, }}"
    n_bytes = -(-(10 + len(text) + 1) // 64) * 64 - 10
    head = b"\x93NUMPY\x01\x00" + n_bytes.to_bytes(2, "little")
    return head + text.encode("ascii").ljust(n_bytes - 1) + b"\n"


def _new_part(part: Path) -> BinaryIO:
    """Return a new file, locked as long as it is open."""
    while True:
        stream = part.open("xb")
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some network disks have no locks
                fcntl.flock(stream, fcntl.LOCK_EX)
        # Before the lock, another save of the same file may have taken it for an abandoned one.
        if part.exists():
            return stream
        stream.close()


def _remove_abandoned(part: Path) -> None:
    """Remove a part that no process is writing."""
    with contextlib.suppress(OSError, DataError):
        if fcntl is None:
            part.unlink()
            return
        with open_regular(part) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _flush_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system can open folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
