"""Memories on disk: a spec in JSON and arrays beside it, in one folder, replaced as a whole."""

from __future__ import annotations

import itertools
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from primal._checks import file_path, raised_as
from primal._files import FolderFormat, parsed_json
from primal._specs import from_spec, make_spec, spec_fields
from primal.errors import DataError, MissingPackageError

_FORMAT = FolderFormat("memory.json", "primal memory", 1)
# Arrays larger than this are mapped into memory instead of being read.
_LARGEST_READ = 1 << 26
_LINES = 4096


class Described:
    """What its `__match_args__`, attributes and arguments of the constructor, make again."""

    __match_args__: tuple[str, ...] = ()
    _as_spec: ClassVar[tuple[str, ...]] = ()  # which of them a spec holds as specs only

    @property
    def spec(self) -> dict[str, Any]:
        """The JSON values from which :func:`primal.from_spec` makes something like this.

        With all items of an :class:`ItemMemory`, without pairs and sequences: `save` keeps those.
        """
        values = {name: _spec_value(getattr(self, name)) for name in self.__match_args__}
        return make_spec(type(self).__name__, **values)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        found = spec_fields(cls.__name__, fields, cls.__match_args__)
        parts = {n: v for n, v in found.items() if isinstance(v, Mapping) or n in cls._as_spec}
        return cls(**found | {name: from_spec(value) for name, value in parts.items()})


class Stored(Described, ABC):
    """A memory with a spec of what it is made of, and a folder for what it holds besides."""

    @abstractmethod
    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the fields and arrays to be saved."""

    @classmethod
    @abstractmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the memory of fields and arrays, which may be damaged."""

    def save(self, path: Any) -> None:
        """Write the memory into a folder, made if need be.

        A memory that is already there is replaced at one moment, other files are left alone.
        """
        fields, arrays = self._fields()
        fields = {"type": type(self).__name__, **fields}
        _FORMAT.save(
            file_path("path", path), fields, {name: [array] for name, array in arrays.items()}
        )

    @classmethod
    def load(cls, path: Any) -> Self:
        """Return the memory of a folder; large arrays are mapped, not read.

        Raises
        ------
        DataError
            If the folder holds no such memory, or a damaged one.
        """
        fields, arrays = _FORMAT.load(file_path("path", path), mapped_from=_LARGEST_READ)
        if fields.get("type") != cls.__name__:
            raise DataError(
                f"{os.fspath(path)!r} must hold a memory of type {cls.__name__!r}, got "
                f"{fields.get('type')!r}."
            )
        what = f"the memory in {os.fspath(path)!r} is damaged"
        with raised_as(DataError, what, keep=(DataError, MissingPackageError)):
            return cls._restored(fields, arrays)


def check_array(array: np.ndarray, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a folder if it is what its fields ask for."""
    if array.dtype != dtype or array.shape != shape:
        raise DataError(
            f"the spec asks for {np.dtype(dtype)} {shape}, the file holds {array.dtype} "
            f"{array.shape}."
        )
    return array


def item_bytes(items: Iterable[Any]) -> np.ndarray:
    """Return a line of JSON for each item: a name, a number, None or a list of these."""
    return np.frombuffer("\n".join(_item_lines(items)).encode(), dtype=np.uint8)


def _spec_value(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [json.loads(line) for line in _item_lines(value)]
    return value.spec if hasattr(value, "spec") else value


def _item_lines(items: Iterable[Any]) -> list[str]:
    try:
        return [json.dumps(item, default=_plain) for item in items]
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"items are saved as names, numbers or lists of numbers: {error}."
        ) from None


def items_of(saved: np.ndarray, n: int) -> list[Any]:
    """Return the n items whose lines were saved as bytes."""
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
