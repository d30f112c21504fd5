"""Encode on a Ray cluster of two worker nodes, one of them killed in the middle.

Run as a script by ``test_pipeline_ray.py``: Ray starts many processes and changes signal handlers
and warnings, so it gets a process of its own. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ["PRIMAL_ENGINE"] = "numpy"
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import ray
from ray.cluster_utils import Cluster

from primal import DataError, pipeline

OPTIONS = {"columns": "x*", "keep": "id", "dim": 64, "sigma": 0.1, "batch_rows": 500}


def main() -> None:
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sources = write_sources(folder)
        local, remote = folder / "local.parquet", folder / "ray.parquet"
        pipeline.encode(sources, local, on_error="skip", **OPTIONS)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes = [cluster.head_node, cluster.add_node(num_cpus=1)]
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        started = time.monotonic()
        nodes_seen = []

        def progress(done: int, total: int | None) -> None:
            if done > 6000 and len(nodes) == 2:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            nodes_seen.append(len(nodes))

        report = pipeline.encode(
            sources, remote, on_error="skip", engine="ray", progress=progress, **OPTIONS
        )
        try:
            pipeline.encode(sources, folder / "raise.parquet", engine="ray", **OPTIONS)
            refusal = ""
        except DataError as error:
            refusal = str(error)
        result = {
            "same_bytes": local.read_bytes() == remote.read_bytes(),
            "same_rejected": rejected(local) == rejected(remote),
            "rows": report.rows,
            "blocks_before_and_after_the_kill": [nodes_seen.count(2), nodes_seen.count(1)],
            "refusal": refusal,
            "seconds": [round(started - start, 1), round(time.monotonic() - started, 1)],
        }
        ray.shutdown()
        cluster.shutdown()
    print(json.dumps(result))


def write_sources(folder: Path) -> list[Path]:
    """Write a Parquet and a CSV file, the latter of a length that no worker knows beforehand."""
    rng = np.random.default_rng(0)
    paths = [folder / "a.parquet", folder / "b.csv"]
    for path, n in zip(paths, (15_000, 6_000), strict=True):
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


if __name__ == "__main__":
    sys.exit(main())
