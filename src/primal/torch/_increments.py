"""Increments of positions, rebuilt from a key as tables of frequencies are (see ``_tables``)."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from primal._checks import one_of, positive_scale, whole_number
from primal.bases import BASIS_VERSION
from primal.errors import SpecError
from primal.torch._spacing import SPACINGS, spaced_increments
from primal.torch._tables import apart

__all__ = ["increment_tensor", "increments_key", "n_increments", "shared_increments"]

# Keys and devices whose increments are kept; a layer has a few kilobytes of them.
_N_KEPT = 64


def increments_key(
    k: int, spacing: str, *, sigma: float, start: int = 0, base: float = 10000.0
) -> str:
    """Return the key of the increments that :func:`spaced_increments` makes."""
    values = {
        "k": whole_number("k", k),
        "spacing": one_of("spacing", spacing, SPACINGS),
        "sigma": positive_scale("sigma", sigma),
        "start": whole_number("start", start),
        "base": positive_scale("base", base),
        "version": BASIS_VERSION,
    }
    return json.dumps(values)


@lru_cache(maxsize=_N_KEPT)
def shared_increments(key: str, device: torch.device) -> Tensor:
    """Return the increments of a key on a device, int64; nobody may write into them."""
    spec = json.loads(key)
    if spec.pop("version") != BASIS_VERSION:
        raise SpecError(f"a program was made with another version of primal: {key}. Make it again.")
    # A rank of several may have none.
    values = spaced_increments(**spec) if spec["k"] else np.empty(0, dtype=np.uint64)
    return apart(lambda: increment_tensor(values, device))


def n_increments(key: str) -> int:
    """Return how many increments a key stands for."""
    return json.loads(key)["k"]


def increment_tensor(increments: np.ndarray, device: torch.device | str | None = None) -> Tensor:
    """Return uint64 increments as the int64 tensor with the same bits."""
    return torch.from_numpy(increments.view(np.int64).copy()).to(device)
