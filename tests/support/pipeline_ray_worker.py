"""Encode on a Ray cluster of two workers, one of them killed in the middle.

Run as a script by ``test_ray.py``: Ray starts many processes and changes signal handlers
and warnings, so it gets a process of its own. The last line that it prints is one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

os.environ["PRIMAL_ENGINE"] = "numpy"
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import ray
from ray.cluster_utils import Cluster

from primal import DynamicPrime, pipeline
from primal.errors import DataError, EngineError, MissingPackageError
from primal.pipeline import _engines

MAP = DynamicPrime(4, 64, 0.1, basis="auto", layout="interleaved")
OPTIONS = {"columns": "x*", "keep": "id", "rows_per_part": 500}
FLAGS = [
    *("--columns", "x*", "--keep", "id", "--dim", "64", "--sigma", "0.1", "--rows-per-part", "500"),
    *("--on-error", "skip", "--engine", "ray"),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sources = write_sources(folder)
        local = folder / "local.parquet"
        pipeline.encode(sources, local, MAP, on_error="skip", **OPTIONS)
        result, seconds = {}, {}
        for step in STEPS:
            start = time.monotonic()
            result[step.__name__] = step(folder, sources, local)
            seconds[step.__name__] = round(time.monotonic() - start, 1)
        ray.shutdown()
        CLUSTER[0].shutdown()
    print(json.dumps(result | {"seconds": seconds}))


CLUSTER: list[Cluster] = []


def no_cluster(folder: Path, sources: list[Path], local: Path) -> str:
    """Return what is said where nothing listens, and what is left behind."""
    try:
        pipeline.encode(
            sources, folder / "none.parquet", MAP, engine=pipeline.Ray("127.0.0.1:9"), **OPTIONS
        )
    except EngineError as error:
        return str(error) + "".join(path.name for path in folder.glob("none*"))
    return ""


def one_killed(folder: Path, sources: list[Path], local: Path) -> dict:
    """Kill a worker in the middle; the head has no processors, so the other has to do it all."""
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000}
    quick |= {"health_check_timeout_ms": 1000, "health_check_failure_threshold": 3}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": quick})
    CLUSTER.append(cluster)
    # The GPU is on paper only.
    victim = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1, num_gpus=1)][0]
    cluster.wait_for_nodes()
    notes = folder / "notes"
    notes.mkdir()
    at_the_kill = []

    plain = _engines._made

    def noted_task(shared: Any, span: Any, here: str) -> list[Any]:
        """Slow, and leaves a note of every task that it begins and of every one that it ends."""
        node = ray.get_runtime_context().get_node_id()
        note = f"{span.file}-{span.first},{node},{uuid.uuid4()}"
        (notes / f"{note},begun").touch()
        while len({path.name.split(",")[1] for path in notes.iterdir()}) < 2:
            time.sleep(0.05)  # until both workers have begun
        found = plain(shared, span, here)
        time.sleep(0.2)
        (notes / f"{note},ended").touch()
        return found

    def noted(what: str) -> set[tuple[str, str, str]]:
        found = (path.name.split(",") for path in notes.iterdir())
        return {(run, node, one) for run, node, one, kind in found if kind == what}

    def progress(done: int, total: int | None) -> None:
        if done > 5000 and not at_the_kill:
            # In the middle of a run of the victim, so that there is something to make again.
            while not any(node == victim.node_id for _, node, _ in noted("begun") - noted("ended")):
                time.sleep(0.01)
            at_the_kill.extend(noted("begun"))
            cluster.remove_node(victim, allow_graceful=False)

    _engines._made = noted_task
    remote = folder / "killed.parquet"
    try:
        report = pipeline.encode(
            sources,
            remote,
            MAP,
            on_error="skip",
            engine=pipeline.Ray(cluster.address),
            progress=progress,
            **OPTIONS,
        )
    finally:
        _engines._made = plain
    begun = noted("begun")
    return {
        "same_bytes": local.read_bytes() == remote.read_bytes(),
        "same_rejected": rejected(local) == rejected(remote),
        "rows": report.rows,
        "runs": len({run for run, _, _ in begun}),
        "begun": len(begun),
        "begun_by_the_victim": sum(node == victim.node_id for _, node, _ in begun),
        "begun_before_the_kill": len(at_the_kill),
        "left_connected": ray.is_initialized(),
    }


def first_error(folder: Path, sources: list[Path], local: Path) -> dict:
    """Both files have a bad row: the first is told, on the one processor that is left."""
    ray.init(address=CLUSTER[0].address, log_to_driver=False, logging_level="ERROR")
    said = []
    for engine in ("local", "ray"):
        try:
            pipeline.encode(sources, folder / "raise.parquet", MAP, engine=engine, **OPTIONS)
        except DataError as error:
            said.append(str(error))
    try:  # connected already, and not there
        pipeline.encode(
            sources, folder / "raise.parquet", MAP, engine=pipeline.Ray("127.0.0.1:9"), **OPTIONS
        )
    except EngineError as error:
        said.append(str(error))
    left = [path.name for path in folder.iterdir() if path.name.startswith("raise")]
    processors = ray.cluster_resources()["CPU"]
    return {"said": said, "left": left, "processors": processors}


def resumes(folder: Path, sources: list[Path], local: Path) -> dict:
    """A run that was interrupted here resumes there."""
    remote = folder / "on.parquet"

    def interrupt(done: int, total: int | None) -> None:
        if done > 7000:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        pipeline.encode(sources, remote, MAP, on_error="skip", progress=interrupt, **OPTIONS)
    report = pipeline.encode(sources, remote, MAP, on_error="skip", engine="ray", **OPTIONS)
    return {
        "same_bytes": local.read_bytes() == remote.read_bytes(),
        "resumed_rows": report.resumed_rows,
        "left_connected": ray.is_initialized(),
    }


def other_folder(folder: Path, sources: list[Path], local: Path) -> dict:
    """The paths begin where the caller is, not where the workers were started."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        names = [path.name for path in sources]
        options = OPTIONS | {"on_error": "skip"}
        report = pipeline.encode(names, "relative.parquet", MAP, engine="ray", **options)
    finally:
        os.chdir(before)
    return {"rows": report.rows, "rejected": report.rejected}


