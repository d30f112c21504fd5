"""Every public object has a docstring that says what goes in and what comes out."""

import importlib.util
import re

import pytest
from tool_modules import tool_module

import primal

for _package in ("numpydoc", "sklearn", "torch", "gpytorch", "torchhd", "onnx"):
    if importlib.util.find_spec(_package) is None:
        pytest.skip("the whole public surface needs every host", allow_module_level=True)


@pytest.fixture(scope="module")
def check():
    return tool_module("check_docstrings")


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
