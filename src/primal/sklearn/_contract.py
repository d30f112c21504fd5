"""Input of estimators: scikit-learn's checks, and before them ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import validation

from primal._checks import raised_as, refuse_lost_values
from primal.errors import DataError, PrimalError

__all__ = ["checked_by_host", "validate_data"]


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
