"""Primal: deterministic features and codes from the square roots of primes.

Importing this package loads NumPy and nothing heavier. The rooms, ``primal.torch``,
``primal.sklearn``, ``primal.hdc`` and the like, are attributes that are imported on first use.
"""

import importlib as _importlib
import importlib.util as _importlib_util
import pkgutil as _pkgutil
import sys as _sys
from types import ModuleType as _ModuleType

from primal._errors import ConditioningWarning as ConditioningWarning
from primal._errors import DataError as DataError
from primal._errors import DimensionError as DimensionError
from primal._errors import EngineError as EngineError
from primal._errors import MemoryLimitError as MemoryLimitError
from primal._errors import MisfitWarning as MisfitWarning
from primal._errors import MissingPackageError as MissingPackageError
from primal._errors import NotInvertibleError as NotInvertibleError
from primal._errors import NumericalWarning as NumericalWarning
from primal._errors import OptionError as OptionError
from primal._errors import PhaseRangeError as PhaseRangeError
from primal._errors import PhaseWrapWarning as PhaseWrapWarning
from primal._errors import PositionError as PositionError
from primal._errors import PrimalError as PrimalError
from primal._errors import SigmaError as SigmaError
from primal._errors import SpecError as SpecError
from primal._primes import primes as primes
from primal._specs import from_spec as from_spec
from primal.bases import Basis as Basis
from primal.bases import equal_bandwidth as equal_bandwidth
from primal.codebooks import Certificate as Certificate
from primal.codebooks import Codebook as Codebook
from primal.codebooks import bounds as bounds
from primal.codebooks import capacity as capacity
from primal.codebooks import codebook as codebook
from primal.codebooks import predict_coherence as predict_coherence
from primal.decoding import Box as Box
from primal.decoding import Gaussian as Gaussian
from primal.decoding import Integers as Integers
from primal.decoding import Regime as Regime
from primal.decoding import decode_exact as decode_exact
from primal.maps import DynamicPrime as DynamicPrime
from primal.maps import StaticPrime as StaticPrime
from primal.turns import increments as increments

__version__ = "0.1.0"

# Like os.path: one module under two names, so that ``import primal.bounds`` works too.
_sys.modules["primal.bounds"] = bounds

# Rooms that need an optional package; the others work with NumPy alone.
_NEEDED = {"pipeline": "pyarrow", "sklearn": "sklearn", "torch": "torch"}


def __getattr__(name: str) -> _ModuleType:
    """Import a room on first use."""
    if not name.startswith("_") and _importlib_util.find_spec(f"primal.{name}") is not None:
        return _importlib.import_module(f"primal.{name}")
    raise AttributeError(f"module 'primal' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the public surface, and of the rooms that can be imported here."""
    rooms = {found.name for found in _pkgutil.iter_modules(__path__)}
    unusable = {room for room, package in _NEEDED.items() if not _importlib_util.find_spec(package)}
    return sorted(set(globals()) | {room for room in rooms - unusable if room[0] != "_"})
