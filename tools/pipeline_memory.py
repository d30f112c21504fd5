"""Measure the peak memory of ``primal encode``, in a process of its own.

    python tools/pipeline_memory.py                       # 4,000,000 x 64 -> 512 float32
    python tools/pipeline_memory.py --rows 100000 --stored uint8-phase

Files go to a temporary folder (``--folder`` to choose; 9 GB by default) and are removed at once.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from primal import DynamicPrime, pipeline
from primal_studies.bench._pipeline import write_input

_D_IN = 64


@click.command()
@click.option("--rows", default=4_000_000, show_default=True)
@click.option("--dim", default=512, show_default=True)
@click.option("--stored", default="float32", show_default=True)
@click.option("--folder", type=click.Path(file_okay=False, exists=True))
@click.option("--child", hidden=True, nargs=2)
def main(
    rows: int, dim: int, stored: str, folder: str | None, child: tuple[str, str] | None
) -> None:
    if child:
        m = DynamicPrime(_D_IN, dim, 0.05, basis="auto", layout="interleaved")
        report = pipeline.encode(child[0], child[1], m, columns="x*", stored=stored)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        click.echo(
            f"{report.rows:,} rows, {report.rows / report.seconds:,.0f} rows/s, peak {peak:.0f} MB"
        )
        return
    with tempfile.TemporaryDirectory(dir=folder) as made:
        source = Path(made) / "in.parquet"
        write_input(source, rows, _D_IN)
        arguments = ["--child", str(source), str(Path(made) / "out")]
        options = ["--dim", str(dim), "--stored", stored]
        subprocess.run([sys.executable, __file__, *arguments, *options], check=True)


if __name__ == "__main__":
    main()
