"""Where parts are made: this process, or a Ray cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import one_of
from primal.errors import EngineError, ParameterError
from primal.pipeline._recipe import FLOATS, Recipe

__all__ = ["Local", "Ray", "checked_engine"]


@dataclass(frozen=True)
class Local:
    """Threads of this process.

    Attributes
    ----------
    layer : torch.nn.Module, optional
        Makes the float features in place of the map, for instance a layer of ``primal.torch`` with
        the same arguments on a GPU; exact layers make the same bits.

    Examples
    --------
    >>> from primal import pipeline
    >>> pipeline.Local()
    Local(layer=None)
    """

    layer: Any = None


@dataclass(frozen=True)
class Ray:
    """A Ray cluster, all of whose nodes see input and output at the same path.

    Attributes
    ----------
    address : str, optional
        Without it the cluster that ``RAY_ADDRESS`` names, or a new one on this machine.
    num_gpus : float, default=0
        GPUs of each worker, to which `layer` is then moved.
    layer : torch.nn.Module, optional
        As of :class:`Local`.

    Examples
    --------
    >>> from primal import pipeline
    >>> pipeline.Ray("10.0.0.1:6379").address
    '10.0.0.1:6379'
    """

    address: str | None = None
    num_gpus: float = 0.0
    layer: Any = None


def checked_engine(engine: object, m: Any, stored: str) -> Local | Ray:
    """Return an engine, given by its name or as it is.

    Raises
    ------
    ParameterError
        If it is none, or has a layer where nothing is stored that it could make.
    EngineError
        If the layer makes other features than the map.
    """
    if not isinstance(engine, (Local, Ray)):
        engine = Ray() if one_of("engine", engine, ("local", "ray")) == "ray" else Local()
    gpus = engine.num_gpus if isinstance(engine, Ray) else 0
    if not isinstance(gpus, (int, float)) or not 0 <= gpus < math.inf:
        raise ParameterError(f"num_gpus must be a number, 0 or more, got {gpus!r}.")
    if gpus and engine.layer is None:
        raise ParameterError("num_gpus is for workers with a layer: pass Ray(layer=..., num_gpus=1).")
    if engine.layer is not None:
        if stored not in FLOATS:
            raise ParameterError(f"a layer makes floats, not {stored!r}: leave it out.")
        x = np.linspace(-1.0, 1.0, m.d)[None]
        theirs, off = Recipe(m, "float32", (), (), "raise", 1).codes(x, engine.layer), 1e-3
        if np.abs(theirs - m.encode(x)).max() > off:
            raise EngineError("the layer makes other features than m: give both the same arguments.")
    return engine
