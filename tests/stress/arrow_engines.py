"""`primal.arrow` in engines with several processes: equal digests, equal sums, killed workers.

    python tests/stress/arrow_engines.py [engine ...]

Creates environments of its own, about 1.5 GB; Spark needs Java 17. Every engine runs in a process
of its own and encodes the same Parquet files to features and to codes; Ray, Spark and Dask also
make sums, in three orders of their parts, and do everything again with one worker killed in the
middle of a batch. Digests are compared with one process, sums with `PrimeRidgeRegressor.fit`. The
printed table is the one of docs/arrow.md. `pyarrow18` runs tests/arrow with PyArrow 18.
"""

import atexit
import hashlib
import importlib.metadata
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("ray[data]==2.60.0", "pyspark==4.3.0", "dask[distributed,dataframe]==2026.8.0")
PACKAGES += ("daft==0.7.26", "datasets==5.2.0")
COMMON = ("numpy", "click", "scikit-learn", "duckdb>=2", "polars>=2")
TESTS = ("pyarrow==18.1.0", "pytest", "hypothesis")
N, D_IN, D_OUT, N_FILES = 40_000, 16, 128, 4
HOW = {
    "ray": "Ray Data, two nodes of a `Cluster`",
    "spark": "Spark, `local-cluster[2,1,1024]`",
    "dask": "Dask, two processes",
    "daft": "Daft, `@daft.func.batch`",
    "datasets": "Hugging Face datasets, `num_proc=2`",
}
MODULES = {"spark": "pyspark"}
SECTIONS = {"ray": "Ray Data", "spark": "Spark", "dask": "Dask", "daft": "Daft"}
SECTIONS["datasets"] = "Hugging Face datasets"
SPARK = None


def environment(name, packages):
    """Return the Python of a virtual environment with these packages and this checkout."""
    python = ROOT / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ROOT / name], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *COMMON, *packages], check=True)
    return python


def main(asked):
    failed = []
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    if not asked or "pyarrow18" in asked:
        python = environment(".venv-pyarrow-18", TESTS)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests" / "arrow"]
        if subprocess.run(command, env=variables, cwd=ROOT).returncode:
            failed.append("pyarrow18")
    engines = [name for name in HOW if not asked or name in asked]
    lines = []
    if engines:
        python = environment(".venv-engines", PACKAGES)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, __file__, "--write", folder], env=variables, check=True)
            for name in engines:
                command = [python, __file__, "--inside", name, folder]
                done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True)
                rows = [row for row in done.stdout.splitlines() if row.startswith(f"| {HOW[name]}")]
                line = rows[-1] if rows else ""
                if done.returncode or not line:
                    failed.append(name)
                    line = f"| {HOW[name]} | failed | | |"
                lines.append(line)
                print(line, flush=True)
    print("\n| engine | version | PyArrow | equal to one process |\n|---|---|---|---|")
    print("\n".join(lines))
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


# In the environment of the engines.


def write(folder):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    x, n = rng.standard_normal((N, D_IN)), N // N_FILES
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), D_IN)
    Path(folder, "in").mkdir()
    y = np.sin(x[:, 0]) * 10.0 ** rng.integers(-6, 6, N)
    table = pa.table({"id": np.arange(N), "x": lists, "y": y})
    for i in range(N_FILES):
        pq.write_table(table.slice(i * n, n), f"{folder}/in/{i}.parquet", row_group_size=2_500)


def objects():
    from primal import KernelPrime
    from primal.arrow import Encoder, RidgeSums
    from primal.vectors import VectorCodes

    m = KernelPrime(D_IN, D_OUT, gamma=0.05)
    features = Encoder(m, "x")
    codes = Encoder(m, "x", "codes", stored=VectorCodes(D_OUT, bits=2, metric="l2"))
    return features, codes, RidgeSums(features, "y")


