"""``import primal`` stays light, and rooms import from lower rooms only."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import primal
from primal import _extras
from primal._extras import install_hint, require

PACKAGE = Path(primal.__file__).parent
HEAVY = {
    *("scipy", "sklearn", "torch", "matplotlib"),
    *("click", "pandas", "pyarrow", "jinja2", "opendp"),
}
GROUND = {
    *("errors", "_checks", "_extras", "_files", "_forks", "_hash", "_lazy", "_parallel"),
    *("_specs", "_sums"),
}
LEAVES = {"sklearn", "torch", "arrow", "hdc", "edge", "privacy"}


def allowed_imports() -> dict[str, set[str]]:
    """The table of docs/architecture.md: from each room to those it may import."""
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    allowed: dict[str, set[str]] = {}
    for room, may in re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", page, flags=re.MULTILINE):
        if may.startswith("everything"):
            above = set(allowed) - LEAVES
            named = set(re.findall(r"`(\w+)`", may))
            allowed[room] = above | named | (LEAVES if "optional" in may else set())
        else:
            allowed[room] = set(re.findall(r"`(\w+)`", may))
    return allowed


ALLOWED = allowed_imports()


def loaded_by(statements: str) -> set[str]:
    """Heavy packages in a fresh interpreter; in this one pytest has loaded half of them."""
    code = f"import sys\n{statements}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()} & HEAVY


def test_importing_primal_loads_nothing_heavy():
    assert loaded_by("import primal") == set()
    assert loaded_by("import primal; [getattr(primal, name) for name in primal.__all__]") == set()


def test_public_names_are_imported_on_first_use():
    code = "import sys, primal; print(*(name for name in sys.modules if 'primal' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["primal"]


def test_importing_primal_loads_no_generators_of_random_numbers():
    # They take as long as a room; an annotation that is evaluated is enough to load them.
    code = (
        "import sys, numpy; a = set(sys.modules); import primal\n"
        "primal.DynamicPrime, primal.Box; print(*set(sys.modules) - a)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    assert "primal.decoding._priors" in found
    assert "numpy.random" not in found


def test_encoding_with_the_numpy_engine_loads_nothing_heavy():
    statements = """
import os
os.environ["PRIMAL_ENGINE"] = "numpy"
import primal
m = primal.DynamicPrime(2, 8, 0.05, basis="auto")
m.decode(m.encode([1.0, 2.0]))
primal.StaticPrime(8).encode(5)
"""
    assert loaded_by(statements) == set()


def test_the_check_for_heavy_packages_can_fail():
    assert loaded_by("import primal, click") == {"click"}
    assert "click" in loaded_by("import primal.cli")


def imported_modules(source: str, module: str) -> set[str]:
    """Full names of what a module of the package imports from the package."""
    package = module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "primal"}


def forbidden_imports(source: str, module: str) -> list[str]:
    """What a module imports from a room it may not enter, or not through the door."""
    own = module.split(".")[1]
    wrong = []
    for name in sorted(imported_modules(source, module)):
        path = name.split(".")
        room = path[1] if len(path) > 1 else ""
        if room == own or (own == "cli" and not room):  # commands may use the door itself
            continue
        if room in GROUND:
            inside = path[2:-1]
        elif own not in GROUND and room in ALLOWED[own]:
            # What follows the room is a name of its door, or a public module behind it.
            inside = path[2:]
        else:
            wrong.append(name)
            continue
        if any(part.startswith("_") for part in inside):
            wrong.append(name)
    return wrong


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).with_suffix("")
        if relative.as_posix() != "__init__":
            yield "primal." + ".".join(relative.parts)


@pytest.mark.parametrize("module", list(modules()))
def test_imports_point_downwards_and_through_doors(module):
    assert module.split(".")[1] in {*GROUND, *ALLOWED}, "docs/architecture.md lacks the room"
    path = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    assert forbidden_imports(path.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    "source",
    [
        "from primal.maps import DynamicPrime",
        "from primal.maps import kernel_matrix",
        "import primal.cli",
        "def later():\n    from primal.decoding import Regime",
        "from primal import DynamicPrime",
        "import primal",
        "from ..maps import DynamicPrime",
        "from primal import maps",
        "from primal.native._levels import levels",
        "from primal.native import _levels",
        "from ..turns._waves import waves",
        "from primal._files._writing import written_whole",
    ],
)
def test_the_check_of_imports_can_fail(source):
    assert len(forbidden_imports(source, "primal.exact._basis")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from primal._checks import one_of",
        "from primal.exact import waves",
        "from primal.exact import _roots",
        "from . import _roots",
        "import numpy as np",
        "from math import pi",
    ],
)
def test_downward_imports_are_allowed(source):
    assert forbidden_imports(source, "primal.exact._basis") == []


def test_no_leaf_may_import_a_leaf():
    assert set(ALLOWED) >= LEAVES
    allowed = {room: may & LEAVES for room, may in ALLOWED.items() if may & LEAVES}
    assert allowed == {"arrow": {"sklearn"}, "cli": LEAVES}


def test_the_door_has_few_names():
    assert len(primal.__all__) <= 25
    assert all(hasattr(primal, name) for name in primal.__all__)


@pytest.mark.parametrize("room", sorted({*ALLOWED} - {"_selftest", "cli"}))
def test_every_room_lists_its_names(room):
    if room == "torch":
        pytest.importorskip("torch")
    package = importlib.import_module(f"primal.{room}")
    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize(
    ("room", "package"),
    [
        ("torch", "torch"),
        ("torch.gp", "gpytorch"),
        ("sklearn", "sklearn"),
    ],
)
def test_a_room_without_its_package_says_how_to_install_it(room, package):
    if "." in room:  # a room within a room, whose package comes first
        pytest.importorskip(room.split(".")[0])
    statements = f"""
