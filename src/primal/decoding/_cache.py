"""Reductions kept on disk, so that a plan is set up once.

An entry is named by a hash of everything that it depends on; a reader finds a whole entry or none.
An entry that cannot be read, or does not hold a unimodular transform of the right size, counts as
absent. Since any unimodular transform gives right results, a stale one could only be slow, never
wrong.
"""

import contextlib
import hashlib
import json
import math
import os
from pathlib import Path

import numpy as np

from primal._files import npy_header, open_regular, written_whole
from primal.errors import ParameterError

# Part of every key. Raise it whenever the reduction or the choice of rows changes.
DECODER_VERSION = 4
# Of the transform and of its inverse transpose.
_BYTES_PER_ENTRY = 16


def cache_folder() -> Path | None:
    """Return the folder for reductions, or None when ``PRIMAL_CACHE_DIR`` is set but empty.

    It is ``PRIMAL_CACHE_DIR``, else ``primal`` in ``XDG_CACHE_HOME``, else ``~/.cache/primal``.
    """
    chosen = os.environ.get("PRIMAL_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) / "decoder" if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return root / "primal" / "decoder"


def cache_key(*parts: object) -> str:
    """Return a name made from the version and from all parts; floats count with all their bits."""
    text = json.dumps([DECODER_VERSION, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def load(key: str, least: int, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the transform of `least` to `most` rows stored under a key and its inverse transpose.

    None where there is none, or something else: the size of the file alone says how many rows it
    has to have, before anything of it is read.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with open_regular(folder / f"{key}.npy") as stream:
            size = os.fstat(stream.fileno()).st_size
            m = math.isqrt(max(0, size - len(_header(1))) // _BYTES_PER_ENTRY)
            header = _header(m)
            right_size = least <= m <= most and size == len(header) + _BYTES_PER_ENTRY * m * m
            if not right_size or stream.read(len(header)) != header:
                return None
            u, v = np.fromfile(stream, dtype="<i8", count=2 * m * m).reshape(2, m, m)
    except (OSError, ValueError):  # among them DataError, and a file that shrinks meanwhile
        return None
    u, v = u.astype(np.int64, copy=False), v.astype(np.int64, copy=False)
    return (u, v) if np.array_equal(u @ v.T, np.eye(m, dtype=np.int64)) else None


def store(key: str, u: np.ndarray, v: np.ndarray) -> None:
    """Write an entry; a folder that cannot be written to is no error."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError, ParameterError):  # the latter: something else is in the way
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(folder / f"{key}.npy", durable=False) as stream:
            stream.write(_header(len(u)))
            stream.write(np.stack([u, v]).astype("<i8").data)


def _header(m: int) -> bytes:
    return npy_header(np.dtype(np.int64), (2, m, m))
