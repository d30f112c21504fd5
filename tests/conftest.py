"""Settings of every test: hypothesis draws the same examples on every run."""

import pytest
from hypothesis import settings

# The shared test class is not named test_*.py; without this its asserts would say nothing.
pytest.register_assert_rewrite("engine_conformance", "positions_conformance")

settings.register_profile("reproducible", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("reproducible")
