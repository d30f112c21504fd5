"""The C core: one shared library, its functions declared to ctypes, and which of its levels runs.

Every function exists once for each instruction-set level, with the level at the end of its name.
Arrays are passed by address and are C-contiguous; no Python object enters C, outputs belong to the
caller, and ctypes releases the interpreter lock during a call.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import c_double as _F64
from ctypes import c_int64 as _I64
from ctypes import c_uint64 as _U64
from ctypes import c_void_p as _P
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__: list[str] = []

_SUFFIX = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
# The dot keeps Python from taking it for a module.
PATH = Path(__file__).with_name(f"primal.core.{_SUFFIX}")

# The arguments of every function; all return a status, 0 or 1 for no memory.
_FUNCTIONS = {
    "static32": (_P, _P, _I64, _P, _P),
    "static64": (_P, _P, _I64, _P, _P),
    "turns32": (_P, _I64, _P, _P),
    "turns64": (_P, _I64, _P, _P),
    "sums32": (_P, _I64, _I64, _I64, _P),
    "sums64": (_P, _I64, _I64, _I64, _P),
    "table32": (_P, _P, _I64, _P, _I64, _P, _P),
    "table64": (_P, _I64, _P, _P, _P),
    "hadamard32": (_P, _I64, _I64, _P, _P, _P),
    "hadamard64": (_P, _I64, _P, _P, _P),
    "adjoint": (_P, _I64, _I64, _P, _P, _P),
    "reduce_rows": (_P, _P, _P, _I64, _F64, _I64, _I64, _P),
    "nearest_plane": (_P, _P, _I64, _I64, _I64, _I64, _P, _P),
    "closest_points": (_P, _P, _P, _I64, _I64, _I64, _I64, _P, _P, _P),
    "short_vectors": (_P, _F64, _I64, _I64, _I64, _P, _P),
    "add_real_products": (_P, _P, _I64, _I64, _I64, _P),
    "add_word_products": (_P, _P, _I64, _I64, _I64, _P),
    "vectors_rotate": (_P, _I64, _I64, _I64, _I64, _P, _P, _I64, _P, _P, _P, _P),
    "vectors_code": (_P, _P, _P, _I64, _I64, _F64, _I64, _P, _P),
    "vectors_nearest": (_P, _P, _P, _I64, _I64, _I64, _P, _P, _I64, _I64, _I64, _P, _P),
}


class Finish(ctypes.Structure):
    """``primal_finish`` of write.h."""

    _fields_ = (
        ("block", _I64),
        ("k", _I64),
        ("pairs", _I64),
        ("amplitudes", _P),
        ("offsets", _P),
    )


class Table(ctypes.Structure):
    """``primal_table`` of products.c."""

    _fields_ = (
        ("d", _I64),
        ("k", _I64),
        ("panels", _P),
        ("rests", _P),
        ("errors", _P),
        ("mantissas", _P),
        ("exponents", _P),
        ("largest_error", _F64),
    )


class Hadamard(ctypes.Structure):
    """``primal_hadamard`` of hadamard.h."""

    _fields_ = (
        ("d", _I64),
        ("m", _I64),
        ("n_blocks", _I64),
        ("skip", _I64),
        ("k", _I64),
        ("whole", _U64),
        ("power", _I64),
        ("signs", _P),
        ("factors", _P),
    )


class Core:
    """The functions of one level, by their names without it."""

    def __init__(self, library: ctypes.CDLL, level: str) -> None:
        self.level = level
        self._functions: dict[str, Callable[..., int]] = {}
        for name, arguments in _FUNCTIONS.items():
            function = library[f"primal_{name}_{level}"]
            function.argtypes, function.restype = arguments, ctypes.c_int
            self._functions[name] = function

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call a function; arrays are passed by `address`, structures by `ctypes.byref`."""
        if self._functions[name](*arguments):
            raise MemoryError(f"no memory for the scratch arrays of {name}")


def address(array: np.ndarray) -> int:
    """Return the address of the first element of an array."""
    return array.__array_interface__["data"][0]


@cache
def _loaded(path: Path = PATH) -> tuple[dict[str, Core], str]:
    """Return the levels that run here, best first, and why there are none."""
    try:
        _require_whole(path)
        library = ctypes.CDLL(os.fspath(path))
        library.primal_levels.restype = ctypes.c_char_p
        levels = library.primal_levels().decode().split()
        return {level: Core(library, level) for level in levels}, ""
    except (OSError, AttributeError, ValueError) as error:
        return {}, " ".join(str(error).split())


def _require_whole(path: Path) -> None:
    """Raise an OSError for a truncated file: Linux would map it and stop the process later."""
    if not path.is_file():
        raise OSError(f"{path.name} was not built")
    with path.open("rb") as file:
        head, size = file.read(64), path.stat().st_size
    # Section headers are the end of an ELF file.
    start, width, count = (head[40:48], head[58:60], head[60:62])
    number = int.from_bytes
    if head[:4] == b"\x7fELF" and (
        number(start, "little") + number(width, "little") * number(count, "little") > size
    ):
        raise OSError(f"{path.name} is truncated")


def levels() -> tuple[str, ...]:
    """Return the names of the levels that run here, best first; none without the library."""
    return tuple(_loaded()[0])


def core(level: str | None = None) -> Core | None:
    """Return a level, by default the best one; None if the library cannot be used."""
    found = _loaded()[0]
    return found[level] if level else next(iter(found.values()), None)


def reason() -> str:
    """Return why the library cannot be used, or nothing."""
    return _loaded()[1]
