"""Numba keeps compiled loops until their own file changes, but they contain loops of other files.

So each file names what it was compiled with; a user who installs a new version over an old one
would otherwise go on with parts of the old one.
"""

import hashlib
from pathlib import Path

import pytest

import primal

ROOT = Path(primal.__file__).parent
CONTAINED = {
    "engines/_numba_kernels.py": ("engines/_numba_vectors.py", "turns/_waves.py"),
    "engines/_numba_hadamard.py": (
        "engines/_numba_vectors.py",
        "engines/_numba_butterflies.py",
        "engines/_numba_kernels.py",
    ),
}


@pytest.mark.parametrize("name", CONTAINED)
def test_a_file_of_loops_names_the_content_of_those_it_contains(name):
    content = b"".join((ROOT / part).read_bytes() for part in CONTAINED[name])
    line = f"# Compiled with: {hashlib.sha256(content).hexdigest()[:12]}"
    text = (ROOT / name).read_text()
    assert line in text, f"write this line into {name}: {line}"


def test_no_other_file_keeps_loops_that_contain_others():
    kept = [path for path in ROOT.rglob("*.py") if "cache=True" in path.read_text()]
    alone = {path.relative_to(ROOT).as_posix() for path in kept} - set(CONTAINED)
    assert alone == {
        "decoding/_kernels.py",
    }
