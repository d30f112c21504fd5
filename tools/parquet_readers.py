"""Read files of ``primal encode`` with every Parquet reader that is installed, and compare.

    pip install polars duckdb fastparquet pyspark     # those of interest; Spark needs Java
    python tools/parquet_readers.py

Each reader gets files of every stored type, with and without null rows, and must find the rows
that PyArrow finds. Exits non-zero when one finds other values; a type that a reader does not know
is told apart.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow.parquet as pq

from primal import DynamicPrime, pipeline
from primal.pipeline._job import STORED

_ROWS = 5000


@click.command()
def main() -> None:
    wrong = 0
    with tempfile.TemporaryDirectory() as made:
        files = write_files(Path(made))
        for name, read in READERS.items():
            if find_spec(name) is None:
                click.echo(f"{name:12s} not installed")
                continue
            for path in files:
                said = verdict(read, path)
                wrong += said == "OTHER VALUES"
                click.echo(f"{name:12s} {path.stem:22s} {said}")
    sys.exit(wrong > 0)


def write_files(folder: Path) -> list[Path]:
    """Write one file for every stored type, and one with null rows."""
    x = np.random.default_rng(0).standard_normal((_ROWS, 5))
    x[7, 1], x[4000, 2] = np.nan, np.inf
    np.save(folder / "x.npy", x)
    files = []
    m = DynamicPrime(5, 64, 0.1, basis="auto", layout="interleaved")
    for stored in STORED:
        for on_error in ("skip", "null"):
            path = folder / f"{stored} {on_error}.parquet"
            options = {"stored": stored, "on_error": on_error, "rows_per_part": 1500}
            pipeline.encode(folder / "x.npy", path, m, **options)
            files.append(path)
    return files


def verdict(read: Callable[[Path], list], path: Path) -> str:
    expected = pq.read_table(path)["features"].to_pylist()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read(path)
    except Exception as error:  # whatever a reader raises
        reason = " ".join(str(error).split())[:60] or type(error).__name__
        return f"cannot be read: {reason}"
    same = [None if row is None else [_number(value) for value in row] for row in found]
    return "the same" if same == expected else "OTHER VALUES"


def _number(value: Any) -> float:
    """Return a stored value; 16-bit floats come as two bytes where a reader does not know them."""
    if isinstance(value, bytes | bytearray):
        return float(np.frombuffer(bytes(value), dtype="<f2")[0])
    return float(value)


def _polars(path: Path) -> list:
    import polars

    return polars.read_parquet(path)["features"].to_list()


def _duckdb(path: Path) -> list:
    import duckdb

    return [row for (row,) in duckdb.sql(f"select features from '{path}'").fetchall()]


def _fastparquet(path: Path) -> list:
    import fastparquet

    return fastparquet.ParquetFile(str(path)).to_pandas(columns=["features"])["features"].tolist()


def _spark(path: Path) -> list:
    from pyspark.sql import SparkSession

    quiet = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = quiet.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return [row[0] for row in session.read.parquet(str(path)).select("features").collect()]


READERS = {"polars": _polars, "duckdb": _duckdb, "fastparquet": _fastparquet, "pyspark": _spark}


if __name__ == "__main__":
    main()
