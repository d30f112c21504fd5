"""Primal: deterministic features and codes from the square roots of primes.

Importing this package loads NumPy and nothing heavier. The rooms, ``primal.torch``,
``primal.sklearn``, ``primal.hdc`` and the like, are attributes that are imported on first use,
and so is ``codebook``.
"""

import importlib as _importlib
import importlib.util as _importlib_util
import pkgutil as _pkgutil
from typing import TYPE_CHECKING as _TYPE_CHECKING

from primal._specs import from_spec
from primal.bases import Basis
from primal.decoding import Box, Gaussian, Integers, decode_exact
from primal.errors import NumericalWarning, PrimalError
from primal.maps import DynamicPrime, KernelPrime, StaticPrime, choose_sigma
from primal.turns import increments, primes

if _TYPE_CHECKING:
    from primal.codebooks import bounds, codebook

__all__ = [
    "Basis",
    "Box",
    "DynamicPrime",
    "Gaussian",
    "Integers",
    "KernelPrime",
    "NumericalWarning",
    "PrimalError",
    "StaticPrime",
    "bounds",
    "choose_sigma",
    "codebook",
    "decode_exact",
    "from_spec",
    "increments",
    "primes",
]

__version__ = "0.1.0"

# Rooms that need an optional package; the others work with NumPy alone.
_NEEDED = {"arrow": "pyarrow", "sklearn": "sklearn", "torch": "torch"}


def __getattr__(name: str) -> object:
    """Import a room, or ``codebook``, on first use."""
    if name == "codebook":
        found = _importlib.import_module("primal.codebooks").codebook
        globals()[name] = found
        return found
    is_room = name.isidentifier() and not name.startswith("_")
    if is_room and _importlib_util.find_spec(f"primal.{name}") is not None:
        return _importlib.import_module(f"primal.{name}")
    raise AttributeError(f"module 'primal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the public surface, and of the rooms that can be imported here."""
    rooms = {found.name for found in _pkgutil.iter_modules(__path__)}
    unusable = {room for room, package in _NEEDED.items() if not _importlib_util.find_spec(package)}
    return sorted({*globals(), *__all__, *(r for r in rooms - unusable if r[0] != "_")})
