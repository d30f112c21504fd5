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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    with drafted() as draft:
        with draft.open(path, durable=durable) as stream:
            yield stream
        draft.commit()


def npy_header(dtype: np.dtype, shape: Sequence[int]) -> bytes:
    """Return the first bytes of a ``.npy`` file, version 1.0, in C order and little-endian.

    NumPy pads its own header differently from version to version; this one depends on its
    arguments alone, so that a reader can compare it instead of parsing it.
    """
    sizes = f"({', '.join(str(int(size)) for size in shape)}{',' if len(shape) == 1 else ''})"
    descr = dtype.newbyteorder("<").str
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {sizes}, }}"
    n_bytes = -(-(10 + len(text) + 1) // 64) * 64 - 10
    return (
        b"\x93NUMPY\x01\x00"
        + n_bytes.to_bytes(2, "little")
        + text.encode("ascii").ljust(n_bytes - 1)
        + b"\n"
    )


@dataclass(eq=False)
class Draft:
    """Files of one save: all of them appear, or none does.

    They get their names in the order in which they were opened, and the last one decides. Until
    it is in place the save has not happened and `settle` removes everything that was written;
    from then on `settle` removes what the save has replaced.
    """

    _process: int = field(default_factory=os.getpid)
    _moves: list[tuple[Path, Path]] = field(default_factory=list)
    _replaced: Sequence[Path] = ()
    _durable: bool = False
    _deciding: bool = False

    @contextmanager
    def open(self, path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
        """Open a file that `commit` will put in its place."""
        place = Path(os.path.realpath(path))
        mode = None
        with contextlib.suppress(FileNotFoundError):
            mode = place.lstat().st_mode
        if mode is not None and not stat.S_ISREG(mode):
            raise ParameterError(f"{place} is not a regular file: choose another name.")
        part = place.with_name(f".primal-{uuid.uuid4().hex}.part")
        self._moves.append((part, place))
        self._durable |= durable
        with part.open("xb") as stream:
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())

    def commit(self, replaced: Sequence[Path] = ()) -> None:
        """Give every file its name; `replaced` are files of ours that are then of no use."""
        *fresh, (part, place) = self._moves
        self._replaced = replaced
        for one, its_place in fresh:
            one.replace(its_place)
        self._deciding = True
        part.replace(place)
        if self._durable:
            with contextlib.suppress(OSError):  # not every system can open folders
                opened = os.open(place.parent, os.O_RDONLY)
                try:
                    os.fsync(opened)
                finally:
                    os.close(opened)

    def settle(self) -> None:
        """Remove what is of no use: the old files after the save, the new ones before it."""
        if self._process != os.getpid():  # a forked child has its parent's drafts too
            return
        if self._deciding and not self._moves[-1][0].exists():
            useless = list(self._replaced)
        else:
            useless = [part for part, _ in self._moves]
            useless += [place for _, place in self._moves[:-1]]
        for path in useless:
            with contextlib.suppress(OSError):
                path.unlink()


_live: set[Draft] = set()


@contextmanager
def drafted() -> Iterator[Draft]:
    """Yield a draft that is settled at the end, whatever ends it.

    A signal that would end the process settles all drafts first; it ends it all the same. Handlers
    of the program are left alone, and Python allows one in the main thread only.
    """
    draft, ours = Draft(), []
    try:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING_SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    with contextlib.suppress(ValueError):  # another interpreter of this process
                        signal.signal(number, _settle_and_end)
                        ours.append(number)
        _live.add(draft)
        yield draft
    finally:
        try:
            draft.settle()
            _live.discard(draft)
        finally:
            for number in ours:
                if signal.getsignal(number) is _settle_and_end:
                    signal.signal(number, signal.SIG_DFL)


def _settle_and_end(number: int, frame: FrameType | None) -> None:
    for draft in list(_live):
        draft.settle()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