class KillOnce:
    """A function whose first call in any process kills that process before it returns."""

    def __init__(self, function, folder):
        self.function, self.mark = function, str(Path(folder) / f"killed-{time.time_ns()}")

    def __call__(self, *arguments):
        result = self.function(*arguments)
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return result
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    def check(self):
        if not Path(self.mark).exists():
            raise AssertionError("no worker was killed")


def digest(table, name):
    """Return the SHA-256 of a column in the order of `id`, whatever kind of lists it has."""
    import numpy as np
    import pyarrow as pa

    column = table.sort_by("id")[name].combine_chunks()
    fields = column.flatten() if pa.types.is_struct(column.type) else [column]
    found = hashlib.sha256()
    for field in fields:
        is_list = not pa.types.is_floating(field.type)
        values = field.flatten() if is_list else field
        kind = np.float32 if pa.types.is_floating(values.type) else np.uint8
        found.update(values.to_numpy(zero_copy_only=False).astype(kind).tobytes())
    return found.hexdigest()


def inside(engine, folder):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from primal.sklearn import PrimeRidgeRegressor

    features, codes, sums = objects()
    table = pq.read_table(f"{folder}/in")
    x = table["x"].combine_chunks().flatten().to_numpy().reshape(N, D_IN)
    right = {
        "features": digest(features(table), "features"),
        "codes": digest(codes(table), "codes"),
    }
    z = features.map.encode(x)
    assert right["features"] == hashlib.sha256(z.tobytes()).hexdigest()
    whole = sums.merge(sums(table))
    fitted = PrimeRidgeRegressor(D_OUT, gamma=0.05).fit(x, table["y"].to_numpy())
    runs, has_sums = globals()[f"with_{engine}"](folder, features, codes, sums)
    run_snippet(engine, folder, features, sums, right["features"], fitted)
    said = []
    for what, tables, parts in runs:
        for name, found in tables.items():
            assert digest(found, name) == right[name], f"{what}: other {name}"
        for seed in range(3 if parts is not None else 0):
            rows = pa.Table.from_batches(parts.combine_chunks().to_batches())
            order = random.Random(seed).sample(range(len(rows)), len(rows))
            own = [rows.slice(i, 1) for i in order]
            assert len(own) > 1
            assert sums.merge(*own) == whole, f"{what}: other sums in order {order}"
            model = sums.finish(*own)
            assert np.array_equal(model.coef_, fitted.coef_), f"{what}: other coefficients"
            assert np.array_equal(model.intercept_, fitted.intercept_)
        said.append(what)
    version = importlib.metadata.version(MODULES.get(engine, engine))
    kinds = "features, codes" + (", sums" if has_sums else "")
    said = f"{kinds}; {', '.join(said)}"
    print(f"| {HOW[engine]} | {version} | {pa.__version__} | {said} |", flush=True)


def run_snippet(engine, folder, encoder, sums, right, fitted):
    """Run the example of docs/arrow.md for this engine."""
    page = (ROOT / "docs" / "arrow.md").read_text(encoding="utf-8")
    section = page[page.index(f"\n## {SECTIONS[engine]}\n") :]
    code = section[section.index("```python\n") + 10 :]
    code = code[: code.index("```")].replace('"in/', f'"{folder}/in/')
    names = {"encoder": encoder, "sums": sums, "spark": SPARK}
    exec(code, names)
    made = tables(engine, names["made"])
    assert digest(made, "features") == right, "the example of the page gives other features"
    if "model" in names:
        assert (names["model"].coef_ == fitted.coef_).all()


def tables(engine, made):
    """Return the features as a Table."""
    import pyarrow as pa

    if engine == "ray":
        import ray

        return pa.concat_tables(ray.get(made.to_arrow_refs()))
    if engine == "dask":
        import dask

        return pa.concat_tables(dask.compute(*made))
    if engine == "datasets":
        return made.with_format("arrow")[:]
    return made.to_arrow() if engine == "daft" else made.select("id", "features").toArrow()


