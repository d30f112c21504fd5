"""The one function of scikit-learn that the type checker's stubs do not know yet."""

from sklearn.utils.validation import (
    validate_data as validate_data,  # type: ignore[missing-module-attribute]  # since 1.6
)

__all__ = ["validate_data"]
