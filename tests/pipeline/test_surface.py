"""How much of us one small command passes through, and how much of it a caller sees."""

import inspect as signatures
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from primal import pipeline

# Counted by their code objects, the table of the map and its features included (71 of them).
_MOST_FUNCTIONS = 120

_COUNT = """
import os, sys, threading
import primal.pipeline
import primal.cli._encode
from primal.cli import cli

seen = set()
root = os.path.dirname(primal.__file__)  # not of any checkout whose folder has our name

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and not code.co_name.startswith("<"):
        seen.add(code)

threading.setprofile(note)
sys.setprofile(note)
cli(sys.argv[1:], standalone_mode=False)
sys.setprofile(None)
threading.setprofile(None)
print(len(seen))
"""


def test_ten_rows_pass_through_few_functions(tmp_path):
    x = np.random.default_rng(0).standard_normal((10, 3))
    pq.write_table(pa.table({f"x{j}": x[:, j] for j in range(3)}), tmp_path / "in.parquet")
    arguments = ["encode", "in.parquet", "out", "--columns", "x*", "--dim", "64", "--sigma", "0.1"]
    # An engine that is asked for by name is looked up by two more functions, and Numba has others.
    usual = {name: value for name, value in os.environ.items() if not name.startswith("PRIMAL_")}
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, *arguments],
        cwd=tmp_path,
        env=usual,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    n_functions = int(done.stdout.splitlines()[-1])
    assert 100 < n_functions <= _MOST_FUNCTIONS
    assert pq.read_table(tmp_path / "out").num_rows == 10


@pytest.mark.parametrize("name", pipeline.__all__)
def test_no_function_has_more_than_twelve_parameters(name):
    if signatures.isfunction(found := getattr(pipeline, name)):
        assert len(signatures.signature(found).parameters) <= 12
