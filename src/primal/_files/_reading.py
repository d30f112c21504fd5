"""Files read with suspicion: regular ones only, of a size and a depth that were expected.

A damaged or crafted file ends in :class:`DataError`; it neither blocks, nor takes much memory,
nor runs anything.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from primal.errors import DataError

# JSON of this size takes less than 200 MB once it is read, whatever is in it.
LARGEST_JSON = 1 << 23
# An empty list takes 3 bytes as JSON and 64 in memory. What is saved has fewer, and larger ones.
_BYTES_PER_LIST = 8


@contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a folder, pipe or device is rejected without a wait."""
    # Without O_NONBLOCK opening a pipe waits until somebody writes to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DataError(f"{path} is not a regular file.")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(descriptor)


def read_json(path: Path, *, most_bytes: int = LARGEST_JSON) -> dict[str, Any]:
    """Return the JSON object in a regular file of at most `most_bytes`."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            content = stream.read(most_bytes + 1) if size <= most_bytes else b""
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    if size > most_bytes:
        raise DataError(f"{path} has {size} bytes, and may have {most_bytes}.")
    found = parsed_json(content, str(path), most_bytes=most_bytes)
    if not isinstance(found, dict):
        raise DataError(f"{path} must hold a JSON object, got {type(found).__name__}.")
    return found


def parsed_json(
    content: bytes,
    name: str,
    *,
    most_bytes: int = LARGEST_JSON,
    most_depth: int = 32,
    most_lists: int | None = None,
) -> Any:
    """Return the value of JSON in UTF-8; `name` says in messages where it is from.

    It may have `most_lists` lists and objects, by default 1024 and one more for every 8 bytes,
    and `most_depth` of them within each other.
    """
    if len(content) > most_bytes:
        raise DataError(f"{name} has {len(content)} bytes, and may have {most_bytes}.")
    if most_lists is None:
        most_lists = 1024 + len(content) // _BYTES_PER_LIST
    if content.count(b"[") + content.count(b"{") > min(most_depth, most_lists):
        n_lists, depth = _nesting(content)
        if n_lists > most_lists or depth > most_depth:
            raise DataError(
                f"{name} has {n_lists} lists and objects, {depth} within each other; it may have "
                f"{most_lists} and {most_depth}."
            )
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is not JSON: {error}.") from None


def _nesting(content: bytes) -> tuple[int, int]:
    """Return how many lists and objects JSON has, and how deep they are."""
    # Every second piece between quotation marks is text, once escaped ones are gone.
    plain = content.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    characters = np.frombuffer(b"".join(plain), dtype=np.uint8)
    brackets = characters[np.isin(characters, np.frombuffer(b"[]{}", dtype=np.uint8))]
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    depths = np.where(opening, 1, -1).cumsum()
    return int(opening.sum()), int(depths.max(initial=0))