import sys
sys.modules[{package!r}] = None
import primal
try:
    import primal.{room}
except ImportError as error:
    print(isinstance(error, primal.errors.MissingPackageError), error)
"""
    done = subprocess.run([sys.executable, "-c", statements], capture_output=True, text=True)
    assert done.stdout.startswith("True"), done.stderr
    assert f"primal.{room} needs" in done.stdout
    assert f": {install_hint(package)}." in done.stdout


def test_a_package_that_cannot_be_imported_is_not_called_missing(monkeypatch, tmp_path):
    (tmp_path / "onnx.py").write_text("raise ImportError('compiled for another NumPy')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "onnx", raising=False)
    with pytest.raises(primal.errors.MissingPackageError) as caught:
        require("onnx", "this")
    assert str(caught.value) == (
        "this needs ONNX, which is installed and cannot be imported "
        "(compiled for another NumPy): pip install onnx onnxruntime."
    )


def test_every_extra_that_is_hinted_at_is_declared():
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    for package, (_, extra, installed) in _extras._PACKAGES.items():
        assert any(package.replace("sklearn", "scikit-learn") in line for line in declared[extra])
        wanted = [line.partition(">=")[0] for line in declared[extra]]
        assert installed.replace("'", "").split() == wanted
        assert install_hint(package) == f"pip install {installed}"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_hints_are_written_in_one_place(path):
    # Anything else that pip installs is a peer, not an extra of ours.
    assert path.name == "_extras.py" or "primal-features[" not in path.read_text(encoding="utf-8")


ROOMS = ["codebooks", "decoding", "edge", "exact", "hdc", "maps", "privacy", "vectors"]


def test_rooms_are_attributes_imported_on_first_use():
    statements = f"""
import sys, primal
for room in {[*ROOMS, "sklearn", "torch"]}:
    assert room in dir(primal), room
assert not {{"primal.hdc", "primal.torch"}} & set(sys.modules)
for room in {ROOMS}:
    assert getattr(primal, room) is sys.modules[f"primal.{{room}}"], room
"""
    for package in ("sklearn", "torch"):
        pytest.importorskip(package)
    assert loaded_by(statements) == set()


def test_a_room_that_cannot_be_imported_says_why_and_is_not_listed():
    statements = """
import inspect, sys
import primal
sys.modules["torch"] = None
print("torch" in dir(primal), "hdc" in dir(primal))
try:
    primal.torch
except primal.errors.MissingPackageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", statements], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "False True",
        "primal.torch needs PyTorch: pip install torch.",
    ], done.stderr


@pytest.mark.parametrize("name", ["nothing", "_nothing", "numpy", "no.thing", ""])
def test_an_unknown_attribute_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match=f"module 'primal' has no attribute {name!r}"):
        getattr(primal, name)
