"""Input of estimators: scikit-learn's checks and before them ours, tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import validation

from primal._checks import raised_as, refuse_lost_values
from primal.errors import DataError, PrimalError


@contextmanager
def checked_by_host(name: str) -> Iterator[None]:
    """Raise what scikit-learn refuses as a DataError, or a TypeError as it asks, that names it."""
    try:
        with raised_as(DataError, name, keep=(PrimalError, TypeError)):
            yield
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error


def validate_data(estimator: Any, X: Any, *arguments: Any, **options: Any) -> Any:
    """Like scikit-learn's function of this name; masked values and rounded integers are refused.

    It would take the values under a mask, and round integers beyond 2**53.
    """
    # Integers stay what they are for estimators of positions and of names.
    as_floats = options.get("dtype", "numeric") not in ("numeric", None)
    with checked_by_host("X and y" if arguments else "X"):
        refuse_lost_values("X", X, as_floats=as_floats)
        return validation.validate_data(  # type: ignore[missing-attribute]  # since 1.6
            estimator, X, *arguments, **options
        )


def numpy_and_back(X: Any) -> tuple[Any, Callable[[np.ndarray], Any]]:
    """Return X as something NumPy knows, and the function that takes results back.

    Tensors and other arrays of the array API come back in their own library and on their own
    device, having passed through the memory of the host. What NumPy or pandas made stays.
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
