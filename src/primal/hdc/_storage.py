"""Memories on disk: a spec in JSON and arrays beside it, in one folder, replaced as a whole."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primal._checks import file_path, raised_as
from primal._errors import DataError, MissingPackageError
from primal._files import FolderFormat, parsed_json

__all__ = ["check_array", "damaged_as_data_error", "item_bytes", "items_of", "load", "save"]

_FORMAT = FolderFormat("memory.json", "primal memory", 1)
# Arrays larger than this are mapped into memory instead of being read.
_LARGEST_READ = 1 << 26
_LINES = 4096


def save(path: Any, spec: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a spec and arrays into the folder `path`, replacing a memory that is there."""
    _FORMAT.save(file_path("path", path), spec, {name: [array] for name, array in arrays.items()})


def load(path: Any, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the spec and the arrays of a folder; large arrays are mapped, read-only.

    Raises
    ------
    DataError
        If there is no memory of this kind and version.
    """
    spec, arrays = _FORMAT.load(file_path("path", path), mapped_from=_LARGEST_READ)
    if spec.get("memory") != kind:
        raise DataError(
            f"{os.fspath(path)!r} must hold a memory of kind {kind!r}, got {spec.get('memory')!r}."
        )
    return spec, arrays


@contextmanager
def damaged_as_data_error(path: Any) -> Iterator[None]:
    """Raise whatever wrong fields of a saved memory raise as DataError."""
    what = f"the memory in {os.fspath(path)!r} is damaged"
    with raised_as(DataError, what, keep=(DataError, MissingPackageError)):
        yield


def check_array(array: np.ndarray, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a folder if it is what its spec asks for."""
    if array.dtype != dtype or array.shape != shape:
        raise DataError(
            f"the spec asks for {np.dtype(dtype)} {shape}, the file holds {array.dtype} "
            f"{array.shape}."
        )
    return array


def item_bytes(items: Sequence[Any]) -> np.ndarray:
    """Return items as bytes to be saved: a line of JSON for each.

    Raises
    ------
    DataError
        If an item is no name, number, None or list of these.
    """
    try:
        lines = [json.dumps(item, default=_plain) for item in items]
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"items are saved as names, numbers or lists of numbers: {error}."
        ) from None
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


def items_of(saved: np.ndarray, n: int) -> list[Any]:
    """Return the n items that :func:`item_bytes` has turned into bytes."""
    items: list[Any] = []
    lines = iter(saved.tobytes().split(b"\n") if saved.size else [])
    while some := list(itertools.islice(lines, _LINES)):
        content = b"[" + b",".join(some) + b"]"
        items += parsed_json(
            content, "items", most_bytes=len(content), most_depth=2, most_lists=len(some) + 1
        )
    if len(items) != n or saved.ndim != 1 or saved.dtype != np.uint8:
        raise DataError(f"the spec asks for {n} items, the file holds {len(items)}.")
    return items


def _plain(value: Any) -> Any:
    """Return what NumPy holds as Python's own; json calls this for what it does not know."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"got {value!r} of type {type(value).__name__}")
