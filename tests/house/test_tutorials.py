"""Every tutorial runs, and prints what it says it prints."""

import contextlib
import io
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
if not FOLDER.is_dir():
    pytest.skip("not a checkout", allow_module_level=True)

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NEEDED = {"gaussian_process": ["matplotlib"], "folding_adc": ["matplotlib"], "positions": ["torch"]}


def test_there_are_tutorials():
    listed = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 7
    assert all(f"({path.name})" in listed for path in NOTEBOOKS)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tutorial(path, monkeypatch, tmp_path):
    for package in ["sklearn", *NEEDED.get(path.stem, [])]:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
        stored = ["".join(out["text"]) for out in cell["outputs"] if out["output_type"] == "stream"]
        assert printed.getvalue() == "".join(stored)
