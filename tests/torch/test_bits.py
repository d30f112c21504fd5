"""Every PyTorch backend that can run here conforms, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from c_core import require_core

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from positions_conformance import PositionsConformance, RotaryConformance  # noqa: E402
from torch_conformance import TorchConformance  # noqa: E402

import primal.torch as pt  # noqa: E402
from primal.errors import EngineError  # noqa: E402

TESTS = Path(__file__).parents[1]


class TestEager(TorchConformance):
    open_rows = 20_000

    @pytest.fixture(autouse=True)
    def _eager(self, monkeypatch):
        monkeypatch.setenv("PRIMAL_TORCH", "eager")


class TestNumpyEngine(TorchConformance):
    @pytest.fixture(autouse=True)
    def _engine(self, monkeypatch):
        monkeypatch.setenv("PRIMAL_ENGINE", "numpy")


class TestNativeEngine(TorchConformance):
    open_rows = 20_000

    @pytest.fixture(autouse=True)
    def _engine(self, monkeypatch):
        require_core()
        monkeypatch.setenv("PRIMAL_ENGINE", "native")


class TestCompiled(TorchConformance):
    shapes = ((7, 3, 9), (33, 20, 17))
    kernel_sizes = (6,)
    bases = ("paper", "table", "hadamard")

    def call(self, layer, x):
        torch.compiler.reset()
        return torch.compile(layer, fullgraph=True, backend="aot_eager")(x)


class TestExported(TorchConformance):
    shapes = ((7, 3, 9),)
    kernel_sizes = (6,)
    bases = ("paper", "table", "hadamard")

    def call(self, layer, x):
        return torch.export.export(layer, (x,)).module()(x)

    def test_gradients_are_close_to_float64_ones(self):
        pytest.skip("exported programs are for inference")


class TestAutocast(TorchConformance):
    shapes = ((7, 3, 9), (33, 20, 17))
    kernel_sizes = (6,)
    bases = ("paper", "table", "hadamard")

    def call(self, layer, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x)


class TestVmap(TorchConformance):
    shapes = ((7, 3, 9), (33, 20, 17))
    kernel_sizes = (6,)
    bases = ("paper", "table", "hadamard")

    def call(self, layer, x):
        return torch.func.vmap(layer)(x)


def interpreted(*names: str) -> dict[str, str]:
    """Run conformance tests with Triton's interpreter, which is chosen at its import."""
    environment = os.environ | {"TRITON_INTERPRET": "1", "PRIMAL_TORCH": "triton"}
    command = [sys.executable, str(TESTS / "gpu" / "run.py"), "--interpret", *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)["checks"]


def names_of(*classes: type) -> list[str]:
    return [name for cls in classes for name in dir(cls) if name.startswith("test_")]


# Golden digests are of many features, for an interpreter: here the kernels have NumPy's bits, which
# have the digests, and on a GPU they have the digests themselves.
FEATURES = [name for name in names_of(TorchConformance) if name != "test_golden_digests"]
POSITIONS = names_of(PositionsConformance, RotaryConformance)
HADAMARD = [
    "test_words_are_those_of_the_definition",
    "test_rows_beyond_the_limit_have_no_features",
]


def test_triton_kernels_conform_in_the_interpreter():
    pytest.importorskip("triton", reason="Triton is not installed")
    names = FEATURES + HADAMARD + POSITIONS
    found = interpreted(*names)
    assert {name.partition(".")[2] for name in found} == set(names)
    assert {name: outcome for name, outcome in found.items() if outcome != "ok"} == {}


def test_the_environment_chooses_the_backend(monkeypatch):
    monkeypatch.setenv("PRIMAL_TORCH", "fortran")
    with pytest.raises(EngineError, match=r"auto, eager, triton, got 'fortran'"):
        pt.StaticPrime(4)(torch.tensor([1]))


def test_asking_for_missing_triton_says_so(monkeypatch):
    from primal.torch import _operators

    monkeypatch.setenv("PRIMAL_TORCH", "triton")
    monkeypatch.setattr(_operators, "_has_triton", lambda: False)
    with pytest.raises(EngineError, match="pip install triton"):
        pt.StaticPrime(4)(torch.tensor([1]))
