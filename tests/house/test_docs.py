"""Every example of the documentation and of the docstrings gives the output printed below it.

A page is one session: its ``pycon`` fences run in order and share their names. Modules whose
third-party packages are not installed are skipped.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import primal

_ROOT = Path(__file__).parents[2]
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]
_ALL_PAGES = [*_PAGES, _ROOT / "CHANGELOG.md", _ROOT / "CONTRIBUTING.md"]
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_FILE = re.compile(r"`((?:tests|tools|src|docs)/[\w/-]+\.\w+)`")
# The frequencies are public, so none of these words may be said of a map.
_SECURITY = re.compile(r"one-way|cryptograph|\bprivate\b|privacy|secur", re.IGNORECASE)
_DENIAL = re.compile(r"\b(no|not|nothing|neither|nor)\b", re.IGNORECASE)


def _module_names(paths: list[str], prefix: str) -> Iterator[str]:
    # pkgutil.walk_packages would import every package while pytest collects.
    for found in pkgutil.iter_modules(paths, prefix):
        if not found.name.endswith("__main__"):
            yield found.name
        if found.ispkg:
            folders = [str(Path(path) / found.name.rpartition(".")[2]) for path in paths]
            yield from _module_names(folders, f"{found.name}.")


_MODULES = ["primal", *_module_names(list(primal.__path__), "primal.")]


def _only_examples(text: str) -> str:
    """Return the page with every line outside ``pycon`` fences blank, so line numbers stay."""
    inside = False
    lines = []
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        inside = line.strip() == "```pycon" if fence else inside
        lines.append(line if inside and not fence else "")
    return "\n".join(lines) + "\n"


def _report(test: doctest.DocTest) -> str:
    """Return what doctest says about the examples that fail, nothing when none does."""
    lines: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=lines.append)
    return "".join(lines)


def _run(test: doctest.DocTest) -> None:
    report = _report(test)
    if report:
        pytest.fail(report, pytrace=False)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_page_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not page.exists():
        pytest.skip("the documentation is not part of this installation")
    monkeypatch.chdir(tmp_path)
    examples = _only_examples(page.read_text(encoding="utf-8"))
    packages = ("torch", "gpytorch", "sklearn", "pyarrow", "matplotlib", "scipy", "onnxruntime")
    for package in packages:
        needed = re.search(rf"\b(?:import|from) .*\b{package}\b|\bprimal\.{package}\b", examples)
        if needed and importlib.util.find_spec(package) is None:
            pytest.skip(f"{page.name} needs {package}, which is not installed")
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    _run(test)


@pytest.mark.parametrize("name", _MODULES)
def test_docstring_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except primal.errors.MissingPackageError as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        missing = (error.name or "primal").partition(".")[0]
        if missing == "primal":
            raise
        pytest.skip(f"{name} needs {missing}, which is not installed")
    for test in doctest.DocTestFinder().find(module, name):
        if "to_onnx" in test.name and importlib.util.find_spec("onnx") is None:
            pytest.skip(f"{test.name} needs onnx, which is not installed")
        _run(test)


@pytest.mark.parametrize("page", _ALL_PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    if not page.exists():
        pytest.skip("the documentation is not part of this installation")
    targets = [t for t in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in t]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", _ALL_PAGES, ids=lambda page: page.name)
def test_files_named_on_a_page_exist(page: Path) -> None:
    if not page.exists():
        pytest.skip("the documentation is not part of this installation")
    named = set(_FILE.findall(page.read_text(encoding="utf-8")))
    assert not [name for name in sorted(named) if not (_ROOT / name).exists()]


@pytest.mark.parametrize("page", _ALL_PAGES, ids=lambda page: page.name)
def test_security_is_only_ever_denied(page: Path) -> None:
    if not page.exists():
        pytest.skip("the documentation is not part of this installation")
    sentences = re.split(r"(?<=[.:])\s", page.read_text(encoding="utf-8"))
    claims = [s for s in sentences if _SECURITY.search(s) and not _DENIAL.search(s)]
    assert not claims


def test_a_claim_of_security_is_noticed() -> None:
    claim = "At high sigma the map is a one-way hash."
    assert _SECURITY.search(claim)
    assert not _DENIAL.search(claim)


def test_a_wrong_example_is_noticed() -> None:
    page = "text\n```pycon\n>>> 1 + 1\n3\n```\n>>> outside the fence\n"
    test = doctest.DocTestParser().get_doctest(_only_examples(page), {}, "page", "page", 0)
    assert len(test.examples) == 1
    assert "Expected:" in _report(test)


def test_modules_were_found() -> None:
    assert {"primal.maps._dynamic", "primal.turns._waves"} <= set(_MODULES)
