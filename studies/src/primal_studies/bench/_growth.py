"""How cost grows: fitted exponents of time in N, d and D, peak memory, and the first call."""

from __future__ import annotations

import math
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from primal.exact import Finish, engine
from primal.maps import StaticPrime
from primal_studies.bench._cases import gaussian_inputs, rbf_map

__all__ = ["exponents", "first_call_seconds", "peak_extra_bytes"]

_FIRST_CALL = """
import time
import numpy as np
import primal
m = primal.DynamicPrime(64, 1024, 0.02, basis="auto")
x = np.ones((n_rows, 64), dtype=np.float32)
m.basis.table
start = time.perf_counter()
m.encode(x)
first = time.perf_counter() - start
start = time.perf_counter()
m.encode(x)
print(first - (time.perf_counter() - start))
"""


def exponents(quick: bool) -> dict[str, float]:
    """Return the slope of log time against log size, one size varied at a time."""
    top = 2 if quick else 3
    return {
        "StaticPrime in N": _slope(lambda n: _time_static(n, 256), _sizes(10_000, top)),
        "StaticPrime in D": _slope(lambda D: _time_static(10_000, D), _sizes(256, top)),
        "DynamicPrime in N": _slope(lambda n: _time_dynamic(n, 64, 512), _sizes(5_000, top)),
        "DynamicPrime in d": _slope(
            lambda d: _time_dynamic(1_000, d, 8192), _sizes(64, 4 if quick else 6)
        ),
        "DynamicPrime in D": _slope(lambda D: _time_dynamic(4_000, 64, D), _sizes(256, top)),
    }


def peak_extra_bytes(quick: bool) -> dict[int, int]:
    """Return for several N the most memory that encode(x, out=out) held beside x and out."""
    m = rbf_map(64, 256)
    # Load the engine and its kernels first: their own memory is not the batch's.
    out = np.empty((9, 256), np.float32)
    engine().features(m.basis.table, np.zeros((9, 64)), out, Finish("block"))
    peaks = {}
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        x, out = gaussian_inputs(n, 64), np.empty((n, 256), dtype=np.float32)
        tracemalloc.start()
        m.encode(x, out=out)
        peaks[n] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peaks


def first_call_seconds(n_rows: int, repeats: int = 3) -> float:
    """Return what the first encode of a fresh process costs beyond a later one.

    The best of a few processes.
    """
    times = []
    for _ in range(repeats + 1):
        command = [sys.executable, "-c", f"n_rows = {n_rows}\n{_FIRST_CALL}"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(float(found.stdout))
    return min(times[1:])


def _sizes(smallest: int, doublings: int) -> list[int]:
    return [smallest * 2**i for i in range(doublings + 1)]


def _slope(seconds: Callable[[int], float], sizes: list[int]) -> float:
    log_seconds = [math.log(seconds(size)) for size in sizes]
    return float(np.polyfit(np.log(sizes), log_seconds, 1)[0])


def _time_static(N: int, D: int) -> float:
    s, out = StaticPrime(D), np.empty((N, D), dtype=np.float32)
    return _best(lambda: s.waves(N, out=out))


def _time_dynamic(n: int, d: int, D: int) -> float:
    m, x, out = rbf_map(d, D), gaussian_inputs(n, d), np.empty((n, D), dtype=np.float32)
    return _best(lambda: m.encode(x, out=out))


def _best(run: Callable[[], object], repeats: int = 5) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
