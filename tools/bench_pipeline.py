"""Time ``primal encode`` against the same read and write with the encoding left out.

    python tools/bench_pipeline.py                    # 400,000 x 64 -> 512 float32, in turns
    python tools/bench_pipeline.py --memory           # peak memory at 4 million rows
    python tools/bench_pipeline.py --rows 100000 --rounds 3 --dtype uint8-phase

Two peers encode nothing; what they write is an array made beforehand. "pyarrow" reads the same
columns and writes the same column of lists with PyArrow's own reader and writer, in two threads,
forced to disk like ours. "primal without encoding" is our own reader, checks, writer and journal.
Ratios compare runs of the same round. Files go to a temporary folder (``--folder`` to choose) and
are removed at once.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal import pipeline
from primal.pipeline._recipe import Recipe

_PIECE_ROWS = 50_000
_D_IN = 64


@click.command()
@click.option("--rows", type=int, help="[default: 400,000; 4,000,000 with --memory]")
@click.option("--dim", default=512, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--dtype", default="float32", show_default=True)
@click.option("--memory", is_flag=True, help="Peak memory of one run, in its own process.")
@click.option("--folder", type=click.Path(file_okay=False, exists=True))
@click.option("--child", hidden=True, nargs=2)
def main(
    rows: int | None,
    dim: int,
    rounds: int,
    dtype: str,
    memory: bool,
    folder: str | None,
    child: tuple[str, str] | None,
) -> None:
    if child:
        report = pipeline.encode(child[0], child[1], columns="x*", dim=dim, sigma=0.05, dtype=dtype)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        click.echo(
            f"{report.rows:,} rows, {report.rows / report.seconds:,.0f} rows/s, peak {peak:.0f} MB"
        )
        return
    with tempfile.TemporaryDirectory(dir=folder) as made:
        source = Path(made) / "in.parquet"
        write_input(source, rows or (4_000_000 if memory else 400_000))
        if memory:
            arguments = ["--child", str(source), str(Path(made) / "out.parquet")]
            options = ["--dim", str(dim), "--dtype", dtype]
            subprocess.run([sys.executable, __file__, *arguments, *options], check=True)
            return
        compare(source, Path(made), dim, rounds, dtype)


def write_input(path: Path, n_rows: int) -> None:
    """Write normal float32 columns x0, x1, ..., in row groups of 50,000."""
    rng = np.random.default_rng(0)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(_D_IN)])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for first in range(0, n_rows, _PIECE_ROWS):
            x = rng.standard_normal((min(_PIECE_ROWS, n_rows - first), _D_IN), dtype=np.float32)
            writer.write_table(pa.table(list(np.ascontiguousarray(x.T)), schema=schema))


def compare(source: Path, folder: Path, dim: int, rounds: int, dtype: str) -> None:
    options = {"columns": "x*", "dim": dim, "sigma": 0.05, "dtype": dtype}
    target = folder / "out.parquet"

    def ours() -> None:
        pipeline.encode(source, target, **options)

    def without_encoding() -> None:
        with encoding_left_out():
            ours()

    ours()  # loads the engine
    schema = pq.read_schema(target).remove_metadata()
    example = pq.ParquetFile(target).read_row_group(0, columns=["features"])

    def pyarrow_alone() -> None:
        read_and_write(source, target, schema, example)

    contenders = {
        "primal encode": ours,
        "pyarrow": pyarrow_alone,
        "primal without encoding": without_encoding,
    }
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    sizes: dict[str, int] = {}
    for _ in range(rounds):
        for name, run in contenders.items():
            clean(folder)
            start, cpu_start = time.perf_counter(), time.process_time()
            run()
            seconds = time.perf_counter() - start
            measured[name].append((seconds, time.process_time() - cpu_start))
            sizes[name] = target.stat().st_size
    clean(folder)
    if max(sizes.values()) > 1.1 * min(sizes.values()):
        raise SystemExit(f"the contenders wrote different amounts: {sizes}")
    n_bytes = sizes["primal encode"]
    click.echo(f"plain write of {n_bytes / 1e6:.0f} MB: {raw_copy(folder, n_bytes):.2f} s")
    # On a busy machine processor time tells more: it does not count the work of others.
    for name in contenders:
        medians = [statistics.median(column) for column in zip(*measured[name], strict=True)]
        text = f"{name:25s}{medians[0]:6.2f} s, {medians[1]:5.2f} s of processor time"
        if name != "primal encode":
            for what, column in (("rate", 0), ("per processor time", 1)):
                ratios = [
                    peer[column] / own[column]
                    for own, peer in zip(measured["primal encode"], measured[name], strict=True)
                ]
                text += (
                    f"; our {what} over it: median {statistics.median(ratios):.0%} "
                    f"({min(ratios):.0%} to {max(ratios):.0%})"
                )
        click.echo(text)


def clean(folder: Path) -> None:
    for found in folder.glob("out.*"):
        found.unlink()


def read_and_write(source: Path, target: Path, schema: pa.Schema, example: pa.Table) -> None:
    """Read the columns and write ready features, with PyArrow alone, reading ahead."""
    integers = pa.types.is_integer(schema.field("features").type.value_type)
    leaf = "features.list.element"
    options = {"column_encoding": {leaf: "BYTE_STREAM_SPLIT"}, "compression_level": 1}
    writer = pq.ParquetWriter(
        target,
        schema,
        use_dictionary=False,
        write_statistics=False,
        compression="zstd" if integers else "none",
        **(options if integers else {}),
    )
    batches = pq.ParquetFile(source).iter_batches(example.num_rows)
    with writer, ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(next, batches, None)
        while (batch := ahead.result()) is not None:
            ahead = pool.submit(next, batches, None)
            writer.write_table(example.slice(0, batch.num_rows).cast(schema))
    with target.open("rb") as opened:
        os.fsync(opened.fileno())


@contextmanager
def encoding_left_out() -> Iterator[None]:
    """Let features come out of an array made beforehand, while the context lasts."""
    stored: dict[int, np.ndarray] = {}
    original: Callable[..., np.ndarray] = Recipe.codes

    def precomputed(self: Recipe, x: np.ndarray, device: str = "cpu", out=None) -> np.ndarray:
        if self.batch_rows not in stored:
            rng = np.random.default_rng(1)
            example = original(self, rng.standard_normal((self.batch_rows, _D_IN)))
            stored[self.batch_rows] = example
        return stored[self.batch_rows][: len(x)]

    Recipe.codes = precomputed  # type: ignore[method-assign]
    try:
        yield
    finally:
        Recipe.codes = original  # type: ignore[method-assign]


def raw_copy(folder: Path, n_bytes: int) -> float:
    """Return the seconds that writing as many bytes takes, without any format."""
    free = shutil.disk_usage(folder).free
    if free < 2 * n_bytes:
        return float("nan")
    piece, target = bytes(1 << 24), folder / "raw"
    start = time.perf_counter()
    with target.open("wb") as opened:
        for _ in range(n_bytes >> 24):
            opened.write(piece)
    seconds = time.perf_counter() - start
    target.unlink()
    return seconds


if __name__ == "__main__":
    main()
