"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["written_whole"]


@contextmanager
def written_whole(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when it has been written to the end.

    It is written beside its place and then renamed. After an error or an interrupt nothing is
    left of it, and an older file of that name is as it was.

    Parameters
    ----------
    path : Path
        Its folder must exist.
    durable : bool, default=False
        Wait until the data are on the disk before the name changes.
    """
    owner = f"{os.getpid()}-{threading.get_ident()}"
    part = path.with_name(f".{path.name}.{owner}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:  # also an interrupt: leave nothing behind
        with contextlib.suppress(OSError):
            part.unlink()
        raise
