"""Files encoded on a GPU have the bytes of files encoded on the CPU; and how fast each is.

    PYTHONPATH=src python3 tests/gpu/pipeline.py [--ray]

Needs PyTorch with CUDA, NumPy and pyarrow; ``--ray`` also Ray with its data part. Prints one
JSON object and exits non-zero when bytes differ.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import torch  # noqa: E402
from primal import pipeline  # noqa: E402

CASES = {
    "float32": {"dim": 512, "sigma": 0.05},
    "float16": {"dim": 512, "sigma": 0.05, "dtype": "float16"},
    "block layout, many turns": {"dim": 256, "sigma": 1e4, "layout": "block"},
    "paper's basis": {"dim": 128, "sigma": 1.0, "basis": "paper"},
    "kernel": {"dim": 256, "gamma": 0.02},
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ray", action="store_true", help="also workers with GPUs on Ray")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=400_000, help="of the timed file")
    arguments = parser.parse_args()
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else arguments.device
    result: dict[str, object] = {"device": where}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source = write_input(folder / "small.parquet", 20_000, 32, bad=True)
        devices = {"local": {"device": arguments.device}}
        if arguments.ray:
            devices |= {f"ray, {n} GPU": {"engine": "ray", "num_gpus": n} for n in (1, 0.5)}
        same = {}
        for name, options in CASES.items():
            common = {"columns": "x*", "keep": "id", "on_error": "skip", "batch_rows": 3000}
            common |= options
            for suffix in ("parquet", "npy"):
                if suffix == "npy":
                    common.pop("keep")
                expected = encoded(source, folder / f"cpu.{suffix}", common)
                for where, how in devices.items():
                    if how.get("num_gpus") and name != "float32":
                        continue  # a cluster takes seconds to start
                    found = encoded(source, folder / f"gpu.{suffix}", common | how)
                    same[f"{name}, {suffix}, {where}"] = found == expected
        result["same_bytes"] = same
        timed = write_input(folder / "timed.parquet", arguments.rows, 64, bad=False)
        result["seconds"] = {
            f"{arguments.rows} x 64 -> {dim}": times(timed, folder, dim, arguments.device)
            for dim in (512, 2048)
        }
    print(json.dumps(result, indent=1))
    return 0 if all(same.values()) else 1


def write_input(path: Path, n: int, d: int, *, bad: bool) -> Path:
    x = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    if bad:
        x[7, 2], x[n - 5, 0] = np.nan, np.inf
    columns = {f"x{j}": x[:, j] for j in range(d)} | {"id": np.arange(n)}
    pq.write_table(pa.table(columns), path, row_group_size=50_000, compression="none")
    return path


def encoded(source: Path, target: Path, options: dict) -> bytes:
    """Return the file that an encoding makes; a tensor core or a fused product would show."""
    pipeline.encode(source, target, overwrite=True, **options)
    return target.read_bytes()


def times(source: Path, folder: Path, dim: int, device: str, rounds: int = 3) -> dict[str, float]:
    """Return the median seconds of an encoding on either, in turns."""
    found: dict[str, list[float]] = {"cpu": [], device: []}
    for number in range(rounds + 1):
        for where, seconds in found.items():
            start = time.perf_counter()
            options = {"columns": "x*", "dim": dim, "sigma": 0.05, "device": where}
            pipeline.encode(source, folder / "timed-out.parquet", overwrite=True, **options)
            if number:  # the first round compiles and starts
                seconds.append(time.perf_counter() - start)
    return {where: round(statistics.median(seconds), 3) for where, seconds in found.items()}


if __name__ == "__main__":
    sys.exit(main())
