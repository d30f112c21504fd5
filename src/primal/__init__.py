"""Primal: deterministic features and codes from the square roots of primes.

Importing this package loads NumPy and nothing heavier. Public names and subpackages
(``primal.torch``, ``primal.sklearn``, ``primal.hdc`` and the like) are attributes that are imported
on first use.
"""

import importlib as _importlib
import importlib.util as _importlib_util
import pkgutil as _pkgutil
from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _numpy  # noqa: F401  # the one import that every subpackage needs

if _TYPE_CHECKING:
    from primal._specs import from_spec
    from primal.codebooks import codebook
    from primal.decoding import Box, Gaussian, Integers
    from primal.errors import NumericalWarning, PrimalError
    from primal.exact import Basis, increments, primes
    from primal.maps import DynamicPrime, KernelPrime, StaticPrime, choose_sigma

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
    "choose_sigma",
    "codebook",
    "from_spec",
    "increments",
    "primes",
]

__version__ = "0.1.0"

# The subpackage or module of each public name.
_HOMES = {
    **dict.fromkeys(("Basis", "increments", "primes"), "exact"),
    **dict.fromkeys(("Box", "Gaussian", "Integers"), "decoding"),
    **dict.fromkeys(("DynamicPrime", "KernelPrime", "StaticPrime", "choose_sigma"), "maps"),
    **dict.fromkeys(("NumericalWarning", "PrimalError"), "errors"),
    "codebook": "codebooks",
    "from_spec": "_specs",
}
# Subpackages that need an optional package; the others work with NumPy alone.
_NEEDED = {"arrow": "pyarrow", "sklearn": "sklearn", "torch": "torch"}


def __getattr__(name: str) -> object:
    """Import a public name or a subpackage on first use."""
    if name in _HOMES:
        found = getattr(_importlib.import_module(f"primal.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    is_subpackage = name.isidentifier() and not name.startswith("_")
    if is_subpackage and _importlib_util.find_spec(f"primal.{name}") is not None:
        return _importlib.import_module(f"primal.{name}")
    raise AttributeError(f"module 'primal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, and the subpackages that can be imported here."""
    found = {module.name for module in _pkgutil.iter_modules(__path__)}
    unusable = {name for name, package in _NEEDED.items() if not _importlib_util.find_spec(package)}
    return sorted({*globals(), *__all__, *(name for name in found - unusable if name[0] != "_")})
