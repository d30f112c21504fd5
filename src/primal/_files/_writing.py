"""Files that are whole or not there.

A file is written under a name that nobody reads, ``.primal-<32 hex digits>.part``, and then given
its own name in one step. After an error, an interrupt or a signal that ends the process nothing of
it is left and an older file is as it was. Only a kill that cannot be caught leaves a part behind;
nobody reads it, and it can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import numpy as np

from primal.errors import ParameterError

_ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)


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
    part = place.with_name(f".primal-{uuid.uuid4().hex}.part")
    with removing(lambda: [part]):  # once it has its own name, nothing
        with part.open("xb") as stream:
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        part.replace(place)
        if durable:
            with contextlib.suppress(OSError):  # not every system can open folders
                opened = os.open(place.parent, os.O_RDONLY)
                try:
                    os.fsync(opened)
                finally:
                    os.close(opened)


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


_at_the_end: set[Callable[[], None]] = set()


@contextmanager
def removing(useless: Callable[[], Sequence[Path]]) -> Iterator[None]:
    """Remove the files that are `useless` when the context ends, whatever ends it.

    A signal that would end the process removes them first; it ends it all the same. Handlers of
    the program are left alone, and Python allows one in the main thread only.
    """
    process, ours = os.getpid(), []

    def remove() -> None:
        if process == os.getpid():  # not in a forked child: they are its parent's
            for path in useless():
                with contextlib.suppress(OSError):
                    path.unlink()

    try:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING_SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    with contextlib.suppress(ValueError):  # another interpreter of this process
                        signal.signal(number, _remove_and_end)
                        ours.append(number)
        _at_the_end.add(remove)
        yield
        remove()  # where an interrupt meets this, it is done again
    finally:
        try:
            remove()
            _at_the_end.discard(remove)
        finally:
            for number in ours:
                if signal.getsignal(number) is _remove_and_end:
                    signal.signal(number, signal.SIG_DFL)


def _remove_and_end(number: int, frame: FrameType | None) -> None:
    for remove in list(_at_the_end):
        remove()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
