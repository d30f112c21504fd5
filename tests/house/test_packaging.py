"""What pyproject.toml declares is what `make test-minimum` installs."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import primal
from primal import cli

ROOT = Path(__file__).parents[2]

if not (ROOT / "constraints-minimum.txt").exists():
    pytest.skip("not a checkout", allow_module_level=True)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Installed from constraints.txt alone: see the comment in constraints-minimum.txt.
UNTESTED = {"torch", "gpytorch", "botorch"}
UNTESTED_EXTRAS = {"torch", "gp"}


def minimums() -> dict[str, set[str]]:
    """Lower bounds of every dependency and extra."""
    project = PROJECT["project"]
    lines = chain(project["dependencies"], *project["optional-dependencies"].values())
    found: dict[str, set[str]] = {}
    for line in lines:
        if not line.startswith("primal-features["):
            name, version = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups()
            found.setdefault(name, set()).add(version)
    return found


def pins(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def as_numbers(version: str) -> tuple[int, ...]:
    numbers = tuple(map(int, version.split(".")))
    return numbers + (0,) * (3 - len(numbers))


def test_an_extra_asks_for_the_same_version_everywhere():
    assert {name: versions for name, versions in minimums().items() if len(versions) > 1} == {}


def test_the_minimums_are_tested_exactly():
    pinned = pins("constraints-minimum.txt")
    declared = {name: as_numbers(*versions) for name, versions in minimums().items()}
    assert declared.keys() - pinned.keys() == UNTESTED
    assert {name: as_numbers(pinned[name]) for name in declared.keys() - UNTESTED} == {
        name: version for name, version in declared.items() if name not in UNTESTED
    }


def test_every_extra_is_installed_by_the_minimum_target():
    extras = PROJECT["project"]["optional-dependencies"].keys() - UNTESTED_EXTRAS - {"all"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    target = makefile[makefile.index("$(MINIMUM)/.installed: ") :]
    installed = re.search(r"--editable '\.\[([\w,]+)\]'", target)[1].split(",")
    assert set(installed) == extras


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_that_pages_name_exist(page):
    text = page.read_text(encoding="utf-8")
    named = set(chain.from_iterable(e.split(",") for e in re.findall(r"'\.\[([\w,]+)\]'", text)))
    assert named <= PROJECT["project"]["optional-dependencies"].keys()
    # The name of the package is on no index yet.
    assert "primal-features[" not in text


@pytest.mark.parametrize("name", ["README.md", "docs/quickstart.md"])
def test_commands_of_the_first_pages_exist_after_their_installation(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|\$ )primal ([a-z]+)", text))
    assert named
    assert named <= {*cli._COMMANDS, *cli._STUDIES}
    if named & set(cli._STUDIES):
        assert "pip install ./studies" in text


def test_the_version_is_the_same_everywhere():
    pattern = r'(?m)^(?:version: |version = ")([\d.]+)'
    files = ("CITATION.cff", "studies/pyproject.toml")
    found = [re.search(pattern, (ROOT / name).read_text()).group(1) for name in files]
    newest = re.search(r"(?m)^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text()).group(1)
    assert [*found, newest] == 3 * [primal.__version__]
