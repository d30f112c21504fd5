"""Where parts are made: this process, or a Ray cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import one_of
from primal.errors import EngineError, ParameterError
from primal.pipeline._recipe import FLOATS, Recipe


@dataclass(frozen=True)
class Local:
    """Threads of this process.

    Attributes
    ----------
    layer : torch.nn.Module, optional
        Makes the float features in place of the map: one of ``primal.torch`` with the arguments of
        the map and ``dtype=torch.float32``. Exact layers make the same bits.
    device : str, default="cpu"
        To which `layer` is moved.

    Examples
    --------
    >>> from primal import pipeline
    >>> pipeline.Local()
    Local(layer=None, device='cpu')
    """

    layer: Any = None
    device: str = "cpu"


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

    @property
    def device(self) -> str:
        return "cuda" if self.num_gpus else "cpu"


def checked_engine(engine: object, m: Any, stored: str) -> Local | Ray:
    """Return an engine, given by its name or as it is, whose layer makes what the map makes."""
    if not isinstance(engine, (Local, Ray)):
        engine = Ray() if one_of("engine", engine, ("local", "ray")) == "ray" else Local()
    gpus = engine.num_gpus if isinstance(engine, Ray) else 0
    if not isinstance(gpus, (int, float)) or not 0 <= gpus < math.inf:
        raise ParameterError(f"num_gpus of engine must be a number, 0 or more, got {gpus!r}.")
    if gpus and engine.layer is None:
        raise ParameterError(
            "num_gpus is for workers with a layer: pass Ray(layer=..., num_gpus=1)."
        )
    if engine.layer is not None:
        if not (callable(engine.layer) and hasattr(engine.layer, "to")):
            raise ParameterError(f"layer of engine must be a PyTorch layer, got {engine.layer!r}.")
        if stored not in FLOATS:
            raise ParameterError(f"a layer makes floats, not {stored!r}: leave it out.")
        x, recipe = np.linspace(-1.0, 1.0, m.d)[None], Recipe(m, "float32", (), (), "raise", 1)
        device = engine.device if isinstance(engine, Local) else "cpu"
        if np.abs(recipe.codes(x, engine.layer, device) - m.encode(x)).max() > 1e-3:
            raise EngineError(
                "the layer makes other features than m: give both the same arguments."
            )
    return engine
