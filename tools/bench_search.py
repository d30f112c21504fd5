"""Time a search through codes: NumPy, Numba and FAISS, one after the other in every round.

    python tools/bench_search.py                       # 200,000 rows of 256 bits, 100 queries
    python tools/bench_search.py --stored float32       # the same rows as waves

Prints the median of the rounds. FAISS settles no ties: it may return other rows of equal distance.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import click
import numpy as np

import primal
from primal.engines import installed_engines
from primal.search import Index


@click.command()
@click.option("--rows", default=200_000, show_default=True)
@click.option("--dim", default=256, show_default=True)
@click.option("--stored", default="bits", show_default=True)
@click.option("--queries", default=100, show_default=True)
@click.option("--neighbors", default=10, show_default=True)
@click.option("--rounds", default=7, show_default=True)
def main(rows: int, dim: int, stored: str, queries: int, neighbors: int, rounds: int) -> None:
    """Print one line for each engine."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((rows, 16))
    index = Index.from_vectors(x, primal.DynamicPrime(16, dim, 0.1, basis="auto"), stored=stored)
    asked = index.encode(x[:queries] + 0.1 * generator.standard_normal((queries, 16)))
    names = installed_engines() if stored == "bits" else ("numpy",)

    def by_engine(name: str) -> None:
        os.environ["PRIMAL_ENGINE"] = name
        index.search_codes(asked, neighbors)

    searches: dict[str, Callable[[], object]] = {name: partial(by_engine, name) for name in names}
    if importlib.util.find_spec("faiss") and "phase" not in stored:
        import faiss

        plain = faiss.IndexBinaryFlat(dim) if stored == "bits" else faiss.IndexFlatIP(dim)
        wanted = np.uint8 if stored == "bits" else np.float32
        plain.add(index.encode(x).astype(wanted))
        searches["faiss"] = lambda: plain.search(asked.astype(wanted), neighbors)
    times: dict[str, list[float]] = {name: [] for name in searches}
    for search in searches.values():
        search()  # compiles
    for _ in range(rounds):
        for name, search in searches.items():
            start = time.perf_counter()
            search()
            times[name].append(time.perf_counter() - start)
    for name, values in times.items():
        low, middle, high = min(values), statistics.median(values), max(values)
        print(f"{name:<16}{middle * 1e3:8.1f} ms   ({low * 1e3:.1f} to {high * 1e3:.1f})")


if __name__ == "__main__":
    main()
