"""The hot loops behind maps, and the choice between them.

``numpy`` is always there and defines the bits. ``numba`` is used when it is installed. The
environment variable ``PRIMAL_ENGINE`` (``auto``, ``numpy`` or ``numba``) decides otherwise.
"""

import importlib.util
import os
import sys
from functools import cache

from primal._extras import install_hint
from primal._forks import load_compiled
from primal.engines._hadamard import word_turns as word_turns
from primal.engines._numpy import LARGEST_UNSURE as LARGEST_UNSURE
from primal.engines._numpy import Finish as Finish
from primal.engines._numpy import NumpyEngine
from primal.engines._numpy import row_blocks as row_blocks
from primal.engines._numpy import wave_columns as wave_columns
from primal.engines._numpy import write_features as write_features
from primal.errors import EngineError

# The other names are for other subpackages.
__all__ = ["installed_engines"]

ENGINES = ("numpy", "numba")


def installed_engines() -> tuple[str, ...]:
    """Return the names of the engines that can run here.

    Returns
    -------
    tuple of str
        Slowest first.

    Examples
    --------
    >>> from primal.engines import installed_engines
    >>> installed_engines()[0]
    'numpy'
    """
    return ENGINES if _has_numba() else ENGINES[:1]


@cache
def _has_numba() -> bool:
    try:
        return importlib.util.find_spec("numba") is not None
    except ValueError:  # blocked in sys.modules
        return False


def engine(name: str | None = None, *, n_phases: int | None = None) -> NumpyEngine:
    """Return an engine by name; by default the one of PRIMAL_ENGINE, or the fastest.

    Parameters
    ----------
    name : {"auto", "numpy", "numba"}, optional
    n_phases : int, optional
        Size of the job. Loading Numba takes longer than NumPy takes for a few million
        phases, so a process starts with NumPy and changes over when its small jobs add up to
        that. The results do not depend on it: every engine makes the same bits.

    Returns
    -------
    NumpyEngine
        Or a subclass of it; the same object for the same name.

    Raises
    ------
    EngineError
        If the name is unknown or its package is not installed.

    Examples
    --------
    >>> from primal.engines import engine
    >>> engine("numpy").name
    'numpy'
    """
    if name is None or (isinstance(name, str) and not name):
        name = os.environ.get("PRIMAL_ENGINE") or "auto"
    if not isinstance(name, str) or name not in (*ENGINES, "auto"):
        raise EngineError(
            f"engine must be one of auto, {', '.join(ENGINES)}, got {name!r}: "
            "check the environment variable PRIMAL_ENGINE."
        )
    if name != "auto" and name not in installed_engines():
        raise EngineError(f"engine {name!r} is not installed: {install_hint(name)}.")
    if name == "auto":
        global _phases_so_far
        counts = n_phases is not None and "primal.engines._numba" not in sys.modules
        _phases_so_far += n_phases if counts and _phases_so_far <= _SMALL_WORK else 0
        small = counts and _phases_so_far <= _SMALL_WORK
        name = "numpy" if small else installed_engines()[-1]
    return _NUMPY if name == "numpy" else load_compiled("primal.engines._numba").ENGINE


_NUMPY = NumpyEngine()
# Phases that NumPy encodes in about a third of the time that Numba takes to load.
_SMALL_WORK = 1 << 21
_phases_so_far = 0
