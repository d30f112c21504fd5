"""Memories on disk: a spec in JSON and arrays beside it, in one folder, replaced as a whole.

Arrays are written first, under names that nobody reads yet; the spec, which names them, replaces
the old one in a single step. Whoever loads meanwhile sees the old memory or the new one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from primal._errors import SpecError

__all__ = ["STORAGE_VERSION", "load_arrays", "save_arrays"]

STORAGE_VERSION = 1
_SPEC = "memory.json"
# Arrays larger than this are mapped into memory instead of being read.
_LARGEST_READ = 1 << 26


def save_arrays(path: Any, spec: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a spec and arrays into the folder `path`, replacing what was there in one step."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    names = {name: f"{name}-{uuid.uuid4().hex}.npy" for name in arrays}
    for name, array in arrays.items():
        np.save(folder / names[name], array, allow_pickle=False)
    document = {"storage_version": STORAGE_VERSION, **spec, "arrays": names}
    draft = folder / f"{_SPEC}-{uuid.uuid4().hex}"
    draft.write_text(json.dumps(document), encoding="utf-8")
    draft.replace(folder / _SPEC)
    for left in folder.glob("*.npy"):  # of the memory that was there before
        if left.name not in names.values():
            left.unlink(missing_ok=True)


def load_arrays(path: Any, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the spec and the arrays of a folder; large arrays are mapped, read-only.

    Raises
    ------
    SpecError
        If there is no memory of this kind and version.
    """
    folder = Path(path)
    try:
        document = json.loads((folder / _SPEC).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SpecError(
            f"{os.fspath(folder)!r} holds no saved memory ({error}): pass the folder that save "
            "wrote."
        ) from None
    version, found = document.pop("storage_version", None), document.get("memory")
    if version != STORAGE_VERSION or found != kind:
        raise SpecError(
            f"expected a memory of kind {kind!r} and version {STORAGE_VERSION}, got {found!r} "
            f"and {version!r}."
        )
    arrays = {}
    for name, file in document.pop("arrays").items():
        mapped = (folder / file).stat().st_size > _LARGEST_READ
        arrays[name] = np.load(folder / file, mmap_mode="r" if mapped else None)
    return document, arrays
