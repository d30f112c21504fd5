"""The scripts of tools/ as modules, for tests of what they do."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def tool_module(name: str) -> ModuleType:
    """Load a script of tools/; skip the test where the repository is not there."""
    path = Path(__file__).parents[2] / "tools" / f"{name}.py"
    if not path.exists():
        pytest.skip("tools/ is not part of this installation")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
