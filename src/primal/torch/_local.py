"""Where tensors are: the device that was asked for, the part of a parameter on this rank."""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from primal._errors import EngineError

__all__ = ["checked_device", "local"]


def checked_device(device: object) -> torch.device | None:
    """Return a device on which this PyTorch can make a tensor, None for its default."""
    try:
        return None if device is None else torch.empty(0, device=device).device  # type: ignore[no-matching-overload]
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise EngineError(f"device {device!r} cannot be used here: {error}") from None


def local(tensor: Tensor) -> Tensor:
    """Return the tensor itself, or this rank's part of a DTensor.

    Every rank computes features of its own frequencies from a replicated parameter, so the
    gradients of the ranks add up.
    """
    # Whoever has a DTensor has imported its module; nobody else should pay for it.
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not isinstance(tensor, module.DTensor):
        return tensor
    partial = [
        module.Partial() if placement.is_replicate() else placement
        for placement in tensor.placements
    ]
    return tensor.to_local(grad_placements=partial)
