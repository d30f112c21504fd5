"""What one rank holds of a parameter that may be distributed."""

from __future__ import annotations

import sys

from torch import Tensor

__all__ = ["local"]


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
