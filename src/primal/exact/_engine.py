"""The loops behind maps: NumPy, which defines the bits, and the C core, which repeats them.

The C core runs wherever its library was built. The environment variable ``PRIMAL_ENGINE``
(``auto``, ``numpy`` or ``native``) decides otherwise.
"""

import os
import warnings
from functools import cache

from primal import native
from primal.errors import EngineError
from primal.exact._native import native_engine
from primal.exact._reference import NumpyEngine

ENGINES = ("numpy", "native")
# Phases of a call that takes NumPy seconds where the C core takes a tenth of that.
_LARGE_WORK = 1 << 24


def installed_engines() -> tuple[str, ...]:
    """Return the names of the engines that can run here.

    Returns
    -------
    tuple of str
        Slowest first.

    Examples
    --------
    >>> from primal.exact import installed_engines
    >>> installed_engines()[0]
    'numpy'
    """
    return ENGINES if native.levels() else ENGINES[:1]


def engine(name: str | None = None, *, n_phases: int = 0) -> NumpyEngine:
    """Return an engine by name; by default the one of PRIMAL_ENGINE, or the fastest.

    Parameters
    ----------
    name : {"auto", "numpy", "native"}, optional
    n_phases : int, default=0
        Size of the job: without the C core the first large one warns.

    Returns
    -------
    NumpyEngine
        Or a subclass of it; the same object for the same name.

    Raises
    ------
    EngineError
        If the name is unknown, or the C core is requested and cannot be loaded.

    Examples
    --------
    >>> from primal.exact import engine
    >>> engine("numpy").name
    'numpy'
    """
    name = name or os.environ.get("PRIMAL_ENGINE") or "auto"
    if name not in (*ENGINES, "auto"):
        raise EngineError(
            f"engine must be one of auto, {', '.join(ENGINES)}, got {name!r}: "
            "check the environment variable PRIMAL_ENGINE."
        )
    if name == "numpy":
        return _NUMPY
    found = _native()
    if found is not None:
        return found
    if name == "native":
        raise EngineError(
            f"the C core cannot be loaded ({native.reason()}): install Primal from a wheel, or "
            "with a C compiler."
        )
    if n_phases >= _LARGE_WORK:
        _warn_without_core()
    return _NUMPY


def compiled_core() -> native.Core | None:
    """Return the C core, or None where it cannot be loaded or NumPy was asked for."""
    return native.core() if os.environ.get("PRIMAL_ENGINE") != "numpy" else None


_NUMPY = NumpyEngine()
_native = cache(native_engine)


@cache
def _warn_without_core() -> None:
    warnings.warn(
        f"the C core cannot be loaded ({native.reason()}), so NumPy computes the same bits, about "
        "20 times slower: install Primal from a wheel, or with a C compiler; PRIMAL_ENGINE=numpy "
        "accepts this.",
        RuntimeWarning,
        stacklevel=3,
    )
