"""Input of estimators: scikit-learn's checks, and before them ours."""

from __future__ import annotations

from typing import Any

from sklearn.utils import validation

from primal._checks import refuse_lost_values

__all__ = ["validate_data"]


def validate_data(estimator: Any, X: Any, *arguments: Any, **options: Any) -> Any:
    """Like scikit-learn's function of this name; masked values and rounded integers are refused.

    It would take the values under a mask, and round integers beyond 2**53.
    """
    # Integers stay what they are for estimators of positions and of names.
    as_floats = options.get("dtype", "numeric") not in ("numeric", None)
    refuse_lost_values("X", X, as_floats=as_floats)
    return validation.validate_data(  # type: ignore[missing-attribute]  # since 1.6
        estimator, X, *arguments, **options
    )
