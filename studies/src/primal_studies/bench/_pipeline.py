"""The pipeline against the same read and write with the encoding left out.

Two peers encode nothing; what they write was made beforehand. One is a plain program with PyArrow:
it reads the same columns in one thread and writes the same column of lists in another. The other
is our own pipeline (reader, checks, pages, parts) without its encoder. All force their output to
disk, the pipeline as a folder of parts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from primal_studies.bench._measure import OURS, Case

__all__ = ["ALONE", "PYARROW", "pipeline_cases", "write_input"]

PYARROW = "PyArrow alone"
ALONE = "nothing encoded"
_PIECE_ROWS = 50_000


def pipeline_cases(n: int, d: int, D: int) -> Iterator[Case]:
    """Yield the case Parquet to Parquet, float32; its files last until the next is asked for."""
    import pyarrow.parquet as pq

    from primal import DynamicPrime, pipeline

    m = DynamicPrime(d, D, 0.05, basis="auto", layout="interleaved")
    with tempfile.TemporaryDirectory(prefix="primal-bench-") as made:
        source, out = Path(made) / "in.parquet", Path(made) / "out"
        target = out / "features"
        write_input(source, n, d)

        def ours() -> None:
            pipeline.encode(source, target, m, columns="x*")

        def nothing_encoded() -> None:
            with _encoding_left_out(codes):
                ours()

        def clear() -> None:
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()

        clear()
        ours()
        parts = sorted(target.glob("*.parquet"))
        file = pq.ParquetFile(parts[0])
        schema, ready = file.schema_arrow.remove_metadata(), file.read()
        codes = ready.column("features").combine_chunks().flatten().to_numpy().reshape(-1, D)
        output_bytes = sum(part.stat().st_size for part in parts)
        contenders: dict[str, Callable[[], object]] = {
            OURS: ours,
            PYARROW: lambda: _pyarrow_alone(source, out / "peer.parquet", ready.cast(schema)),
            ALONE: nothing_encoded,
        }
        label = f"Parquet to Parquet {n} x {d} -> {D}"
        yield Case("pipeline", label, {"N": n, "d": d, "D": D}, contenders, output_bytes, clear)


def write_input(path: Path, n: int, d: int) -> None:
    """Write normal float32 columns x0, x1, ..., in row groups of 50,000."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(d)])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, n, _PIECE_ROWS):
            x = rng.standard_normal((min(_PIECE_ROWS, n - first), d), dtype=np.float32)
            writer.write_table(pa.table(list(np.ascontiguousarray(x.T)), schema=schema))


def _pyarrow_alone(source: Path, target: Path, ready: Any) -> None:
    """Read the columns, a batch ahead, and write the ready table as often as it takes."""
    import pyarrow.parquet as pq

    # As our own files are: floats are noise to a compressor and to a dictionary.
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    batches = pq.ParquetFile(source).iter_batches(ready.num_rows)
    with pq.ParquetWriter(target, ready.schema, **options) as writer, ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(next, batches, None)
        while (batch := ahead.result()) is not None:
            ahead = pool.submit(next, batches, None)
            writer.write_table(ready.slice(0, batch.num_rows))
    with target.open("rb") as opened:
        os.fsync(opened.fileno())


@contextmanager
def _encoding_left_out(ready: np.ndarray) -> Iterator[None]:
    """Let features come out of an array made beforehand, while the context lasts."""
    from primal.pipeline._job import Recipe

    original: Callable[..., np.ndarray] = Recipe.codes

    def codes(self: Recipe, x: np.ndarray, *_: Any) -> np.ndarray:
        return ready[: len(x)]

    Recipe.codes = codes  # type: ignore[method-assign]
    try:
        yield
    finally:
        Recipe.codes = original  # type: ignore[method-assign]
