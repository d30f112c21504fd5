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
_MARKDOWN = [page for at in ("*.md", "docs/**/*.md", "studies/*.md") for page in _ROOT.glob(at)]
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_FILE = re.compile(r"`((?:tests|tools|src|docs)/[\w/-]+\.\w+)`")
# Frequencies without a key are public, and with one not irreversible: none of these words may be
# said of a map.
_SECURITY = re.compile(
    r"one-way|cryptograph|\bprivate\b|privacy|secur|irreversible|non-invertible|anonym|unbreakable",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(no|not|nothing|neither|nor)\b", re.IGNORECASE)
# Names, not claims: the room, its files, its command and its extra; the guarantee of noisy sums.
_NAMES = re.compile(
    r"primal[./ ]privacy[\w./]*|[\w/]*_privacy[\w./]*|\bprivacy\.(?:md|py)|\[[\w,]*privacy[\w,]*\]"
    r"|[`\"']+privacy[`\"']+|tools/privacy\w*|tests/privacy/|uses-privacy|edge privacy"
    r"|@privacy\b|(?m:^privacy$)|\bprivacy (?:import|as) |def privacy\b"
    r"|differential(?:ly)?[- ]priva(?:cy|te)"
)


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


def _missing(examples: str) -> str | None:
    """Return a package that examples need and that is not installed."""
    packages = ("torch", "torchhd", "gpytorch", "sklearn", "matplotlib", "scipy")
    more = ("opendp", "onnx", "onnxruntime", "pyarrow", "duckdb", "polars")
    for package in (*packages, *more):
        needed = re.search(
            rf"\b(?:import|from) .*\b{package}\b|\bprimal\.{package}\b|\bto_{package}\b", examples
        )
        if needed and importlib.util.find_spec(package) is None:
            return package
    return None


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
    if missing := _missing(examples):
        pytest.skip(f"{page.name} needs {missing}, which is not installed")
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
        if not _missing("".join(example.source for example in test.examples)):
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


def _claims(text: str) -> list[str]:
    """Return the sentences that say a word of security and deny nothing."""
    # Lines of a table say one thing each; sentences of a paragraph or docstring run over lines.
    sentences = re.split(r"(?<=[.:;])\s|\n\s*\n|\n(?=\|)|(?<=\|)\n", _NAMES.sub("", text))
    return [s for s in sentences if _SECURITY.search(s) and not _DENIAL.search(s)]


# Claims of the paper are quoted, and judged, in the folder `paper` of the studies.
_STUDIES = (_ROOT / "studies" / "src").rglob("*.py")
_SOURCES = [
    *sorted(Path(primal.__file__).parent.rglob("*.py")),
    *sorted(path for path in _STUDIES if "paper" not in path.parts),
]


@pytest.mark.parametrize("page", [*_ALL_PAGES, *_SOURCES], ids=lambda page: page.name)
def test_security_is_only_ever_denied(page: Path) -> None:
    if not page.exists():
        pytest.skip("the documentation is not part of this installation")
    assert not _claims(page.read_text(encoding="utf-8"))


def _false_emphasis(text: str) -> list[str]:
    """Return what a CommonMark reader shows as bold or italic from inside of a word on."""
    parsed = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table").parse(text)
    found = []
    for line in (token.children or [] for token in parsed if token.type == "inline"):
        before = ""
        for n, token in enumerate(line):
            opens = token.type in ("em_open", "strong_open")
            if opens and re.search(r"[\w)\]}]$", before):
                found.append(f"{before[-20:]}{token.markup}{line[n + 1].content}")
            before = token.content or (before if token.nesting else " ")
    return found


@pytest.mark.parametrize("page", _MARKDOWN, ids=lambda page: page.relative_to(_ROOT).as_posix())
def test_no_emphasis_opens_inside_a_word(page: Path) -> None:
    assert not _false_emphasis(page.read_text(encoding="utf-8"))


def test_false_emphasis_is_noticed() -> None:
    assert _false_emphasis("from 2**32 up to 2**64") == ["from 2**32 up to 2"]
    assert (
        _false_emphasis("from `2**32` up to `2**64`, **bold**, *italic*, (*so*), a * b * c") == []
    )


def test_the_english_is_that_of_the_field() -> None:
    # Resume, fix, reject, trust, separate.
    private = re.compile(
        r"\bgoes on where|\bmend(s|ed)?\b|\bturned down\b|\bbelieved\b|\bpart neigh"
    )
    pages = [page for page in _MARKDOWN if page.name != "CHANGELOG.md"]  # of the past
    paths = [*pages, *_ROOT.glob("src/**/*.py"), *_ROOT.glob("studies/src/**/*.py")]
    assert not [path for path in paths if private.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "claim",
    [
        "At high sigma the map is a one-way hash.",
        "Keyed templates are irreversible.",
        "`primal.privacy` makes private codes.",
        "| keyed map | secure |",
        "Codes keep the privacy of people: see primal.privacy.",
    ],
)
def test_a_claim_of_security_is_noticed(claim: str) -> None:
    assert _claims(f"No word of this before.\n{claim}\nNor after.")


@pytest.mark.parametrize(
    "name",
    [
        "The room `primal.privacy` has attacks.",
        "Sums have (epsilon, delta)-differential privacy.",
        "Templates are two-factor and renewable, not irreversible.",
        "`pip install opendp` brings what `primal.privacy` needs.",
    ],
)
def test_names_and_denials_are_no_claims(name: str) -> None:
    assert not _claims(name)


def test_a_wrong_example_is_noticed() -> None:
    page = "text\n```pycon\n>>> 1 + 1\n3\n```\n>>> outside the fence\n"
    test = doctest.DocTestParser().get_doctest(_only_examples(page), {}, "page", "page", 0)
    assert len(test.examples) == 1
    assert "Expected:" in _report(test)


def test_modules_were_found() -> None:
    assert {"primal.maps._dynamic", "primal.exact._waves"} <= set(_MODULES)
