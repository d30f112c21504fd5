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

from primal import DynamicPrime, KernelPrime, pipeline  # noqa: E402
from primal.torch import DynamicPrime as Layer  # noqa: E402
from primal.torch import PrimeFeatures  # noqa: E402

COMMON = {"basis": "auto", "layout": "interleaved"}
CASES = {
    "float32": (DynamicPrime(32, 512, 0.05, **COMMON), "float32"),
    "float16": (DynamicPrime(32, 512, 0.05, **COMMON), "float16"),
    "block layout, many turns": (DynamicPrime(32, 256, 1e4, basis="auto"), "float32"),
    "signed basis": (DynamicPrime(32, 128, 1.0, basis="signed"), "float32"),
    "kernel": (KernelPrime(32, 256, gamma=0.02), "float32"),
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
        same = {}
        for name, (m, stored) in CASES.items():
            layer = layer_of(m)
            engines = {"local": pipeline.Local(layer, arguments.device)}
            if arguments.ray and name == "float32":  # a cluster takes seconds to start
                engines |= {f"ray, {n} GPU": pipeline.Ray(None, n, layer) for n in (1, 0.5)}
            for suffix in (".parquet", ".npy", ""):
                options = {"columns": "x*", "stored": stored, "on_error": "skip"}
                options |= {"rows_per_part": 3000} | ({} if suffix == ".npy" else {"keep": "id"})
                expected = encoded(source, folder / f"cpu{suffix}", m, options)
                for where, engine in engines.items():
                    found = encoded(
                        source, folder / f"gpu{suffix}", m, options | {"engine": engine}
                    )
                    same[f"{name}, {suffix or 'parts'}, {where}"] = found == expected
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


def layer_of(m: DynamicPrime | KernelPrime) -> torch.nn.Module:
    kind = Layer if isinstance(m, DynamicPrime) else PrimeFeatures
    return kind.from_map(m, dtype=torch.float32)


def encoded(source: Path, target: Path, m: object, options: dict) -> list[bytes]:
    """Return what an encoding writes; a tensor core or a fused product would show."""
    pipeline.encode(source, target, m, overwrite=True, **options)
    files = [target] if target.suffix else sorted(target.glob("*.parquet"))
    return [path.read_bytes() for path in files]


def times(source: Path, folder: Path, dim: int, device: str, rounds: int = 3) -> dict[str, float]:
    """Return the median seconds of an encoding on either, in turns."""
    found: dict[str, list[float]] = {"cpu": [], device: []}
    for number in range(rounds + 1):
        for where, seconds in found.items():
            start = time.perf_counter()
            m = DynamicPrime(64, dim, 0.05, **COMMON)
            engine = pipeline.Local(None if where == "cpu" else layer_of(m), where)
            options = {"columns": "x*", "engine": engine, "overwrite": True}
            pipeline.encode(source, folder / "timed-out", m, **options)
            if number:  # the first round compiles and starts
                seconds.append(time.perf_counter() - start)
    return {where: round(statistics.median(seconds), 3) for where, seconds in found.items()}


if __name__ == "__main__":
    sys.exit(main())
