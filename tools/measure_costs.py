"""Time of phases on a rounding middle, as a ratio to other phases.

python tools/measure_costs.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from primal.exact import FrequencyTable, engine, installed_engines
from primal.exact._reference import Finish


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
    middles()
