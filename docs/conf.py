"""Configuration of the site: ``make site`` builds docs/ with Sphinx into site/."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import primal

project = "Primal"
author = "The Primal developers"
copyright = author
version = release = primal.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["**.ipynb_checkpoints"]
templates_path = ["_templates"]
nitpicky = False

# Notebooks keep their outputs; tests/house/test_tutorials.py runs them and compares.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

html_theme = "pydata_sphinx_theme"
html_title = "Primal"
smartquotes = False  # strings of the code stand in prose
toc_object_entries_show_parents = "hide"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "quickstart": [], "paper": []}
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections name the types
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Every public name has one page: under the shortest path that people import it from.
_ROOMS = (
    "primal",
    "primal.sklearn",
    "primal.torch",
    "primal.hdc",
    "primal.decoding",
    "primal.codebooks",
    "primal.maps",
    "primal.edge",
    "primal.privacy",
    "primal.exact",
    "primal.exact",
    "primal.exact",
    "primal.errors",
)


def _write_reference(folder: Path) -> None:
    """Write one page for each room that lists what its ``__all__`` names."""
    folder.mkdir(exist_ok=True)
    homes: dict[int, str] = {}
    pages = []
    rooms = [importlib.import_module(name) for name in _ROOMS]
    while rooms:
        room = rooms.pop(0)
        own, elsewhere = [], []
        for name in sorted(room.__all__):
            found = getattr(room, name)
            if isinstance(found, ModuleType):
                if found.__name__ not in homes.values():
                    homes[id(found)] = found.__name__
                    rooms.insert(0, found)
                continue
            shared = not isinstance(found, (int, str, tuple, dict))
            home = homes.setdefault(id(found), room.__name__) if shared else room.__name__
            (own if home == room.__name__ else elsewhere).append((name, home))
        summary = (room.__doc__ or "").strip().splitlines()[0]
        title = room.__name__
        lines = [title, "=" * len(title), "", summary, "", f".. currentmodule:: {title}", ""]
        if own:
            lines += [".. autosummary::", "   :toctree: generated", ""]
            lines += [f"   {name}" for name, _ in own]
        if elsewhere:
            links = ", ".join(f":obj:`~{home}.{name}`" for name, home in elsewhere)
            lines += ["", f"Also importable from here: {links}."]
        (folder / f"{title}.rst").write_text("\n".join(lines) + "\n")
        pages.append(title)
    title = "API reference"
    lines = [title, "=" * len(title), "", "Every public name, by the room it is imported from.", ""]
    lines += [".. toctree::", "   :maxdepth: 1", "", *(f"   {page}" for page in pages)]
    (folder / "index.rst").write_text("\n".join(lines) + "\n")


_write_reference(Path(__file__).parent / "api")


def _skip(app, what, name, item, skip, options):
    """Leave out what scikit-learn's metadata routing adds to every estimator."""
    if name.startswith("set_") and name.endswith("_request"):
        return True
    return None


_HOST_LABEL = re.compile(r":(?:ref|term):`([^`<]*?) ?(?:<[^>]*>)?`")
_LITERAL = re.compile(r"(``.*?``|`[^`]*`)")
# Bars, stars other than *emphasis*, and the underscore that ends a fitted attribute.
_MARKUP = re.compile(r"\||\*(?!\w[^*]*\w\*)(?<!\w\*)|(?<=\w)_(?!\w)")


def _escape(app, what, name, item, options, lines):
    """Keep |x| and 2**32 of plain docstrings from being read as markup."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            line = _HOST_LABEL.sub(r"\1", line)
            parts = _LITERAL.split(line)
            parts[::2] = [_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _escape, priority=400)  # before numpydoc
