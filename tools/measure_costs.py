"""What is rarely paid: the first large call, and phases on a rounding middle.

    python tools/measure_costs.py first      # cold and warm
    python tools/measure_costs.py middles

"Cold" is with an empty cache of compiled code, as after an installation; "warm" with the cache
that an earlier process left. First calls have a process of their own each.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from primal.bases import FrequencyTable
from primal.engines import engine, installed_engines
from primal.engines._numpy import Finish

FIRST_CALL = """
import time
import numpy as np
begin = time.perf_counter()
import primal
imported = time.perf_counter()
m = primal.DynamicPrime(64, 1024, 0.02, basis="auto")
x = np.ones((10_000, 64))
m.basis.table.transposed
made, processor = time.perf_counter(), time.process_time()
m.encode(x)
first, processor = time.perf_counter(), time.process_time() - processor
m.encode(x)
second = time.perf_counter()
print(imported - begin, first - made, processor, second - first)
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


def first() -> None:
    print("seconds, 10,000 x 64 -> 1024   import   first call (processor)   second call")
    with tempfile.TemporaryDirectory() as folder:
        for name, repeats in (("cold", 1), ("warm", 3)):
            row = measured(FIRST_CALL, repeats, NUMBA_CACHE_DIR=folder, PRIMAL_ENGINE="numba")
            print(f"numba, {name:<20}" + "".join(f"{seconds:12.2f}" for seconds in row))
    row = measured(FIRST_CALL, 3, PRIMAL_ENGINE="numpy")
    print(f"{'numpy':<27}" + "".join(f"{seconds:12.2f}" for seconds in row))


def middles() -> None:
    """Frequencies in eighths of a turn, and x in units of 2**-30, one of them odd."""
    print("time for phases on a middle over time for others")
    random = np.random.default_rng(0)
    for d, n in ((4, 2000), (64, 2000), (512, 600)):
        frequencies = np.concatenate(
            [np.full((256, 1), 0.125), random.integers(-7, 8, (256, d - 1)) / 8.0], axis=1
        )
        table = FrequencyTable.from_floats(frequencies)
        odd = 2.0 * random.integers(-(2**10), 2**10, (n, 1)) + 1.0
        rest = 8.0 * random.integers(-(2**17), 2**17, (n, d - 1))
        on_middles = np.concatenate([odd, rest], axis=1) * 2.0**-30
        others = random.normal(scale=0.01, size=(n, d))
        out = np.empty((n, 512), dtype=np.float32)
        line = f"d = {d:<6}"
        for name in installed_engines():
            run = engine(name).features
            run(table, others, out, Finish("block"))
            ratios = []
            for _ in range(5):
                begin = time.perf_counter()
                run(table, others, out, Finish("block"))
                between = time.perf_counter()
                run(table, on_middles, out, Finish("block"))
                ratios.append((time.perf_counter() - between) / (between - begin))
            line += f"{name:>8} {statistics.median(ratios):6.1f}"
        print(line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["first", "middles"])
    {"first": first, "middles": middles}[parser.parse_args().what]()
