"""``primal encode``: from tables on disk to features on disk."""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict
from functools import partial
from types import ModuleType
from typing import Any

import click

from primal._extras import require
from primal.cli._common import Progress, json_option, progress_bar
from primal.errors import NumericalWarning, ParameterError
from primal.kernels import KERNELS, METHODS
from primal.maps import LAYOUTS, PRECISIONS, DynamicPrime, KernelPrime
from primal.search import STORED


def _choice(name: str, choices: Any, default: str, **more: Any) -> Any:
    kind = click.Choice(list(choices))
    return click.option(name, type=kind, default=default, show_default=True, **more)


@click.command()
@click.argument("src", nargs=-1, required=True, type=click.Path())
@click.argument("dst", type=click.Path())
@click.option("--columns", default="", help="Names or patterns, with commas; or one list column.")
@click.option("--dim", type=int, required=True, help="Number of features.")
@click.option("--sigma", type=float, help="Scale of the frequencies; this, --gamma or --fit.")
@click.option("--gamma", help="Of a kernel: a number, or 'scale' to take it from the data.")
@click.option("--fit", is_flag=True, help="Short for --gamma scale: a first pass over all rows.")
@_choice("--kernel", KERNELS, "rbf", help="With --gamma or --fit.")
@_choice(
    "--method",
    METHODS,
    "growable",
    help="With --gamma or --fit: auto takes a lattice where theory promises less error.",
)
@click.option("--basis", default="auto", show_default=True, help="How primes become frequencies.")
@_choice("--layout", LAYOUTS, "interleaved")
@_choice("--precision", PRECISIONS, "exact")
@_choice("--stored", STORED, "float32", help="What is stored of a row: floats, phases or signs.")
@click.option("--keep", default="", help="Columns to pass through, with commas.")
@click.option("--rows-per-part", type=int, help="Rows of one part.  [default: about 16 MB]")
@click.option("--shard", metavar="I/N", default="0/1", help="Make the parts of shard i/n.")
@_choice(
    "--on-error", ("raise", "skip", "null"), "raise", help="Bad rows: stop, leave out, write null."
)
@_choice("--engine", ("local", "ray"), "local")
@click.option("--address", help="Of a Ray cluster.  [default: RAY_ADDRESS, or a new one here]")
@click.option("--num-gpus", type=float, default=0.0, help="GPUs of each Ray worker.")
@click.option("--device", default="cpu", show_default=True, help="cuda: floats from the GPU.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@json_option
def encode(src: tuple[str, ...], dst: str, quiet: bool, as_json: bool, **given: Any) -> None:
    """Encode the rows of SRC (files, a folder or a pattern) into DST.

    DST is a folder of Parquet parts, or one file if it ends in .parquet or .npy. A killed run
    resumes when the same command is given again.

    \b
    Examples:
      primal encode points.npy features.npy --dim 512 --sigma 0.1
      primal encode data/ features --columns "x*" --keep id --dim 512 --fit
      primal encode data/ features --dim 512 --gamma 0.5 --shard 0/8 --json
    """
    i, slash, n = given["shard"].partition("/")
    if not (slash and i.isdecimal() and n.isdecimal()):
        wrong = f"{given['shard']!r} is not of the form i/n, for instance 0/7."
        raise click.BadParameter(wrong, param_hint="'--shard'")
    source = src[0] if len(src) == 1 else list(src)
    gamma, sigma, device, gpus = (given[key] for key in ("gamma", "sigma", "device", "num_gpus"))
    columns, keep = (
        [name.strip() for name in given[key].split(",") if name.strip()]
        for key in ("columns", "keep")
    )
    with running(quiet or as_json) as (pipeline, progress):
        options = {"columns": columns, "on_error": given["on_error"]}
        d = pipeline.count_inputs(source, keep=keep, **options)
        if given["fit"]:
            if gamma not in (None, "scale"):
                raise ParameterError(f"--fit takes gamma from the data: leave out --gamma {gamma}.")
            gamma = "scale"
        if (sigma is None) == (gamma is None):
            raise ParameterError(
                "give either --sigma (scale of the map's frequencies) or --gamma (of a kernel; "
                f"--fit takes it from the data), got sigma = {sigma!r} and gamma = {gamma!r}."
            )
        if sigma is not None and (given["kernel"], given["method"]) != ("rbf", "growable"):
            raise ParameterError(
                "--kernel and --method go with --gamma or --fit, not with --sigma."
            )
        if gamma == "scale":
            fitted = None if progress is None else partial(progress, label="fit")
            kernel = given["kernel"]
            gamma = pipeline.scale_gamma(source, kernel=kernel, progress=fitted, **options)
        try:
            gamma = None if gamma is None else float(gamma)
        except ValueError:
            raise ParameterError(f"--gamma must be a number or 'scale', got {gamma!r}.") from None
        form = {key: given[key] for key in ("basis", "layout", "precision")}
        if gamma is None:
            m: Any = DynamicPrime(d, given["dim"], sigma, **form)
        else:
            form |= {"form": "pair", "method": given["method"]}
            m = KernelPrime(d, given["dim"], given["kernel"], gamma, **form)
        on_ray, address = given["engine"] == "ray", given["address"]
        if (address is not None or gpus) and not on_ray:
            raise ParameterError(
                "--address and --num-gpus are for --engine ray; --device for local."
            )
        if on_ray and device != "cpu":
            raise ParameterError(f"with --engine ray pass --num-gpus instead of --device {device}.")
        layer = _layer(m, device) if gpus or device != "cpu" else None
        start = time.perf_counter()
        report = pipeline.encode(
            source,
            dst,
            m,
            keep=keep,
            shard=(int(i), int(n)),
            engine=pipeline.Ray(address, gpus, layer) if on_ray else pipeline.Local(layer, device),
            progress=progress,
            **options,
            **{key: given[key] for key in ("stored", "rows_per_part", "overwrite")},
        )
    seconds = time.perf_counter() - start
    if as_json:
        more = {"gamma": gamma, "seconds": seconds}
        click.echo(json.dumps(asdict(report) | more, default=str))
        return
    if report.already_complete:
        click.echo(f"{report.path} is already complete: {report.rows:,} rows")
        return
    rate = (report.rows - report.resumed_rows) / max(seconds, 1e-9)
    click.echo(f"wrote {report.path}: {report.rows:,} rows, {rate:,.0f} rows/s")
    if report.resumed_rows:
        click.echo(f"  {report.resumed_rows:,} rows were there from an earlier run")
    if gamma is not None:
        click.echo(f"  gamma {gamma!r}")
    if report.rejected:
        click.echo(f"  {report.rejected:,} rejected, see {report.rejected_path}")
    click.echo(f"  fingerprint {report.fingerprint}")


def _layer(m: Any, device: str) -> Any:
    """Return the layer of PyTorch that makes the features of a map."""
    torch = require("torch", f"--device {device}")
    layers = importlib.import_module("primal.torch")
    kind = layers.DynamicPrime if isinstance(m, DynamicPrime) else layers.PrimeFeatures
    return kind.from_map(m, dtype=torch.float32)


@contextmanager
def running(quiet: bool, label: str = "encode") -> Iterator[tuple[ModuleType, Progress | None]]:
    """Yield ``primal.pipeline`` and, on a terminal, a progress callback that draws a bar.

    Numerical warnings are printed as lines; after an interrupt it is said that nothing is lost.
    """
    from primal import pipeline  # not loaded for other commands

    # Standard output is for the result; Ray prints there what it thinks of a lost node.
    with redirect_stdout(sys.stderr), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NumericalWarning)
        try:
            hidden = quiet or not sys.stderr.isatty()
            with nullcontext() if hidden else progress_bar(label) as progress:
                yield pipeline, progress
        except KeyboardInterrupt:
            click.echo("\nFinished parts are kept: the same command resumes from here.", err=True)
            raise
    for one in caught:
        if issubclass(one.category, NumericalWarning):
            click.echo(f"Warning: {one.message}", err=True)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
