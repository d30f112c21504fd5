"""What is paid once: the first large call in a process, and making an orthogonal basis.

    python tools/measure_first_use.py            # the first call, cold and warm
    python tools/measure_first_use.py --bases    # minutes

Every measurement has a process of its own. "Cold" is with an empty cache of compiled code, as
after an installation; "warm" with the cache that an earlier process left.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

FIRST_CALL = """
import time
import numpy as np
begin = time.perf_counter()
import primal
imported = time.perf_counter()
m = primal.DynamicPrime(64, 1024, 0.02, basis="auto")
x = np.ones((10_000, 64))
m.basis.table.transposed
made = time.perf_counter()
m.encode(x)
first = time.perf_counter()
m.encode(x)
second = time.perf_counter()
print(imported - begin, first - made, second - first)
"""
BASIS = """
import sys, time
from primal.bases import Basis
begin = time.perf_counter()
Basis("orthogonal", {d}, {d}).table
print(time.perf_counter() - begin)
"""


def measured(code: str, repeats: int, **environment: str) -> list[float]:
    """Medians of the numbers that fresh processes print."""
    rows = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        rows.append([float(word) for word in done.stdout.split()])
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def first_calls(repeats: int) -> None:
    print("seconds, 10,000 x 64 -> 1024     import   first call   second call")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("cold", "warm"):
            n = 1 if name == "cold" else repeats
            row = measured(FIRST_CALL, n, NUMBA_CACHE_DIR=folder, PRIMAL_ENGINE="numba")
            print(f"numba, {name:<24}" + "".join(f"{seconds:12.3f}" for seconds in row))
    row = measured(FIRST_CALL, repeats, PRIMAL_ENGINE="numpy")
    print(f"{'numpy':<31}" + "".join(f"{seconds:12.3f}" for seconds in row))


def bases() -> None:
    print("seconds for an orthogonal basis of d x d")
    for d in (500, 1000, 2000, 3000):
        row = [measured(BASIS.format(d=d), 1, PRIMAL_ENGINE=name)[0] for name in ("numba", "numpy")]
        print(f"d = {d:<6} numba {row[0]:8.1f}   numpy {row[1]:8.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bases", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    bases() if options.bases else first_calls(options.repeats)
