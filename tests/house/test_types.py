"""Types ship: a user's script over the public surface passes a strict type checker."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import primal

SCRIPT = Path(__file__).parents[1] / "support" / "user_script.py"
# Errors inside the library are for its own checker, in `make lint`.
pytest.importorskip("mypy")
STRICT = (sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary")


def test_the_marker_is_there():
    assert (Path(primal.__file__).parent / "py.typed").is_file()


def test_a_strict_checker_passes_a_users_script_and_sees_wrong_calls(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import primal\n\nprimal.StaticPrime(64).encode()\nd: str = primal.primes(3)\n"
    )
    # Both at once: most of the time goes into reading NumPy and the library.
    command = [*STRICT, "--cache-dir", str(tmp_path), str(SCRIPT), str(wrong)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    errors = re.findall(r"^(.*):(\d+): error", done.stdout, re.MULTILINE)
    assert errors == [(str(wrong), "3"), (str(wrong), "4")]


def test_the_script_runs():
    subprocess.run([sys.executable, SCRIPT], check=True, capture_output=True)
