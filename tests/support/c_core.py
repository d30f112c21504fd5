"""What tests need of the C core."""

import pytest

from primal import native


def require_core() -> None:
    """Skip a test that takes minutes without the C core."""
    if native.core() is None:
        pytest.skip(f"the C core cannot be loaded: {native.reason()}")
