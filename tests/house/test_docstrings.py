"""Every public object has a docstring that says what goes in and what comes out."""

import importlib.util
import re
from pathlib import Path

import pytest

import primal

for _package in ("numpydoc", "sklearn", "torch", "gpytorch", "pyarrow", "torchhd", "onnx"):
    if importlib.util.find_spec(_package) is None:
        pytest.skip("the whole public surface needs every host", allow_module_level=True)


@pytest.fixture(scope="module")
def check():
    path = Path(__file__).parents[2] / "tools" / "check_docstrings.py"
    spec = importlib.util.spec_from_file_location("check_docstrings", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_missing(check):
    objects = check.public_objects()
    assert [line for path, value in objects.items() for line in check.missing(path, value)] == []


@pytest.mark.parametrize(
    ("section", "lost"), [("Parameters", "not documented"), ("Returns", "No Returns section")]
)
def test_a_section_that_goes_is_missed(check, monkeypatch, section, lost):
    rest = re.sub(rf"{section}\n.*?\n\n", "", primal.primes.__doc__, flags=re.DOTALL)
    monkeypatch.setattr(primal.primes, "__doc__", rest)
    assert any(lost in line for line in check.missing("primal.primes", primal.primes))
