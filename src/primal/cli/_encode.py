"""``primal encode``: from tables on disk to features on disk."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from primal.errors import NumericalWarning, ParameterError

__all__ = ["encode", "progress_line", "room", "shown_warnings"]

_DTYPES = ("float32", "float16", "uint8-phase", "uint16-phase", "bits")
_KERNELS = ("rbf", "laplacian", "cauchy", "matern12", "matern32", "matern52", "prime")


class _Shard(click.ParamType):
    """``i/n``: part i of n, counted from 0."""

    name = "i/n"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        i, slash, n = str(value).partition("/")
        if not (slash and i.isdecimal() and n.isdecimal()):
            self.fail(f"{value!r} is not of the form i/n, for instance 0/7.", param, ctx)
        return int(i), int(n)


@click.command()
@click.argument("src", nargs=-1, required=True)
@click.argument("dst", type=click.Path(path_type=Path))
@click.option("--columns", default="", help="Names or patterns, with commas; or one list column.")
@click.option("--dim", type=int, required=True, help="Number of features, even.")
@click.option(
    "--sigma", type=float, help="Scale of the map's frequencies; this, --gamma or --fit is needed."
)
@click.option("--gamma", help="Of a kernel: a number, or 'scale' to take it from the data.")
@click.option("--fit", is_flag=True, help="Short for --gamma scale: a first pass over all rows.")
@click.option(
    "--kernel",
    type=click.Choice(_KERNELS),
    default="rbf",
    show_default=True,
    help="With --gamma or --fit.",
)
@click.option(
    "--basis",
    default="auto",
    show_default=True,
    help="How primes become frequencies: paper, signed, table, kronecker, orthogonal or auto.",
)
@click.option(
    "--layout",
    type=click.Choice(["interleaved", "block"]),
    default="interleaved",
    show_default=True,
)
@click.option(
    "--precision", type=click.Choice(["exact", "fast"]), default="exact", show_default=True
)
@click.option(
    "--dtype",
    type=click.Choice(_DTYPES),
    default="float32",
    show_default=True,
    help="What is stored of a row: floats, phases, or signs.",
)
@click.option("--keep", default="", help="Columns to pass through, with commas.")
@click.option("--batch-rows", type=int, help="Rows of a row group.  [default: about 16 MB]")
@click.option("--shard", type=_Shard(), default=(0, 1), help="Encode part i of n, from 0 on.")
@click.option(
    "--on-error",
    type=click.Choice(["raise", "skip", "null"]),
    default="raise",
    show_default=True,
    help="Bad rows: stop, leave them out, or write nulls.",
)
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--address", help="Of a Ray cluster.  [default: RAY_ADDRESS, or a new one here]")
@click.option("--num-gpus", type=float, default=0.0, help="GPUs of each Ray worker.")
@click.option("--device", default="cpu", show_default=True, help="cuda: floats from the GPU.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def encode(
    src: tuple[str, ...],
    dst: Path,
    columns: str,
    keep: str,
    gamma: str | None,
    fit: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Encode the rows of SRC (files, a folder or a pattern) into DST (.parquet or .npy).

    A killed run goes on when the same command is given again.

    For instance: primal encode data/ out.parquet --columns "x*" --keep id --dim 512 --fit
    """
    quiet = quiet or as_json
    with (
        resumable(),
        shown_warnings(),
        progress_line("fit", quiet) as fits,
        progress_line("encode", quiet) as told,
    ):
        report = room().encode(
            src[0] if len(src) == 1 else list(src),
            dst,
            columns=_split(columns),
            keep=_split(keep),
            gamma=_gamma(gamma, fit),
            progress=told,
            fit_progress=fits,
            **options,
        )
    if as_json:
        values = asdict(report)
        click.echo(json.dumps({k: str(v) if isinstance(v, Path) else v for k, v in values.items()}))
        return
    if report.already_complete:
        click.echo(f"{report.path} is already complete: {report.rows:,} rows")
        return
    rate = (report.rows - report.resumed_rows) / max(report.seconds, 1e-9)
    click.echo(f"wrote {report.path}: {report.rows:,} rows, {rate:,.0f} rows/s")
    if report.resumed_rows:
        click.echo(f"  {report.resumed_rows:,} rows were there from an earlier run")
    if report.gamma is not None:
        click.echo(f"  gamma {report.gamma!r}")
    if report.rejected:
        click.echo(f"  {report.rejected:,} rejected, see {report.rejected_path}")
    click.echo(f"  fingerprint {report.fingerprint}")


def room() -> ModuleType:
    """Return ``primal.pipeline``, which is not loaded for other commands."""
    from primal import pipeline

    return pipeline


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print numerical warnings as lines, without the place in our code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NumericalWarning)
        yield
    for one in caught:
        if issubclass(one.category, NumericalWarning):
            click.echo(f"Warning: {one.message}", err=True)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@contextmanager
def resumable() -> Iterator[None]:
    """Say after an interrupt that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nWhat is finished is kept: the same command goes on from here.", err=True)
        raise


@contextmanager
def progress_line(label: str, quiet: bool) -> Iterator[Any]:
    """Yield a callback (done, total) that keeps one line on standard error up to date."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    first: tuple[int, float] | None = None
    shown = 0.0

    def told(done: int, total: int | None) -> None:
        nonlocal first, shown
        now = time.monotonic()
        # What came before the first call, or was there from an earlier run, has no known rate.
        first = first or (done, now)
        if now - shown >= 0.1 or done == total:
            shown = now
            text = progress_text(label, done, total, done - first[0], now - first[1])
            click.echo(f"\r\033[K{text}", nl=False, err=True)

    try:
        yield told
    finally:
        click.echo("\r\033[K", nl=False, err=True)


def progress_text(label: str, done: int, total: int | None, new: int, seconds: float) -> str:
    """Return the line: share, rows, rate, time left."""
    rate = new / seconds if seconds > 0 and new > 0 else 0.0
    text = f"{label}  {done:,} rows" if total is None else f"{label}  {done:,} of {total:,} rows"
    if total:
        text = f"{text}  {100 * done // total} %"
    if rate:
        text = f"{text}  {rate:,.0f} rows/s"
        if total is not None:
            left = round((total - done) / rate)
            text = f"{text}  {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
    return text


def _gamma(gamma: str | None, fit: bool) -> float | str | None:
    if fit:
        if gamma not in (None, "scale"):
            raise ParameterError(f"--fit takes gamma from the data: leave out --gamma {gamma}.")
        return "scale"
    if gamma is None or gamma == "scale":
        return gamma
    try:
        return float(gamma)
    except ValueError:
        raise ParameterError(f"--gamma must be a number or 'scale', got {gamma!r}.") from None


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