def with_ray(folder, features, codes, sums):
    import pyarrow as pa
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    atexit.register(cluster.shutdown)
    atexit.register(ray.shutdown)
    assert len(ray.nodes()) == 2

    def encoded(wrap):
        data, found = ray.data.read_parquet(f"{folder}/in").repartition(8), []
        options = {"batch_format": "pyarrow", "batch_size": None}
        for function in (features, codes, sums):
            function = wrap(function)
            made = data.map_batches(function, **options)
            found.append(pa.concat_tables(ray.get(made.to_arrow_refs())))
        return {"features": found[0], "codes": found[1]}, found[2]

    return repeated(encoded, folder)


def with_spark(folder, features, codes, sums):
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import arrow_udf

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.sql.files.maxPartitionBytes": str(1 << 21),
        "spark.ui.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    global SPARK
    SPARK = spark = builder.getOrCreate()
    data = spark.read.parquet(f"{folder}/in")
    kind = "struct<codes:array<smallint>,factors:float,offsets:float>"

    def encoded(wrap):
        import pyarrow as pa

        def array(encoder):
            inner = wrap(encoder.array)

            def function(x: pa.Array) -> pa.Array:
                return inner(x)

            return function

        def fold(batches):
            return sums.fold(map(wrapped_sums, batches))

        wrapped_sums = wrap(sums)
        made = data.withColumn("features", arrow_udf(array(features), "array<float>")("x"))
        one = made.select("id", "features").toArrow()
        made = data.withColumn("codes", arrow_udf(array(codes), kind)("x"))
        two = made.select("id", "codes").toArrow()
        rows = data.mapInArrow(fold, "fit string, sums binary").toArrow()
        return {"features": one, "codes": two}, rows

    return repeated(encoded, folder)


def with_dask(folder, features, codes, sums):
    import dask
    import pyarrow as pa
    import pyarrow.parquet as pq
    from dask.distributed import Client

    client = Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    assert len(client.scheduler_info()["workers"]) == 2
    paths = sorted(Path(folder, "in").glob("*.parquet"))

    def encoded(wrap):
        found = []
        for function in (features, codes, sums):
            function = wrap(function)
            parts = [dask.delayed(lambda p, f=function: f(pq.read_table(p)))(p) for p in paths]
            found.append(pa.concat_tables(dask.compute(*parts)))
        return {"features": found[0], "codes": found[1]}, found[2]

    return repeated(encoded, folder)


def repeated(encoded, folder):
    """Return the results with and without a killed worker in every pass."""
    tables, parts = encoded(lambda function: function)
    killers = []

    def wrap(function):
        killers.append(KillOnce(function, folder))
        return killers[-1]

    again, more = encoded(wrap)
    for killer in killers:
        killer.check()
    runs = [("three orders", tables, parts), ("one worker killed in each pass", again, more)]
    return runs, True


def with_daft(folder, features, codes, sums):
    import daft

    tables = {}
    for name, encoder in (("features", features), ("codes", codes)):
        kind = daft.DataType.from_arrow_type(encoder.type)

        @daft.func.batch(return_dtype=kind, use_process=True)
        def function(x, encoder=encoder):
            return daft.Series.from_arrow(encoder.array(x.to_arrow()))

        data = daft.read_parquet(f"{folder}/in/*.parquet")
        tables[name] = data.with_column(name, function(data["x"])).to_arrow()
    return [("a process", tables, None)], False


def with_datasets(folder, features, codes, sums):
    from datasets import load_dataset

    data = load_dataset("parquet", data_dir=f"{folder}/in", split="train", cache_dir=folder)
    tables = {}
    for name, encoder in (("features", features), ("codes", codes)):
        made = data.with_format("arrow").map(encoder, batched=True, batch_size=10_000, num_proc=2)
        tables[name] = made.with_format("arrow")[:]
    return [("two processes", tables, None)], False


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2])
    elif sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
