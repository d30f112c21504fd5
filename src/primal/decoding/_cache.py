"""Reductions kept on disk, so that a plan is set up once.

An entry is named by a hash of everything that it depends on, written beside its place and then
renamed: a reader finds a whole entry or none. An entry that cannot be read, or does not hold a
unimodular transform, counts as absent. Since any unimodular transform gives right results, a
stale one could only be slow, never wrong.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from pathlib import Path

import numpy as np

from primal._files import written_whole

__all__ = ["cache_folder", "cache_key", "load", "store"]

# Part of every key. Raise it whenever the reduction or the choice of rows changes.
DECODER_VERSION = 1


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


def load(key: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the transform and its inverse transpose stored under a key, or None."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        content = io.BytesIO((folder / f"{key}.npz").read_bytes())
        with np.load(content, allow_pickle=False) as entry:
            u, v = entry["u"], entry["v"]
    except Exception:  # a damaged archive can raise almost anything; rebuilding is always right
        return None
    square = u.ndim == 2 and u.shape == v.shape == (len(u), len(u))
    if not square or u.dtype != np.int64 or v.dtype != np.int64:
        return None
    return (u, v) if np.array_equal(u @ v.T, np.eye(len(u), dtype=np.int64)) else None


def store(key: str, u: np.ndarray, v: np.ndarray) -> None:
    """Write an entry; a folder that cannot be written to is no error."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(folder / f"{key}.npz") as file:
            np.savez(file, u=u, v=v)
