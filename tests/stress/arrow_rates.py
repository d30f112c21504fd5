"""Rates and memory of `primal.arrow` against RBFSampler in the same place, interleaved.

    python tests/stress/arrow_rates.py [--rows 2000000] [--repeats 3]

64 columns to 256 features, one thread for each library. Every measurement is a process of its own
that makes two passes over Parquet files and reports the second; features are dropped. Ratios are
of rates by the clock, and per second of CPU time, which other programs disturb less.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

D_IN, D_OUT, N_FILES = 64, 256, 8
PLACES = ("numpy", "pyarrow", "duckdb")
WHAT = ("read", "Encoder", "RBFSampler")


def written(folder, n_rows):
    for i in range(N_FILES):
        x = np.random.default_rng(i).standard_normal((n_rows // N_FILES, D_IN), dtype=np.float32)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), D_IN)
        pq.write_table(pa.table({"x": lists}), folder / f"{i}.parquet", row_group_size=31_250)


def matrix(values):
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return values.flatten().to_numpy().reshape(-1, D_IN)


def function(what):
    """Return a function from the Arrow array of a batch to one of features."""
    from sklearn.kernel_approximation import RBFSampler

    from primal import KernelPrime
    from primal.arrow import Encoder

    if what == "read":
        return lambda x: pa.array(np.zeros(len(x), np.float32))
    if what == "Encoder":
        return Encoder(KernelPrime(D_IN, D_OUT, gamma=0.01), "x").array
    sampler = RBFSampler(gamma=0.01, n_components=D_OUT, random_state=0)
    sampler.fit(np.zeros((1, D_IN), np.float32))

    def features(x: pa.Array) -> pa.Array:
        z = sampler.transform(matrix(x)).astype(np.float32, copy=False)
        return pa.FixedSizeListArray.from_arrays(pa.array(z.reshape(-1)), D_OUT)

    return features


def one_pass(place, what, folder):
    """Return a function without arguments that makes a pass, and its number of rows."""
    apply, data = function(what), ds.dataset(folder)
    if place == "pyarrow":
        return lambda: sum(len(apply(batch["x"])) for batch in data.to_batches())
    if place == "numpy":
        table = data.head(500_000).combine_chunks()
        batches = [batch["x"] for batch in table.to_batches(max_chunksize=31_250)]
        return lambda: sum(len(apply(x)) for x in batches)
    import duckdb

    con = duckdb.connect()
    kind = "FLOAT" if what == "read" else f"FLOAT[{D_OUT}]"
    con.create_function("f", apply, [f"FLOAT[{D_IN}]"], kind, type="arrow", null_handling="special")
    one = "f(x)" if what == "read" else "f(x)[1]"
    sql = f"select count(v) from (select {one} as v from '{folder}/*.parquet')"
    return lambda: con.execute(sql).fetchall()[0][0]


def measure(place, what, folder):
    run = one_pass(place, what, folder)
    n = run()
    start, busy = time.perf_counter(), time.process_time()
    run()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"rate": n / seconds, "cpu": n / busy, "peak": peak}))


def measure_array(n_rows):
    """Print times of `array` of lists and of `encode`, interleaved, in float64 and float32."""
    from primal import KernelPrime
    from primal.arrow import Encoder

    m = KernelPrime(D_IN, D_OUT, gamma=0.01)
    e = Encoder(m, "x")
    for dtype in (np.float32, np.float64):
        x = np.random.default_rng(0).standard_normal((n_rows, D_IN)).astype(dtype)
        fixed = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), D_IN)
        lists = fixed.cast(pa.list_(fixed.type.value_type))
        calls = {
            "encode": lambda x=x: m.encode(x),
            "fixed": lambda a=fixed: e.array(a),
            "list": lambda a=lists: e.array(a),
        }
        best = dict.fromkeys(calls, np.inf)
        for _ in range(max(12, 1_000_000 // n_rows)):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
        ratios = {name: best[name] / best["encode"] for name in ("fixed", "list")}
        print(f"array / encode, {n_rows:,} rows, {dtype.__name__}: ", end="")
        print(", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=3)
    parser.add_argument("--array", type=int)
    asked = parser.parse_args()
    if asked.one:
        return measure(*asked.one)
    if asked.array:
        return measure_array(asked.array)
    alone = os.environ | {
        "PRIMAL_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    me = [sys.executable, __file__]
    for n_rows in (10_000, 100_000):
        subprocess.run([*me, "--array", str(n_rows)], env=alone, check=True)
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), asked.rows)
        found = {(place, what): [] for place in PLACES for what in WHAT}
        for _ in range(asked.repeats):
            for place, what in found:
                command = [*me, "--one", place, what, folder]
                done = subprocess.run(command, env=alone, check=True, capture_output=True)
                found[place, what].append(json.loads(done.stdout))
    print(f"thousand rows/s, {D_IN} -> {D_OUT}, best of {asked.repeats}; peak memory in MB")
    for place in PLACES:
        rates = {what: max(one["rate"] for one in found[place, what]) for what in WHAT}
        peaks = {what: max(one["peak"] for one in found[place, what]) for what in WHAT}
        pairs = list(zip(found[place, "Encoder"], found[place, "RBFSampler"], strict=True))
        ratios = [
            f"{kind} " + " ".join(f"{a[kind] / b[kind]:.2f}" for a, b in pairs)
            for kind in ("rate", "cpu")
        ]
        print(
            place,
            *(f"{what} {rates[what] / 1e3:,.0f} ({peaks[what] / 1e6:,.0f} MB)" for what in WHAT),
            f"Encoder / RBFSampler in turn: {', '.join(ratios)}; memory / reading: "
            f"{peaks['Encoder'] / peaks['read']:.2f}",
            sep=", ",
        )
    return None


if __name__ == "__main__":
    main()
