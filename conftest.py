"""Settings of every test: hypothesis draws the same examples on every run.

Not in tests/: pytest would put that folder on the path, where tests/torch passes for PyTorch.
"""

import gc
import os

import pytest
from hypothesis import settings

# Two workers with two threads each only wait for one another on two processors. Set before
# NumPy and PyTorch are loaded, which read it once.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Collecting imports PyTorch, scikit-learn and all tests, and none of it is ever garbage: looking
# for some again and again took a third of the processor time of collecting.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# The shared test class is not named test_*.py; without this its asserts would say nothing.
pytest.register_assert_rewrite("engine_conformance", "positions_conformance")

settings.register_profile("reproducible", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("reproducible")