def shards(folder: Path, sources: list[Path], local: Path) -> dict:
    """One shard made here, one there."""
    for i, engine in enumerate(("local", "ray")):
        options = OPTIONS | {"on_error": "skip", "shard": (i, 2), "engine": engine}
        pipeline.encode(sources, folder / "shards", MAP, **options)
    pipeline.merge(folder / "shards", folder / "merged.parquet")
    return {"same_bytes": local.read_bytes() == (folder / "merged.parquet").read_bytes()}


def no_gpu(folder: Path, sources: list[Path], local: Path) -> str:
    """Return what is said where workers ask for more than there is."""
    try:
        pipeline.encode(
            sources,
            folder / "gpu.parquet",
            MAP,
            engine=pipeline.Ray(num_gpus=2.0, layer=layer()),
            **OPTIONS,
        )
    except (EngineError, MissingPackageError) as error:  # the latter without PyTorch
        return str(error)
    return ""


def a_gpu_on_paper(folder: Path, sources: list[Path], local: Path) -> str:
    """Return what a worker says that got a GPU and finds none."""
    try:
        pipeline.encode(
            sources,
            folder / "gpu.parquet",
            MAP,
            engine=pipeline.Ray(num_gpus=0.5, layer=layer()),
            **OPTIONS,
        )
    except (EngineError, MissingPackageError) as error:  # the latter without PyTorch
        return str(error)
    return ""


def command_line(folder: Path, sources: list[Path], local: Path) -> dict:
    """Return what the command prints, and whether it does the same."""
    remote = folder / "command.parquet"
    command = [sys.executable, "-c", "from primal.cli import main; main()", "encode"]
    command += [*map(str, sources), str(remote), *FLAGS, "--address", CLUSTER[0].address, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    same = remote.exists() and local.read_bytes() == remote.read_bytes()
    return {"same_bytes": same, "stdout": done.stdout, "stderr": done.stderr}


def layer() -> Any:
    from primal.torch import DynamicPrime as Layer  # MissingPackageError without PyTorch

    dtype = sys.modules["torch"].float32
    return Layer(4, 64, 0.1, basis="auto", layout="interleaved", dtype=dtype)


def write_sources(folder: Path) -> list[Path]:
    """Write a Parquet and a CSV file, the latter of a length that no worker knows beforehand."""
    rng = np.random.default_rng(0)
    paths = [folder / "a.parquet", folder / "b.csv"]
    for path, n in zip(paths, (30_000, 6_000), strict=True):
        x = rng.standard_normal((n, 4))
        x[n - 3, 2] = np.nan
        table = pa.table({f"x{j}": x[:, j] for j in range(4)} | {"id": np.arange(n)})
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pq.write_table(table, path, row_group_size=2000)
    return paths


def rejected(path: Path) -> bytes:
    return path.with_name(f"{path.name}.rejected.csv").read_bytes()


STEPS = (
    no_cluster,
    one_killed,
    first_error,
    resumes,
    other_folder,
    shards,
    no_gpu,
    a_gpu_on_paper,
    command_line,
)

if __name__ == "__main__":
    sys.exit(main())
