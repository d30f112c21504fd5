"""Arrays of other libraries at the edge: a PyTorch tensor in, a PyTorch tensor out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import raised_as
from primal.errors import DataError

__all__ = ["numpy_and_back"]


def numpy_and_back(X: Any) -> tuple[Any, Callable[[np.ndarray], Any]]:
    """Return X as something NumPy knows, and the function that takes results back.

    Tensors and other arrays of the array API come back in their own library and on their own
    device, having passed through the memory of the host. What NumPy or pandas made is left
    alone.

    Raises
    ------
    DataError
        If a tensor requires a gradient, which would be lost.
    """
    # Whoever passes a tensor has imported torch; nobody else should pay for it.
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        if X.requires_grad:
            raise DataError(
                "X requires a gradient, which these features do not carry: pass X.detach(), or "
                "use primal.torch inside of a network."
            )
        with raised_as(DataError, "X is a tensor that NumPy cannot hold"):
            array = X.cpu().numpy()
        return array, lambda Z: torch.from_numpy(Z).to(X.device)
    if isinstance(X, (np.ndarray, np.generic)) or not hasattr(X, "__array_namespace__"):
        return X, lambda Z: Z
    namespace = X.__array_namespace__()
    return np.from_dlpack(X), lambda Z: namespace.asarray(Z, device=X.device)
