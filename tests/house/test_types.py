"""Types ship: a user's script over the public surface passes a strict type checker."""

import subprocess
import sys
from pathlib import Path

import pytest

import primal

SCRIPT = Path(__file__).parents[1] / "support" / "user_script.py"
# Errors inside the library are for its own checker, in `make lint`.
pytest.importorskip("mypy")
STRICT = (sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary")


def checked(path, tmp_path):
    command = [*STRICT, "--cache-dir", str(tmp_path), str(path)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_marker_is_there():
    assert (Path(primal.__file__).parent / "py.typed").is_file()


def test_a_users_script_passes_a_strict_checker(tmp_path):
    done = checked(SCRIPT, tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_checker_sees_a_wrong_call(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import primal\n\nprimal.StaticPrime(64).encode()\nd: str = primal.primes(3)\n"
    )
    done = checked(wrong, tmp_path)
    assert done.returncode == 1
    assert "wrong.py:3" in done.stdout
    assert "wrong.py:4" in done.stdout


def test_the_script_runs():
    subprocess.run([sys.executable, SCRIPT], check=True, capture_output=True)
